//! Names that try to forge lines or to move the cursor.

use std::sync::Arc;
use std::time::Duration;

use super::console::*;
use crate::define::settings::tests::hostile_names;
use crate::observe::TaskFacts;
use crate::observe::sample::{self, at, info};
use crate::observe::{
    EventKind, Failure, Longest, Outcome, SkipReason, StopReason, TaskState, on_one_line,
};

/// F-RG2: names that try to forge lines, to move the cursor, to write backwards.
#[test]
fn hostile_names_stay_on_their_line_in_every_message() {
    let long = hostile_names::long();
    for name in [&["", &*long][..], &hostile_names::FORGING, &hostile_names::ODD].concat() {
        let console = Console::new(name);
        for (number, outcome) in (1..).zip(every_outcome(name)) {
            let streak = u64::from(outcome.is_failure());
            console.finish(number, outcome, streak, 0);
        }
        every_event(name).into_iter().for_each(|kind| console.emit(kind));
        let printed = console.printed();
        let shown = on_one_line(name);
        let is_hostile = |c: char| c.is_control() || c == '\u{202E}';
        for line in printed.lines() {
            assert!(!line.contains(is_hostile), "{line}");
            let is_head =
                ["ERROR ", "WARN  ", "INFO  "].iter().any(|level| line.starts_with(level));
            assert!(is_head || line.starts_with("      "), "{line}");
            assert!(!is_head || line.contains(&shown), "`{shown}` is missing: {line}");
        }
        assert_eq!(printed.lines().filter(|line| !line.starts_with(' ')).count(), 15, "{printed}");
    }
}

fn every_outcome(text: &str) -> [Outcome; 4] {
    let failure = Failure::from_panic(text, None).into();
    [Outcome::Success, failure, Outcome::Success, Outcome::Cancelled]
}

/// One event of each reported kind, with the name wherever a name can be.
fn every_event(name: &str) -> Vec<EventKind> {
    let name: Arc<str> = name.into();
    let n = || Arc::clone(&name);
    let failure = || Failure::from_panic(&name, None);
    let (at, run, next_attempt_in) = (at(0), info(5, 1), Duration::ZERO);
    let longest = Longest::new(
        &TaskFacts { name: n(), ..TaskFacts::clone(&sample::facts("x")) },
        Duration::ZERO,
    );
    let overlap = SkipReason::Overlap;
    vec![
        EventKind::AttemptFailed { run: run.clone(), failure: failure(), next_attempt_in },
        EventKind::StopRequested { run, reason: StopReason::Timeout, blocked: None },
        EventKind::Skipped {
            reason: overlap,
            first: at,
            last: at,
            count: 1,
            at_least: false,
            blocked: None,
        },
        EventKind::Paused { by: Some(n()), reason: Some(n()), until: None, next: None },
        EventKind::Resumed { next: None },
        EventKind::Rescheduled { rule: n(), next: None },
        EventKind::Starved { pool: n(), late: Duration::ZERO, is_waiting: false, busy: 2, longest },
        EventKind::WorkerRefused { pool: n(), reason: n() },
        EventKind::DropPanicked { failure: failure() },
        EventKind::WaitStarved { pool: n(), awaited: n() },
        EventKind::TaskEnded { state: TaskState::Failed },
    ]
}
