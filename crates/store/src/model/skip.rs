//! Lets a simulation skip time in which nothing can happen.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Model;
use crate::error::StoreError;
use crate::id::SessionId;
use crate::job::JobState;
use crate::time::StoreTime;

/// For simulations, which skip the polls and renewals that would find and change nothing.
impl Model {
    /// The number of requests so far that may have made something due. Renewals, and polls that claim nothing, are not among
    /// them.
    #[doc(hidden)]
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// Returns true while the connection is [cut](Self::set_cut).
    #[doc(hidden)]
    #[must_use]
    pub fn is_cut(&self) -> bool {
        // ORDERING: see `set_cut`.
        self.is_cut.load(Ordering::Relaxed)
    }

    /// Returns true if these are all sessions, and each running job has one of them: then no job waits for the end of a lease.
    #[doc(hidden)]
    #[must_use]
    pub fn has_only(&self, sessions: &[SessionId]) -> bool {
        let state = &self.lock().state;
        let is_known = |session: &SessionId| sessions.contains(session);
        let mut running =
            state.jobs.values().map(|row| &row.job).filter(|job| job.state == JobState::Running);
        state.sessions.keys().all(is_known)
            && running.all(|job| job.session.as_ref().is_some_and(is_known))
    }

    /// Renews a lease as at an instant that has passed meanwhile.
    #[doc(hidden)]
    pub fn was_renewed(&self, session: SessionId, lease: Duration, at: StoreTime) {
        if let Some(row) = self.lock().state.sessions.get_mut(&session) {
            row.lease_until = row.lease_until.max(at.after(lease));
            row.renewals += 1;
        }
    }

    /// Counts a request that was executed, if it may have made something due.
    pub(super) fn count<R>(
        &self,
        answer: Result<R, StoreError>,
        is_change: impl FnOnce(&R) -> bool,
    ) -> Result<R, StoreError> {
        if answer.as_ref().is_ok_and(is_change) {
            self.lock().changes += 1;
        }
        answer
    }
}
