//! How tasks are cancelled that the pool has let go of: dropped first, then reported.

use super::item::AnyItem;
use super::shell::Shell;
use crate::task::TaskState;
use crate::task::current;
use crate::task::run::Farewell;

impl Shell {
    /// Cancels a task that the pool has let go of.
    ///
    /// The end of a task that is being run is reported by the thread that runs it.
    pub(super) fn cancel(&self, task: &AnyItem) {
        if let Some(farewell) = task.cancel() {
            self.tell(task, farewell);
        }
    }

    fn tell(&self, task: &AnyItem, farewell: Farewell) {
        let was_waiting = farewell.was_waiting;
        farewell.say();
        if was_waiting {
            self.announce_end(&**task, TaskState::Cancelled);
        }
    }

    /// Cancels tasks that the core has let go of. All have ended before anybody is told, so that a callback of one
    /// can wait for another.
    pub(super) fn cancel_all(&self, tasks: Vec<AnyItem>) {
        let count = tasks.len();
        let home = self.me.as_ptr().addr();
        let ends = tasks.iter().map(|task| (home, Some(task.header().id())));
        let ends: Vec<_> = ends.chain([(home, None)]).collect();
        let cancel = |task: AnyItem| Some((task.cancel()?, task));
        let ended: Vec<_> =
            current::hold_up(&ends, || tasks.into_iter().filter_map(cancel).collect());
        self.alter(|core, effects| core.parted(count, effects));
        for (farewell, task) in ended {
            self.tell(&task, farewell);
        }
    }
}
