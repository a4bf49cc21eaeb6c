//! The workers of a pool: how many there are, and their runs.

use std::sync::Arc;
use std::time::Duration;

use super::shutdown::Kind;
use crate::sync::{AtomicU64, Ordering};
use crate::time::{EventCount, Tick};

/// The number of a worker in its pool, from 1.
pub(super) type WorkerNumber = u64;

/// The workers of a pool.
#[derive(Debug)]
pub(super) struct Workers {
    pub(super) core_size: usize,
    pub(super) keep_alive: Duration,
    pub(super) core_may_time_out: bool,
    /// In the order of their numbers. Few, so a search through a vector is cheapest.
    list: Vec<WorkerInfo>,
    largest: usize,
    /// The number of runs that were made by workers which have left.
    completed: u64,
    started: WorkerNumber,
}

/// A worker as its pool knows it.
#[derive(Clone, Debug)]
pub(super) struct WorkerInfo {
    pub(super) number: WorkerNumber,
    /// Where it waits.
    pub(super) gate: Arc<EventCount>,
    pub(super) tally: Arc<Tally>,
}

impl Workers {
    pub(super) fn new(core_size: usize, keep_alive: Duration, core_may_time_out: bool) -> Self {
        Self {
            core_size,
            keep_alive,
            core_may_time_out,
            list: Vec::new(),
            largest: 0,
            completed: 0,
            started: 0,
        }
    }

    pub(super) fn live(&self) -> usize {
        self.list.len()
    }

    pub(super) fn largest(&self) -> usize {
        self.largest
    }

    /// Returns true if there are fewer workers than there should be.
    pub(super) fn is_short(&self) -> bool {
        self.live() < self.core_size.max(1)
    }

    /// Returns true if a worker runs a task, or makes a call.
    pub(super) fn is_any_busy(&self) -> bool {
        self.list.iter().any(|info| info.tally.is_busy())
    }

    /// The number of workers that run a task, and of runs that have ended; a task is never in both.
    pub(super) fn counts(&self) -> (usize, u64) {
        let tallies = self.list.iter().map(|info| info.tally.read());
        tallies.fold((0, self.completed), |(active, completed), (more, is_active)| {
            (active + usize::from(is_active), completed + more)
        })
    }

    pub(super) fn find(&self, worker: WorkerNumber) -> Option<&WorkerInfo> {
        self.list.iter().find(|info| info.number == worker)
    }

    /// Adds a worker whose thread is about to be started.
    pub(super) fn add(&mut self) -> WorkerNumber {
        self.started += 1;
        let (gate, tally) = (Arc::new(EventCount::new()), Arc::new(Tally::default()));
        self.list.push(WorkerInfo { number: self.started, gate, tally });
        self.largest = self.largest.max(self.list.len());
        self.started
    }

    /// Removes a worker; returns true if it was there.
    pub(super) fn remove(&mut self, worker: WorkerNumber) -> bool {
        let index = self.list.iter().position(|info| info.number == worker);
        if let Some(index) = index {
            self.completed += self.list.remove(index).tally.read().0;
        }
        index.is_some()
    }

    /// Returns true if workers leave when they have been idle for long enough.
    pub(super) fn is_timed(&self) -> bool {
        self.core_may_time_out || self.live() > self.core_size
    }

    /// When a worker leaves that has been idle since then; [`Tick::MAX`] for never.
    pub(super) fn leaves_at(&self, idle_since: Tick) -> Tick {
        if self.is_timed() { idle_since + self.keep_alive } else { Tick::MAX }
    }
}

/// The runs of a worker; only the worker itself writes it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Twice the number of runs that are over, and one more while a run is in progress: so both are read at once.
    runs: AtomicU64,
    /// One while the worker makes a call that does not count as a run.
    calls: AtomicU64,
}

impl Tally {
    /// Notes that a run begins; called under the lock under which its task is taken.
    #[inline]
    pub(super) fn begin(&self, kind: Kind) {
        if kind == Kind::Alarm { self.calls.store(1, Ordering::Release) } else { self.add(1) }
    }

    /// Notes that the run is over, and whether it counts as one.
    #[inline]
    pub(super) fn end(&self, kind: Kind, counts: bool) {
        if kind == Kind::Alarm {
            self.calls.store(0, Ordering::Release);
        } else {
            self.add(if counts { 1 } else { -1 });
        }
    }

    #[inline]
    fn add(&self, more: i64) {
        // ORDERING: only this worker writes it. Release, so that a thread that sees a run counted sees what it did.
        let runs = self.runs.load(Ordering::Relaxed);
        self.runs.store(runs.wrapping_add_signed(more), Ordering::Release);
    }

    /// The number of runs that are over, and whether one more is in progress.
    fn read(&self) -> (u64, bool) {
        let runs = self.runs.load(Ordering::Acquire);
        (runs / 2, runs % 2 == 1)
    }

    fn is_busy(&self) -> bool {
        self.read().1 || self.calls.load(Ordering::Acquire) == 1
    }
}
