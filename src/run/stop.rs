//! The stop request of a run, and the scheduler's.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::base::set_once::SetOnce;

/// The cause of a stop request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// Its time is over.
    Timeout,
    /// The run or its task was cancelled.
    Cancelled,
    /// This process has lost the job that runs.
    Lost,
}

/// The request to stop: made once, never taken back.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    cause: AtomicU8,
}

const NOT_ASKED: u8 = 0;
const TIMEOUT: u8 = 1;
const CANCELLED: u8 = 2;
const LOST: u8 = 3;

impl Stop {
    /// Makes the request. Returns true if it was not made before.
    pub(super) fn ask(&self, cause: StopCause) -> bool {
        let code = match cause {
            StopCause::Timeout => TIMEOUT,
            StopCause::Cancelled => CANCELLED,
            StopCause::Lost => LOST,
        };
        // ORDERING: release, so that a run that sees the request sees what was done before it.
        let asked = Ordering::Release;
        self.cause.compare_exchange(NOT_ASKED, code, asked, Ordering::Relaxed).is_ok()
    }

    pub(super) fn is_asked(&self) -> bool {
        self.cause().is_some()
    }

    pub(super) fn cause(&self) -> Option<StopCause> {
        // ORDERING: acquire, see `ask`.
        match self.cause.load(Ordering::Acquire) {
            TIMEOUT => Some(StopCause::Timeout),
            CANCELLED => Some(StopCause::Cancelled),
            LOST => Some(StopCause::Lost),
            _ => None,
        }
    }
}

/// A wait of a run ended early, because the run was asked to stop.
///
/// ```no_run,standalone_crate
/// use scheduler::{Run, Stopped, scheduled};
/// use std::time::Duration;
///
/// #[scheduled(fixed_delay = "1h")]
/// fn import(run: Run) -> Result<(), Stopped> {
///     for part in 0..10 {
///         println!("part {part}");
///         run.sleep(Duration::from_secs(1))?;
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[doc(alias = "InterruptedException")]
#[non_exhaustive]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the run was asked to stop")
    }
}

impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for Stopped {}

/// Shows a task that the scheduler is stopping: no new runs begin, and it waits for this one.
///
/// A task that takes long asks now and then, or lets it end a wait; a task that does not ask is
/// waited for all the same.
///
/// ```rust,no_run,standalone_crate
/// use scheduler::{Shutdown, scheduled};
///
/// #[scheduled(fixed_delay = "1m")]
/// fn import(shutdown: Shutdown) {
///     for part in 0..1_000 {
///         if shutdown.stop_requested() {
///             return; // the rest comes with the next run
///         }
///         println!("part {part}");
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Shutdown {
    requested: SetOnce<()>,
}

impl Shutdown {
    pub(crate) fn new() -> Self {
        Self { requested: SetOnce::new() }
    }

    /// Returns true if the scheduler is stopping.
    #[must_use]
    pub fn stop_requested(&self) -> bool {
        self.requested.is_set()
    }

    /// Waits, without holding a thread, until the scheduler is stopping.
    pub async fn requested(&self) {
        self.requested.clone().await;
    }

    pub(crate) fn request(&self) {
        self.requested.set(());
    }
}

impl fmt::Debug for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shutdown").field("is_requested", &self.stop_requested()).finish()
    }
}
