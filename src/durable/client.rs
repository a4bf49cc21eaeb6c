//! The one way to the store, which may be opened later; its clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use std::{fmt, thread};

use chrono::TimeDelta;
use scheduler_core::time::EventCount;
use scheduler_core::{Clock, Tick};
use scheduler_store::{
    Enqueue, Enqueued, NewJob, Refusal, Renew, SessionId, Store, StoreError, StoreTime, Uuid,
};

use crate::base::set_once::SetOnce;
use crate::base::sync::Mutex;
use crate::durable::driver::NodeDriver;
use crate::durable::jobs_async::Helper;
use crate::observe::catch;

/// The time after its sending in which a request is still executed (R2).
pub(super) const EXPIRES_AFTER: Duration = Duration::from_secs(10);

/// A store, as the whole program calls it. Clones are the same.
#[derive(Clone)]
pub(crate) struct Client(Arc<ClientInner>);

struct ClientInner {
    store: StoreCell,
    clock: Arc<dyn Clock>,
    /// The store's clock less the time since boot, in microseconds.
    clock_offset: AtomicI64,
    /// By how many microseconds the clock of this process is ahead of the store's.
    ahead: AtomicI64,
    /// None in a process that only enqueues.
    node: OnceLock<Weak<NodeDriver>>,
    /// Asks for async code.
    helper: Helper,
    is_inline: bool,
}

impl Client {
    /// A store whose clock is not known yet: it is taken for the wall clock.
    pub(crate) fn new(store: StoreCell, clock: Arc<dyn Clock>, is_simulated: bool) -> Self {
        let wall = StoreTime::from(clock.wall());
        let clock_offset = AtomicI64::new(offset_of(wall, clock.boot_time()));
        let (node, helper) = (OnceLock::new(), Helper::new(Arc::clone(&clock)));
        Self(Arc::new(ClientInner {
            store,
            clock,
            clock_offset,
            ahead: AtomicI64::new(0),
            node,
            helper,
            is_inline: is_simulated,
        }))
    }

    /// The store itself.
    pub(crate) fn store(&self) -> &StoreCell {
        &self.0.store
    }

    /// Calls the store on this thread, and returns what it answers.
    pub(crate) fn call<R>(
        &self,
        ask: impl FnOnce(&dyn Store) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        ask(self.0.store.get()?)
    }

    /// As [`call_async_at`](Self::call_async_at), at once.
    pub(crate) async fn call_async<R: Send + 'static>(
        &self,
        ask: impl FnOnce(&Self) -> R + Send + 'static,
    ) -> Option<R> {
        self.call_async_at(self.0.clock.now(), ask).await
    }

    /// Calls the store at an instant on a thread for async code, so that a thread of a runtime does not wait. `None` if that
    /// thread cannot be started, or the store panics.
    pub(super) async fn call_async_at<R: Send + 'static>(
        &self,
        at: Tick,
        ask: impl FnOnce(&Self) -> R + Send + 'static,
    ) -> Option<R> {
        if self.0.is_inline {
            return Some(ask(self));
        }
        let (answer, client) = (SetOnce::<Slot<R>>::new(), self.clone());
        let mut unanswered = Unanswered(Some(answer.clone()));
        self.0.helper.execute(at, move || unanswered.answer(ask(&client)));
        let slot = answer.await;
        slot.lock().take()
    }

    /// Has this executed on a thread for async code, at an instant; at once in a simulation.
    pub(super) fn later(&self, at: Tick, ask: impl FnOnce() + Send + 'static) {
        match self.0.is_inline {
            true => ask(),
            false => self.0.helper.execute(at, ask),
        }
    }

    /// Returns true in a simulation, in which no thread but its own asks.
    pub(super) fn is_inline(&self) -> bool {
        self.0.is_inline
    }

    /// The clock of this process, with which waits are counted.
    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.0.clock
    }

    /// The store's clock now, as far as that is known.
    pub(crate) fn store_now(&self) -> StoreTime {
        // ORDERING: relaxed; it is a number by itself.
        let clock_offset = self.0.clock_offset.load(Ordering::Relaxed);
        StoreTime::from_micros(clock_offset.saturating_add(micros(self.0.clock.boot_time())))
    }

    /// Calls the store on this thread with a request that expires. If it is too late at once, the store's clock was set since
    /// it was heard last: it is asked for the time, and once more.
    pub(crate) fn timed<R>(
        &self,
        mut ask: impl FnMut(&dyn Store, StoreTime) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let store = self.0.store.get()?;
        let answer = ask(store, self.not_after());
        match answer {
            Err(StoreError::Refused(Refusal::TooLate)) => {
                self.sync_clock()?;
                ask(store, self.not_after())
            }
            answer => answer,
        }
    }

    /// Enqueues jobs.
    pub(crate) fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>, StoreError> {
        let mut request = Enqueue { jobs, not_after: StoreTime::default() };
        self.timed(|store, not_after| {
            request.not_after = not_after;
            store.enqueue(&request)
        })
    }

    /// Why the node of this process has no lease that was renewed when that was last due; none while it has one. A process
    /// without a node asks the store.
    pub(crate) fn outage(&self) -> Option<String> {
        match self.0.node.get() {
            Some(node) => match node.upgrade() {
                Some(node) => node.outage(),
                None => Some("the scheduler has ended".to_owned()),
            },
            None => self.sync_clock().err().map(|error| error.to_string()),
        }
    }

    /// Hears the store's clock, unless the lease of this process has just brought it.
    pub(super) fn hear_clock(&self) -> Result<(), StoreError> {
        let node = self.0.node.get().and_then(Weak::upgrade);
        let is_heard = node.is_some_and(|node| node.outage().is_none());
        if is_heard { Ok(()) } else { self.sync_clock() }
    }

    /// Asks for the store's clock, by the renewal of a session that does not exist.
    fn sync_clock(&self) -> Result<(), StoreError> {
        let session = SessionId::from_uuid(Uuid::nil());
        let renew = Renew {
            progress: Vec::new(),
            clock_offset: None,
            session,
            lease: Duration::ZERO,
            not_after: StoreTime::MAX,
        };
        let wall = || StoreTime::from(self.0.clock.wall()).as_micros();
        let before = wall();
        let now = self.call(|store| store.renew(&renew))?.now;
        self.observe_time(now, self.0.clock.boot_time());
        // Within what the request has taken they agree.
        let nearest = now.as_micros().clamp(before, wall().max(before));
        self.observe_offset(nearest.saturating_sub(now.as_micros()));
        Ok(())
    }

    /// When a request that is sent now expires.
    fn not_after(&self) -> StoreTime {
        self.store_now().after(EXPIRES_AFTER)
    }

    /// Takes note of what the store's clock showed at this time since boot.
    pub(crate) fn observe_time(&self, now: StoreTime, at: Tick) {
        // ORDERING: see `store_now`.
        self.0.clock_offset.store(offset_of(now, at), Ordering::Relaxed);
    }

    /// Takes note of how far the clock of this process is ahead of the store's.
    pub(super) fn observe_offset(&self, micros: i64) {
        // ORDERING: see `store_now`.
        self.0.ahead.store(micros, Ordering::Relaxed);
    }

    /// By how much the clock of this process is ahead of the store's.
    pub(super) fn ahead(&self) -> TimeDelta {
        // ORDERING: see `store_now`.
        TimeDelta::microseconds(self.0.ahead.load(Ordering::Relaxed))
    }

    /// Says which node this process has. Only the first call counts.
    pub(crate) fn know_node(&self, node: Weak<NodeDriver>) {
        drop(self.0.node.set(node));
    }

    /// Something was enqueued.
    pub(crate) fn wake_node(&self) {
        if let Some(node) = self.0.node.get().and_then(Weak::upgrade) {
            node.nudge();
        }
    }
}

/// An answer, to be taken once.
type Slot<R> = Arc<Mutex<Option<R>>>;

/// Answers that there is no answer if it is dropped before there was one.
struct Unanswered<R>(Option<SetOnce<Slot<R>>>);

impl<R> Unanswered<R> {
    fn answer(&mut self, answer: R) {
        if let Some(shot) = self.0.take() {
            shot.set(Arc::new(Mutex::new(Some(answer))));
        }
    }
}

impl<R> Drop for Unanswered<R> {
    fn drop(&mut self) {
        if let Some(shot) = self.0.take() {
            shot.set(Arc::new(Mutex::new(None)));
        }
    }
}

fn offset_of(store: StoreTime, at: Tick) -> i64 {
    store.as_micros().saturating_sub(micros(at))
}

fn micros(at: Tick) -> i64 {
    i64::try_from(at.as_nanos() / 1_000).unwrap_or(i64::MAX)
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.0.store).finish()
    }
}

/// Opens a store, or says why that is not possible.
type Opener = Box<dyn FnMut() -> Result<Arc<dyn Store>, String> + Send>;

/// The time between two attempts to open the store in a process without a node.
const PAUSE: Duration = Duration::from_secs(1);

/// A store, or none until it is open: until then requests fail at once and are not executed. The node tries to open it with each
/// attempt to open a session.
#[derive(Clone)]
pub(crate) struct StoreCell(Arc<OpeningStore>);

struct OpeningStore {
    store: OnceLock<Arc<dyn Store>>,
    /// None while a thread calls it, and once the store is open.
    opener: Mutex<Option<Opener>>,
    /// Why it could not be opened.
    reason: Mutex<String>,
    /// Opened when no thread is to try any more.
    end: Arc<EventCount>,
    is_ended: OnceLock<()>,
}

impl StoreCell {
    /// A store that is open.
    pub(crate) fn open(store: Arc<dyn Store>) -> Self {
        Self::new(OnceLock::from(store), None)
    }

    /// A store that a scheduler starts without.
    pub(crate) fn later(opener: Opener) -> Self {
        Self::new(OnceLock::new(), Some(opener))
    }

    fn new(store: OnceLock<Arc<dyn Store>>, opener: Option<Opener>) -> Self {
        Self(Arc::new(OpeningStore {
            store,
            opener: Mutex::new(opener),
            reason: Mutex::new("no attempt has ended yet".to_owned()),
            end: Arc::new(EventCount::new()),
            is_ended: OnceLock::new(),
        }))
    }

    /// Tries to open the store, unless another thread does or it is open.
    pub(crate) fn try_open(&self) {
        // Its code is the program's, and runs outside of the lock.
        let Some(mut opener) = self.0.opener.lock().take() else { return };
        let reason = match catch(&mut opener) {
            Ok(Ok(store)) => {
                drop(self.0.store.set(store));
                return;
            }
            Ok(Err(reason)) => reason,
            Err(failure) => failure.message().to_owned(),
        };
        *self.0.reason.lock() = reason;
        *self.0.opener.lock() = Some(opener);
    }

    /// Tries again and again on a thread until it is open, for a process whose node does not.
    ///
    /// # Errors
    ///
    /// A thread cannot be started.
    pub(crate) fn open_on_thread(&self, clock: Arc<dyn Clock>) -> std::io::Result<()> {
        if self.get().is_ok() {
            return Ok(());
        }
        let cell = self.clone();
        let open = move || {
            let inner = &*cell.0;
            loop {
                let seen = inner.end.epoch();
                if inner.is_ended.get().is_some() {
                    return;
                }
                cell.try_open();
                if inner.store.get().is_some() {
                    return;
                }
                clock.wait(&inner.end, seen, Some(clock.now() + PAUSE));
            }
        };
        thread::Builder::new().name("scheduler-store".to_owned()).spawn(open).map(drop)
    }

    /// Lets the thread end.
    pub(crate) fn stop(&self) {
        self.0.is_ended.get_or_init(|| ());
        self.0.end.open();
    }

    /// The store, once it is open.
    pub(crate) fn get(&self) -> Result<&dyn Store, StoreError> {
        let not_open = || {
            let reason = self.0.reason.lock();
            StoreError::NotExecuted(format!("it has not been opened yet: {reason}"))
        };
        self.0.store.get().map(|store| &**store).ok_or_else(not_open)
    }
}

impl fmt::Debug for StoreCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(store) => fmt::Debug::fmt(&store.describe(), f),
            Err(_) => f.write_str("a store that is not open yet"),
        }
    }
}
