//! Short names for lengths of time.

use std::time::Duration;

/// So many milliseconds.
///
/// ```
/// use scheduler::testing::*;
///
/// assert_eq!(millis(1_500) + minutes(2), secs(121) + millis(500));
/// assert_eq!(days(1), hours(24));
/// ```
#[must_use]
pub const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// So many seconds.
///
/// ```
/// use scheduler::testing::secs;
///
/// assert_eq!([0, 8, 16].map(secs)[1].as_secs(), 8);
/// ```
#[must_use]
pub const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// So many minutes.
#[must_use]
pub const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(60))
}

/// So many hours.
#[must_use]
pub const fn hours(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(3_600))
}

/// So many days of 24 hours.
#[must_use]
pub const fn days(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(86_400))
}
