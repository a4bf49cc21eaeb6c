//! The workers of a simulated process.

use std::collections::{BTreeMap, VecDeque};

use scheduler_store::{End, Held, StoredJob};

/// Jobs that were started, and runs in progress.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) queue: VecDeque<(StoredJob, u64)>,
    pub(super) running: BTreeMap<(scheduler_store::JobId, u64), Running>,
}

/// A run in progress.
#[derive(Debug)]
pub(super) struct Running {
    /// The number of the run in the journal.
    pub(super) run: usize,
    pub(super) end: Option<End>,
    pub(super) listens: bool,
    /// The instant of the event that ends it.
    pub(super) ends_at: u64,
}

pub(super) fn key(held: Held) -> (scheduler_store::JobId, u64) {
    (held.job, held.fence.0)
}
