//! Stores of durable schedules and jobs, from the crate `scheduler-store`.
//!
//! A store is given to [`Builder::store`](crate::Builder::store). [`Model`] keeps everything in memory, for tests.
//!
//! Times are those of the store's clock. A [`StoreTime`] is one to the microsecond, and converts from and into a `DateTime<Utc>`.

pub use crate::durable::{EnqueueIn, EnqueueInAsync, Partition, UnknownTask, new_action};
pub use scheduler_store::{
    Action, ActionFilter, ActionId, AttemptOutcome, BulkOutcome, CLOCK_OFF, CommandOutcome,
    DEFAULT_QUEUE, DecodeError, Enqueued, Failing, Fence, JobAction, JobAttempt, JobFilter, JobId,
    JobPause, JobProgress, JobState, JobWait, Key, KeyUntil, Limit as LimitValue, LimitDepth,
    LimitOverride, LimitScope, Model, NewJob, Next, OnConflict, OnLost, Origin, Overlap, Override,
    PartitionDepth, Pause as StoredPause, PauseScope, Payload as StoredPayload, Priority,
    QueueDepth, Rate, Refusal, RunEnd, SessionEnd, SessionId, SessionInfo, SessionTask, Signature,
    Skips, Store, StoreError, StoreTime, StoredJob, StoredLimit, StoredSchedule, TargetKind, Uuid,
    VersionDepth, WaitReason, When,
};

/// For the dashboard.
#[doc(hidden)]
pub use scheduler_store::Known;

#[cfg(feature = "postgres")]
#[cfg_attr(docsrs, doc(cfg(feature = "postgres")))]
pub use scheduler_postgres::{ConnectError, Postgres, Wakeup, postgres, tokio_postgres};
// `sqlite` = `sqlite-system` + a bundled SQLite.
#[cfg(feature = "sqlite-system")]
#[cfg_attr(docsrs, doc(cfg(any(feature = "sqlite", feature = "sqlite-system"))))]
pub use scheduler_sqlite::{OpenError, Sqlite, Synchronous, rusqlite};
