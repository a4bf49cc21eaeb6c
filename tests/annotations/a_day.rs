//! A day of a schedule, on the virtual clock.
//!
//! It has failures and retries, a pause, overruns, a full pool, a timeout, summer time, a clock that is set back, and a
//! stop. The event log is compared with `a_day.txt`, which people can read.
//!
//! After a change that is meant: `UPDATE_SNAPSHOTS=1 cargo test -p tests --test annotations a_day`, and
//! review the difference.

use scheduler::testing::*;
use scheduler::{Attribute, Pause, Pool, Schedule, scheduled};

/// Runs into summer time: there is no 02:30 on this day.
#[scheduled(cron = "0 30 2 * * *", zone = "Europe/Berlin", dst_gap = "run_after")]
fn backup() {}

/// Fails in the morning, and is tried again.
#[scheduled(cron = "0 0 9 * * *", zone = "Europe/Berlin", retry(max = 2, base = "10s", cap = "1m"))]
fn report() -> Result<(), String> {
    Ok(())
}

/// Takes longer than its period, in a pool of one.
#[scheduled(cron = "0 0 10-12 * * *", zone = "Europe/Berlin", pool = "io")]
fn import() {}

/// Waits behind the import.
#[scheduled(cron = "0 30 10 * * *", zone = "Europe/Berlin", pool = "io")]
fn export() {}

#[scheduled(cron = "0 0 13 * * *", zone = "Europe/Berlin", timeout = "5m")]
async fn fetch() {}

#[scheduled(cron = "0 0 */2 * * *", zone = "Europe/Berlin")]
fn sweep() {}

/// The event log, with a heading for each part of the day.
#[derive(Default)]
struct Diary {
    text: String,
    lines: usize,
}

impl Diary {
    fn chapter(&mut self, sim: &Sim, heading: &str) {
        let log = sim.event_log();
        self.text.push_str(&format!("{heading}\n"));
        for line in log.lines().skip(self.lines) {
            self.text.push_str(&format!("  {line}\n"));
        }
        self.lines = log.lines().count();
    }
}

fn set_up() -> Sim {
    Sim::at("2026-03-29T00:00[Europe/Berlin]")
        .task(backup)
        .task(report)
        .task(import)
        .task(export)
        .task(fetch)
        .task(sweep)
        .define("warm-up", Schedule::fixed_rate("1h").set(Attribute::OnError, "stop"), |_| {})
        .pool("io", Pool::new().size(1))
        .seed(7)
}

fn play() -> String {
    let (mut sim, mut diary) = (set_up(), Diary::default());
    sim.panic_next("warm-up", "no cache");
    sim.advance(hours(1));
    diary
        .chapter(&sim, "The start: a task panics, and ends, because it says `on_error = \"stop\"`");

    sim.takes("backup", minutes(20));
    sim.advance_to("2026-03-29T08:30[Europe/Berlin]");
    diary.chapter(&sim, "The night: from 02:00 to 03:00 clocks are set forward");

    sim.fail_next("report", "connection refused");
    sim.fail_next("report", "connection refused");
    sim.advance_to("2026-03-29T09:30[Europe/Berlin]");
    diary.chapter(&sim, "The report fails twice, and is tried again");

    sim.takes_each("import", [minutes(90)]);
    sim.advance_to("2026-03-29T12:30[Europe/Berlin]");
    diary.chapter(
        &sim,
        "The import overruns its next fire time, and keeps the only worker of its pool",
    );

    sim.takes_each("fetch", [minutes(30)]);
    sim.advance_to("2026-03-29T13:30[Europe/Berlin]");
    diary.chapter(&sim, "The fetch takes longer than its timeout");

    let end = moment("2026-03-29T17:00[Europe/Berlin]").instant();
    let pause = Pause::new().reason("migration").until(end);
    sim.control("sweep").pause_with(&pause).expect("it has not ended");
    sim.advance_to("2026-03-29T18:05[Europe/Berlin]");
    diary.chapter(&sim, "The sweep is paused for a while");

    sim.jump_wall_back(minutes(10));
    sim.run_now("report");
    sim.advance_to("2026-03-29T20:30[Europe/Berlin]");
    diary.chapter(&sim, "At 18:05 the clock is set back by 10 minutes: nothing runs twice");

    sim.suspend(hours(3));
    sim.advance_to("2026-03-30T00:05[Europe/Berlin]");
    diary.chapter(&sim, "At 20:30 the machine is suspended for three hours");

    sim.takes("sweep", secs(12));
    sim.run_now("sweep");
    sim.shutdown().expect("it is given the time");
    diary.chapter(&sim, "The stop waits for the run in progress");
    diary.text
}

#[test]
fn a_day_reads_as_it_was_reviewed() {
    let (log, file) = (play(), concat!(env!("CARGO_MANIFEST_DIR"), "/annotations/a_day.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
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
