//! The tasks that were removed: named as long as a run of theirs is in progress, and otherwise only counted.

use std::sync::PoisonError;
use std::sync::Weak;

use crate::sync::Mutex;
use crate::sync::MutexGuard;

use crate::conduct::Conductor;
use crate::conduct::Control;
use crate::observe::Counters;
use crate::observe::TaskSnapshot;

/// What runs came to, as far as the last words need it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) runs: u64,
    pub(super) failures: u64,
    pub(super) skipped: u64,
}

/// The tasks that were removed.
#[derive(Default)]
pub(super) struct Gone {
    kept: Mutex<Kept>,
}

/// What is kept of them.
#[derive(Default)]
struct Kept {
    /// Those whose runs may be in progress: weak, so that what they hold is dropped with the last of these.
    leaving: Vec<Weak<Conductor>>,
    /// What their runs came to before they were removed.
    totals: Totals,
}

impl Totals {
    pub(super) fn and(self, counters: &Counters) -> Self {
        Self {
            runs: self.runs + counters.runs,
            failures: self.failures + counters.failures(),
            skipped: self.skipped + counters.skipped(),
        }
    }
}

impl Gone {
    /// Takes note of a task that has been cancelled.
    pub(super) fn take_in(&self, removed: &Control) {
        let counters = removed.snapshot().counters;
        let mut kept = self.kept();
        kept.totals = kept.totals.and(&counters);
        kept.leaving.retain(|left| left.strong_count() > 0);
        kept.leaving.push(removed.downgrade());
    }

    /// Those that somebody keeps still: their runs may be in progress.
    pub(super) fn leaving(&self) -> Vec<TaskSnapshot> {
        let leaving: Vec<_> = self.kept().leaving.iter().filter_map(Control::upgrade).collect();
        leaving.iter().map(Control::snapshot).collect()
    }

    pub(super) fn totals(&self) -> Totals {
        self.kept().totals
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
