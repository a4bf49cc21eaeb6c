//! The scheduler next to a Tokio `main`.

use std::sync::OnceLock;

use scheduler::Scheduler;
use scheduler::scheduled;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::mpsc::unbounded_channel;

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
    let scheduler = Scheduler::builder().pool_size(2).messages(|_| {}).spawn().unwrap();
    for task in ["plain", "future", "plain", "future"] {
        while runs.recv().await != Some(task) {}
    }
    scheduler.shutdown_async().await.unwrap();
    while runs.try_recv().is_ok() {}
    tokio::task::yield_now().await;
    assert!(runs.try_recv().is_err(), "nothing runs after the shutdown");
}
