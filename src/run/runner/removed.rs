//! The tasks that were removed.

use std::sync::{PoisonError, Weak};

use scheduler_core::Timer;

use crate::observe::{SharedTotals, Totals};
use crate::run::task::{Control, ScheduledTask};
use crate::sync::{Mutex, MutexGuard};

/// Removed tasks: named while a run is in progress, then only counted.
#[derive(Default)]
pub(super) struct RemovedTasks {
    /// Weak, so that the last run of a task drops it.
    running: Mutex<Running>,
    /// Counts of their runs, before the removal and since.
    totals: SharedTotals,
}

#[derive(Default)]
struct Running {
    tasks: Vec<Weak<Timer<ScheduledTask>>>,
    /// The length at which dropped tasks are swept out.
    limit: usize,
}

impl RemovedTasks {
    /// Adds a task that was cancelled or has ended.
    pub(super) fn add(&self, removed: &Control) {
        removed.count_in(&self.totals);
        let mut running = self.lock();
        if running.tasks.len() >= running.limit {
            running.tasks.retain(|task| task.strong_count() > 0);
            running.limit = 16 + 2 * running.tasks.len();
        }
        running.tasks.push(removed.downgrade());
    }

    /// The tasks that are still alive. Their runs may be in progress.
    pub(super) fn alive(&self) -> Vec<Control> {
        self.lock().tasks.iter().filter_map(Control::upgrade).collect()
    }

    pub(super) fn totals(&self) -> Totals {
        self.totals.sum()
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
