//! What is asked of tasks in transit: when they are due, by whoever took the step that sent them off.

use std::collections::VecDeque;

use super::item::AnyItem;
use super::shell::Shell;
use crate::task::run::Verdict;
use crate::time::Now;

impl Shell {
    /// Asks tasks that are in transit when they are due.
    pub(super) fn ask_anew(&self, tasks: Vec<AnyItem>) {
        let mut errand = Errand { shell: self, tasks: tasks.into() };
        while let Some(task) = errand.tasks.front().cloned() {
            let verdict = task.renew(Now::read(&*self.clock));
            let back = self.step(|core, now, effects| {
                match verdict {
                    Verdict::Requeue(due) => core.enter_again(task, due, now, effects),
                    Verdict::Ended(_) => core.retire(effects),
                }
                errand.tasks.pop_front()
            });
            drop(back);
        }
    }
}

/// Tasks that are in transit while somebody asks them. If that one dies, as of a clock that panics, they are cancelled,
/// because nobody else knows of them.
struct Errand<'a> {
    shell: &'a Shell,
    tasks: VecDeque<AnyItem>,
}

impl Drop for Errand<'_> {
    fn drop(&mut self) {
        for task in self.tasks.drain(..) {
            self.shell.alter(|core, effects| core.abandon(&task, effects));
        }
    }
}
