//! What a stop asks of all tasks, the removed ones included: which runs are in progress, and what all came to;
//! and how it lets go of them.

use std::sync::PoisonError;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;

use super::tasks::Tasks;
use crate::observe::Totals;
use crate::report::StillRunning;

impl Tasks {
    /// The runs in progress, those of removed tasks included.
    pub(super) fn running(&self, now: DateTime<Utc>) -> Vec<StillRunning> {
        let tasks = self.controls().into_iter().chain(self.board.gone.leaving());
        let running = tasks.filter_map(|task| {
            let running_for = (now - task.running_since()?).to_std().unwrap_or_default();
            Some(StillRunning { task: task.name().to_string(), running_for })
        });
        running.collect()
    }

    /// Ends all tasks; runs in progress go on.
    pub(super) fn shut_down(&self) {
        let tasks = self.controls().into_iter().chain(self.board.gone.leaving());
        tasks.for_each(|task| task.shut_down());
    }

    /// Waits until the events of all tasks are delivered, for at most `limit` each.
    pub(super) fn await_events(&self, limit: Duration) {
        let tasks = self.controls().into_iter().chain(self.board.gone.leaving());
        tasks.for_each(|task| task.await_events(limit));
    }

    /// Reports the runs in progress that are asked to stop with their pools, those of removed tasks included.
    pub(super) fn report_shutdown(&self) {
        let tasks = self.controls().into_iter().chain(self.board.gone.leaving());
        tasks.for_each(|task| task.report_shutdown());
    }

    /// What all runs so far came to, those of removed tasks included.
    pub(super) fn totals(&self) -> Totals {
        // RACE: the removed ones first: a task that is removed meanwhile is missing, and not counted twice.
        let gone = self.board.gone.totals();
        self.controls().into_iter().fold(gone, |totals, task| totals.and(task.totals()))
    }

    /// Lets go of all tasks: those that keep an end of them would keep themselves, and their values,
    /// for ever.
    pub(super) fn forget_all(&self) {
        let controls = self.registry().clear();
        drop(controls);
        let launcher = self.board.launcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(launcher);
    }
}
