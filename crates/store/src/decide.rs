//! Claims, ends and losses change a job, in every store.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::check::storable;
use crate::command::CommandOutcome;
use crate::id::{Fence, SessionId, StoreTime};
use crate::job::{
    ATTEMPTS_MAX, AttemptOutcome, JobAttempt, JobState, KeyUntil, OnLost, Payload, StoredJob, short,
};
use crate::lane::LimitsUsed;
use crate::progress::JobProgress;
use crate::request::{
    CLAIM_BYTES_MAX, End, Open, OtherApplication, Poll, Prune, QueueDepth, Reap, VersionDepth,
    reap_wait,
};

impl Open {
    /// The first of the other processes with tasks, if all of those are of other applications and have no task in common with
    /// this one. Each of the others is a process whose session lives, and the names of its tasks.
    #[must_use]
    pub fn other_application<'a>(
        &self,
        others: impl IntoIterator<Item = (OtherApplication, Vec<&'a str>)>,
    ) -> Option<OtherApplication> {
        let mut first = None;
        for (other, tasks) in others {
            let is_shared = self.tasks.iter().any(|task| tasks.contains(&&*task.name));
            if is_shared || other.application == storable(&self.application) {
                return None;
            }
            if first.is_none() && !tasks.is_empty() {
                first = Some(other);
            }
        }
        first.filter(|_| !self.tasks.is_empty())
    }
}

impl Poll {
    /// The number of jobs of a task that may be claimed, all kinds and queues together.
    #[must_use]
    pub fn room(&self, task: &str) -> u32 {
        let rooms = self.tasks.iter().rev().find(|room| &*room.task == task);
        rooms.map_or(0, |room| room.room)
    }

    /// Returns true if the process runs the task, and knows payloads of this version.
    #[must_use]
    pub fn knows(&self, task: &str, version: u32) -> bool {
        let known = self.tasks.iter().rev().find(|room| &*room.task == task);
        known.is_some_and(|room| version <= room.version)
    }

    /// The number of jobs of one task and one kind that may be claimed, whatever else is claimed. A store reads no more
    /// of the jobs of one task, queue, priority, kind and version of the payload.
    #[must_use]
    pub fn line_limit(&self, task: &str, kind: LineKind) -> u32 {
        let abandon = if kind.is_abandon { self.abandon_limit } else { u32::MAX };
        let lost = if kind.is_quarantined { self.lost_limit } else { u32::MAX };
        let long = if kind.is_long { 1 } else { u32::MAX };
        self.limit.min(self.room(task)).min(abandon).min(lost).min(long)
    }

    /// The jobs that are claimed of those that are due, in their order. The limits count one after the other: the kinds of jobs
    /// over all tasks, the room of each task, the limit of the poll, and [`CLAIM_BYTES_MAX`] for all that are not longer alone. Those
    /// that were taken from lanes have used a part.
    #[must_use]
    pub fn choose<T>(
        &self,
        mut due: Vec<T>,
        used: &LimitsUsed,
        job: impl Fn(&T) -> &StoredJob,
    ) -> Vec<T> {
        due.sort_by_key(|each| job(each).place());
        let mut lines = BTreeMap::new();
        due.retain(|each| {
            let (job, kind) = (job(each), LineKind::of(job(each)));
            let line = (job.queue.clone(), job.task.clone(), job.priority, kind);
            up_to(lines.entry(line).or_default(), self.line_limit(&job.task, kind))
        });
        let (mut abandon, mut lost, mut long) = (used.jobs, used.lost, used.long);
        due.retain(|each| {
            let kind = LineKind::of(job(each));
            let is_in_abandon = !kind.is_abandon || up_to(&mut abandon, self.abandon_limit);
            let is_in_lost = !kind.is_quarantined || up_to(&mut lost, self.lost_limit);
            let is_in_long = !kind.is_long || up_to(&mut long, 1);
            is_in_abandon && is_in_lost && is_in_long
        });
        let mut rooms = used.tasks.clone();
        due.retain(|each| {
            let task = &job(each).task;
            up_to(rooms.entry(task.clone()).or_default(), self.room(task))
        });
        due.truncate(self.limit.saturating_sub(used.jobs) as usize);
        let mut bytes = used.bytes;
        due.retain(|each| {
            let is_long = LineKind::of(job(each)).is_long;
            bytes += if is_long { 0 } else { job(each).payload.bytes.len() };
            is_long || bytes <= CLAIM_BYTES_MAX
        });
        due
    }
}

impl QueueDepth {
    /// No jobs.
    #[must_use]
    pub fn empty(queue: String, task: String) -> Self {
        let (due, later, retrying, running, parked) = (0, 0, 0, 0, 0);
        let (oldest, oldest_running, versions, failing) = (None, None, Vec::new(), None);
        Self {
            queue,
            task,
            due,
            later,
            retrying,
            running,
            parked,
            oldest,
            oldest_running,
            versions,
            failing,
        }
    }

    /// The jobs that wait or run.
    #[must_use]
    pub const fn unfinished(&self) -> u64 {
        self.due + self.later + self.running
    }

    /// Counts due jobs with payloads of one version. Their oldest has waited for so long.
    pub fn add_due(&mut self, version: u32, due: u64, oldest: Duration) {
        self.due += due;
        self.oldest = self.oldest.max(Some(oldest));
        match self.versions.binary_search_by_key(&version, |each| each.version) {
            Ok(at) => {
                let same = &mut self.versions[at];
                (same.due, same.oldest) = (same.due + due, same.oldest.max(oldest));
            }
            Err(at) => self.versions.insert(at, VersionDepth { version, due, oldest }),
        }
    }
}

/// The properties of a job whose number in one poll is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineKind {
    /// The job is parked if its process dies.
    pub is_abandon: bool,
    /// Its last two claims or more were lost, see [`StoredJob::is_quarantined`].
    pub is_quarantined: bool,
    /// Its payload is longer than [`CLAIM_BYTES_MAX`]. A poll claims one such job, so that its answer arrives in time.
    pub is_long: bool,
}

impl LineKind {
    pub(crate) fn of(job: &StoredJob) -> Self {
        Self {
            is_abandon: job.on_lost == OnLost::Abandon,
            is_quarantined: job.is_quarantined(),
            is_long: job.payload.bytes.len() > CLAIM_BYTES_MAX,
        }
    }
}

impl Prune {
    /// The end of the jobs to delete: those that ended first, until the limit is reached, and all that ended at the same
    /// instant as the last of them. Each instant comes with the number of jobs that ended then, the earliest first.
    #[must_use]
    pub fn done_until(
        &self,
        ended: impl IntoIterator<Item = (StoreTime, u64)>,
    ) -> Option<StoreTime> {
        let (mut last, mut count) = (None, 0_u64);
        for (at, jobs) in ended {
            if count >= u64::from(self.limit) && last != Some(at) {
                break;
            }
            last = Some(at);
            count = count.saturating_add(jobs);
        }
        last
    }
}

/// Counts one, and returns true while there are no more than the limit.
fn up_to(count: &mut u32, limit: u32) -> bool {
    *count = count.saturating_add(1);
    *count <= limit
}

impl End {
    /// The outcome that a store records among the attempts of the job, and its error; none of an end that it does not record. That
    /// of a loss has the error that the store makes.
    #[must_use]
    pub fn recorded(&self) -> Option<(AttemptOutcome, Option<&str>)> {
        match self {
            Self::Failed { error, .. } => Some((AttemptOutcome::Failed, Some(error))),
            Self::Park { error } => Some((AttemptOutcome::GaveUp, Some(error))),
            Self::Undecodable { error, .. } => Some((AttemptOutcome::Undecodable, Some(error))),
            Self::Lost { .. } => Some((AttemptOutcome::Lost, None)),
            Self::Done | Self::Gone | Self::Cancelled | Self::Snooze { .. } | Self::GiveBack => {
                None
            }
        }
    }
}

/// The names of the processes of sessions that end in one request.
#[derive(Debug, Default)]
pub struct EndedNodes(Vec<(SessionId, String)>);

impl EndedNodes {
    /// Remembers the name of a process.
    pub fn add(&mut self, session: SessionId, label: String) {
        self.0.push((session, label));
    }

    /// The name of the process that had a job; empty if its session ended before.
    #[must_use]
    pub fn of(&self, job: &StoredJob) -> &str {
        let found = self.0.iter().find(|(session, _)| job.session == Some(*session));
        found.map_or("", |(_, label)| label)
    }
}

impl StoredJob {
    /// The job belongs to a session from now on.
    pub fn claim(
        &mut self,
        session: SessionId,
        fence: Fence,
        key_until: KeyUntil,
        is_ordered: bool,
        now: StoreTime,
    ) {
        (self.state, self.session, self.fence) = (JobState::Running, Some(session), fence);
        self.attempt += 1;
        (self.started_at, self.progress) = (Some(now), None);
        self.held_until = is_ordered.then_some(now);
        if key_until == KeyUntil::Start {
            self.key = None;
        }
    }

    /// The session of a running job has died. Of a job that runs at most once session and fence stay, so that its run can still
    /// end it (R4).
    pub fn lose(
        &mut self,
        reap: &Reap,
        node: &str,
        next_fence: impl FnOnce() -> Fence,
        now: StoreTime,
    ) {
        self.record((AttemptOutcome::Lost, None), node, now);
        self.count_loss();
        if self.on_lost == OnLost::Rerun {
            (self.fence, self.session) = (next_fence(), None);
        }
        let is_over = self.on_lost == OnLost::Abandon || self.lost >= reap.max_lost;
        self.state = match (self.is_cancel_requested, is_over) {
            (true, _) => JobState::Cancelled,
            (_, true) => JobState::Parked,
            _ => JobState::Ready,
        };
        self.error = Some(self.lost_error());
        self.is_cancel_requested = false;
        match self.state {
            JobState::Ready => self.wait_until(now.after(reap_wait(self.id, reap))),
            _ => self.finished_at = Some(now),
        }
        self.leave_order();
    }

    /// The wait before the next attempt of a running job whose claim ends so; none if it does not run again by itself.
    #[must_use]
    pub fn wait_after(&self, end: &End) -> Option<Duration> {
        match *end {
            End::Failed { after, .. } if self.attempt < self.max_attempts => Some(after),
            End::Snooze { after } => Some(after),
            End::Undecodable { after, limit, .. } if self.undecoded + 1 < limit => Some(after),
            End::Lost { after, max_lost }
                if self.on_lost == OnLost::Rerun && self.lost + 1 < max_lost =>
            {
                Some(after)
            }
            End::GiveBack => Some(Duration::ZERO),
            _ => None,
        }
    }

    /// Ends the claim of a running job, in a process of this name.
    pub fn end(&mut self, end: &End, node: &str, now: StoreTime) {
        if let Some(recorded) = end.recorded() {
            self.record(recorded, node, now);
        }
        let wait = self.wait_after(end);
        let was_no_attempt =
            matches!(end, End::Snooze { .. } | End::GiveBack | End::Undecodable { .. });
        if was_no_attempt {
            self.attempt = self.attempt.saturating_sub(1);
        }
        match end {
            End::Failed { error, .. } | End::Park { error } | End::Undecodable { error, .. } => {
                self.error = Some(storable(error));
            }
            End::Done | End::Gone => self.error = None,
            End::Lost { .. } => {
                self.count_loss();
                self.error = Some(self.lost_error());
            }
            End::Cancelled | End::Snooze { .. } | End::GiveBack => {}
        }
        match end {
            End::Undecodable { .. } => self.undecoded += 1,
            End::GiveBack | End::Lost { .. } => {}
            _ => (self.lost, self.undecoded) = (0, 0),
        }
        self.state = match (end, wait) {
            (End::Done | End::Gone, _) => JobState::Done,
            (End::Cancelled, _) => JobState::Cancelled,
            (End::Park { .. }, _) => JobState::Parked,
            _ if self.is_cancel_requested => JobState::Cancelled,
            (_, Some(_)) => JobState::Ready,
            (_, None) => JobState::Parked,
        };
        match (self.state, end, wait) {
            (JobState::Ready, End::GiveBack, _) => {}
            (JobState::Ready, _, Some(wait)) => self.wait_until(now.after(wait)),
            _ => {
                self.finished_at = Some(now);
                self.is_cancel_requested = false;
            }
        }
        self.leave_order();
    }

    /// Ends a job that was parked as lost by the end of its run, which went on (R4): it runs at most once, so that no other
    /// has run it. It does not become ready again. Returns false if it was not parked so, or the run says nothing about it.
    pub fn end_late(&mut self, end: &End, node: &str, now: StoreTime) -> bool {
        let is_parked_as_lost =
            self.state == JobState::Parked && self.on_lost == OnLost::Abandon && self.lost > 0;
        if !is_parked_as_lost {
            return false;
        }
        if let (End::Failed { .. } | End::Park { .. }, Some(recorded)) = (end, end.recorded()) {
            self.record(recorded, node, now);
        }
        match end {
            End::Done | End::Gone => (self.state, self.error) = (JobState::Done, None),
            End::Cancelled => self.state = JobState::Cancelled,
            End::Failed { error, .. } | End::Park { error } => self.error = Some(storable(error)),
            End::Snooze { .. } | End::GiveBack | End::Lost { .. } | End::Undecodable { .. } => {
                return false;
            }
        }
        (self.lost, self.undecoded, self.finished_at) = (0, 0, Some(now));
        self.max_attempts = self.max_attempts.saturating_sub(1).max(1);
        self.leave_order();
        true
    }

    /// Its run has reported a progress, if it has.
    pub fn report(&mut self, progress: Option<&JobProgress>) {
        if let Some(progress) = progress {
            self.progress = Some(progress.clone());
        }
    }

    /// A loss is an attempt and no failure: it leaves as many failures to the job as it had before.
    fn count_loss(&mut self) {
        self.lost = self.lost.saturating_add(1);
        self.max_attempts = self.max_attempts.saturating_add(1);
    }

    /// Two losses in a row may mean that the job kills its process: it runs beside no other such job (R14). A single one is
    /// mostly an outage, or the end of a process that had many.
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        self.lost > 1
    }

    /// Adds the attempt that ends now, before anything else of the job changes.
    fn record(
        &mut self,
        (outcome, error): (AttemptOutcome, Option<&str>),
        node: &str,
        now: StoreTime,
    ) {
        let error = error.map_or_else(|| self.lost_error(), str::to_owned);
        self.attempts.push(JobAttempt {
            number: self.attempt,
            started_at: self.started_at.unwrap_or(now),
            ended_at: now,
            outcome,
            node: short(node),
            error: short(&error),
        });
        let over = self.attempts.len().saturating_sub(ATTEMPTS_MAX);
        self.attempts.drain(..over);
    }

    /// Makes a job ready at once that waits or has ended, by hand.
    pub fn retry(&mut self, now: StoreTime) {
        if self.state != JobState::Ready {
            self.max_attempts = self.max_attempts.max(self.attempt.saturating_add(1));
            (self.lost, self.undecoded) = (0, 0);
        }
        (self.state, self.finished_at, self.expires_at) = (JobState::Ready, None, None);
        self.wait_until(now);
    }

    /// A job that has ended has no place among others.
    pub(crate) fn leave_order(&mut self) {
        if matches!(self.state, JobState::Done | JobState::Cancelled) {
            self.held_until = None;
        }
    }

    /// The job is due then. In a partition with order it keeps its place.
    fn wait_until(&mut self, at: StoreTime) {
        match &mut self.held_until {
            Some(until) => *until = at,
            None => self.run_at = at,
        }
    }

    /// Gives a job that waits or is parked another payload, by hand.
    pub fn edit(&mut self, fence: Option<Fence>, payload: &Payload) -> CommandOutcome {
        if !matches!(self.state, JobState::Ready | JobState::Parked) {
            return CommandOutcome::NotInState(self.state);
        }
        if fence.is_some_and(|seen| seen != self.fence) {
            return CommandOutcome::Changed;
        }
        self.payload.clone_from(payload);
        self.undecoded = 0;
        CommandOutcome::Done
    }
}
