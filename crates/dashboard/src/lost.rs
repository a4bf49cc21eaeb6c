//! The number of processes that were lost.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use scheduler::store::{SessionId, SessionInfo};

/// The processes that were seen lost since the start of the program, for a counter.
#[derive(Debug, Default)]
pub(crate) struct LostNodes(Mutex<LostCount>);

#[derive(Debug, Default)]
struct LostCount {
    /// Those that the store listed last.
    listed: Option<BTreeSet<SessionId>>,
    count: u64,
}

impl LostNodes {
    /// Returns the number of processes that were lost since the first look.
    pub(crate) fn count(&self, sessions: &[SessionInfo]) -> u64 {
        let is_lost =
            |session: &&SessionInfo| session.ended.as_ref().is_some_and(|end| end.is_lost);
        let lost: BTreeSet<_> = sessions.iter().filter(is_lost).map(|session| session.id).collect();
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listed) = &seen.listed {
            seen.count += lost.difference(listed).count() as u64;
        }
        // The store lists each for an hour, and never again.
        seen.listed = Some(lost);
        seen.count
    }
}
