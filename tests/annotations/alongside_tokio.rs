//! The scheduler next to a Tokio `main`.

use std::sync::{Arc, Mutex, OnceLock};

use scheduler::{Scheduler, scheduled, tasks};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

static RUNS: OnceLock<UnboundedSender<&'static str>> = OnceLock::new();

fn tell(task: &'static str) {
    if let Some(runs) = RUNS.get() {
        let _ = runs.send(task);
    }
}

#[scheduled(fixed_rate = "5ms")]
fn plain() {
    tell("plain");
}

#[scheduled(fixed_delay = "5ms")]
async fn future() {
    // A future of Tokio that needs no reactor, woken from a task of the runtime.
    tokio::task::yield_now().await;
    tell("future");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn tasks_run_while_the_runtime_does_and_end_before_shutdown_returns() {
    let (sender, mut runs) = unbounded_channel();
    RUNS.set(sender).expect("the only test");
    let said = Arc::new(Mutex::new(String::new()));
    let last = Arc::clone(&said);
    let builder = Scheduler::builder().tasks(tasks![plain, future]).pool_size(2);
    let builder = builder.messages(move |text| text.clone_into(&mut last.lock().unwrap()));
    let scheduler = builder.spawn().unwrap();
    let mut count = 0;
    for task in ["plain", "future", "plain", "future"] {
        loop {
            count += 1;
            if runs.recv().await == Some(task) {
                break;
            }
        }
    }
    scheduler.shutdown_async().await.unwrap();
    while runs.try_recv().is_ok() {
        count += 1;
    }
    let said = said.lock().unwrap();
    let expected = format!(": {count} runs, 0 failures");
    let is_expected = said.starts_with("INFO  stopped after ") && said.contains(&expected);
    assert!(is_expected, "all {count} runs had ended, and none came later: {said}");
}
