//! Without the feature `tokio`: futures are woken by the scheduler's own clock alone.

use std::time::Duration;

use crate::run::BoxFuture;
use crate::runner::Builder;

/// Nothing but the scheduler wakes futures.
#[derive(Debug)]
pub(super) struct Driver;

impl Driver {
    pub(super) fn new() -> Self {
        Self
    }

    /// Gives the scheduler the runtime of its tasks.
    #[expect(clippy::unused_self, reason = "as with the feature `tokio`")]
    pub(super) fn lend(&self, builder: Builder) -> Builder {
        builder
    }

    #[expect(clippy::unused_self, reason = "as with the feature `tokio`")]
    pub(super) fn wakeful(&self, future: BoxFuture) -> BoxFuture {
        future
    }

    #[expect(clippy::unused_self, reason = "as with the feature `tokio`")]
    pub(super) fn has_pending(&self) -> bool {
        false
    }

    /// Lets everything happen that can at this time, and says whether something may have.
    #[expect(clippy::unused_self, reason = "as with the feature `tokio`")]
    pub(super) fn settle(&self) -> bool {
        false
    }

    /// Lets time go on by `length`, or until a future is woken, and says how much has passed.
    #[expect(clippy::unused_self, reason = "as with the feature `tokio`")]
    pub(super) fn pass(&self, length: Duration) -> Duration {
        length
    }
}
