//! The contract as a program, in memory.
//!
//! [`Model`] is the store of tests and simulations, and the reference for the other stores. Each request is executed
//! under one lock, at one instant of its clock. It is plain rather than fast, and reads no clock of its own: the caller
//! sets it, or gives one.

mod claim;
mod commands;
mod enqueue;
mod finish;
mod fire;
mod read;
mod sessions;
mod skip;
mod state;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use state::State;

use crate::command::{BulkOutcome, Command, CommandAll, CommandOutcome};
use crate::error::{Refusal, StoreError};
use crate::id::{JobId, SessionId};
use crate::job::{ClaimRef, Enqueued, StoredJob};
use crate::pause::JobPause;
use crate::request::{
    Close, Enqueue, Finish, Finished, Fire, Fired, JobFilter, Open, Opened, Poll, Polled, Prune,
    QueueDepth, Reap, Reaped, Register, Registered, Renew, Renewed, SessionInfo,
};
use crate::schedule::StoredSchedule;
use crate::store::Store;
use crate::time::StoreTime;

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
}

#[derive(Debug, Default)]
struct Timed {
    state: State,
    now: StoreTime,
    /// The number of requests that may have made something due.
    changes: u64,
}

impl Model {
    /// An empty store whose clock stands at the Unix epoch until it is [moved](Self::advance).
    #[must_use]
    pub fn new() -> Self {
        Self { shared: Arc::default(), clock: None, is_cut: Arc::default() }
    }

    /// An empty store with a clock that runs.
    #[must_use]
    pub fn with_clock(clock: impl Fn() -> StoreTime + Send + Sync + 'static) -> Self {
        Self { clock: Some(Arc::new(clock)), ..Self::new() }
    }

    /// A store with these contents, whose clock stands still until it is moved.
    #[must_use]
    pub fn with_state(state: State, now: StoreTime) -> Self {
        Self { shared: Arc::new(Mutex::new(Timed { state, now, changes: 0 })), ..Self::new() }
    }

    /// The same store by another connection, which is [cut](Self::set_cut) by itself.
    #[must_use]
    pub fn connect(&self) -> Self {
        Self { is_cut: Arc::default(), ..self.clone() }
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
    pub fn state(&self) -> State {
        self.lock().state.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Timed> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes a step at an instant.
    fn at<R>(&self, step: impl FnOnce(&mut State, StoreTime) -> R) -> Result<R, StoreError> {
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
        step: impl FnOnce(&mut State, StoreTime) -> R,
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
        let answer = self.until(request.not_after, |state, now| state.poll(request, now));
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
        let answer = self.until(request.not_after, |state, now| {
            request.jobs.iter().map(|job| state.enqueue(job, now)).collect()
        });
        self.count(answer, |_| true)
    }

    fn command(
        &self,
        command: &Command,
        not_after: StoreTime,
    ) -> Result<CommandOutcome, StoreError> {
        command.check()?;
        let answer = self.until(not_after, |state, now| state.command(command, now));
        self.count(answer, |_| true)
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

    fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.at(|state, now| state.session_infos(now))
    }

    fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        self.at(|state, now| state.depths(now))
    }
}
