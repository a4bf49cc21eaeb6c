//! The runs in progress by task name.
//!
//! A task removed during a run and a new one of the same name share their metrics: their runs are counted together, and
//! the end of the first task does not clear the runs of the second.

use std::collections::HashMap;
use std::sync::Arc;

use crate::base::sync::Mutex;

/// The names of all tasks and of runs in progress. Others are not kept: a program may use ever new ones.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<HashMap<Arc<str>, Known>>);

#[derive(Debug, Default)]
struct Known {
    /// The name in the events of the present task, which differs by its pointer from the name of a removed task.
    present: Option<Arc<str>>,
    runs: usize,
}

impl Running {
    pub(super) fn added(&self, task: &Arc<str>) {
        self.0.lock().entry(Arc::clone(task)).or_default().present = Some(Arc::clone(task));
    }

    /// Counts a run that starts.
    pub(super) fn begin(&self, task: &Arc<str>) {
        self.0.lock().entry(Arc::clone(task)).or_default().runs += 1;
    }

    /// Counts the end of a run, which may have started before the bridge counted.
    pub(super) fn end(&self, task: &Arc<str>) {
        let mut tasks = self.0.lock();
        if let Some(known) = tasks.get_mut(task) {
            known.runs = known.runs.saturating_sub(1);
            forget_if_over(&mut tasks, task);
        }
    }

    /// Removes a task that has ended. Returns false if another one has its name.
    pub(super) fn ended(&self, task: &Arc<str>) -> bool {
        let mut tasks = self.0.lock();
        if let Some(known) = tasks.get_mut(task) {
            if known.present.as_ref().is_some_and(|present| !Arc::ptr_eq(present, task)) {
                return false;
            }
            known.present = None;
            forget_if_over(&mut tasks, task);
        }
        true
    }

    /// Calls `show` with the number of runs in progress.
    ///
    /// RACE: of two concurrent calls the last may show an old number, so each looks again.
    pub(super) fn show(&self, task: &Arc<str>, show: impl Fn(usize)) {
        loop {
            let runs = self.count(task);
            show(runs);
            if self.count(task) == runs {
                return;
            }
        }
    }

    fn count(&self, task: &Arc<str>) -> usize {
        self.0.lock().get(task).map_or(0, |known| known.runs)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

fn forget_if_over(tasks: &mut HashMap<Arc<str>, Known>, task: &Arc<str>) {
    if tasks.get(task).is_some_and(|known| known.present.is_none() && known.runs == 0) {
        tasks.remove(task);
    }
}
