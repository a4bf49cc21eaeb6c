//! Work that is left to do after a timer was armed.

use std::fmt;
use std::sync::Arc;

use super::inbox::FollowUp;
use super::pool_state::PoolState;

/// The workers to wake or to start after a timer was armed, when the caller has released its locks.
///
/// Dropping it performs it, too.
#[must_use = "it is to be performed when no lock is held"]
#[derive(Default)]
pub struct Wake {
    is_refused: bool,
    follow_up: Option<(Arc<PoolState>, FollowUp)>,
}

impl Wake {
    /// Wakes no worker.
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// The answer of a pool that has gone, or takes no timers.
    pub(super) fn refused() -> Self {
        Self { is_refused: true, follow_up: None }
    }

    pub(super) fn of(state: Arc<PoolState>, follow_up: FollowUp) -> Self {
        let follow_up = (follow_up != FollowUp::Nothing).then_some((state, follow_up));
        Self { is_refused: false, follow_up }
    }

    /// Wakes and starts workers; to be called with no lock held.
    pub fn perform(self) {
        drop(self);
    }

    /// Returns true if the pool has refused to arm the timer.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        if let Some((state, follow_up)) = self.follow_up.take() {
            state.run_follow_up(follow_up);
        }
    }
}

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wake").field("is_refused", &self.is_refused).finish_non_exhaustive()
    }
}
