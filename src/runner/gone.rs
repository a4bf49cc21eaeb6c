//! The tasks that were removed: named as long as a run of theirs is in progress, and otherwise only counted.

use std::sync::PoisonError;
use std::sync::Weak;

use scheduler_core::Timer;

use crate::sync::Mutex;
use crate::sync::MutexGuard;

use crate::observe::SharedTotals;
use crate::observe::Totals;
use crate::task::Control;
use crate::task::Ticker;

/// The tasks that were removed.
#[derive(Default)]
pub(super) struct Gone {
    /// Those whose runs may be in progress: weak, so that what they hold is dropped with the last of these.
    leaving: Mutex<Leaving>,
    /// What their runs came to, before they were removed and since.
    totals: SharedTotals,
}

#[derive(Default)]
struct Leaving {
    tasks: Vec<Weak<Timer<Ticker>>>,
    /// How many there may be before those that are dropped are looked for: that takes a look at each.
    limit: usize,
}

impl Gone {
    /// Takes note of a task that has been cancelled, or has ended.
    pub(super) fn take_in(&self, removed: &Control) {
        removed.count_in(&self.totals);
        let mut leaving = self.lock();
        if leaving.tasks.len() >= leaving.limit {
            leaving.tasks.retain(|left| left.strong_count() > 0);
            leaving.limit = 16 + 2 * leaving.tasks.len();
        }
        leaving.tasks.push(removed.downgrade());
    }

    /// Those that somebody keeps still: their runs may be in progress.
    pub(super) fn leaving(&self) -> Vec<Control> {
        self.lock().tasks.iter().filter_map(Control::upgrade).collect()
    }

    pub(super) fn totals(&self) -> Totals {
        self.totals.sum()
    }

    fn lock(&self) -> MutexGuard<'_, Leaving> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
