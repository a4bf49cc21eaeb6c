//! Async tasks use Tokio's timers, sockets and `spawn`, also without a runtime.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use scheduler::{Builder, Event, EventKind, Run, Schedule, Scheduler, tasks};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The longest wait of a test, on however slow a machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn builder() -> Builder {
    Scheduler::builder().tasks(tasks![]).environment([("HOME", "/")]).pool_size(2).messages(|_| {})
}

/// Uses a timer, a socket and `spawn`.
async fn echo() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await?;
        socket.write_all(b"hello").await
    });
    let mut text = String::new();
    TcpStream::connect(address).await?.read_to_string(&mut text).await?;
    server.await??;
    tokio::time::sleep(Duration::from_millis(1)).await;
    Ok(text)
}

fn run_echo(builder: Builder) -> (Scheduler, String) {
    let (sender, texts) = mpsc::channel();
    let scheduler = builder
        .task_async("echo", Schedule::once("0s"), move |_| {
            let sender = sender.clone();
            async move {
                let _ = sender.send(echo().await?);
                Ok::<(), std::io::Error>(())
            }
        })
        .spawn()
        .unwrap();
    let text = texts.recv_timeout(PATIENCE).expect("the task comes to its end");
    (scheduler, text)
}

#[test]
fn timers_sockets_and_spawn_work_without_a_runtime() {
    let (scheduler, text) = run_echo(builder());
    assert_eq!(text, "hello");
    scheduler.shutdown().unwrap();
}

#[test]
fn a_task_that_is_async_and_comes_later_has_a_runtime_too() {
    let scheduler = builder().spawn().unwrap();
    let (sender, texts) = mpsc::channel();
    let late = scheduler.tasks().add_async("late", Schedule::once("0s"), move |_| {
        let sender = sender.clone();
        async move {
            let _ = sender.send(echo().await?);
            Ok::<(), std::io::Error>(())
        }
    });
    late.unwrap();
    assert_eq!(texts.recv_timeout(PATIENCE).expect("the task comes to its end"), "hello");
    scheduler.shutdown().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timers_sockets_and_spawn_work_inside_a_runtime() {
    let (scheduler, text) = tokio::task::spawn_blocking(|| run_echo(builder())).await.unwrap();
    assert_eq!(text, "hello");
    scheduler.shutdown_async().await.unwrap();
}

#[test]
fn timers_sockets_and_spawn_work_inside_a_runtime_that_is_given() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (scheduler, text) = run_echo(builder().runtime(runtime.handle().clone()));
    assert_eq!(text, "hello");
    scheduler.shutdown().unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn blocking_the_only_thread_of_a_runtime_is_refused() {
    let text = builder().start().unwrap_err().to_string();
    assert!(text.contains("help: write `scheduler::start_async().await`"), "{text}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_stop_that_would_block_the_only_thread_of_a_runtime_is_refused_and_goes_on_behind() {
    let (event, mut events) = tokio::sync::mpsc::unbounded_channel();
    let told = move |told: &Event| drop(event.send(told.clone()));
    let nap = |_| async { tokio::time::sleep(Duration::from_millis(20)).await };
    let builder = builder().task_async("nap", Schedule::fixed_rate("1h"), nap).listener(told);
    let scheduler = builder.spawn().unwrap();
    while !matches!(events.recv().await.unwrap().kind, EventKind::RunStarted { .. }) {}
    let error = scheduler.shutdown().unwrap_err();
    assert!(!error.is_inside_task() && error.running().is_empty());
    let text = error.to_string();
    assert!(text.contains("help: write `scheduler.shutdown_async().await`"), "{text}");
    let mut is_done = false;
    loop {
        match events.recv().await.unwrap().kind {
            EventKind::RunFinished { outcome, .. } => is_done = outcome.is_success(),
            EventKind::SchedulerStopped { .. } => break,
            _ => {}
        }
    }
    assert!(is_done, "its timer is driven while the scheduler waits");
}

#[tokio::test(flavor = "current_thread")]
async fn a_run_of_another_scheduler_may_wait_for_a_stop_within_a_runtime_of_one_thread() {
    let (answer, answers) = tokio::sync::oneshot::channel();
    let answer = Mutex::new(Some(answer));
    let stop = move |_: &Run| {
        let other = builder().spawn().unwrap();
        let answer = answer.lock().unwrap().take().unwrap();
        answer.send(other.shutdown()).unwrap();
    };
    let scheduler = builder().task("stop", Schedule::fixed_rate("1h"), stop).spawn().unwrap();
    assert_eq!(answers.await.unwrap(), Ok(()));
    scheduler.shutdown_async().await.unwrap();
}

/// A thousand tasks wait at the same time on two threads: if waiting held a thread, the last one
/// would never come to wait beside the first.
#[test]
fn a_thousand_tasks_sleep_at_once_on_two_threads() {
    const TASKS: usize = 1_000;
    let waiting = Arc::new(AtomicUsize::new(0));
    let (sender, ends) = mpsc::channel();
    let mut builder = builder();
    for number in 0..TASKS {
        let (waiting, sender) = (Arc::clone(&waiting), sender.clone());
        let schedule = Schedule::once("0s");
        builder = builder.task_async(&format!("sleeper-{number}"), schedule, move |_| {
            let (waiting, sender) = (Arc::clone(&waiting), sender.clone());
            async move {
                waiting.fetch_add(1, Ordering::SeqCst);
                // Looks again until all are here, as each would after its second.
                while waiting.load(Ordering::SeqCst) < TASKS {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                let _ = sender.send(());
            }
        });
    }
    let scheduler = builder.spawn().unwrap();
    for _ in 0..TASKS {
        ends.recv_timeout(PATIENCE).expect("each task comes to its end");
    }
    scheduler.shutdown().unwrap();
}
