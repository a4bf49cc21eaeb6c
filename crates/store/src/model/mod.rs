//! The contract as a program, in memory.
//!
//! [`Model`] is the store of tests and simulations, and the reference for the other stores. Each request is executed
//! under one lock, at one instant of its clock. It is plain rather than fast, and reads no clock of its own: the caller
//! sets it, or gives one.

mod claims;
mod commands;
mod sessions;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::action::{Action, ActionFilter, Signature};
use crate::column::JobRow;
use crate::command::{
    BulkOutcome, Command, CommandAll, CommandOutcome, JobPause, Pause, PauseScope,
};
use crate::error::{Refusal, StoreError};
use crate::id::{ActionId, Fence, JobId, SessionId, StoreTime};
use crate::job::{ClaimRef, Enqueued, JobState, KeyUntil, NewJob, Origin, StoredJob};
use crate::lane::Turns;
use crate::limit::{Arrival, StoredLimit, StoredLimits};
use crate::request::{
    Close, Enqueue, Failing, Finish, Finished, Fire, Fired, JobFilter, Open, Opened, Poll, Polled,
    Prune, QueueDepth, Reap, Reaped, Register, Registered, Renew, Renewed, SessionTask,
};
use crate::schedule::{ScheduleSpec, StoredSchedule, TickJob};
use crate::session::{SessionEnd, SessionInfo};
use crate::store::Store;
use crate::wait::{JobWait, LimitDepth, PartitionDepth};

type Clock = Arc<dyn Fn() -> StoreTime + Send + Sync>;

/// A store in memory. Clones are the same store.
///
/// ```
/// use scheduler_store::{Enqueue, Enqueued, JobId, Model, NewJob, Store, StoreTime, Uuid};
///
/// let store = Model::new();
/// let id = JobId::from_uuid(Uuid::from_u128(1));
/// let request = Enqueue { jobs: vec![NewJob::new(id, "send")], not_after: StoreTime::MAX };
/// assert_eq!(store.enqueue(&request)?, [Enqueued::Accepted(id)]);
/// assert_eq!(store.enqueue(&request)?, [Enqueued::Accepted(id)]);
/// assert_eq!(store.depths()?[0].due, 1);
/// # Ok::<(), scheduler_store::StoreError>(())
/// ```
#[derive(Clone)]
pub struct Model {
    shared: Arc<Mutex<Timed>>,
    clock: Option<Clock>,
    is_cut: Arc<AtomicBool>,
    /// The lanes after which the claims by this connection go on.
    turns: Arc<Mutex<Turns>>,
}

#[derive(Debug, Default)]
struct Timed {
    state: ModelState,
    now: StoreTime,
    /// The number of requests that may have made something due.
    changes: u64,
}

impl Model {
    /// An empty store whose clock stands at the Unix epoch until it is [moved](Self::advance).
    #[must_use]
    pub fn new() -> Self {
        Self { shared: Arc::default(), clock: None, is_cut: Arc::default(), turns: Arc::default() }
    }

    /// An empty store with a clock that runs.
    #[must_use]
    pub fn with_clock(clock: impl Fn() -> StoreTime + Send + Sync + 'static) -> Self {
        Self { clock: Some(Arc::new(clock)), ..Self::new() }
    }

    /// A store with these contents, whose clock stands still until it is moved.
    #[must_use]
    pub fn with_state(state: ModelState, now: StoreTime) -> Self {
        Self { shared: Arc::new(Mutex::new(Timed { state, now, changes: 0 })), ..Self::new() }
    }

    /// The same store by another connection, which is [cut](Self::set_cut) by itself.
    #[must_use]
    pub fn connect(&self) -> Self {
        Self { is_cut: Arc::default(), turns: Arc::default(), ..self.clone() }
    }

    /// Cuts the connection, or heals it. While it is cut, each request fails and nothing is executed.
    pub fn set_cut(&self, is_cut: bool) {
        // ORDERING: relaxed; it orders nothing else.
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// Moves the clock forward.
    pub fn advance(&self, time: Duration) {
        let mut timed = self.lock();
        timed.now = timed.now.after(time);
    }

    /// Sets the clock, also back.
    pub fn set_now(&self, now: StoreTime) {
        self.lock().now = now;
    }

    /// The clock.
    #[must_use]
    pub fn now(&self) -> StoreTime {
        self.clock.as_ref().map_or_else(|| self.lock().now, |clock| clock())
    }

    /// All that is stored, to be compared.
    #[must_use]
    pub fn state(&self) -> ModelState {
        self.lock().state.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Timed> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes a step at an instant.
    fn at<R>(&self, step: impl FnOnce(&mut ModelState, StoreTime) -> R) -> Result<R, StoreError> {
        // ORDERING: see `set_cut`.
        if self.is_cut.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable("the connection is cut".to_owned()));
        }
        let now = self.clock.as_ref().map(|clock| clock());
        let mut timed = self.lock();
        let now = now.unwrap_or(timed.now);
        Ok(step(&mut timed.state, now))
    }

    /// As [`at`](Self::at), unless it is too late.
    fn until<R>(
        &self,
        not_after: StoreTime,
        step: impl FnOnce(&mut ModelState, StoreTime) -> R,
    ) -> Result<R, StoreError> {
        self.at(|state, now| match now > not_after {
            true => Err(Refusal::TooLate.into()),
            false => Ok(step(state, now)),
        })?
    }
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").finish_non_exhaustive()
    }
}

impl Store for Model {
    fn describe(&self) -> String {
        "memory".to_owned()
    }

    fn open(&self, request: &Open) -> Result<Opened, StoreError> {
        let answer = self.until(request.not_after, |state, now| state.open(request, now));
        self.count(answer, |_| true)
    }

    fn renew(&self, request: &Renew) -> Result<Renewed, StoreError> {
        self.until(request.not_after, |state, now| state.renew(request, now))
    }

    fn close(&self, request: &Close) -> Result<(), StoreError> {
        let answer = self.until(request.not_after, |state, now| state.close(request, now));
        self.count(answer, |()| true)
    }

    fn register(&self, request: &Register) -> Result<Registered, StoreError> {
        request.definitions.iter().try_for_each(|definition| definition.check())?;
        let answer = self.until(request.not_after, |state, now| state.register(request, now));
        self.count(answer, |_| true)
    }

    fn poll(&self, request: &Poll) -> Result<Polled, StoreError> {
        let answer = self.until(request.not_after, |state, now| {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            state.poll(request, &mut turns, now)
        });
        self.count(answer, |(_, is_changed)| *is_changed).map(|(polled, _)| polled)
    }

    fn fire(&self, request: &Fire) -> Result<Fired, StoreError> {
        let answer = self.until(request.not_after, |state, now| state.fire(request, now));
        self.count(answer, |fired| !matches!(fired, Fired::Busy | Fired::TooEarly))
    }

    fn finish(&self, requests: &[Finish]) -> Result<Vec<Finished>, StoreError> {
        let answer =
            self.at(|state, now| requests.iter().map(|each| state.finish(each, now)).collect());
        self.count(answer, |_| true)
    }

    fn held(&self, session: SessionId) -> Result<Vec<ClaimRef>, StoreError> {
        self.at(|state, _| state.held(session))
    }

    fn reap(&self, request: &Reap) -> Result<Reaped, StoreError> {
        let answer = self.until(request.not_after, |state, now| state.reap(request, now));
        self.count(answer, |reaped| !reaped.sessions.is_empty() || !reaped.jobs.is_empty())
    }

    fn enqueue(&self, request: &Enqueue) -> Result<Vec<Enqueued>, StoreError> {
        request.jobs.iter().try_for_each(|job| job.check())?;
        let answer = self.until(request.not_after, |state, now| match state.full(&request.jobs) {
            Some(refusal) => Err(refusal),
            None => Ok(request.jobs.iter().map(|job| state.enqueue(job, now)).collect()),
        });
        self.count(answer?.map_err(StoreError::from), |_| true)
    }

    fn command_by(
        &self,
        signature: Option<&Signature>,
        command: &Command,
        not_after: StoreTime,
    ) -> Result<CommandOutcome, StoreError> {
        command.check()?;
        let answer = self.until(not_after, |state, now| state.command_by(signature, command, now));
        self.count(answer, |_| true)
    }

    fn note(&self, action: &Action, adds: bool) -> Result<(), StoreError> {
        self.at(|state, now| state.keep(Action { at: now, ..action.clone() }, adds))
    }

    fn actions(&self, filter: &ActionFilter, limit: u32) -> Result<Vec<Action>, StoreError> {
        self.at(|state, _| state.actions(filter, limit))
    }

    fn command_all(&self, request: &CommandAll) -> Result<BulkOutcome, StoreError> {
        let answer = self.until(request.not_after, |state, now| state.command_all(request, now));
        self.count(answer, |_| true)
    }

    fn prune(&self, request: &Prune) -> Result<u64, StoreError> {
        self.until(request.not_after, |state, now| state.prune(request, now))
    }

    fn job(&self, id: JobId) -> Result<Option<StoredJob>, StoreError> {
        self.at(|state, _| state.row(id).map(|row| row.job.clone()))
    }

    fn jobs(&self, filter: &JobFilter, limit: u32) -> Result<Vec<StoredJob>, StoreError> {
        self.at(|state, _| state.select(filter, limit))
    }

    fn schedules(&self) -> Result<Vec<StoredSchedule>, StoreError> {
        self.at(|state, _| state.schedules.values().cloned().collect())
    }

    fn pauses(&self) -> Result<Vec<JobPause>, StoreError> {
        self.at(|state, now| state.pauses(now).collect())
    }

    fn limits(&self) -> Result<Vec<StoredLimit>, StoreError> {
        self.at(|state, _| state.limits.0.values().cloned().collect())
    }

    fn waits(&self, jobs: &[JobId]) -> Result<Vec<JobWait>, StoreError> {
        self.at(|state, now| state.waits(jobs, now))
    }

    fn partitions(&self, task: &str, limit: u32) -> Result<Vec<PartitionDepth>, StoreError> {
        self.at(|state, now| state.partitions(task, limit, now))
    }

    fn limit_depths(&self) -> Result<Vec<LimitDepth>, StoreError> {
        self.at(|state, now| state.limit_depths(now))
    }

    fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.at(|state, now| state.session_infos(now))
    }

    fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        self.at(|state, now| state.depths(now))
    }
}

/// All that a store keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelState {
    sessions: BTreeMap<SessionId, SessionRow>,
    /// Those that ended within the last hour.
    ended_sessions: BTreeMap<SessionId, (SessionRow, SessionEnd)>,
    schedules: BTreeMap<String, StoredSchedule>,
    jobs: BTreeMap<JobId, JobRow>,
    /// By task and key: the job that keeps it for a time, and until when.
    kept_keys: BTreeMap<(String, String), (JobId, StoreTime)>,
    /// The pauses of jobs, also those that are over.
    pauses: BTreeMap<PauseScope, Pause>,
    limits: StoredLimits,
    /// By task and partition, and by task for all: what its rate has counted.
    arrivals: BTreeMap<(String, Option<String>), Arrival>,
    /// By task: its jobs that were parked since one was done.
    failing: BTreeMap<String, Failing>,
    /// The changes by hand, by time and identity.
    actions: BTreeMap<(StoreTime, ActionId), Action>,
    /// The last fence given out.
    fence: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SessionRow {
    label: String,
    build: String,
    application: String,
    tasks: Arc<[SessionTask]>,
    queues: Option<Arc<[Arc<str>]>>,
    concurrency: u32,
    clock_offset: Option<i64>,
    pause: Option<Pause>,
    opened_at: StoreTime,
    lease_until: StoreTime,
    /// The number of renewals: the mark of its lease.
    renewals: i64,
}

impl ModelState {
    fn next_fence(&mut self) -> Fence {
        self.fence += 1;
        Fence(self.fence)
    }

    /// A job that people can see.
    fn row(&self, id: JobId) -> Option<&JobRow> {
        self.jobs.get(&id).filter(|row| !row.is_gone)
    }

    /// Returns true if a request that is sent again finds the job.
    #[must_use]
    pub fn remembers(&self, id: JobId) -> bool {
        self.jobs.contains_key(&id)
    }

    /// Returns true if the session is open and its lease has not run out.
    fn is_alive(&self, session: SessionId, now: StoreTime) -> bool {
        self.sessions.get(&session).is_some_and(|row| now < row.lease_until)
    }

    /// The unfinished job that keeps others of its schedule out. INVARIANT: there is at most one.
    fn busy(&self, schedule: &str) -> Option<&StoredJob> {
        let rows = self.jobs.values().filter(|row| row.is_exclusive);
        rows.map(|row| &row.job).find(|job| job.belongs_to(schedule) && job.state.is_unfinished())
    }

    /// The job of a task that has the key.
    fn with_key(&self, task: &str, key: &str, now: StoreTime) -> Option<JobId> {
        let mut jobs = self.jobs.values().map(|row| &row.job);
        let job = jobs.find(|job| {
            job.task == task && job.key.as_deref() == Some(key) && job.state.is_unfinished()
        });
        let kept = self.kept_keys.get(&(task.to_owned(), key.to_owned()));
        job.map(|job| job.id).or(kept.filter(|(_, until)| now < *until).map(|(job, _)| *job))
    }

    fn insert(&mut self, new: &NewJob, run_at: StoreTime, now: StoreTime) {
        let job = StoredJob::new(new, run_at, now);
        let key_until = new.key.as_ref().map_or(KeyUntil::End, |key| key.until);
        if let Some(key) = &new.key {
            let place = (new.task.clone(), key.text.clone());
            self.kept_keys.remove(&place);
            if let KeyUntil::For(time) = key.until {
                self.kept_keys.insert(place, (new.id, now.after(time)));
            }
        }
        self.jobs.insert(new.id, JobRow { key_until, ..job.into() });
    }

    /// Makes a job of a schedule: for a tick, or by hand. Returns false if there is a job of this identity: it was made
    /// before, and stays as it is (R3).
    fn insert_of(
        &mut self,
        definition: &ScheduleSpec,
        is_exclusive: bool,
        tick: &TickJob,
        is_by_hand: bool,
        now: StoreTime,
    ) -> bool {
        if self.jobs.contains_key(&tick.id) {
            return false;
        }
        let new = definition.job(tick.id);
        self.insert(&new, tick.run_at, now);
        if let Some(row) = self.jobs.get_mut(&tick.id) {
            let tick_of = (!is_by_hand).then_some(tick.tick);
            let (schedule, missed) = (definition.name.clone(), tick.missed);
            row.job.origin = Some(Origin { schedule, tick: tick_of, missed });
            row.is_exclusive = is_exclusive;
        }
        true
    }

    /// Changes the row of a schedule, which may be none. The flag is true if the schedule is busy.
    fn on_row<R>(
        &mut self,
        schedule: &str,
        change: impl FnOnce(&mut Option<StoredSchedule>, bool) -> R,
    ) -> R {
        let is_busy = self.busy(schedule).is_some();
        let mut row = self.schedules.remove(schedule);
        let answer = change(&mut row, is_busy);
        self.schedules.extend(row.map(|row| (schedule.to_owned(), row)));
        answer
    }

    /// A job of a schedule has ended or is gone: the tick that waits becomes a job, or the next delay begins. Returns true if
    /// there was such a tick or delay.
    fn after_job(&mut self, schedule: &str, now: StoreTime) -> bool {
        if self.busy(schedule).is_some() {
            return false;
        }
        let Some(row) = self.schedules.get_mut(schedule) else { return false };
        // A delay counts from the end of the tick that waits, if there is one.
        let Some(waiting) = row.waiting.take() else {
            let before = row.next;
            row.job_ended(now);
            return row.next != before;
        };
        let (definition, is_exclusive) = (row.definition.clone(), row.is_exclusive());
        if self.insert_of(&definition, is_exclusive, &waiting, false, now)
            && let Some(row) = self.schedules.get_mut(schedule)
        {
            row.has_fired(waiting.tick);
        }
        true
    }
}

impl StoredJob {
    fn belongs_to(&self, schedule: &str) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.schedule == schedule)
    }
}

impl ModelState {
    fn select(&self, filter: &JobFilter, limit: u32) -> Vec<StoredJob> {
        let rows = self.jobs.values().rev().filter(|row| !row.is_gone);
        let jobs = rows.map(|row| &row.job);
        jobs.filter(|job| filter.selects(job)).take(limit as usize).cloned().collect()
    }

    fn depths(&self, now: StoreTime) -> Vec<QueueDepth> {
        let mut depths = BTreeMap::<_, QueueDepth>::new();
        for job in self.jobs.values().map(|row| &row.job) {
            if matches!(job.state, JobState::Done | JobState::Cancelled) {
                continue;
            }
            let depth = depths
                .entry((&job.queue, &job.task))
                .or_insert_with(|| QueueDepth::empty(job.queue.clone(), job.task.clone()));
            depth.failing = self.failing.get(&job.task).cloned();
            let is_ready = job.state == JobState::Ready;
            depth.retrying += u64::from(is_ready && job.error.is_some());
            match job.state {
                JobState::Ready if job.run_at <= now => {
                    depth.add_due(job.payload.version, 1, now.since(job.run_at));
                }
                JobState::Ready => depth.later += 1,
                JobState::Running => {
                    depth.running += 1;
                    let since = job.started_at.map(|started| now.since(started));
                    depth.oldest_running = depth.oldest_running.max(since);
                }
                _ => depth.parked += 1,
            }
        }
        depths.into_values().collect()
    }
}

impl JobFilter {
    /// Returns true if all conditions hold.
    #[must_use]
    pub fn selects(&self, job: &StoredJob) -> bool {
        let is = |wanted: &Option<String>, text: Option<&String>| {
            wanted.as_ref().is_none_or(|wanted| Some(wanted) == text)
        };
        is(&self.task, Some(&job.task))
            && is(&self.queue, Some(&job.queue))
            && is(&self.partition, job.partition.as_ref())
            && is(&self.key, job.key.as_ref())
            && is(&self.schedule, job.origin.as_ref().map(|origin| &origin.schedule))
            && self.state.is_none_or(|state| state == job.state)
            && (!self.has_error || job.error.is_some())
            && self.after.is_none_or(|after| job.id < after)
    }
}

/// For simulations, which skip the polls and renewals that would find and change nothing.
impl Model {
    /// The number of requests so far that may have made something due. Renewals, and polls that claim nothing, are not among
    /// them.
    #[doc(hidden)]
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// Returns true while the connection is [cut](Self::set_cut).
    #[doc(hidden)]
    #[must_use]
    pub fn is_cut(&self) -> bool {
        // ORDERING: see `set_cut`.
        self.is_cut.load(Ordering::Relaxed)
    }

    /// Returns true if these are all sessions, and each running job has one of them: then no job waits for the end of a lease.
    #[doc(hidden)]
    #[must_use]
    pub fn has_only(&self, sessions: &[SessionId]) -> bool {
        let state = &self.lock().state;
        let is_known = |session: &SessionId| sessions.contains(session);
        let mut running =
            state.jobs.values().map(|row| &row.job).filter(|job| job.state == JobState::Running);
        state.sessions.keys().all(is_known)
            && running.all(|job| job.session.as_ref().is_some_and(is_known))
    }

    /// Renews a lease as at an instant that has passed meanwhile.
    #[doc(hidden)]
    pub fn was_renewed(&self, session: SessionId, lease: Duration, at: StoreTime) {
        if let Some(row) = self.lock().state.sessions.get_mut(&session) {
            row.lease_until = row.lease_until.max(at.after(lease));
            row.renewals += 1;
        }
    }

    /// Counts a request that was executed, if it may have made something due.
    fn count<R>(
        &self,
        answer: Result<R, StoreError>,
        is_change: impl FnOnce(&R) -> bool,
    ) -> Result<R, StoreError> {
        if answer.as_ref().is_ok_and(is_change) {
            self.lock().changes += 1;
        }
        answer
    }
}
