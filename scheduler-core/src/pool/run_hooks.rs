//! What a pool does around the runs of its tasks: it calls its hooks and its listener.

use std::sync::Arc;

use super::entry::AnyItem;
use super::shell::Shell;
use crate::error::Failure;
use crate::observe::Event;
use crate::sync::planted;
use crate::task::run::{RunObserver, Verdict};
use crate::task::state::Suspend;
use crate::task::{Home, Run, TaskState, current};
use crate::time::{Now, Tick, WallTime};

impl RunObserver for Shell {
    fn now(&self) -> Now {
        Now::read(&*self.clock)
    }

    /// A hook may refuse the run.
    fn begins(&self, run: &Run) -> Option<Failure> {
        if self.is_silent || run.task().header().is_call() {
            return None;
        }
        self.announcer.announce(&Event::RunStarted { run });
        self.hooks.before_run(run, &self.announcer)
    }

    /// The hook is called unless the other one refused the run, as in the JDK, and a task that should have ended is
    /// cancelled.
    fn is_over(&self, run: &Run, outcome: &Result<(), Failure>, was_refused: bool) -> Now {
        let header = run.task().header();
        if !self.is_silent && !was_refused && !header.is_call() {
            self.hooks.after_run(run, outcome, &self.announcer);
        }
        // The end time of a run is needed only if its task recurs or has a limit, or there is a listener.
        let is_timed = header.rhythm().is_recurring() || header.deadline() != Tick::MAX;
        let is_asked = is_timed || self.announcer.is_heard();
        let now = if is_asked { Now::read(&*self.clock) } else { run.started() };
        if header.is_overdue(now.tick) {
            self.cancel(run.task());
        }
        now
    }

    /// RACE: the waker may be called at any time. The pool lists the task among the suspended *before*
    /// its state changes, because from then on a wake puts the task back into the queue.
    fn suspend(&self, task: &AnyItem, by_worker: bool) {
        if by_worker {
            self.alter(|core, effects| {
                current::end_activity();
                core.suspend(task, effects);
            });
        }
        match task.suspend() {
            Suspend::Suspended => {}
            Suspend::Woken if by_worker => self.resume(Arc::clone(task)),
            Suspend::Woken => {}
            Suspend::WasCancelled if planted("L12 cancel") => {}
            Suspend::WasCancelled if by_worker => self.withdraw(&**task, task.due()),
            Suspend::WasCancelled => self.announce_end(&**task, TaskState::Cancelled),
        }
    }

    fn is_settled(&self, run: &Run, outcome: &Result<(), Failure>, verdict: Verdict, now: Now) {
        if !self.announcer.is_heard() || run.task().header().is_call() {
            return;
        }
        let next = match verdict {
            Verdict::Requeue(due) => Some(due.as_wall(now)),
            Verdict::Ended(_) => None,
        };
        let next = next.filter(|next| *next != WallTime::MAX).map(WallTime::to_utc);
        let duration = run.elapsed(now.tick);
        self.announcer.announce(&Event::RunFinished { run, outcome, duration, next });
        if let Verdict::Ended(state) = verdict {
            self.announce_end(&**run.task(), state);
        }
    }
}
