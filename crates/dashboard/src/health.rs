//! Health: the state of the critical tasks, the store and the stop.
//!
//! A task with the tag `critical` is late when it has not succeeded within its grace. The grace begins with its last
//! success, or when it was started, resumed, enabled or rescheduled, whichever is later; it is twice the longest time
//! between its next fire times, its longest run among those that are kept, and a minute. For a task every five minutes
//! that is eleven minutes; for one on weekdays at nine six days: a single failure does not make the program unhealthy, two
//! in a row do. The program may set one grace for all.
//!
//! A task that only runs once, or whose trigger does not say more, is late when its last run has failed; so is a durable
//! one, whose ticks other processes may run. One that is paused, disabled or has been cancelled is never late: that was
//! decided.

use std::collections::BTreeMap;
use std::time::Duration;

use scheduler::chrono::{DateTime, Utc};
use scheduler::store::{JobPause, PauseScope};
use scheduler::{RuleKind, TaskSnapshot, TaskState};
use scheduler_api::UnknownTask;
use serde::Serialize;

use crate::app::App;
use crate::times::{instant, now};

/// The tag of tasks that count.
const TAG: &str = "critical";
/// The number of next fire times that the grace is computed from.
const FIRE_TIMES: usize = 10;
const GRACE_MIN: Duration = Duration::from_secs(60);

/// The state of one critical task.
pub(crate) struct Critical {
    pub(crate) name: String,
    pub(crate) is_up: bool,
    since: Option<DateTime<Utc>>,
    grace: Option<Duration>,
}

/// All critical tasks.
pub(crate) fn critical(app: &App) -> Vec<Critical> {
    let tagged = app.tasks.tagged(TAG);
    let tasks = tagged.tasks().iter().map(|control| {
        let task = app.snapshot(control);
        let computed = || {
            let times = control.next_fire_times(FIRE_TIMES);
            own_grace(&task, &times, longest_run(app, &task))
        };
        let grace = if control.is_durable() { None } else { app.options.grace.or_else(computed) };
        let scheduled_since = app.recorder.with(task.name(), |log| log.scheduled_since);
        let since = task.last_success.max(scheduled_since).unwrap_or(app.started_at);
        Critical {
            name: task.name().to_owned(),
            is_up: is_up(&task, since, grace, now()),
            since: task.last_success,
            grace,
        }
    });
    tasks.collect()
}

/// The answer of `/healthz`.
#[derive(Serialize)]
pub(crate) struct Status {
    pub(crate) status: &'static str,
}

/// The answer of `/readyz`, in the shape of Spring Boot.
#[derive(Serialize)]
pub(crate) struct Report {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    components: Option<Components>,
}

#[derive(Serialize)]
struct Components {
    scheduler: Component,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<StoreComponent>,
}

#[derive(Serialize)]
struct StoreComponent {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<StoreDetails>,
}

/// Facts about the store for operators. They make no process unready, because none can mend them alone.
#[derive(Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoreDetails {
    /// Why the store is not up for this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_tasks: Vec<UnknownTask>,
    /// The kinds of jobs that are paused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paused_tasks: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paused_queues: Vec<String>,
}

impl StoreDetails {
    pub(crate) fn new(
        reason: Option<String>,
        unknown_tasks: Vec<UnknownTask>,
        pauses: Vec<JobPause>,
    ) -> Self {
        let mut details = Self { reason, unknown_tasks, ..Self::default() };
        for pause in pauses {
            match pause.scope {
                PauseScope::Task(task) => details.paused_tasks.push(task),
                PauseScope::Queue(queue) => details.paused_queues.push(queue),
                PauseScope::Partition(..) => {}
            }
        }
        details
    }

    fn is_empty(&self) -> bool {
        let Self { reason, unknown_tasks, paused_tasks, paused_queues } = self;
        reason.is_none()
            && unknown_tasks.is_empty()
            && paused_tasks.is_empty()
            && paused_queues.is_empty()
    }
}

#[derive(Serialize)]
struct Component {
    status: &'static str,
    details: BTreeMap<String, Detail>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_success: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace_seconds: Option<u64>,
}

/// The readiness of the process.
pub(crate) struct Ready {
    pub(crate) tasks: Vec<Critical>,
    /// True if the lease of this process was renewed; none without a store.
    pub(crate) is_store_up: Option<bool>,
    pub(crate) store_details: StoreDetails,
    pub(crate) is_stopping: bool,
}

impl Ready {
    pub(crate) fn is_up(&self) -> bool {
        self.are_tasks_up() && self.is_store_up.unwrap_or(true) && !self.is_stopping
    }

    fn are_tasks_up(&self) -> bool {
        self.tasks.iter().all(|task| task.is_up)
    }
}

/// The readiness. The names of tasks are for visitors who may see them.
pub(crate) fn report(ready: &Ready, has_details: bool) -> Report {
    let status = |is_up: bool| if is_up { "UP" } else { "DOWN" };
    let overall = if ready.is_stopping { "OUT_OF_SERVICE" } else { status(ready.is_up()) };
    let detail = |task: &Critical| {
        let detail = Detail {
            status: status(task.is_up),
            last_success: task.since.map(instant),
            grace_seconds: task.grace.map(|grace| grace.as_secs()),
        };
        (task.name.clone(), detail)
    };
    let details = Some(ready.store_details.clone()).filter(|details| !details.is_empty());
    let components = has_details.then(|| Components {
        scheduler: Component {
            status: if ready.is_stopping { overall } else { status(ready.are_tasks_up()) },
            details: ready.tasks.iter().map(detail).collect(),
        },
        store: ready.is_store_up.map(|is_up| StoreComponent { status: status(is_up), details }),
    });
    Report { status: overall, components }
}

fn is_up(
    task: &TaskSnapshot,
    since: DateTime<Utc>,
    grace: Option<Duration>,
    now: DateTime<Utc>,
) -> bool {
    let is_decided = task.is_paused
        || matches!(task.state, TaskState::Disabled | TaskState::Cancelled)
        || task.state == TaskState::Completed && task.streak == 0;
    if is_decided {
        return true;
    }
    match grace {
        _ if task.state == TaskState::Failed => false,
        Some(grace) => (now - since).to_std().unwrap_or_default() <= grace,
        None => task.streak == 0,
    }
}

fn own_grace(
    task: &TaskSnapshot,
    times: &[DateTime<Utc>],
    longest_run: Duration,
) -> Option<Duration> {
    let gap = longest_gap(times).or(task.facts.period)?;
    Some(gap.saturating_mul(2).saturating_add(longest_run).saturating_add(GRACE_MIN))
}

/// The longest time between two of these instants, which follow each other.
fn longest_gap(times: &[DateTime<Utc>]) -> Option<Duration> {
    let gaps = times.windows(2).filter_map(|pair| (pair[1] - pair[0]).to_std().ok());
    gaps.max()
}

/// The longest time between two runs of a task by its rule; `None` for one that runs in other processes, too.
pub(crate) fn period(app: &App, task: &TaskSnapshot) -> Option<Duration> {
    let control = app.tasks.get(task.name()).ok().filter(|control| !control.is_durable())?;
    match task.facts.kind {
        RuleKind::Cron => longest_gap(&control.next_fire_times(FIRE_TIMES)),
        _ => task.facts.period,
    }
}

fn longest_run(app: &App, task: &TaskSnapshot) -> Duration {
    let longest = app.recorder.with(task.name(), |log| log.runs.iter().map(|run| run.took()).max());
    let last = task.last_runs.iter().map(|run| run.took).max();
    longest.flatten().max(last).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scheduler::{Schedule, Scheduler, Tasks, Until};

    const LIMIT: Duration = Duration::from_secs(30);

    fn snapshot(schedule: Schedule, body: fn() -> Result<(), &'static str>) -> (Scheduler, Tasks) {
        let scheduler = Scheduler::builder().environment([("PATH", "")]).settings("none.toml", "");
        let scheduler = scheduler.messages(|_| {}).task("t", schedule, move |_| body());
        let scheduler = scheduler.spawn().unwrap();
        let tasks = scheduler.tasks();
        (scheduler, tasks)
    }

    #[test]
    fn the_grace_follows_the_longest_gap_between_fire_times() {
        let grace = |schedule: Schedule| {
            let (scheduler, tasks) = snapshot(schedule, || Ok(()));
            let task = tasks.get("t").unwrap();
            let grace = own_grace(&task.snapshot(), &task.next_fire_times(10), Duration::ZERO);
            scheduler.shutdown().unwrap();
            grace.map(|grace| grace.as_secs())
        };
        let five = || Schedule::fixed_rate("5m").initial_delay("1h");
        assert_eq!(grace(five()), Some(660));
        assert_eq!(grace(Schedule::fixed_delay("5m").initial_delay("1h")), Some(660));
        let weekdays = Schedule::cron("0 0 9 * * MON-FRI").zone("UTC");
        assert_eq!(grace(weekdays), Some(6 * 86_400 + 60), "from Friday to Monday");
        assert_eq!(grace(Schedule::once("1h")), None);
    }

    #[test]
    fn a_task_is_down_when_it_has_not_succeeded_within_its_grace() {
        let rate = || Schedule::fixed_rate("1ms");
        let (scheduler, tasks) = snapshot(rate(), || Err("no"));
        scheduler.wait_for("t", Until::failures(1), LIMIT).unwrap();
        let (task, control) = (tasks.get("t").unwrap().snapshot(), tasks.get("t").unwrap());
        let (start, minute) = (now(), Some(GRACE_MIN));
        assert!(is_up(&task, start, minute, start + GRACE_MIN));
        assert!(!is_up(&task, start, minute, start + GRACE_MIN * 2));
        assert!(!is_up(&task, start, None, start), "its last run has failed");
        control.pause().unwrap();
        assert!(is_up(&control.snapshot(), start, minute, start + GRACE_MIN * 2));
        scheduler.shutdown().unwrap();

        let (scheduler, tasks) = snapshot(rate(), || Ok(()));
        scheduler.wait_for("t", Until::successes(1), LIMIT).unwrap();
        let task = tasks.get("t").unwrap().snapshot();
        assert!(is_up(&task, start, None, start));
        scheduler.shutdown().unwrap();
    }
}
