//! Without the feature `tokio`: only the scheduler's clock wakes futures.

use std::time::Duration;

use crate::run::BoxFuture;
use crate::run::runner::Builder;

/// Does nothing.
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

    /// Polls all that can proceed at this time. Returns true if something may have happened.
    #[expect(clippy::unused_self, reason = "as with the feature `tokio`")]
    pub(super) fn settle(&self) -> bool {
        false
    }

    /// Advances by `length`, or until a future is woken. Returns how much time has passed.
    #[expect(clippy::unused_self, reason = "as with the feature `tokio`")]
    pub(super) fn pass(&self, length: Duration) -> Duration {
        length
    }
}
