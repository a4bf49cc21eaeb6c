//! A web server and scheduled tasks in one program.
//!
//! They share state, the server shows and controls the tasks, and both stop together.
//!
//! ```sh
//! cargo run -p examples --example beside_axum
//! curl localhost:8080/                       # a visit
//! curl localhost:8080/tasks                  # the tasks
//! curl -X POST localhost:8080/tasks/report   # runs one now
//! ```
//!
//! Look at the report, which counts the visits; then press Ctrl-C: no new run starts, runs in progress are
//! finished while the server still answers, and then it stops, too. A second Ctrl-C ends the process at once.
//! The variable `PORT` gives another port.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use scheduler::{Scheduler, Tasks, scheduled};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

#[derive(Default)]
struct Visits(AtomicU64);

#[scheduled(fixed_rate = "5s", initial_delay = "5s")]
async fn report(visits: &Visits) {
    println!("{} visits", visits.0.load(Ordering::Relaxed));
}

async fn home(State(visits): State<Arc<Visits>>) -> String {
    format!("you are visitor {}\n", visits.0.fetch_add(1, Ordering::Relaxed) + 1)
}

async fn list(State(tasks): State<Tasks>) -> String {
    let lines = tasks.list().into_iter().map(|task| {
        let next = task.next.map_or("never".to_owned(), |next| next.to_rfc3339());
        let (runs, state) = (task.counters.runs, task.state.name());
        format!("{}: {}; {state}; {runs} runs; next: {next}\n", task.name(), task.facts.rule)
    });
    lines.collect()
}

async fn run_now(State(tasks): State<Tasks>, Path(name): Path<String>) -> (StatusCode, String) {
    match tasks.get(&name).and_then(|task| task.run_now()) {
        Ok(_) => (StatusCode::ACCEPTED, format!("{name} runs\n")),
        Err(error) => (StatusCode::CONFLICT, format!("{error}\n")),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Before any task runs: `spawn` takes no signals, and a port that is in use keeps the program from starting.
    let mut asked_to_stop = signals()?;
    let port = std::env::var("PORT").map_or(Ok(8080), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;

    let visits = Arc::new(Visits::default());
    let scheduler = Scheduler::builder().manage_shared(Arc::clone(&visits)).spawn()?;
    let pages = Router::new().route("/", get(home)).with_state(visits);
    let tasks = Router::new()
        .route("/tasks", get(list))
        .route("/tasks/{name}", post(run_now))
        .with_state(scheduler.tasks());

    println!("listening on http://{}", listener.local_addr()?);
    let (close, closed) = oneshot::channel::<()>();
    let server = axum::serve(listener, pages.merge(tasks));
    let server = server.with_graceful_shutdown(async { drop(closed.await) });
    let server = tokio::spawn(server.into_future());

    asked_to_stop().await;
    let stopped = tokio::select! {
        stopped = scheduler.shutdown_async() => stopped,
        () = asked_to_stop() => std::process::exit(130),
    };
    drop(close);
    // A client that keeps its connection open is not waited for any longer.
    if let Ok(served) = timeout(Duration::from_secs(5), server).await {
        served??;
    }
    stopped?;
    println!("stopped");
    Ok(())
}

/// Installs handlers for Ctrl-C and for SIGTERM, by which containers are stopped. Each call of what it
/// returns waits for the next of them.
#[cfg(unix)]
fn signals() -> std::io::Result<impl AsyncFnMut()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(windows)]
fn signals() -> std::io::Result<impl AsyncFnMut()> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move || drop(interrupt.recv().await))
}
