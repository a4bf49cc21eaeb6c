//! Names that try to forge lines, to move the cursor, to write backwards.

use std::sync::Arc;
use std::time::Duration;

use super::desk::*;
use crate::observe::Event;
use crate::observe::Failure;
use crate::observe::Longest;
use crate::observe::Outcome;
use crate::observe::SkipReason;
use crate::observe::StopReason;
use crate::observe::TaskState;
use crate::observe::sample::at;
use crate::observe::sample::facts;
use crate::observe::sample::finished;
use crate::observe::sample::run;
use crate::settings::hostile_names;

/// F-RG2: names that try to forge lines, to move the cursor, to write backwards.
#[test]
fn hostile_names_stay_on_their_line_in_every_message() {
    let long = hostile_names::long();
    for name in [&["", &*long][..], &hostile_names::FORGING, &hostile_names::ODD].concat() {
        let desk = Desk::new(name);
        for event in every_event(name) {
            desk.tell(event);
        }
        let said = desk.said();
        let shown = crate::speech::on_one_line(name);
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
        Event::Paused { task: t(), note: Some(t()), until: None, next: None, at },
        Event::Resumed { task: t(), next: None, at },
        Event::Rescheduled { task: t(), rule: t(), facts: facts(name), next: None, at },
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
