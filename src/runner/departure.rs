//! What a stop asks of all tasks, the removed ones included: which runs are in progress, and what all came to;
//! and how it lets go of them.

use std::sync::PoisonError;

use chrono::DateTime;
use chrono::Utc;

use super::tasks::Tasks;
use crate::conduct::Control;
use crate::observe::Totals;
use crate::speech::StillRunning;

impl Tasks {
    /// The runs in progress, those of removed tasks included.
    pub(super) fn running(&self, now: DateTime<Utc>) -> Vec<StillRunning> {
        let tasks = self.list().into_iter().chain(self.board.gone.leaving());
        let running = tasks.filter_map(|task| {
            let since = task.running_since?;
            let running_for = (now - since).to_std().unwrap_or_default();
            Some(StillRunning { task: task.name().to_owned(), running_for })
        });
        running.collect()
    }

    /// Tells of the runs in progress that are asked to stop with their pools, those of removed tasks included.
    pub(super) fn tell_shutdown(&self) {
        let controls = self.controls().clone();
        controls.iter().for_each(Control::tell_shutdown);
        self.board.gone.tell_shutdown();
    }

    /// What all runs so far came to, those of removed tasks included.
    pub(super) fn totals(&self) -> Totals {
        let gone = self.board.gone.totals();
        self.list().iter().fold(gone, |totals, task| totals.and(Totals::from(&task.counters)))
    }

    /// Lets go of all tasks: those that keep an end of them would keep themselves, and their values,
    /// for ever.
    pub(super) fn forget_all(&self) {
        let controls = std::mem::take(&mut *self.controls());
        controls.into_iter().for_each(Control::let_go);
        let launcher = self.board.launcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(launcher);
    }
}
