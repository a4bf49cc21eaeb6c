//! The tasks that were removed: named as long as a run of theirs is in progress, and otherwise only counted.

use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::Weak;

use crate::sync::Mutex;
use crate::sync::MutexGuard;

use crate::conduct::Conductor;
use crate::conduct::Control;
use crate::observe::Ledger;
use crate::observe::TaskSnapshot;
use crate::observe::Totals;

/// The tasks that were removed.
#[derive(Default)]
pub(super) struct Gone {
    /// Those whose runs may be in progress: weak, so that what they hold is dropped with the last of these.
    leaving: Mutex<Vec<Weak<Conductor>>>,
    /// What their runs came to, before they were removed and since.
    ledger: Arc<Ledger>,
}

impl Gone {
    /// Takes note of a task that has been cancelled.
    pub(super) fn take_in(&self, removed: &Control) {
        removed.count_in(&self.ledger);
        let mut leaving = self.lock();
        leaving.retain(|left| left.strong_count() > 0);
        leaving.push(removed.downgrade());
    }

    /// Those that somebody keeps still: their runs may be in progress.
    pub(super) fn leaving(&self) -> Vec<TaskSnapshot> {
        self.kept().iter().map(Control::snapshot).collect()
    }

    pub(super) fn tell_shutdown(&self) {
        self.kept().iter().for_each(Control::tell_shutdown);
    }

    fn kept(&self) -> Vec<Control> {
        self.lock().iter().filter_map(Control::upgrade).collect()
    }

    pub(super) fn totals(&self) -> Totals {
        self.ledger.sum()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Conductor>>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
