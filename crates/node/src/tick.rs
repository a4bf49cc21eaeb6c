//! Instants by the clock of this process.

use std::time::Duration;

/// An instant by the boot-time clock of this process: nanoseconds, which also pass while the machine is suspended. It says
/// when to ask the store, and how long a lease is valid; it is never compared with a tick of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u64);

impl Tick {
    /// Later than all others.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant that many nanoseconds after the start of the clock.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start of the clock.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The instant that much later.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The instant that much earlier; the start of the clock if it is earlier than that.
    pub(crate) fn before(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The time from another instant to this one; zero if the other is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}
