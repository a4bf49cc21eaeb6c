//! The wall clock: the engine's, which is the only one that reads the clock of the system.

use scheduler::chrono::{DateTime, Utc};
use scheduler::{Clock, SystemClock};

/// The present time.
pub(crate) fn now() -> DateTime<Utc> {
    SystemClock::new().wall()
}
