//! What a stop asks of all tasks, the removed ones included: which runs are in progress, and what all came to;
//! and how it lets go of them.

use std::sync::PoisonError;

use chrono::DateTime;
use chrono::Utc;

use super::tasks::Tasks;
use crate::conduct::Control;
use crate::observe::Totals;
use crate::report::StillRunning;

impl Tasks {
    /// The runs in progress, those of removed tasks included.
    pub(super) fn running(&self, now: DateTime<Utc>) -> Vec<StillRunning> {
        let tasks = self.controls().into_iter().chain(self.board.gone.leaving());
        let running = tasks.filter_map(|task| {
            let since = task.running_since();
            let name = task.name().to_string();
            task.let_go();
            let running_for = (now - since?).to_std().unwrap_or_default();
            Some(StillRunning { task: name, running_for })
        });
        running.collect()
    }

    /// Tells of the runs in progress that are asked to stop with their pools, those of removed tasks included.
    pub(super) fn tell_shutdown(&self) {
        let tasks = self.controls().into_iter().chain(self.board.gone.leaving());
        tasks.for_each(|task| {
            task.tell_shutdown();
            task.let_go();
        });
    }

    /// What all runs so far came to, those of removed tasks included.
    pub(super) fn totals(&self) -> Totals {
        // RACE: the removed ones first: a task that is removed meanwhile is missing, and not counted twice.
        let gone = self.board.gone.totals();
        self.controls().into_iter().fold(gone, |totals, task| {
            let totals = totals.and(task.totals());
            task.let_go();
            totals
        })
    }

    /// Lets go of all tasks: those that keep an end of them would keep themselves, and their values,
    /// for ever.
    pub(super) fn forget_all(&self) {
        let controls = self.registry().clear();
        controls.into_values().for_each(Control::let_go);
        let launcher = self.board.launcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(launcher);
    }
}
