//! Why a job that is ready does not run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::column::JobRow;
use crate::command::{JobPause, Pause, PauseScope};
use crate::id::{JobId, StoreTime};
use crate::job::StoredJob;
use crate::lane::{Lanes, limit_room};
use crate::limit::{LimitScope, TaskLimits};
use crate::session::SessionInfo;

/// The starts that a limit leaves now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Room {
    /// The most that may run at once; none for any number.
    pub limit: Option<u32>,
    /// The number that run; 0 without a limit.
    pub running: u32,
    /// When the rate allows the next start, if it allows none now.
    pub opens_at: Option<StoreTime>,
    /// The order of the partition, where it counts.
    pub order: Option<PartitionOrder>,
    /// The pause of the partition that holds.
    pub pause: Option<JobPause>,
}

/// The job of a partition with order that may start, and what holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionOrder {
    /// The first due job; none if none is due.
    pub head: Option<JobId>,
    /// When it is tried again, if that is later.
    pub held_until: Option<StoreTime>,
    /// The parked job behind which none starts.
    pub parked: Option<JobId>,
}

impl PartitionOrder {
    /// The order with this first job, and with a parked job that counts.
    #[must_use]
    pub fn new(head: Option<&StoredJob>, parked: Option<JobId>, now: StoreTime) -> Self {
        let held_until = head.and_then(|head| head.held_until).filter(|until| now < *until);
        Self { head: head.map(|head| head.id), held_until, parked }
    }

    /// Returns true if no job may start now.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.head.is_none() || self.held_until.is_some() || self.parked.is_some()
    }
}

impl Room {
    /// The room of a limit.
    #[must_use]
    pub fn new(limit: Option<u32>, running: u32, opens_at: Option<StoreTime>) -> Self {
        Self { limit, running, opens_at, order: None, pause: None }
    }

    /// When rate, order and pause allow the next start, if they allow none now, and as far as time alone brings it.
    #[must_use]
    pub fn opens_at(&self) -> Option<StoreTime> {
        let order = self.order.unwrap_or_default();
        let resumed = self.pause.as_ref().and_then(|paused| paused.pause.until);
        let is_open_end = self.pause.is_some() && resumed.is_none() || order.parked.is_some();
        self.opens_at.max(order.held_until).max(resumed).filter(|_| !is_open_end)
    }

    /// The number of starts beside those that run, whatever the rate says.
    #[must_use]
    pub fn by_running(&self) -> u32 {
        self.limit.map_or(u32::MAX, |limit| limit.saturating_sub(self.running))
    }
}

/// The due jobs of a partition that wait, and those that run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PartitionDepth {
    /// The partition.
    pub partition: String,
    /// The number of jobs that are due and wait.
    pub due: u64,
    /// The number of jobs that run.
    pub running: u64,
    /// When the next job may start, if none may now and time alone brings it.
    pub opens_at: Option<StoreTime>,
    /// The pause of the partition that holds.
    pub pause: Option<Pause>,
}

impl PartitionDepth {
    /// A partition.
    #[must_use]
    pub fn new(partition: String, due: u64, running: u64, opens_at: Option<StoreTime>) -> Self {
        Self { partition, due, running, opens_at, pause: None }
    }
}

/// The due jobs of a task that has a limit, in a queue: those that may start now, and those that a limit holds back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LimitDepth {
    /// The queue.
    pub queue: String,
    /// The task.
    pub task: String,
    /// The number of due jobs that may start now: in each partition as its limit allows, if the limit of all lets one start.
    pub open: u64,
    /// The number of the other due jobs.
    pub held: u64,
    /// The number of partitions with due jobs in which one may start now.
    pub open_partitions: u64,
    /// The number of the other partitions with due jobs.
    pub held_partitions: u64,
    /// The time for which the oldest due job of a partition has waited in which one may start now.
    pub oldest_open: Option<Duration>,
}

impl LimitDepth {
    /// No job.
    #[must_use]
    pub fn empty(queue: String, task: String) -> Self {
        let (open, held, open_partitions, held_partitions, oldest_open) = (0, 0, 0, 0, None);
        Self { queue, task, open, held, open_partitions, held_partitions, oldest_open }
    }
}

/// The due jobs of a task that has a limit, from their numbers by queue and partition, and when the oldest became due.
///
/// # Errors
///
/// The store did not answer.
pub fn limit_depths<S: Lanes>(
    store: &S,
    (task, limits): (&str, &TaskLimits),
    due: impl IntoIterator<Item = ((String, String), (u64, StoreTime))>,
) -> Result<Vec<LimitDepth>, S::Error> {
    let all = limit_room(store, limits, &limits.all, None)?.starts();
    let mut depths = BTreeMap::<String, LimitDepth>::new();
    for ((queue, lane), (jobs, oldest)) in due {
        let starts = limit_room(store, limits, &limits.each, Some(&lane))?.starts().min(all);
        let empty = || LimitDepth::empty(queue.clone(), task.to_owned());
        let depth = depths.entry(queue.clone()).or_insert_with(empty);
        let open = jobs.min(starts.into());
        (depth.open, depth.held) = (depth.open + open, depth.held + jobs - open);
        if open > 0 {
            depth.open_partitions += 1;
            depth.oldest_open = depth.oldest_open.max(Some(store.now().since(oldest)));
        } else {
            depth.held_partitions += 1;
        }
    }
    Ok(depths.into_values().collect())
}

/// A job that is ready, and the reason why it does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JobWait {
    /// The job.
    pub id: JobId,
    /// The first thing that stands in its way.
    #[serde(flatten)]
    pub reason: WaitReason,
}

impl JobWait {
    /// A job with its reason.
    #[must_use]
    pub fn new(id: JobId, reason: WaitReason) -> Self {
        Self { id, reason }
    }
}

/// The first thing that stands in the way of a job that is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum WaitReason {
    /// It is due later.
    Later {
        /// When.
        due_at: StoreTime,
    },
    /// Its task, its queue or its partition is paused.
    Paused {
        /// The jobs that are paused.
        #[serde(flatten)]
        scope: PauseScope,
        /// The pause.
        pause: Pause,
    },
    /// No process that is alive has its task in a version that reads its payload, and serves its queue.
    NoProcess,
    /// All processes that could run it are paused.
    ProcessesPaused,
    /// As many jobs run as may.
    Full {
        /// The jobs that are counted.
        scope: LimitScope,
        /// The number that run.
        running: u32,
        /// The most that may.
        limit: u32,
    },
    /// A rate allows no start now.
    Rate {
        /// The jobs that are counted.
        scope: LimitScope,
        /// When it allows the next one.
        opens_at: StoreTime,
    },
    /// In its partition jobs start in their order, and this one is before it.
    Behind {
        /// The job.
        job: JobId,
        /// True if it is parked, and holds those behind it.
        is_parked: bool,
    },
    /// Nothing: it begins as soon as a process has a free worker, after the jobs before it.
    Turn,
}

/// The processes that could run a job: those that are alive, and those of them that are not paused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Runners {
    /// Those that are alive.
    pub alive: usize,
    /// Those of them that take jobs.
    pub open: usize,
}

impl Runners {
    /// Those among these sessions.
    #[must_use]
    pub fn of(job: &StoredJob, sessions: &[SessionInfo]) -> Self {
        let runs = |session: &&SessionInfo| {
            let is_known = |task: &crate::request::SessionTask| {
                task.name == job.task && job.payload.version <= task.version
            };
            session.is_alive() && session.serves(&job.queue) && session.tasks.iter().any(is_known)
        };
        let alive = sessions.iter().filter(runs);
        let open = alive.clone().filter(|session| session.pause.is_none());
        Self { alive: alive.clone().count(), open: open.count() }
    }
}

impl WaitReason {
    /// The reason, from the rooms of the limits of all jobs of the task and of those of the partition.
    #[must_use]
    pub fn of(
        (id, due_at): (JobId, StoreTime),
        now: StoreTime,
        pause: Option<JobPause>,
        runners: Runners,
        rooms: [Room; 2],
    ) -> Self {
        if now < due_at {
            return Self::Later { due_at };
        }
        let [all, each] = rooms;
        if let Some(JobPause { scope, pause }) = pause.or(each.pause.clone()) {
            return Self::Paused { scope, pause };
        }
        if runners.open == 0 {
            return if runners.alive == 0 { Self::NoProcess } else { Self::ProcessesPaused };
        }
        for (scope, room) in LimitScope::BOTH.into_iter().zip([all, each]) {
            if let Some(limit) = room.limit.filter(|_| room.by_running() == 0) {
                return Self::Full { scope, running: room.running, limit };
            }
            if let Some(opens_at) = room.opens_at {
                return Self::Rate { scope, opens_at };
            }
            let order = room.order.unwrap_or_default();
            if let Some(job) = order.parked.or(order.head.filter(|head| *head != id)) {
                return Self::Behind { job, is_parked: order.parked.is_some() };
            }
        }
        Self::Turn
    }

    /// The reason of a job that is ready.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn of_job<S: Lanes>(
        store: &S,
        row: &JobRow,
        pauses: &[JobPause],
        sessions: &[SessionInfo],
    ) -> Result<Self, S::Error> {
        let job = &row.job;
        let limits = store.limits(&job.task)?;
        let partition = job.partition.as_deref().unwrap_or_default();
        let all = limit_room(store, &limits, &limits.all, None)?.room;
        let each = limit_room(store, &limits, &limits.each, Some(partition))?;
        let head = each.head.as_ref().map(S::job);
        let mut each = each.room;
        // A poll brings it into its lane before it claims one.
        if head.is_some_and(|head| job.place_in_order() < head.place_in_order())
            && let Some(order) = &mut each.order
        {
            order.head = Some(job.id);
        }
        // A job without a partition is in the one without a name only where it has a limit.
        each.pause = each.pause.filter(|_| job.partition.is_some() || limits.is_limited());
        let pause = pauses.iter().find(|pause| pause.scope.has(&job.task, &job.queue)).cloned();
        let runners = Runners::of(job, sessions);
        // A clock that is set back makes no job wait again that was due.
        let place = if row.lane().is_some() { store.now() } else { job.run_at };
        let due_at = job.held_until.map_or(place, |until| until.max(place));
        Ok(Self::of((job.id, due_at), store.now(), pause, runners, [all, each]))
    }

    /// The reason as a sentence, with instants as this function writes them.
    #[must_use]
    pub fn text(&self, time: &dyn Fn(StoreTime) -> String) -> String {
        let of = |scope: &LimitScope| match scope {
            LimitScope::All => "its kind",
            LimitScope::Each => "its partition",
        };
        match self {
            Self::Later { due_at } => format!("due at {}", time(*due_at)),
            Self::Paused { scope, pause } => {
                let by = if pause.by.is_empty() { "" } else { " by " };
                let colon = if pause.reason.is_empty() { "" } else { ": " };
                let until = pause.until.map(|until| format!(", until {}", time(until)));
                let (who, why) = (&pause.by, &pause.reason);
                format!("{scope} is paused{by}{who}{colon}{why}{}", until.unwrap_or_default())
            }
            Self::NoProcess => {
                "no process runs its kind in this version and serves its queue".to_owned()
            }
            Self::ProcessesPaused => "all processes that could run it are paused".to_owned(),
            Self::Full { scope, running, limit } => {
                format!("{running} of {limit} jobs of {} run", of(scope))
            }
            Self::Rate { scope, opens_at } => {
                format!("the rate of {} allows the next start at {}", of(scope), time(*opens_at))
            }
            Self::Behind { job, is_parked: false } => {
                format!("job {job} of its partition is before it")
            }
            Self::Behind { job, is_parked: true } => {
                format!("job {job} of its partition is parked, and holds those behind it")
            }
            Self::Turn => "it begins when a process has a free worker".to_owned(),
        }
    }
}

impl fmt::Display for WaitReason {
    /// The reason with instants in UTC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let utc = |at: StoreTime| DateTime::<Utc>::from(at).format("%FT%TZ").to_string();
        f.write_str(&self.text(&utc))
    }
}
