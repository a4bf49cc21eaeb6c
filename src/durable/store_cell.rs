//! The store of a scheduler, which may be opened after the start.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_core::time::EventCount;
use scheduler_store::{Store, StoreError};

use crate::base::sync::Mutex;
use crate::observe::catch;

/// Opens a store, or says why that is not possible.
pub(crate) type Opener = Box<dyn FnMut() -> Result<Arc<dyn Store>, String> + Send>;

/// The time between two attempts to open the store in a process without a node.
const PAUSE: Duration = Duration::from_secs(1);

/// A store, or none until it is open: until then requests fail at once and are not executed. The node tries to open it with each
/// attempt to open a session.
#[derive(Clone)]
pub(crate) struct StoreCell(Arc<Inner>);

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
        Self(Arc::new(Inner {
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
