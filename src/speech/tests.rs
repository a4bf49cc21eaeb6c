//! What the reporter says, word for word, to what happens.

use std::sync::Arc;
use std::time::Duration;

use crate::sync::Mutex;

use super::Reporter;
use super::Voice;
use crate::observe::Event;
use crate::observe::Failure;
use crate::observe::Listener;
use crate::observe::Longest;
use crate::observe::Outcome;
use crate::observe::PanicPlace;
use crate::observe::SkipReason;
use crate::observe::StopReason;
use crate::observe::TaskState;
use crate::observe::sample::at;
use crate::observe::sample::error;
use crate::observe::sample::facts;
use crate::observe::sample::finished;
use crate::observe::sample::run;
use crate::run::TaskError;

/// A reporter that knows one task, and what it said.
struct Desk {
    reporter: Reporter,
    said: Arc<Mutex<String>>,
}

impl Desk {
    fn new(task: &str) -> Self {
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        let voice = Voice::new(move |text| *heard.lock().unwrap() += &format!("{text}\n"));
        let desk = Self { reporter: Reporter::new(voice), said };
        desk.tell(Event::TaskAdded { task: facts(task), at: at(0) });
        desk.tell(Event::SchedulerStarted { at: at(0), tasks: 1 });
        desk
    }

    #[expect(clippy::needless_pass_by_value, reason = "events are made where they are told")]
    fn tell(&self, event: Event) {
        self.reporter.on_event(&event);
    }

    /// What was said since the last call.
    fn said(&self) -> String {
        std::mem::take(&mut self.said.lock().unwrap())
    }

    #[track_caller]
    fn says(&self, expected: &str) {
        assert_eq!(self.said().trim_end(), expected.trim());
    }
}

fn panicked(message: &str) -> Outcome {
    let place = PanicPlace { file: "src/reports.rs".into(), line: 42, column: 18 };
    Failure::from_panic(message, Some(place)).into()
}

#[test]
fn the_first_success_is_told_and_no_further_ones() {
    let desk = Desk::new("tick");
    for number in 1..=3 {
        desk.tell(finished(run("tick", number, 1), Outcome::Success, 0, number * 1_000));
    }
    desk.says(
        "INFO  task `tick` finished its first run in 12ms; further successes are not reported",
    );
}

#[test]
fn a_first_success_after_failures_does_not_claim_to_be_the_first_run() {
    let desk = Desk::new("tick");
    desk.tell(finished(run("tick", 1, 1), error("no").into(), 1, 0));
    desk.said();
    desk.tell(finished(run("tick", 2, 1), Outcome::Success, 0, 1_000));
    desk.says(
        "INFO  task `tick` succeeded for the first time, in 12ms; further successes are not reported",
    );
}

#[test]
fn a_failure_has_task_duration_streak_causes_place_and_next_run() {
    let desk = Desk::new("daily_report");
    let message = "called `Option::unwrap()` on a `None` value";
    desk.tell(finished(run("daily_report", 3, 1), panicked(message), 3, 0));
    desk.says(
        "
ERROR task `daily_report` panicked after 12ms (3rd failure in a row): called `Option::unwrap()` on a `None` value
      at src/reports.rs:42:18   next run Fri 2026-03-27 10:00:00 +01:00",
    );
    let missing = std::io::Error::new(std::io::ErrorKind::NotFound, "x".parse::<u8>().unwrap_err());
    let failure = Failure::from_error(&TaskError::from_error(&Wrapped(missing)));
    desk.tell(finished(run("daily_report", 4, 1), failure.into(), 4, 1));
    desk.says(
        "
ERROR task `daily_report` failed after 12ms (4th failure in a row): cannot read the orders; caused by: invalid digit found in string
      at src/jobs.rs:7   next run Fri 2026-03-27 10:00:00 +01:00",
    );
    let timeout = Failure::from_timeout(Duration::from_secs(5));
    desk.tell(finished(run("daily_report", 5, 3), timeout.into(), 5, 2));
    desk.says(
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
    let desk = Desk::new("poll");
    for second in 0..=190 {
        let outcome = error(&format!("order {second} not found")).into();
        desk.tell(finished(run("poll", second + 1, 1), outcome, second + 1, second * 1_000));
    }
    let said = desk.said();
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("ERROR")).collect();
    assert_eq!(lines.len(), 10 + 3, "{said}");
    assert_eq!(lines[0], "ERROR task `poll` failed after 12ms: order 0 not found");
    assert_eq!(
        lines[9],
        "ERROR task `poll` failed after 12ms (10th failure in a row): order 9 not found"
    );
    assert!(said.contains("order 9 not found\n      at src/jobs.rs:7   next run Fri 2026-03-27 10:00:00 +01:00\n      from now on this error is summed up once a minute\n"));
    assert_eq!(
        lines[10..],
        [
            "ERROR task `poll` failed 60 times within 1m (70th failure in a row), always: order 69 not found",
            "ERROR task `poll` failed 60 times within 1m (130th failure in a row), always: order 129 not found",
            "ERROR task `poll` failed 60 times within 1m (190th failure in a row), always: order 189 not found",
        ]
    );
    desk.tell(finished(run("poll", 192, 1), error("no connection").into(), 192, 190_500));
    let other = desk.said();
    assert!(other.starts_with("ERROR task `poll` failed after 12ms (192nd failure in a row): no"));
}

#[test]
fn errors_that_take_turns_are_told_apart() {
    let desk = Desk::new("poll");
    for second in 0..50 {
        let message = ["no connection", "no disk"][second as usize % 2];
        desk.tell(finished(run("poll", second + 1, 1), error(message).into(), second + 1, second));
    }
    assert_eq!(desk.said().matches("ERROR").count(), 20);
}

#[test]
fn nothing_is_kept_of_a_task_that_has_ended() {
    let desk = Desk::new("poll");
    let (task, state) = ("poll".into(), TaskState::Cancelled);
    desk.tell(Event::TaskEnded { task, state, at: at(0) });
    desk.said();
    desk.tell(finished(run("poll", 1, 1), error("too late").into(), 1, 1));
    desk.says("ERROR task `poll` failed after 12ms: too late\n      next run Fri 2026-03-27 09:00:00 +00:00");
    desk.tell(finished(run("poll", 2, 1), Outcome::Success, 0, 2));
    desk.says("");
    assert!(format!("{:?}", desk.reporter).contains("tasks: {}"));
}

#[test]
fn a_success_after_failures_is_told_if_the_last_failure_was() {
    let desk = Desk::new("poll");
    desk.tell(finished(run("poll", 1, 1), Outcome::Success, 0, 0));
    desk.tell(finished(run("poll", 2, 1), error("no").into(), 1, 1));
    desk.said();
    desk.tell(finished(run("poll", 3, 1), Outcome::Success, 0, 2));
    desk.says("INFO  task `poll` succeeded again, in 12ms, after 1 failure");
    for number in 4..=14 {
        desk.tell(finished(run("poll", number, 1), error("no").into(), number - 3, number));
    }
    desk.said();
    desk.tell(finished(run("poll", 15, 1), Outcome::Success, 0, 15));
    desk.says("");
}

#[test]
fn attempts_that_will_be_followed_by_another_are_warnings() {
    let desk = Desk::new("fetch");
    desk.tell(Event::AttemptFailed {
        run: run("fetch", 1, 2),
        failure: error("connection refused"),
        attempt: 2,
        next_attempt_in: Duration::from_millis(1_400),
        at: at(0),
    });
    desk.says(
        "
WARN  task `fetch` failed in attempt 2, the next is in 1.4s: connection refused
      at src/jobs.rs:7",
    );
}

#[test]
fn a_panic_for_want_of_tokio_comes_with_the_remedy() {
    let desk = Desk::new("fetch");
    let panic =
        "there is no reactor running, must be called from the context of a Tokio 1.x runtime";
    desk.tell(finished(run("fetch", 2, 1), panicked(panic), 2, 0));
    desk.says("
ERROR task `fetch` needs a Tokio runtime, but none is running (2nd failure in a row)
      at src/reports.rs:42:18   next run Fri 2026-03-27 10:00:00 +01:00
      cause: there is no reactor running, must be called from the context of a Tokio 1.x runtime
      help: #[tokio::main] async fn main() -> Result<(), scheduler::StartError> { scheduler::start_async().await }
      or: cargo add scheduler --features tokio   # the scheduler then starts one");
}

#[test]
fn starvation_names_the_pool_the_longest_run_and_the_setting_once_a_minute() {
    let desk = Desk::new("tick");
    let starved = |pool: &str, busy, longest: Option<&str>, seconds: u64| Event::Starved {
        task: "tick".into(),
        pool: pool.into(),
        late: Duration::from_millis(4_200),
        busy,
        longest: longest.map(|task| Longest::new(task.into(), Duration::from_secs(12))),
        at: at(seconds * 1_000),
    };
    desk.tell(starved("default", 4, Some("import"), 0));
    desk.says("WARN  task `tick` started 4.2s late: all 4 threads of pool `default` are busy, longest: `import` for 12s; raise `pool.size` (now 4)");
    desk.tell(starved("default", 4, Some("import"), 59));
    desk.says("");
    desk.tell(starved("io", 1, None, 59));
    desk.says("WARN  task `tick` started 4.2s late: the only thread of pool `io` is busy; raise `pools.io.size` (now 1)");
    desk.tell(starved("default", 4, Some("import"), 60));
    desk.says("
WARN  task `tick` started 4.2s late: all 4 threads of pool `default` are busy, longest: `import` for 12s; raise `pool.size` (now 4)
      2 runs of this pool started late within 1m");
}

#[test]
fn skipped_runs_are_told_with_the_reason_but_not_those_of_a_pause() {
    let desk = Desk::new("tick");
    let skipped = |reason, count, seconds: u64| Event::Skipped {
        task: "tick".into(),
        reason,
        fire_time: at(seconds * 1_000),
        count,
        at: at(seconds * 1_000),
    };
    desk.tell(skipped(SkipReason::Paused, 5, 0));
    desk.says("");
    desk.tell(skipped(SkipReason::Overlap, 1, 0));
    desk.says("WARN  task `tick` skipped its run of Fri 2026-03-27 09:00:00 +01:00: the run before was still in progress");
    desk.tell(skipped(SkipReason::Overlap, 2, 30));
    desk.says("");
    desk.tell(skipped(SkipReason::Misfire, 7, 30));
    desk.says("WARN  task `tick` skipped 7 runs, the last that of Fri 2026-03-27 09:00:30 +01:00: its time had passed before it could run: all threads were busy, or the process stood still");
    desk.tell(skipped(SkipReason::Overlap, 1, 60));
    desk.says("WARN  task `tick` skipped 3 runs within 1m, the last that of Fri 2026-03-27 09:01:00 +01:00: the run before was still in progress");
}

#[test]
fn what_is_done_to_a_task_is_told() {
    let desk = Desk::new("tick");
    let task: Arc<str> = "tick".into();
    let (note, until) = (Some("maintenance".into()), Some(at(3_600_000)));
    desk.tell(Event::Paused { task: Arc::clone(&task), note, until, at: at(0) });
    desk.tell(Event::Paused { task: Arc::clone(&task), note: None, until: None, at: at(0) });
    desk.tell(Event::Resumed { task: Arc::clone(&task), at: at(0) });
    let (rule, next) = ("every 5s".into(), Some(at(5_000)));
    desk.tell(Event::Rescheduled { task: Arc::clone(&task), rule, next, at: at(0) });
    let why = StopReason::Timeout;
    desk.tell(Event::StopAsked { run: run("tick", 1, 1), why, at: at(0) });
    desk.tell(finished(run("tick", 1, 1), Outcome::Cancelled, 0, 0));
    desk.tell(Event::TaskEnded { task: Arc::clone(&task), state: TaskState::Failed, at: at(0) });
    desk.tell(Event::TaskEnded { task: Arc::clone(&task), state: TaskState::Completed, at: at(0) });
    desk.tell(Event::TaskEnded { task, state: TaskState::Cancelled, at: at(0) });
    desk.tell(Event::TaskAdded { task: facts("tock"), at: at(0) });
    desk.says(
        "
INFO  task `tick` is paused until Fri 2026-03-27 10:00:00 +01:00: maintenance
INFO  task `tick` is paused until it is resumed
INFO  task `tick` goes on
INFO  task `tick` now runs every 5s; next run: Fri 2026-03-27 09:00:05 +01:00
WARN  task `tick` runs longer than its `timeout`
      it was asked to stop, and holds its thread until it does
      help: let it ask `run.is_cancelled()` now and then
INFO  a run of task `tick` was cancelled after 12ms
ERROR task `tick` has ended, and will not run again
      by `on_error = \"stop\"`; `on_error = \"continue\"` goes on after failures
INFO  task `tick` was cancelled, and will not run again
INFO  task `tock` was added: every 1s",
    );
    desk.tell(Event::SchedulerStopping { at: at(1) });
    desk.tell(finished(run("tock", 1, 1), Outcome::Cancelled, 0, 1));
    let (task, state) = ("tock".into(), TaskState::Cancelled);
    desk.tell(Event::TaskEnded { task, state, at: at(1) });
    desk.says("");
}

#[test]
fn trouble_of_the_engine_is_told() {
    let desk = Desk::new("tick");
    let (task, pool): (Arc<str>, Arc<str>) = ("tick".into(), "io".into());
    let reason = "Resource temporarily unavailable".into();
    desk.tell(Event::WorkerRefused { pool: Arc::clone(&pool), reason, at: at(0) });
    let failure = Failure::from_panic("cannot close", None);
    desk.tell(Event::DropPanicked { task: Arc::clone(&task), failure, at: at(0) });
    let Outcome::Panic(failure) = panicked("no") else { unreachable!() };
    desk.tell(Event::HookPanicked { hook: "listener", failure, at: at(0) });
    desk.tell(Event::WaitStarved { task, pool, awaited: "task 7".into(), at: at(0) });
    desk.says(
        "
WARN  pool `io` could not start a thread: Resource temporarily unavailable
      it goes on with the threads it has
ERROR a destructor of task `tick` panicked: cannot close; the scheduler goes on
ERROR a listener panicked: no; the scheduler goes on
      at src/reports.rs:42:18
WARN  task `tick` waits for `task 7`, which finds no free thread in pool `io`
      help: let one task not wait for another, or raise `pools.io.size`",
    );
}

/// F-RG2: names that try to forge lines, to move the cursor, to write backwards.
#[test]
fn hostile_names_stay_on_their_line_in_every_message() {
    let long = "x".repeat(10 * 1024);
    let names = [
        "",
        &long,
        "a\nERROR forged line",
        "a\x1b[2J",
        "a\u{202E}b",
        "<script>alert(1)</script>",
        "'; DROP TABLE task; --",
        "../../x",
        "a/b?c#d",
        "a\"b\\",
        "é",
        "e\u{301}",
    ];
    for name in names {
        let desk = Desk::new(name);
        for event in every_event(name) {
            desk.tell(event);
        }
        let said = desk.said();
        let shown = super::on_one_line(name);
        let is_hostile = |c: char| c.is_control() || c == '\u{202E}';
        for line in said.lines() {
            assert!(!line.contains(is_hostile), "{line}");
            let is_head =
                ["ERROR ", "WARN  ", "INFO  "].iter().any(|level| line.starts_with(level));
            assert!(is_head || line.starts_with("      "), "{line}");
            assert!(!is_head || line.contains(&shown), "`{shown}` is missing: {line}");
        }
        assert_eq!(said.lines().filter(|line| !line.starts_with(' ')).count(), 15, "{said}");
    }
}

/// One of each kind that is spoken, with the name wherever a name can be.
fn every_event(name: &str) -> Vec<Event> {
    let task: Arc<str> = name.into();
    let t = || Arc::clone(&task);
    let failure = Failure::from_panic(name, None);
    let (at, next_attempt_in) = (at(0), Duration::ZERO);
    vec![
        finished(run(name, 1, 1), Outcome::Success, 0, 0),
        finished(run(name, 2, 1), failure.clone().into(), 1, 0),
        finished(run(name, 3, 1), Outcome::Success, 0, 0),
        finished(run(name, 4, 1), Outcome::Cancelled, 0, 0),
        Event::AttemptFailed {
            run: run(name, 5, 1),
            failure: failure.clone(),
            attempt: 1,
            next_attempt_in,
            at,
        },
        Event::StopAsked { run: run(name, 5, 1), why: StopReason::Timeout, at },
        Event::Skipped { task: t(), reason: SkipReason::Overlap, fire_time: at, count: 1, at },
        Event::Paused { task: t(), note: Some(t()), until: None, at },
        Event::Resumed { task: t(), at },
        Event::Rescheduled { task: t(), rule: t(), next: None, at },
        Event::Starved {
            task: t(),
            pool: t(),
            late: Duration::ZERO,
            busy: 2,
            longest: Some(Longest::new(t(), Duration::ZERO)),
            at,
        },
        Event::WorkerRefused { pool: t(), reason: t(), at },
        Event::DropPanicked { task: t(), failure, at },
        Event::WaitStarved { task: t(), pool: t(), awaited: t(), at },
        Event::TaskEnded { task: t(), state: TaskState::Failed, at },
    ]
}
