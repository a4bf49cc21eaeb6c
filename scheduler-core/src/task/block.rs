//! The memory of one task, its runs and its cancellation.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

use scheduler_expr::OnError;

use super::handle::{TaskOutcome, TaskValue, is_unit};
use super::header::{self, EVERY_RUN, Header, MaybeOptions, TaskOptions};
use super::run::Run;
use super::spec::{Step, Steps};
use super::state::{
    Begin, Slot, StepOutcome, Suspend, TaskEnd, TaskPhase, TaskState, Waiter, notify,
};
use super::{AfterRun, AnyTask, Cancelled, Fired, HeldRun, Interruptible, NothingToRun};
use super::{PoolLink, Queued, Requeue, RunRequest, RunResult, TaskPool};
use crate::error::Failure;
use crate::sync::Mutex;
use crate::time::{Due, EventCount, Now, Tick};
use crate::unwind::{catch, catch_drop, drop_contained};

/// A task whose value is of type `T`, with its body in place: one allocation for both.
///
/// INVARIANT: the lock is the innermost of the engine; nothing is locked and no user code runs while
/// it is held. Whatever a transition frees is handed out and dropped after unlocking.
pub(crate) struct TaskBlock<T, B, X: MaybeOptions> {
    pub(super) header: Header,
    pub(super) slot: Mutex<Slot<T, B>>,
    options: X,
}

/// A task as its handles know it: without the type of its body.
pub(crate) trait Awaited<T>: AnyTask {
    /// The outcome, or none while the task has not ended.
    fn outcome(&self) -> Option<TaskOutcome<T>>;
    /// Adds a waiter, or hands it back with the final state when the task has ended.
    fn add_waiter(&self, waiter: Waiter) -> Result<u64, (Waiter, TaskState)>;
    fn remove_waiter(&self, number: u64);
    /// Cancels the task for a handle of it; returns true if this call has ended it.
    fn cancel_and_notify(&self) -> bool;
}

impl<T, B, X: MaybeOptions> TaskBlock<T, B, X> {
    /// Drops what the task no longer needs; a panic of its destructors is reported and goes no further.
    pub(super) fn discard<V>(&self, leftover: V) {
        if let Err(failure) = catch_drop(leftover)
            && let Some(pool) = self.header.link.pool()
        {
            let name = self.options.get().and_then(|options| options.name.as_deref());
            pool.drop_panicked(self.header.id(), name, &failure);
        }
    }

    /// Drops what is left when the last share of the task goes.
    #[cold]
    fn discard_rest(&mut self) {
        let slot = self.slot.get_mut();
        let over = TaskPhase::Over { is_queued: false, value: None };
        let phase = std::mem::replace(&mut slot.phase, over);
        let extras = slot.extras.take();
        self.discard(phase);
        self.discard(extras);
    }
}

impl<T: Send + Sync + 'static, B: Send + 'static, X: MaybeOptions> TaskBlock<T, B, X>
where
    Option<B>: Steps<T>,
{
    #[inline]
    pub(crate) fn new(link: Arc<PoolLink>, options: X, body: B, due: Tick) -> Arc<Self> {
        let phase = TaskPhase::Waiting { is_queued: false, body };
        let slot = Mutex::new(Slot { phase, due, extras: None });
        Arc::new(Self { header: Header::new(link), slot, options })
    }

    /// A task that is about to be put into the queue.
    #[inline]
    pub(crate) fn queued(link: Arc<PoolLink>, options: X, body: B, due: Tick) -> Arc<Self> {
        let phase = TaskPhase::Waiting { is_queued: true, body };
        let slot = Mutex::new(Slot { phase, due, extras: None });
        Arc::new(Self { header: Header::new(link), slot, options })
    }

    fn is_recurring(&self) -> bool {
        self.options.get().is_some_and(|options| options.recurrence.is_recurring())
    }

    fn discard_body(&self, body: Option<B>) {
        if std::mem::needs_drop::<B>() && body.is_some() {
            self.discard(body);
        }
    }

    /// Goes on with a run that was suspended.
    fn poll_on(&self, body: B, request: &RunRequest<'_>, pool: &dyn TaskPool) -> RunResult {
        let suspended = self.slot.lock().extras().suspended.take();
        let Some(run) = suspended else { unreachable!("a suspended run is kept") };
        Self::execute(run.resumed(request.by_worker), body, request, pool)
    }

    /// Makes one step of a run, and settles it unless its outcome is held back.
    fn execute(run: Run, body: B, request: &RunRequest<'_>, pool: &dyn TaskPool) -> RunResult {
        let (ran, task) = request.thread.enter(run, |run| {
            // The run has the only share that this thread needs.
            let Some(block) = run.task().as_any().downcast_ref::<Self>() else {
                unreachable!("the task is what it was")
            };
            let stepped = block.attempt(body, run, pool);
            if request.is_held || stepped.is_pending() {
                return Err(block.put_aside(stepped, run, request, pool));
            }
            Ok(block.close(stepped, run, pool))
        });
        match ran {
            Ok(AfterRun::Continue(due)) => {
                RunResult::Over(task.into_task().map(|task| (task, due)))
            }
            Ok(AfterRun::Break(_)) => RunResult::Over(None),
            Err(ran) => ran,
        }
    }

    /// Suspends a run whose future is pending, or keeps the outcome of a step that is held back.
    fn put_aside(
        &self,
        stepped: StepOutcome<T, B>,
        run: &Run,
        request: &RunRequest<'_>,
        pool: &dyn TaskPool,
    ) -> RunResult {
        let fired = (!stepped.is_pending()).then_some(Fired::Returned);
        self.hold_back(stepped);
        if request.is_held {
            return RunResult::Held(Box::new(HeldRun { run: run.clone(), fired }));
        }
        pool.suspend(run, request.by_worker);
        RunResult::Suspended
    }

    /// Runs one step of the body.
    fn attempt(&self, body: B, run: &Run, pool: &dyn TaskPool) -> StepOutcome<T, B> {
        let mut body = Some(body);
        let refused = if run.is_resumed() { None } else { pool.begins(run) };
        let was_refused = refused.is_some();
        let step = match refused {
            Some(failure) => Poll::Ready(Err(failure)),
            None => catch(|| body.step(&|| Self::waker(run))).unwrap_or_else(|panic| {
                // A future that has panicked must not be polled again.
                drop(catch(|| body.abandon_run()));
                failed(panic)
            }),
        };
        StepOutcome { body, step, was_refused }
    }

    /// Keeps the outcome of a step of a virtual worker until it is settled.
    fn hold_back(&self, stepped: StepOutcome<T, B>) {
        let mut slot = self.slot.lock();
        let was_woken = matches!(slot.phase, TaskPhase::Running { was_woken: true });
        slot.phase = TaskPhase::Held { was_woken };
        slot.extras().held = Some(stepped);
    }

    /// Makes the outcome of a run known.
    fn close(&self, stepped: StepOutcome<T, B>, run: &Run, pool: &dyn TaskPool) -> AfterRun {
        let outcome = stepped.outcome();
        let now = pool.is_over(run, &outcome, stepped.was_refused);
        let after_run = self.conclude(stepped, run.due(), now);
        pool.is_settled(run, &outcome, after_run, now);
        after_run
    }

    fn conclude(&self, stepped: StepOutcome<T, B>, due: Due, now: Now) -> AfterRun {
        let StepOutcome { body, step, .. } = stepped;
        match step {
            Poll::Pending => unreachable!("a pending run is suspended, not settled"),
            Poll::Ready(result) if self.is_recurring() => {
                self.recur(body, due, result.map(drop), now)
            }
            Poll::Ready(Ok(value)) => self.end(TaskEnd::Completed, value, None, body),
            Poll::Ready(Err(failure)) => self.end(TaskEnd::Failed, None, Some(failure), body),
        }
    }

    /// Decides how a recurring task goes on after a run.
    fn recur(&self, body: Option<B>, due: Due, outcome: Result<(), Failure>, now: Now) -> AfterRun {
        let Some(options) = self.options.get() else {
            unreachable!("a recurring task has options")
        };
        if let Err(failure) = outcome
            && options.on_error == OnError::Stop
        {
            return self.end(TaskEnd::Failed, None, Some(failure), body);
        }
        let Some(next) = options.recurrence.next(due.as_tick(now), now.tick) else {
            return self.end(TaskEnd::Completed, None, None, body);
        };
        let mut slot = self.slot.lock();
        if self.header.end().is_some() {
            slot.phase = TaskPhase::Over { is_queued: false, value: None };
            drop(slot);
            self.discard_body(body);
            return AfterRun::Break(TaskState::Cancelled);
        }
        let Some(body) = body else { unreachable!("a recurring body is never spent") };
        slot.phase = TaskPhase::Waiting { is_queued: false, body };
        slot.due = next;
        AfterRun::Continue(next)
    }

    /// Ends a task whose body its worker holds, and notifies its waiters.
    #[inline(always)]
    fn end(
        &self,
        end: TaskEnd,
        value: Option<T>,
        failure: Option<Failure>,
        body: Option<B>,
    ) -> AfterRun {
        self.discard_body(body);
        // A value that is no more than `()` is not kept.
        let value = value.filter(|_| !is_unit::<T>()).map(Arc::new);
        if value.is_some() || failure.is_some() {
            let mut slot = self.slot.lock();
            if failure.is_some() {
                slot.extras().failure = failure;
            }
            slot.phase = TaskPhase::Over { is_queued: false, value };
        }
        let Some(has_waiters) = self.header.try_end(end) else {
            self.discard(self.take_value());
            return AfterRun::Break(TaskState::Cancelled);
        };
        if has_waiters {
            let waiters = self.slot.lock().take_waiters();
            notify(waiters, end.into());
        }
        AfterRun::Break(end.into())
    }

    /// Takes a value out that came after the task was cancelled.
    fn take_value(&self) -> Option<Arc<T>> {
        match &mut self.slot.lock().phase {
            TaskPhase::Over { value, .. } => value.take(),
            _ => None,
        }
    }

    /// The waker of the task's future.
    fn waker(run: &Run) -> Waker {
        match Arc::clone(run.task()).into_any().downcast::<Self>() {
            Ok(task) => Waker::from(task),
            Err(_) => unreachable!("the task is what it was"),
        }
    }

    /// Asks a run to stop, or none for the present one.
    fn ask_run_to_stop(self: Arc<Self>, run: Option<u64>) {
        let (waiters, is_to_resume) = {
            let mut slot = self.slot.lock();
            // RACE: under the lock, so that the request is for the run that is in progress now, and
            // never for the next.
            let runs = header::runs(self.options.get());
            let is_another = run.is_some_and(|run| run != runs);
            if is_another || slot.phase.visible() == TaskState::Scheduled {
                return;
            }
            header::ask_to_stop(&self.header, self.options.get(), runs);
            let is_to_resume = self.header.end().is_none() && slot.phase.wake();
            (slot.take_interruptible(), is_to_resume)
        };
        notify(waiters, TaskState::Running);
        if is_to_resume && let Some(pool) = self.header.link.pool() {
            pool.resume(self);
        }
    }

    fn wake_suspended(self: Arc<Self>) {
        let is_to_resume = self.header.end().is_none() && self.slot.lock().phase.wake();
        if is_to_resume && let Some(pool) = self.header.link.pool() {
            pool.resume(self);
        }
    }
}

impl<T: Send + Sync + 'static, B: Send + 'static, X: MaybeOptions> Awaited<T> for TaskBlock<T, B, X>
where
    Option<B>: Steps<T>,
{
    fn outcome(&self) -> Option<TaskOutcome<T>> {
        match self.header.end()? {
            TaskEnd::Cancelled => Some(TaskOutcome::Cancelled),
            TaskEnd::Completed => {
                let value = match &self.slot.lock().phase {
                    TaskPhase::Over { value, .. } => value.clone(),
                    _ => None,
                };
                Some(TaskValue::new(value).map_or(TaskOutcome::Cancelled, TaskOutcome::Value))
            }
            TaskEnd::Failed => {
                let slot = self.slot.lock();
                let failure = slot.extras.as_ref().and_then(|extras| extras.failure.clone());
                Some(failure.map_or(TaskOutcome::Cancelled, TaskOutcome::Failed))
            }
        }
    }

    fn add_waiter(&self, waiter: Waiter) -> Result<u64, (Waiter, TaskState)> {
        let mut slot = self.slot.lock();
        let number = slot.extras().waiters.add(waiter);
        // RACE: who ends the task sees that there are waiters, or this thread sees the end. In the first case the other one
        // waits for the lock.
        let Some(end) = self.header.note_waiter() else { return Ok(number) };
        match slot.extras().waiters.remove(number) {
            Some(waiter) => Err((waiter, end.into())),
            None => unreachable!("it was added under this lock"),
        }
    }

    fn remove_waiter(&self, number: u64) {
        let removed =
            self.slot.lock().extras.as_mut().and_then(|extras| extras.waiters.remove(number));
        drop_contained(removed);
    }

    fn cancel_and_notify(&self) -> bool {
        let slot = self.slot.lock();
        let link = &self.header.link;
        let was_waiting = if self.is_bare(&slot) {
            self.cancel_bare(slot)
        } else {
            self.cancel_fully(slot).map(|cancelled| {
                // The pool learns of it first: a callback may wait for the end of the pool.
                if cancelled.was_suspended
                    && let Some(pool) = link.pool()
                {
                    pool.forget_suspended(self.header.id());
                }
                cancelled.notify()
            })
        };
        if was_waiting == Some(true)
            && link.is_heard()
            && let Some(pool) = link.pool()
        {
            pool.task_ended(self, TaskState::Cancelled);
        }
        was_waiting.is_some()
    }
}

impl<T: Send + Sync + 'static, B: Send + 'static, X: MaybeOptions> Queued for TaskBlock<T, B, X>
where
    Option<B>: Steps<T>,
{
    fn run_plainly(&self) -> Result<(), NothingToRun> {
        let begin = self.slot.lock().phase.begin(true);
        let mut body = match begin {
            Begin::Run(body) => Some(body),
            Begin::Nothing(nothing) => return Err(nothing),
            Begin::Resume(_) => unreachable!("a task that is a future has options"),
        };
        let waker = || -> Waker { unreachable!("a task that is a future has options") };
        let (end, value, failure) = match catch(|| body.step(&waker)).unwrap_or_else(failed) {
            Poll::Ready(Ok(value)) => (TaskEnd::Completed, value, None),
            Poll::Ready(Err(failure)) => (TaskEnd::Failed, None, Some(failure)),
            Poll::Pending => unreachable!("a task that is a future has options"),
        };
        _ = self.end(end, value, failure, body);
        Ok(())
    }

    fn run(self: Arc<Self>, request: &RunRequest<'_>, pool: &dyn TaskPool) -> RunResult {
        let mut started = request.started;
        if request.by_worker && self.deadline() != Tick::MAX {
            let now = *started.get_or_insert_with(|| pool.now());
            if self.is_overdue(now.tick) && self.withdraw() {
                pool.cancel(self);
                return RunResult::Nothing(NothingToRun { was_counted: true });
            }
        }
        let (body, number, due) = {
            let mut slot = self.slot.lock();
            match slot.phase.begin(request.by_worker) {
                Begin::Run(body) => (body, header::count_run(self.options.get()), slot.due),
                Begin::Nothing(nothing) => return RunResult::Nothing(nothing),
                Begin::Resume(body) => {
                    drop(slot);
                    return self.poll_on(body, request, pool);
                }
            }
        };
        let started = started.unwrap_or_else(|| pool.now());
        let run = Run::new(self, number, Due::Tick(due), started, request.by_worker);
        Self::execute(run, body, request, pool)
    }

    fn take_out(self: Arc<Self>, _: Due) -> Option<Arc<dyn Interruptible>> {
        if self.withdraw() { Some(self) } else { None }
    }

    fn stands_at(&self, _: Due) -> bool {
        // RACE: looked at before the setting, so that a task that has kept its place is not taken for a dead one.
        let is_gone = self.header.is_gone();
        !is_gone || self.header.link.has_kept() && self.keeps_place()
    }

    fn is_over(&self) -> bool {
        self.header.end().is_some() || self.slot.lock().phase.is_over()
    }

    fn into_task(self: Arc<Self>) -> Option<Arc<dyn AnyTask>> {
        Some(self)
    }
}

impl<T: Send + Sync + 'static, B: Send + 'static, X: MaybeOptions> Interruptible
    for TaskBlock<T, B, X>
where
    Option<B>: Steps<T>,
{
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn header(&self) -> &Header {
        &self.header
    }

    fn options(&self) -> Option<&TaskOptions> {
        self.options.get()
    }

    fn into_task(self: Arc<Self>) -> Option<Arc<dyn AnyTask>> {
        Some(self)
    }

    fn settle(self: Arc<Self>, run: &Run, _: Fired, pool: &dyn TaskPool) -> Option<Requeue> {
        let held = self.slot.lock().take_held();
        let Some(stepped) = held else {
            unreachable!("only an outcome that is held back is settled")
        };
        match self.close(stepped, run, pool) {
            AfterRun::Continue(due) => Some((self, due)),
            AfterRun::Break(_) => None,
        }
    }

    fn cancel(self: Arc<Self>) -> Option<Cancelled> {
        self.cancel_silently()
    }

    fn abandon(&self) -> Option<Cancelled> {
        if self.state() == TaskState::Running { self.cancel_silently() } else { None }
    }

    fn ask_to_stop(self: Arc<Self>, run: u64) {
        self.ask_run_to_stop(Some(run));
    }

    fn is_asked_to_stop(&self, run: u64) -> bool {
        header::is_asked_to_stop(&self.header, self.options.get(), run)
    }

    fn add_interruptible(&self, _: u64, gate: &Arc<EventCount>) -> u64 {
        self.slot.lock().extras().interruptible.add(Waiter::Thread(Arc::clone(gate)))
    }

    fn remove_interruptible(&self, _: u64, number: u64) {
        let removed =
            self.slot.lock().extras.as_mut().and_then(|extras| extras.interruptible.remove(number));
        drop(removed);
    }
}

impl<T: Send + Sync + 'static, B: Send + 'static, X: MaybeOptions> AnyTask for TaskBlock<T, B, X>
where
    Option<B>: Steps<T>,
{
    fn state(&self) -> TaskState {
        // RACE: the end is looked at again under the lock, because a run may have ended in between.
        let is_over = || self.header.end().map(TaskState::from);
        is_over().unwrap_or_else(|| {
            let phase = self.slot.lock().phase.visible();
            is_over().unwrap_or(phase)
        })
    }

    fn due(&self) -> Due {
        Due::Tick(self.slot.lock().due)
    }

    fn enqueue(&self) -> bool {
        self.slot.lock().phase.enqueue()
    }

    fn withdraw(&self) -> bool {
        let was_queued = self.slot.lock().phase.withdraw();
        if was_queued {
            self.header.note_removed();
        }
        was_queued
    }

    fn is_queued(&self) -> bool {
        self.slot.lock().phase.is_queued()
    }

    fn suspend(&self, run: &Run) -> Suspend {
        let mut slot = self.slot.lock();
        // The step is pending, so nothing but the body is left of it.
        let body = slot.take_held().and_then(|stepped| stepped.body);
        let Some(body) = body else { unreachable!("a pending future is not spent") };
        let suspend = match slot.phase.suspend(body, self.header.end().is_some()) {
            Suspend::Waits => Suspend::Waits,
            Suspend::IsWoken => Suspend::IsWoken,
            Suspend::IsOver(body) => {
                drop(slot);
                self.discard(body);
                return Suspend::IsOver(());
            }
        };
        slot.extras().suspended = Some(run.clone());
        suspend
    }

    fn interrupt(&self) {
        let waiters = {
            let mut slot = self.slot.lock();
            header::ask_to_stop(&self.header, self.options.get(), EVERY_RUN);
            slot.take_interruptible()
        };
        notify(waiters, TaskState::Running);
    }

    fn ask_present_run_to_stop(self: Arc<Self>) {
        self.ask_run_to_stop(None);
    }
}

fn failed<T>(failure: Failure) -> Step<T> {
    Poll::Ready(Err(failure))
}

/// The waker of a task's future puts the task back into the queue of its pool.
impl<T: Send + Sync + 'static, B: Send + 'static, X: MaybeOptions> Wake for TaskBlock<T, B, X>
where
    Option<B>: Steps<T>,
{
    fn wake(self: Arc<Self>) {
        self.wake_suspended();
    }
}

impl<T, B, X: MaybeOptions> Drop for TaskBlock<T, B, X> {
    #[inline]
    fn drop(&mut self) {
        let slot = self.slot.get_mut();
        let has_nothing = || {
            matches!(
                slot.phase,
                TaskPhase::Running { .. }
                    | TaskPhase::Over { value: None, .. }
                    | TaskPhase::Leaving { .. }
            )
        };
        let is_spent =
            !std::mem::needs_drop::<B>() && !std::mem::needs_drop::<T>() || has_nothing();
        if !is_spent || slot.extras.is_some() {
            self.discard_rest();
        }
    }
}

impl<T, B, X: MaybeOptions> fmt::Debug for TaskBlock<T, B, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskBlock").field("id", &self.header.id()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::spec::Once;
    use super::TaskBlock;

    /// Its counts are a part of the block.
    #[test]
    fn a_small_one_shot_takes_a_small_block() {
        let counts = 2 * size_of::<usize>();
        let size = size_of::<TaskBlock<(), Once<[u64; 1]>, ()>>() + counts;
        assert!(size <= 72, "{size}");
    }
}
