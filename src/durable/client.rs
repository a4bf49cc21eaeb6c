//! The one way to the store, with an estimate of its clock.
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use scheduler_core::{Clock, Tick};
use scheduler_store::{
    Enqueue, Enqueued, NewJob, Refusal, Renew, SessionId, Store, StoreError, StoreTime, Uuid,
};

use crate::observe::catch;
use crate::run::one_shot::OneShot;
use crate::sync::Mutex;

/// The time after its sending in which a request is still executed (R2).
pub(super) const EXPIRES_AFTER: Duration = Duration::from_secs(10);

/// Is called when something was enqueued.
pub(crate) type Nudge = Arc<dyn Fn() + Send + Sync>;

/// A store, as the whole program calls it. Clones are the same.
#[derive(Clone)]
pub(crate) struct Client(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// The store's clock less the time since boot, in microseconds.
    ahead: AtomicI64,
    nudge: OnceLock<Nudge>,
}

impl Client {
    /// A store whose clock is not known yet: it is taken for the wall clock.
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let wall = StoreTime::from_micros(clock.wall().timestamp_micros());
        let ahead = AtomicI64::new(ahead_of(wall, clock.boot_time()));
        Self(Arc::new(Inner { store, clock, ahead, nudge: OnceLock::new() }))
    }

    /// The store itself, for the node.
    pub(super) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.0.store)
    }

    /// Calls the store on this thread, and returns what it answers.
    pub(crate) fn call<R>(&self, ask: impl FnOnce(&dyn Store) -> R) -> R {
        ask(&*self.0.store)
    }

    /// Calls the store on a thread of its own, so that a thread of a runtime does not wait. `None` if no thread can be
    /// started, or the store panics.
    pub(crate) async fn call_async<R: Send + 'static>(
        &self,
        ask: impl FnOnce(&Self) -> R + Send + 'static,
    ) -> Option<R> {
        let (answer, client) = (OneShot::<Slot<R>>::new(), self.clone());
        let given = answer.clone();
        let thread = thread::Builder::new().name("scheduler-enqueue".to_owned());
        let spawned = thread.spawn(move || {
            let answer = catch(|| ask(&client)).ok();
            given.set(Arc::new(Mutex::new(answer)));
        });
        if spawned.is_err() {
            return None;
        }
        let slot = answer.await;
        slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The store's clock now, as far as that is known.
    pub(crate) fn store_now(&self) -> StoreTime {
        // ORDERING: relaxed; it is a number by itself.
        let ahead = self.0.ahead.load(Ordering::Relaxed);
        StoreTime::from_micros(ahead.saturating_add(micros(self.0.clock.boot_time())))
    }

    /// Calls the store on this thread with a request that expires. If it is too late at once, the store's clock was set since
    /// it was heard last: it is asked for the time, and once more.
    pub(crate) fn timed<R>(
        &self,
        mut ask: impl FnMut(&dyn Store, StoreTime) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let answer = ask(&*self.0.store, self.not_after());
        match answer {
            Err(StoreError::Refused(Refusal::TooLate)) => {
                self.hear()?;
                ask(&*self.0.store, self.not_after())
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

    /// Asks for the store's clock, by the renewal of a session that does not exist.
    fn hear(&self) -> Result<(), StoreError> {
        let session = SessionId::from_uuid(Uuid::nil());
        let renew = Renew { session, lease: Duration::ZERO, not_after: StoreTime::MAX };
        let now = self.0.store.renew(&renew)?.now;
        self.heard(now, self.0.clock.boot_time());
        Ok(())
    }

    /// When a request that is sent now expires.
    fn not_after(&self) -> StoreTime {
        self.store_now().after(EXPIRES_AFTER)
    }

    /// Takes note of what the store's clock showed at this time since boot.
    pub(crate) fn heard(&self, now: StoreTime, at: Tick) {
        // ORDERING: see `store_now`.
        self.0.ahead.store(ahead_of(now, at), Ordering::Relaxed);
    }

    /// Has this called when something was enqueued. Only the first call counts.
    pub(crate) fn on_nudge(&self, nudge: Nudge) {
        drop(self.0.nudge.set(nudge));
    }

    /// Something was enqueued.
    pub(crate) fn nudge(&self) {
        if let Some(nudge) = self.0.nudge.get() {
            nudge();
        }
    }
}

/// An answer, to be taken once.
type Slot<R> = Arc<Mutex<Option<R>>>;

fn ahead_of(store: StoreTime, at: Tick) -> i64 {
    store.as_micros().saturating_sub(micros(at))
}

fn micros(at: Tick) -> i64 {
    i64::try_from(at.as_nanos() / 1_000).unwrap_or(i64::MAX)
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.0.store.describe()).finish()
    }
}
