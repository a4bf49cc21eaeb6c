//! A live dashboard for tasks and jobs, with buttons to control them.
//!
//! ```sh
//! cargo run -p examples --example dashboard
//! ```
//!
//! Open the link that it prints. It has a token in it, is for this machine only, and ends with the program: Ctrl-C.
//! The variable `DASHBOARD` gives another address than 127.0.0.1:9095; `READ_ONLY=1` takes the buttons away.

use std::error::Error;
use std::time::Duration;

use scheduler::store::{Model, StoreTime};
use scheduler::{Clock, Jobs, Run, Scheduler, SystemClock, job, scheduled};
use scheduler_dashboard::Dashboard;

/// Something that has to do with the last digits of the run's number.
fn part(run: &Run, of: u64) -> u64 {
    run.number() * 7 % of
}

#[scheduled(fixed_rate = "2s")]
async fn heartbeat(run: Run) {
    tokio::time::sleep(Duration::from_millis(3 + part(&run, 9))).await;
}

#[scheduled(fixed_delay = "5s", initial_delay = "1s", tags = ["shop", "critical"])]
async fn import_orders(run: Run, jobs: Jobs) -> Result<(), Box<dyn Error + Send + Sync>> {
    tokio::time::sleep(Duration::from_millis(200 + 90 * part(&run, 11))).await;
    run.note(format!("{} orders", part(&run, 13)));
    if run.number() % 5 == 3 {
        return Err("the shop answered 503 Service Unavailable".into());
    }
    jobs.enqueue_async(send_invoice::job(run.number())).await?;
    Ok(())
}

/// A job: each import enqueues one. Each seventh fails in both attempts, and waits for a person who retries it.
#[job(name = "send_invoice", tags = ["shop"], retry(max = 1, base = "500ms"))]
async fn send_invoice(#[payload] number: u64) -> Result<(), String> {
    tokio::time::sleep(Duration::from_millis(100 + 40 * (number % 9))).await;
    if number.is_multiple_of(7) { Err("the mail server is busy".to_owned()) } else { Ok(()) }
}

#[scheduled(cron = "*/10 * * * * *", tags = ["shop"], retry(max = 3, base = "300ms"))]
fn sync_prices(run: &Run) -> Result<(), std::io::Error> {
    let error = std::io::Error::other(format!("connection to prices-{} refused", run.number() % 3));
    Err(error)
}

/// Durable: all processes that share a store fire it once, together.
#[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin", name = "daily_report", durable)]
fn daily_report() {
    println!("the report");
}

#[scheduled(cron = "0 30 3 * * SUN", zone = "America/New_York", tags = ["reports"])]
fn weekly_archive() {
    println!("the archive");
}

#[scheduled(fixed_rate = "30s", timeout = "25s")]
async fn rebuild_index(run: Run) {
    run.note("every document");
    tokio::time::sleep(Duration::from_secs(12)).await;
}

#[scheduled(fixed_rate = "7s", initial_delay = "2s")]
fn parse_feed(run: &Run) {
    let entries: Vec<u64> = (0..2 + part(run, 5)).collect();
    println!("the third entry is {}", entries[2]);
}

#[scheduled(fixed_rate = "1h", enabled = false)]
fn old_export() {}

fn main() -> Result<(), scheduler::StartError> {
    let address = std::env::var("DASHBOARD").unwrap_or_else(|_| "127.0.0.1:9095".to_owned());
    let dashboard = Dashboard::new().title("web shop");
    let is_read_only = std::env::var("READ_ONLY").is_ok();
    let dashboard = if is_read_only { dashboard.read_only() } else { dashboard };
    // In memory, for this example; a program opens `Sqlite` or `Postgres`.
    let store = Model::with_clock(|| StoreTime::from(SystemClock::new().wall()));
    dashboard.attach(Scheduler::builder().store(store), address).start()
}
