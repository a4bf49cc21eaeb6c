//! The driver's notes about each task.

use scheduler_core::TaskState;
use std::collections::BTreeSet;

/// The notes about one task, from its body, its handle and the events.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) has_handle: bool,
    pub(crate) starts: u64,
    /// True while a run is in progress.
    pub(crate) is_inside: bool,
    pub(crate) run_starts: u64,
    pub(crate) ends: u64,
    pub(crate) end: Option<TaskState>,
    pub(crate) told: u64,
    pub(crate) told_state: Option<TaskState>,
    pub(crate) dropped: u64,
    pub(crate) bursts: u64,
    /// The firings of a timer that are to be finished, and the counts of its other calls.
    pub(crate) to_finish: BTreeSet<u64>,
    pub(crate) timer_drops: u64,
    /// The last state by its handle.
    pub(crate) state: TaskState,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            has_handle: false,
            starts: 0,
            is_inside: false,
            run_starts: 0,
            ends: 0,
            end: None,
            told: 0,
            told_state: None,
            dropped: 0,
            bursts: 0,
            to_finish: BTreeSet::new(),
            timer_drops: 0,
            state: TaskState::Scheduled,
        }
    }
}
