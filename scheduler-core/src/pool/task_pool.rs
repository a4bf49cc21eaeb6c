//! The calls of tasks to their pool, with hooks and listener around runs.

use std::fmt;
use std::sync::Arc;

use super::pool_state::PoolState;
use super::shutdown::EntryKind;
use crate::error::Failure;
use crate::observe::{Announcer, Event};
use crate::task::spec::Around;
use crate::task::{
    AfterRun, AnyTask, Interruptible, Run, Suspend, TaskId, TaskPool, TaskState, run,
};
use crate::time::{Due, Now, Tick, WallTime};
use crate::unwind::catch;

impl TaskPool for PoolState {
    fn now(&self) -> Now {
        Now::read(&*self.clock)
    }

    /// A hook may refuse the run.
    fn begins(&self, run: &Run) -> Option<Failure> {
        if self.is_silent || run.task().is_call() {
            return None;
        }
        self.announcer.announce(&Event::RunStarted { run });
        self.hooks.before_run(run, &self.announcer)
    }

    /// Calls the hook after the run, unless the hook before it refused the run (as in the JDK). Cancels a task whose time limit
    /// has passed.
    fn is_over(&self, run: &Run, outcome: &Result<(), Failure>, was_refused: bool) -> Now {
        let task = run.task();
        if !self.is_silent && !was_refused && !task.is_call() {
            self.hooks.after_run(run, outcome, &self.announcer);
        }
        // The end time of a run is needed only if its task recurs or has a limit, or there is a listener.
        let is_timed = task.options().is_some_and(|options| {
            options.recurrence.is_recurring() || options.deadline != Tick::MAX
        });
        let is_asked = is_timed || self.announcer.is_heard();
        let now = if is_asked { Now::read(&*self.clock) } else { run.started() };
        if task.is_overdue(now.tick) {
            self.cancel(Arc::clone(task));
        }
        now
    }

    fn is_settled(&self, run: &Run, outcome: &Result<(), Failure>, after_run: AfterRun, now: Now) {
        if !self.announcer.is_heard() || run.task().is_call() {
            return;
        }
        let next = after_run.continue_value().map(|due| Due::Tick(due).as_wall(now));
        let next = next.filter(|next| *next != WallTime::MAX).map(WallTime::to_utc);
        let duration = run.elapsed(now.tick);
        self.announcer.announce(&Event::RunFinished { run, outcome, duration, next });
        if let AfterRun::Break(state) = after_run {
            self.announce_end(&**run.task(), state);
        }
    }

    /// RACE: the waker may be called at any time. The pool lists the task among the suspended *before*
    /// its state changes, because from then on a wake puts the task back into the queue.
    fn suspend(&self, run: &Run, by_worker: bool) {
        let Some(task) = Arc::clone(run.task()).into_task() else { return };
        if by_worker {
            let worker = run::worker_number(self.address());
            self.step(|core, effects| {
                // Not active any more, but suspended: so it is never counted twice.
                let info = worker.and_then(|worker| core.workers.find(worker));
                if let Some(info) = info {
                    info.tally.end(EntryKind::OneShot, false);
                }
                core.suspend(&task, effects);
            });
        }
        match task.suspend(run) {
            Suspend::IsWoken if by_worker => self.resume(task),
            Suspend::IsWoken | Suspend::Waits => {}
            Suspend::IsOver(()) => {
                if by_worker {
                    self.forget_suspended(task.id());
                }
                self.announce_end(&*task, TaskState::Cancelled);
            }
        }
    }

    fn resume(&self, task: Arc<dyn AnyTask>) {
        let now = self.clock.now();
        self.step(|core, effects| core.resume(task, now, effects));
    }

    fn forget_suspended(&self, task: TaskId) {
        self.step(|core, effects| core.forget_suspended(task, effects));
    }

    fn entries_died(&self) {
        self.step(|_, _| ());
    }

    /// The end of a task that is being run is reported by the thread that runs it.
    fn cancel(&self, task: Arc<dyn Interruptible>) {
        if let Some(cancelled) = Arc::clone(&task).cancel() {
            self.notify_cancelled(&*task, cancelled);
        }
    }

    fn abandon(&self, task: &dyn Interruptible) {
        if let Some(cancelled) = task.abandon() {
            if cancelled.was_suspended {
                self.forget_suspended(task.id());
            }
            cancelled.notify();
            self.announce_end(task, TaskState::Cancelled);
        }
    }

    fn task_ended(&self, task: &dyn Interruptible, state: TaskState) {
        self.announce_end(task, state);
    }

    fn drop_panicked(&self, id: TaskId, name: Option<&str>, failure: &Failure) {
        self.announcer.announce(&Event::DropPanicked { id, name, failure });
    }

    fn timer_panicked(
        &self,
        id: TaskId,
        name: Option<&str>,
        call: &'static str,
        failure: &Failure,
    ) {
        self.announcer.announce(&Event::TimerPanicked { id, name, call, failure });
    }

    fn wait_starves(&self, run: &Run, awaited: &dyn Interruptible) {
        let (id, name) = (awaited.id(), awaited.name());
        self.announcer.announce(&Event::WaitStarved { run, id, name });
    }
}

type Before = Arc<dyn Fn(&Run) + Send + Sync>;
type After = Arc<dyn Fn(&Run, &Result<(), Failure>) + Send + Sync>;
type Terminated = Arc<dyn Fn() + Send + Sync>;
type Decorate = Arc<dyn Fn(TaskId, Option<&str>) -> Around + Send + Sync>;

/// The hooks around runs.
#[derive(Default)]
pub(super) struct Hooks {
    pub(super) before: Option<Before>,
    pub(super) after: Option<After>,
    pub(super) terminated: Option<Terminated>,
    pub(super) decorate: Option<Decorate>,
}

impl Hooks {
    /// Asks the decorator, if there is one, for the wrapper of one task's steps.
    #[inline]
    pub(super) fn decorate(
        &self,
        id: TaskId,
        name: Option<&str>,
    ) -> Result<Option<Around>, Failure> {
        match &self.decorate {
            None => Ok(None),
            Some(decorate) => catch(|| decorate(id, name)).map(Some),
        }
    }

    /// Returns true if anything is to be called around runs.
    pub(super) fn surround_runs(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }

    /// Calls the before-hook; a panic of it is the failure of the run, which then does not start.
    pub(super) fn before_run(&self, run: &Run, announcer: &Announcer) -> Option<Failure> {
        let hook = self.before.as_ref()?;
        let failure = catch(|| hook(run)).err()?;
        announcer.announce(&Event::HookPanicked { hook: "before_run", failure: &failure });
        let message = format!("the before-run hook panicked: {}", failure.message());
        Some(Failure::from_panic(&message))
    }

    pub(super) fn after_run(
        &self,
        run: &Run,
        outcome: &Result<(), Failure>,
        announcer: &Announcer,
    ) {
        if let Some(hook) = &self.after
            && let Err(failure) = catch(|| hook(run, outcome))
        {
            announcer.announce(&Event::HookPanicked { hook: "after_run", failure: &failure });
        }
    }

    pub(super) fn terminated(&self, announcer: &Announcer) {
        if let Some(hook) = &self.terminated
            && let Err(failure) = catch(|| hook())
        {
            announcer.announce(&Event::HookPanicked { hook: "on_terminated", failure: &failure });
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("before", &self.before.is_some())
            .field("after", &self.after.is_some())
            .field("terminated", &self.terminated.is_some())
            .field("decorate", &self.decorate.is_some())
            .finish()
    }
}
