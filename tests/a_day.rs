//! A day of a schedule, on the virtual clock: failures and retries, a pause, overruns, a full pool, a
//! timeout, summer time, a clock that is set back, and a stop. The event log is compared with `a_day.txt`,
//! which people can read.
//!
//! After a change that is meant: `UPDATE_SNAPSHOTS=1 cargo test --features testing --test a_day`, and
//! review the difference.

use scheduler::Attribute;
use scheduler::Pause;
use scheduler::Pool;
use scheduler::Schedule;
use scheduler::scheduled;
use scheduler::testing::*;

/// Runs into summer time: there is no 02:30 on this day.
#[scheduled(cron = "0 30 2 * * *", zone = "Europe/Berlin", dst_gap = "run_after")]
fn backup() {}

/// Fails in the morning, and is tried again.
#[scheduled(
    cron = "0 0 9 * * *",
    zone = "Europe/Berlin",
    retry(max = 2, base = "10s", cap = "1m")
)]
fn report() -> Result<(), String> {
    Ok(())
}

/// Takes longer than its period, in a pool of one.
#[scheduled(cron = "0 0 10-12 * * *", zone = "Europe/Berlin", scheduler = "io")]
fn import() {}

/// Waits behind the import.
#[scheduled(cron = "0 30 10 * * *", zone = "Europe/Berlin", scheduler = "io")]
fn export() {}

#[scheduled(cron = "0 0 13 * * *", zone = "Europe/Berlin", timeout = "5m")]
async fn fetch() {}

#[scheduled(cron = "0 0 */2 * * *", zone = "Europe/Berlin")]
fn sweep() {}

fn play() -> String {
    let mut sim = Sim::at("2026-03-29T00:00[Europe/Berlin]")
        .task(backup)
        .task(report)
        .task(import)
        .task(export)
        .task(fetch)
        .task(sweep)
        .define("warm-up", Schedule::once("10s").set(Attribute::OnError, "stop"), |_| {})
        .pool("io", Pool::new().size(1))
        .seed(7);
    sim.panic_next("warm-up", "no cache");
    sim.takes("backup", minutes(20));
    sim.advance_to("2026-03-29T08:30[Europe/Berlin]");

    sim.fail_next("report", "connection refused");
    sim.fail_next("report", "connection refused");
    sim.takes_each("import", [minutes(90)]);
    sim.takes_each("fetch", [minutes(30)]);
    sim.advance_to("2026-03-29T13:30[Europe/Berlin]");

    let note = Pause::new().note("migration").until(
        moment("2026-03-29T17:00[Europe/Berlin]").instant(),
    );
    sim.control("sweep").pause_with(&note).expect("it has not ended");
    sim.advance_to("2026-03-29T18:00[Europe/Berlin]");

    // Set back across 18:00, which has been served.
    sim.advance(minutes(5));
    sim.jump_wall_back(minutes(10));
    sim.run_now("report");
    sim.advance_to("2026-03-29T20:30[Europe/Berlin]");

    // The lid is closed for three hours.
    sim.suspend(hours(3));
    sim.advance_to("2026-03-30T00:00[Europe/Berlin]");
    sim.shutdown().expect("nothing is in progress");
    sim.event_log()
}

#[test]
fn a_day_reads_as_it_was_reviewed() {
    let (log, file) = (play(), concat!(env!("CARGO_MANIFEST_DIR"), "/tests/a_day.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(file, &log).expect("a writable file");
    }
    let expected = std::fs::read_to_string(file).expect("a readable file");
    let mut lines = (1..).zip(log.lines().zip(expected.lines()));
    if let Some((number, (is, was))) = lines.find(|(_, (is, was))| is != was) {
        panic!("a_day.txt:{number} is different\nexpected {was}\nnow      {is}");
    }
    assert_eq!(log.lines().count(), expected.lines().count(), "\n{log}");
}

#[test]
fn the_same_day_is_the_same() {
    assert_eq!(play(), play());
}
