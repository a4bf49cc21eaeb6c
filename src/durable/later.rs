//! A store that is opened after the start.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_core::time::EventCount;
use scheduler_store::{
    BulkOutcome, ClaimRef, Close, Command, CommandAll, CommandOutcome, Enqueue, Enqueued, Finish,
    Finished, Fire, Fired, JobFilter, JobId, JobPause, NewJob, Open, Opened, Poll, Polled, Prune,
    QueueDepth, Reap, Reaped, Register, Registered, Renew, Renewed, SessionId, SessionInfo, Store,
    StoreError, StoreTime, StoredJob, StoredSchedule, Watch,
};

use crate::observe::catch;
use crate::sync::Mutex;

/// Opens a store, or says why that is not possible.
pub(crate) type Opener = Box<dyn FnMut() -> Result<Arc<dyn Store>, String> + Send>;

/// The time between two attempts to open the store in a process without a node.
const PAUSE: Duration = Duration::from_secs(1);

/// A store that a scheduler starts without. The node tries to open it with each attempt to open a session; until that
/// succeeds, all other requests fail at once and are not executed.
#[derive(Clone)]
pub(crate) struct LaterStore(Arc<Inner>);

struct Inner {
    store: OnceLock<Arc<dyn Store>>,
    /// None while a thread calls it, and once the store is open.
    opener: Mutex<Option<Opener>>,
    /// Why it could not be opened.
    reason: Mutex<String>,
    /// Opened when no thread is to try any more.
    end: Arc<EventCount>,
    is_ended: OnceLock<()>,
}

impl LaterStore {
    pub(crate) fn new(opener: Opener) -> Self {
        Self(Arc::new(Inner {
            store: OnceLock::new(),
            opener: Mutex::new(Some(opener)),
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

    /// Tries again and again on a thread, for a process whose node does not.
    ///
    /// # Errors
    ///
    /// A thread cannot be started.
    pub(crate) fn open_on_thread(&self, clock: Arc<dyn Clock>) -> std::io::Result<()> {
        let later = self.clone();
        let open = move || {
            let inner = &*later.0;
            loop {
                let seen = inner.end.epoch();
                if inner.is_ended.get().is_some() {
                    return;
                }
                later.try_open();
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

    fn store(&self) -> Result<&dyn Store, StoreError> {
        let not_open = || {
            let reason = self.0.reason.lock();
            StoreError::NotExecuted(format!("it has not been opened yet: {reason}"))
        };
        self.0.store.get().map(|store| &**store).ok_or_else(not_open)
    }
}

/// Methods that ask the store once it is open.
macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        fn $name(&self, $($arg: $type),*) -> Result<$answer, StoreError> {
            self.store()?.$name($($arg),*)
        }
    )*};
}

impl Store for LaterStore {
    fn describe(&self) -> String {
        self.store().map_or_else(|_| "a store that is not open yet".to_owned(), Store::describe)
    }

    fn separate(&self, application: &str) -> String {
        self.store().map_or_else(|_| String::new(), |store| store.separate(application))
    }

    fn open(&self, request: &Open) -> Result<Opened, StoreError> {
        self.try_open();
        self.store()?.open(request)
    }

    forward! {
        renew(request: &Renew) -> Renewed;
        close(request: &Close) -> ();
        register(request: &Register) -> Registered;
        poll(request: &Poll) -> Polled;
        fire(request: &Fire) -> Fired;
        finish(requests: &[Finish]) -> Vec<Finished>;
        held(session: SessionId) -> Vec<ClaimRef>;
        reap(request: &Reap) -> Reaped;
        enqueue(request: &Enqueue) -> Vec<Enqueued>;
        statement(jobs: &[NewJob]) -> (String, String);
        command(command: &Command, not_after: StoreTime) -> CommandOutcome;
        command_all(request: &CommandAll) -> BulkOutcome;
        prune(request: &Prune) -> u64;
        job(id: JobId) -> Option<StoredJob>;
        jobs(filter: &JobFilter, limit: u32) -> Vec<StoredJob>;
        schedules() -> Vec<StoredSchedule>;
        pauses() -> Vec<JobPause>;
        sessions() -> Vec<SessionInfo>;
        depths() -> Vec<QueueDepth>;
    }

    fn watch(&self) -> Option<Box<dyn Watch>> {
        Some(Box::new(LaterWatch { later: self.clone(), watch: None }))
    }
}

/// Waits for changes once the store is open.
struct LaterWatch {
    later: LaterStore,
    watch: Option<Box<dyn Watch>>,
}

impl Watch for LaterWatch {
    fn wait(&mut self, limit: Duration) -> Result<bool, StoreError> {
        if self.watch.is_none() {
            self.watch = self.later.store()?.watch();
        }
        match &mut self.watch {
            Some(watch) => watch.wait(limit),
            None => Err(StoreError::NotExecuted("it reports no changes".to_owned())),
        }
    }
}

impl fmt::Debug for LaterStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LaterStore").field(&self.describe()).finish()
    }
}
