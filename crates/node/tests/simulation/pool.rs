//! The workers of a simulated process.

use std::collections::{BTreeMap, VecDeque};

use scheduler_store::{ClaimRef, End, StoredJob};

/// Jobs that were started, and runs in progress.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) queue: VecDeque<(StoredJob, u64)>,
    pub(crate) running: BTreeMap<(scheduler_store::JobId, u64), Running>,
}

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Running {
    /// The number of the run in the journal.
    pub(crate) run: usize,
    pub(crate) end: Option<End>,
    pub(crate) listens: bool,
    /// True once its process could not hold the lease.
    pub(crate) is_lost: bool,
    /// The instant of the event that ends it.
    pub(crate) ends_at: u64,
}

pub(crate) fn key(held: ClaimRef) -> (scheduler_store::JobId, u64) {
    (held.job, held.fence.0)
}
