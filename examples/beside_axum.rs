//! A web server and scheduled tasks in one program: they share state, the server shows and controls
//! the tasks, and both stop together.
//!
//! ```sh
//! cargo run -p examples --example beside_axum
//! curl localhost:8080/                       # a visit
//! curl localhost:8080/tasks                  # the tasks
//! curl -X POST localhost:8080/tasks/report   # runs one now
//! ```
//!
//! Look at the report, which counts the visits; then press Ctrl-C: requests and runs in progress are
//! finished. The variable `PORT` gives another port.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use axum::Router;
use axum::extract::Path;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::routing::post;
use scheduler::Scheduler;
use scheduler::Tasks;
use scheduler::scheduled;
use tokio::net::TcpListener;

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
        Ok(()) => (StatusCode::ACCEPTED, format!("{name} runs\n")),
        Err(error) => (StatusCode::CONFLICT, format!("{error}\n")),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Before any task runs: another instance that has the port keeps this one from starting.
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
    axum::serve(listener, pages.merge(tasks)).with_graceful_shutdown(asked_to_stop()).await?;
    scheduler.shutdown_async().await?;
    println!("stopped");
    Ok(())
}

/// Ctrl-C, or SIGTERM, by which containers are stopped.
async fn asked_to_stop() {
    #[cfg(unix)]
    let terminated = async {
        use tokio::signal::unix::SignalKind;
        let signals = tokio::signal::unix::signal(SignalKind::terminate());
        signals.expect("a handler can be installed").recv().await;
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}
