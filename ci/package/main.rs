//! A program as users write one, for `ci/package.sh`.

use std::error::Error;
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use scheduler::store::{Postgres, Sqlite};
use scheduler::testing::{Sim, schedule_of};
use scheduler::{Jobs, Scheduler, job, scheduled};
use scheduler_core::ScheduledThreadPool;
use scheduler_dashboard::Dashboard;
use scheduler_expr::CronExpression;
use scheduler_monitors::{Healthchecks, Monitors};

#[scheduled(fixed_rate = "1d")]
fn bill(jobs: &Jobs) -> Result<(), Box<dyn Error>> {
    jobs.enqueue(mail::job(17).key("invoice-17"))?;
    Ok(())
}

#[job(name = "mail")]
async fn mail(#[payload] invoice: u32, mailed: &Sender<u32>) {
    tokio::time::sleep(Duration::from_millis(1)).await;
    mailed.send(invoice).expect("main waits");
}

#[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin", name = "report")]
fn report() {}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (sender, mailed) = channel::<u32>();
    let monitors = Monitors::builder()
        .task("report", Healthchecks::check("https://localhost/ping"))
        .start()?;
    let builder = Scheduler::builder()
        .store(Sqlite::open("jobs.db")?)
        .manage(sender)
        .listener(monitors);
    let scheduler = Dashboard::new().attach(builder, "127.0.0.1:0").spawn()?;
    assert_eq!(mailed.recv_timeout(Duration::from_secs(60))?, 17);
    scheduler.shutdown()?;

    let refused = Postgres::connect("postgres://localhost:1/shop?sslmode=require");
    assert!(refused.is_err(), "nothing listens there");
    let runs = schedule_of(report).between("2026-03-27T00:00:00Z", "2026-03-31T00:00:00Z");
    assert_eq!(runs.local(), ["Fri 2026-03-27 09:00+01:00", "Mon 2026-03-30 09:00+02:00"]);
    let mut sim = Sim::at("2026-01-01T00:00:00Z").task(report);
    sim.advance(Duration::from_secs(60));
    let pool = ScheduledThreadPool::new(1);
    assert_eq!(pool.schedule(Duration::ZERO, || 6 * 7)?.wait()?, 42);
    pool.close()?;
    assert_eq!("@daily".parse::<CronExpression>()?.to_string(), "0 0 0 * * *");
    Ok(scheduler_cli::run(["scheduler", "explain", "0 0 9 * * MON-FRI"]))
}
