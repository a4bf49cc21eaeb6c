//! The memory of the checker.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use scheduler_store::{
    ClaimRef, Fence, JobId, JobProgress, Limit, LimitOverride, LimitScope, LimitSpec, PauseScope,
    SessionId, SessionTask, StoreTime, StoredJob, WaitReason,
};

use super::guards::Waiting;
use super::keys::KeyFacts;
use crate::setup::Setup;
use scheduler_node::Tick;
use scheduler_node::{Channel, RequestId};

/// Judges a life. The first thing that is wrong is kept.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    pub(super) fault: Option<String>,
    pub(super) now: u64,
    pub(super) answer_limit: Duration,
    pub(super) is_poison: bool,
    pub(super) was_set: bool,
    pub(super) is_retried: bool,
    pub(super) has_builds: bool,
    pub(super) has_rescheduled: bool,

    pub(super) sessions: BTreeMap<SessionId, SessionFacts>,
    pub(super) jobs: BTreeMap<JobId, JobFacts>,
    /// The job that each tick became, by schedule.
    pub(super) ticks: BTreeMap<(String, StoreTime), JobId>,
    pub(super) schedules: BTreeMap<String, ScheduleFacts>,
    pub(super) runs: Vec<RunFacts>,
    /// Runs that have not ended.
    pub(super) running: BTreeSet<usize>,
    pub(super) lives: BTreeMap<usize, LifeFacts>,
    /// By process and life: when it first opened a session, and whether it has registered.
    pub(super) registrants: BTreeMap<(usize, u64), Registrant>,
    /// The identities that stand for one wish.
    pub(super) wishes: BTreeMap<usize, BTreeSet<JobId>>,
    pub(super) accepted: BTreeSet<usize>,
    /// The whole store before a statement that must change nothing.
    pub(super) frozen: Option<(scheduler_store::ModelState, &'static str)>,
    /// The jobs that are paused, and until when.
    pub(super) pauses: BTreeMap<PauseScope, Option<StoreTime>>,
    /// Of the jobs that have one, or had one when they ended.
    pub(super) keys: BTreeMap<JobId, KeyFacts>,
    /// The greatest fence of a claim.
    pub(super) last_fence: Fence,
    pub(super) losses: u64,
    pub(super) away_since: Option<u64>,
    /// The limits in the code of the first build: those of all builds, and by hand, have the same order.
    pub(super) limits: Option<LimitSpec>,
    /// As the store has to have them.
    pub(super) limits_known: BTreeMap<LimitScope, LimitFacts>,
    /// When jobs of each partition started, by the store's clock.
    pub(super) starts: Vec<(Option<String>, StoreTime)>,
    /// The jobs of partitions that have begun and not ended, in the order of their first starts.
    pub(super) begun: Vec<JobId>,
    /// The instants before which jobs of partitions with order may not start.
    pub(super) held: BTreeMap<JobId, StoreTime>,
    /// The progress of the jobs of a renewal before it is executed.
    pub(super) progress_before: Vec<(JobId, JobProgress)>,
    /// The job of a renewal that another transaction has locked.
    pub(super) locked: Option<JobId>,
    /// Before a poll: why each job that is ready does not run.
    pub(super) waits: Vec<(StoredJob, WaitReason)>,
    /// Before an enqueue: the jobs that wait.
    pub(super) waiting: Option<Waiting>,
}

/// A limit of the jobs.
#[derive(Clone, Debug, Default)]
pub(super) struct LimitFacts {
    pub(super) code: Option<Limit>,
    pub(super) by_hand: Option<LimitOverride>,
    /// When the process that has registered it first opened a session.
    pub(super) opened: Option<StoreTime>,
    /// When another limit counted last.
    pub(super) changed: Option<StoreTime>,
}

#[derive(Debug)]
pub(super) struct SessionFacts {
    pub(super) process: usize,
    pub(super) life: u64,
    pub(super) request: RequestId,
    /// The tasks of its process, and the payloads that it knows.
    pub(super) tasks: Arc<[SessionTask]>,
    pub(super) lease: Duration,
    /// When its last renewal was executed, by true time.
    pub(super) renewed: u64,
    /// The end of its lease for its own process, by the clock of that process.
    pub(super) valid_until: Tick,
    pub(super) ended: Option<Ended>,
}

/// The way in which a session has ended in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Closed,
    Replaced,
    Reaped,
}

#[derive(Debug, Default)]
pub(super) struct JobFacts {
    pub(super) fence: Fence,
    pub(super) holder: Option<SessionId>,
    pub(super) is_over: bool,
    /// The session that ran it at most once, and can still say how it ended.
    pub(super) is_parked_as_lost: Option<SessionId>,
    pub(super) schedule: Option<String>,
    pub(super) is_exclusive: bool,
    pub(super) is_abandon: bool,
    pub(super) last_run: Option<usize>,
    pub(super) is_deleted: bool,
    /// A claim has ended the key of the job.
    pub(super) has_left_key: bool,
    pub(super) was_retried: bool,
    pub(super) is_of_tick: bool,
    /// The number of runs that began.
    pub(super) begun: u32,
    /// The number of them whose end made them no attempt.
    pub(super) uncounted: u32,
    pub(super) losses: Losses,
    /// True if its counts may have begun anew.
    pub(super) was_reset: bool,
    /// The partition in which it was claimed first; none after a command or an enqueue that may change it.
    pub(super) partition: Option<Option<String>>,
}

/// Two counts of a job, which bound its starts.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// The losses since its last attempt that ended otherwise.
    pub(super) in_a_row: u32,
    pub(super) failures: u32,
    /// After how many failures it is parked, as it was accepted.
    pub(super) failures_max: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct ScheduleFacts {
    pub(super) fence: Fence,
    /// When its last job has ended, by the store's clock.
    /// Its rule then, too.
    pub(super) last_end: Option<(StoreTime, String)>,
}

#[derive(Debug)]
pub(super) struct RunFacts {
    pub(super) job: JobId,
    pub(super) fence: Fence,
    pub(super) session: SessionId,
    pub(super) process: usize,
    pub(super) is_quarantined: bool,
    pub(super) is_done: bool,
    /// The last that it has reported.
    pub(super) progress: Option<JobProgress>,
}

#[derive(Debug, Default)]
pub(super) struct LifeFacts {
    pub(super) life: u64,
    /// The requests without an answer yet: when each was sent, by its clock, and for which session.
    pub(super) asked: BTreeMap<RequestId, Asked>,
    /// When the last statements were sent, by true time.
    pub(super) recent: Vec<u64>,
    /// The number of looks that threads took by themselves, and since when they are counted.
    pub(super) wakes: usize,
    pub(super) woken_since: u64,
    /// The polls that were executed, by their instant too, since a message may arrive twice: which jobs were paused, and the last
    /// fence before it.
    pub(super) polls: BTreeMap<(RequestId, StoreTime), (Vec<PauseScope>, Fence)>,
    /// The same of the last poll whose answer has arrived.
    pub(super) told: (Vec<PauseScope>, Fence),
    /// The progress of its runs that the store has written, as far as it knows.
    pub(super) written: BTreeMap<(JobId, Fence), JobProgress>,
}

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) channel: Channel,
    pub(super) sent: Tick,
    pub(super) lease_of: Option<SessionId>,
    pub(super) lease: Duration,
    pub(super) progress: Vec<(ClaimRef, JobProgress)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Registrant {
    pub(super) first_opened: Option<StoreTime>,
    /// The rules that it has registered, by schedule.
    pub(super) rules: Option<BTreeMap<String, String>>,
}

impl Checker {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self {
            answer_limit: setup.lease / 4,
            is_poison: setup.poison,
            has_builds: setup.builds,
            limits: setup.limits.clone(),
            ..Self::default()
        }
    }

    pub(crate) fn fault(&self) -> Option<String> {
        self.fault.clone()
    }

    pub(super) fn must(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if !is_right && self.fault.is_none() {
            self.fault = Some(format!("at {} ms: {}", self.now / 1_000_000, what()));
        }
    }

    pub(super) fn job(&mut self, job: JobId) -> &mut JobFacts {
        self.jobs.entry(job).or_default()
    }

    pub(crate) fn clock_was_set(&mut self) {
        self.was_set = true;
    }

    pub(crate) fn runs(&self) -> u64 {
        self.runs.len() as u64
    }

    pub(crate) fn losses(&self) -> u64 {
        self.losses
    }
}

/// A session or a job in few letters, for messages.
pub(super) fn short(id: impl Display) -> String {
    let text = id.to_string();
    text[text.len() - 6..].to_owned()
}
