//! Events of each kind.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::base::metadata::Location;
use crate::observe::{
    Event, EventKind, Failure, Longest, Outcome, RuleKind, SkipReason, StopReason, StoreEvent,
    TaskFacts, TaskState,
};
use crate::run::{Cause, RunInfo, TaskError};

/// At least one event of each kind, for tests of listeners and of log pipelines: programs cannot make events themselves.
///
/// Most are about the task `shop::jobs::report`, all at 2026-03-27 08:00 UTC. The values do not change between patch
/// versions; later versions may add kinds.
///
/// ```
/// use scheduler::{Event, EventKind};
///
/// fn is_alarming(event: &Event) -> bool {
///     matches!(&event.kind, EventKind::RunFinished { outcome, .. } if outcome.is_failure())
/// }
///
/// let events = scheduler::testing::sample_events();
/// assert_eq!(events.iter().filter(|event| is_alarming(event)).count(), 1);
/// ```
#[must_use]
pub fn sample_events() -> Vec<Event> {
    let (at, task) = (instant(0), Arc::new(facts()));
    let of_task = of_runs().into_iter().chain(of_tasks());
    let of_task = of_task.map(|kind| Event::of(at, &task, kind));
    let of_scheduler = of_scheduler().into_iter().map(|kind| Event::global(at, kind));
    of_task.chain(of_scheduler).collect()
}

/// 2026-03-27 08:00 UTC, and so many seconds.
fn instant(seconds: u64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + Duration::from_secs(1_774_598_400 + seconds)
}

fn facts() -> TaskFacts {
    TaskFacts {
        name: "shop::jobs::report".into(),
        function: Some("shop::jobs::report".into()),
        kind: RuleKind::FixedRate,
        rule: "every 1m".into(),
        period: Some(Duration::from_secs(60)),
        zone: "Europe/Berlin".parse().expect("a zone"),
        pool: "default".into(),
        tags: Arc::default(),
        is_async: false,
        is_durable: false,
        location: Some(Location { file: "src/jobs.rs", line: 7 }),
    }
}

fn failure() -> Failure {
    Failure::from_error(&TaskError::from_display("disk full"))
}

fn of_runs() -> [EventKind; 5] {
    let (at, next) = (instant(0), Some(instant(60)));
    let (cause, late) = (Cause::Schedule, Duration::from_millis(250));
    let started_at = at + late;
    let run = RunInfo {
        number: 3,
        attempt: 1,
        max_attempts: 5,
        cause,
        fire_time: at,
        due: at,
        started_at,
        job: None,
    };
    let took = Duration::from_millis(12);
    [
        EventKind::RunStarted { run: run.clone(), late },
        EventKind::AttemptFailed {
            run: run.clone(),
            failure: failure(),
            next_attempt_in: Duration::from_secs(1),
        },
        EventKind::StopRequested { run: run.clone(), reason: StopReason::Timeout, blocked: None },
        EventKind::RunFinished {
            run: run.clone(),
            outcome: failure().into(),
            took,
            next,
            streak: 2,
        },
        EventKind::RunFinished { run, outcome: Outcome::Success, took, next, streak: 0 },
    ]
}

fn of_tasks() -> [EventKind; 11] {
    let (next, until) = (Some(instant(60)), Some(instant(60)));
    let (pool, late) = (Arc::from("default"), Duration::from_secs(4));
    let longest =
        Longest::new(&TaskFacts { name: "import".into(), ..facts() }, Duration::from_secs(12));
    let (first, last, reason) = (instant(0), instant(120), SkipReason::Overlap);
    let asked_again_in = Duration::from_secs(1);
    [
        EventKind::Skipped { reason, first, last, count: 3, at_least: false, blocked: None },
        EventKind::TaskAdded { is_disabled: false, next },
        EventKind::TaskEnded { state: TaskState::Completed },
        EventKind::Paused {
            by: Some("ops".into()),
            reason: Some("maintenance".into()),
            until,
            next,
        },
        EventKind::Resumed { next },
        EventKind::Rescheduled { rule: "every 1m".into(), next },
        EventKind::Enabled { next },
        EventKind::TriggerFailed { failure: failure(), asked_again_in },
        EventKind::Starved { pool: Arc::clone(&pool), late, is_waiting: false, busy: 4, longest },
        EventKind::WaitStarved { pool, awaited: "import".into() },
        EventKind::DropPanicked { failure: Failure::from_panic("cannot close", None) },
    ]
}

fn of_scheduler() -> [EventKind; 8] {
    let failure = Failure::from_panic("no", None);
    [
        EventKind::WorkerRefused { pool: "default".into(), reason: "no memory".into() },
        EventKind::HookFailed { hook: "listener", failure },
        EventKind::Action {
            by: "ops".into(),
            what: "retry of 3 jobs: state parked".into(),
            count: 3,
            reason: Some("the disk has room".into()),
        },
        EventKind::Store { what: StoreEvent::Away { reason: "no connection".into() } },
        EventKind::SchedulerStarted { tasks: 1 },
        EventKind::SchedulerStopping {},
        EventKind::SchedulerStopped { took: Duration::from_secs(1), unfinished: 1 },
        EventKind::Lost { count: 7 },
    ]
}
