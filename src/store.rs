//! Stores of durable schedules and jobs, from the crate `scheduler-store`.
//!
//! A store is given to [`Builder::store`](crate::Builder::store). [`Model`] keeps everything in memory, for tests.
//!
//! Times are those of the store's clock. A store itself counts in [`StoreTime`]: [`utc`] and [`store_time`] convert it.

use chrono::{DateTime, Utc};

pub use crate::durable::{
    EnqueueIn, EnqueueInAsync, JobAttempt, JobPause, Origin, SessionInfo, StoredJob, StoredPause,
    StoredPayload, StoredSchedule, UnknownTask,
};
pub use scheduler_store::{
    AttemptOutcome, DEFAULT_QUEUE, Enqueued, Fence, JobFilter, JobId, JobState, Key, KeyUntil,
    Model, NewJob, OnConflict, OnLost, Overlap, PauseScope, Priority, QueueDepth, Refusal,
    SessionId, Skips, Store, StoreError, StoreTime, Uuid, When,
};

#[cfg(feature = "postgres")]
#[cfg_attr(docsrs, doc(cfg(feature = "postgres")))]
pub use scheduler_postgres::{ConnectError, Postgres, Wakeup, postgres, tokio_postgres};
// `sqlite` = `sqlite-system` + a bundled SQLite.
#[cfg(feature = "sqlite-system")]
#[cfg_attr(docsrs, doc(cfg(any(feature = "sqlite", feature = "sqlite-system"))))]
pub use scheduler_sqlite::{OpenError, Sqlite, Synchronous, rusqlite};

/// An instant of a store's clock.
///
/// ```
/// use scheduler::store::{StoreTime, store_time, utc};
///
/// let instant = utc(StoreTime::from_micros(1_500_000));
/// assert_eq!(instant.to_rfc3339(), "1970-01-01T00:00:01.500+00:00");
/// assert_eq!(store_time(instant), StoreTime::from_micros(1_500_000));
/// ```
#[must_use]
pub fn utc(time: StoreTime) -> DateTime<Utc> {
    crate::run::instant(time)
}

/// An instant, as a store keeps it: to the microsecond, and moved to the nearest instant of the years 1 to 9999.
#[must_use]
pub fn store_time(instant: DateTime<Utc>) -> StoreTime {
    StoreTime::from_micros(instant.timestamp_micros())
}
