//! The messages about the ends of runs.

use std::time::Duration;

use super::console::*;
use crate::observe::sample::{error, info};
use crate::observe::{EventKind, Failure, Outcome, TaskState};
use crate::run::TaskError;

#[test]
fn the_first_success_is_printed_and_no_further_ones() {
    let console = Console::new("tick");
    for number in 1..=3 {
        console.finish(number, Outcome::Success, 0, number * 1_000);
    }
    console.prints(
        "INFO  task `tick` finished its first run in 12ms; further successes are not reported",
    );
}

#[test]
fn a_first_success_after_failures_does_not_claim_to_be_the_first_run() {
    let console = Console::new("tick");
    console.finish(1, error("no").into(), 1, 0);
    console.printed();
    console.finish(2, Outcome::Success, 0, 1_000);
    console.prints(
        "INFO  task `tick` succeeded for the first time, in 12ms; further successes are not reported",
    );
}

#[test]
fn a_failure_has_task_duration_streak_causes_place_and_next_run() {
    let console = Console::new("daily_report");
    let message = "called `Option::unwrap()` on a `None` value";
    console.finish(3, panicked(message), 3, 0);
    console.prints(
        "
ERROR task `daily_report` panicked after 12ms (3rd failure in a row): called `Option::unwrap()` on a `None` value
      at src/reports.rs:42:18   next run Fri 2026-03-27 10:00:00 +01:00",
    );
    let missing = std::io::Error::new(std::io::ErrorKind::NotFound, "x".parse::<u8>().unwrap_err());
    let failure = Failure::from_error(&TaskError::from_error(&Wrapped(missing)));
    console.finish(4, failure.into(), 4, 1);
    console.prints(
        "
ERROR task `daily_report` failed after 12ms (4th failure in a row): cannot read the orders; caused by: invalid digit found in string
      at src/jobs.rs:7   next run Fri 2026-03-27 10:00:00 +01:00",
    );
    let timeout = Failure::from_timeout(Duration::from_secs(5), false);
    console.finish_after(5, 3, timeout.into(), 5, 2);
    console.prints(
        "
ERROR task `daily_report` timed out after 12ms and 3 attempts (5th failure in a row): it did not end within 5s
      at src/jobs.rs:7   next run Fri 2026-03-27 10:00:00 +01:00",
    );
}

#[derive(Debug)]
struct Wrapped(std::io::Error);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cannot read the orders")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn an_error_that_repeats_itself_is_summed_up_once_a_minute() {
    let console = Console::new("poll");
    for second in 0..=190 {
        let outcome = error(&format!("order {second} not found")).into();
        console.finish(second + 1, outcome, second + 1, second * 1_000);
    }
    let printed = console.printed();
    let lines: Vec<&str> = printed.lines().filter(|line| line.starts_with("ERROR")).collect();
    assert_eq!(lines.len(), 10 + 3, "{printed}");
    assert_eq!(lines[0], "ERROR task `poll` failed after 12ms: order 0 not found");
    assert_eq!(
        lines[9],
        "ERROR task `poll` failed after 12ms (10th failure in a row): order 9 not found"
    );
    assert!(printed.contains("order 9 not found\n      at src/jobs.rs:7   next run Fri 2026-03-27 10:00:00 +01:00\n      from now on this error is summed up once a minute\n"));
    assert_eq!(
        lines[10..],
        [
            "ERROR task `poll` failed 51 times within 51s (61st failure in a row), always: order 60 not found",
            "ERROR task `poll` failed 60 times within 1m (121st failure in a row), always: order 120 not found",
            "ERROR task `poll` failed 60 times within 1m (181st failure in a row), always: order 180 not found",
        ]
    );
    console.finish(192, error("no connection").into(), 192, 190_500);
    let other = console.printed();
    assert!(other.starts_with("ERROR task `poll` failed after 12ms (192nd failure in a row): no"));
}

#[test]
fn alternating_errors_are_distinguished() {
    let console = Console::new("poll");
    for second in 0..50 {
        let message = ["no connection", "no disk"][second as usize % 2];
        console.finish(second + 1, error(message).into(), second + 1, second);
    }
    assert_eq!(console.printed().matches("ERROR").count(), 20);
}

#[test]
fn nothing_is_kept_of_a_task_that_has_ended() {
    let console = Console::new("poll");
    console.emit(EventKind::TaskEnded { state: TaskState::Cancelled });
    console.printed();
    console.finish(1, error("too late").into(), 1, 1);
    console.prints("ERROR task `poll` failed after 12ms: too late\n      at src/jobs.rs:7   next run Fri 2026-03-27 10:00:00 +01:00");
    console.finish(2, Outcome::Success, 0, 2);
    console.prints("");
    assert!(format!("{:?}", console.reporter).contains("tasks: {}"));
}

#[test]
fn a_success_after_failures_is_printed_if_one_of_them_was() {
    let console = Console::new("poll");
    console.finish(1, Outcome::Success, 0, 0);
    console.finish(2, error("no").into(), 1, 1);
    console.printed();
    console.finish(3, Outcome::Success, 0, 2);
    console.prints("INFO  task `poll` succeeded again, in 12ms, after 1 failure");
    for number in 4..=14 {
        console.finish(number, error("no").into(), number - 3, number);
    }
    let printed = console.printed();
    assert!(printed.ends_with("from now on this error is summed up once a minute\n"), "{printed}");
    console.finish(15, Outcome::Success, 0, 15);
    console.prints(
        "
INFO  task `poll` succeeded again, in 12ms, after 11 failures in a row
      2 failures not reported before",
    );
    let day = 86_400_000;
    console.finish(86_000, error("no").into(), 1, day);
    console.prints(
        "
ERROR task `poll` failed after 12ms: no
      at src/jobs.rs:7   next run Fri 2026-03-27 10:00:00 +01:00",
    );
}

#[test]
fn a_first_success_counts_the_failures_not_reported() {
    let console = Console::new("poll");
    for number in 1..=12 {
        let (run, failure, next_attempt_in) =
            (info(number, 2), error("no"), Duration::from_secs(1));
        console.emit_at(number, EventKind::AttemptFailed { run, failure, next_attempt_in });
        console.finish_after(number, 2, error("no").into(), number, number);
    }
    console.printed();
    console.finish(13, Outcome::Success, 0, 13);
    console.prints(
        "
INFO  task `poll` succeeded for the first time, in 12ms; further successes are not reported
      2 failures and 2 attempts not reported before",
    );
}

#[test]
fn a_task_that_fails_every_other_time_recovers_once_a_minute() {
    let console = Console::new("poll");
    console.finish(1, Outcome::Success, 0, 0);
    console.printed();
    for second in 1..=20 {
        let (outcome, streak) = match second % 2 {
            1 => (error("no").into(), 1),
            _ => (Outcome::Success, 0),
        };
        console.finish(second + 1, outcome, streak, second * 1_000);
    }
    assert_eq!(console.printed().matches("succeeded again").count(), 10);
    console.finish(30, error("no").into(), 1, 30_000);
    console.finish(31, Outcome::Success, 0, 31_000);
    console.prints("");
    console.finish(32, error("no").into(), 1, 80_000);
    console.finish(33, Outcome::Success, 0, 90_000);
    console.prints(
        "
ERROR task `poll` failed 2 times within 1m 1s, always: no
      at src/jobs.rs:7   next run Fri 2026-03-27 10:00:00 +01:00
INFO  task `poll` succeeded again, in 12ms, after 1 failure",
    );
    console.finish(34, error("no").into(), 1, 110_000);
    console.finish(35, Outcome::Success, 0, 140_000);
    console.prints(
        "
INFO  task `poll` succeeded again, in 12ms, after 1 failure
      1 failure not reported before",
    );
}

#[test]
fn the_end_of_a_task_counts_the_failures_not_reported() {
    let console = Console::new("poll");
    for number in 1..=12 {
        console.finish(number, error("no").into(), number, number);
    }
    console.printed();
    console.emit(EventKind::TaskEnded { state: TaskState::Cancelled });
    console.prints(
        "
INFO  task `poll`: ended: cancelled
      2 failures not reported before",
    );
}

#[test]
fn attempts_that_will_be_followed_by_another_are_warnings() {
    let console = Console::new("fetch");
    let (failure, next_attempt_in) = (error("connection refused"), Duration::from_millis(1_400));
    console.emit(EventKind::AttemptFailed { run: info(1, 2), failure, next_attempt_in });
    console.prints(
        "
WARN  task `fetch` failed in attempt 2 of 5, next in 1.4s: connection refused
      at src/jobs.rs:7",
    );
}

#[test]
fn a_panic_without_tokio_comes_with_the_remedy() {
    let console = Console::new("fetch");
    let panic =
        "there is no reactor running, must be called from the context of a Tokio 1.x runtime";
    console.finish(2, panicked(panic), 2, 0);
    let (needs, help) = if cfg!(feature = "tokio") {
        (
            "a Tokio runtime, but none is running",
            "#[tokio::main] async fn main() -> Result<(), scheduler::StartError> { scheduler::start_async().await }",
        )
    } else {
        ("Tokio, but the scheduler is built without it", "cargo add scheduler-rs --features tokio")
    };
    console.prints(&format!(
        "
ERROR task `fetch` needs {needs} (2nd failure in a row)
      at src/reports.rs:42:18   next run Fri 2026-03-27 10:00:00 +01:00
      help: {help}
      cause: there is no reactor running, must be called from the context of a Tokio 1.x runtime
      from now on this error is summed up once a minute"
    ));
    console.finish(3, panicked(panic), 3, 0);
    console.prints("");
}
