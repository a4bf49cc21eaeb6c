//! One call of a task's function, begun by its timer.
//!
//! A plain function is called on the worker that fired. A future is polled there once. If it is pending it continues as a
//! task of the engine, which is due at once, so the first poll needs no waker.
//!
//! Gates come first: sync ones on the worker that fired, async ones as a task of the engine. After those, a future goes on
//! in that task, and a plain function is called by the next firing of the timer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use scheduler_core::{Fire, Fired, Now, Task, Timer};

use crate::observe::{Failure, Outcome, Span, TaskState, catch};
use crate::run::inject::Call;
use crate::run::{BoxFuture, Run, StopCause, TaskResult};
use crate::task::attempt;
use crate::task::gate::{GateContext, Permits, Verdict};
use crate::task::jobs::{end_of_job, interrupt, next_attempt_of_job, record_error_kind};
use crate::task::locked_task::Effect;
use crate::task::locked_task::LockedTask;
use crate::task::scheduled_task::Phase;
use crate::task::scheduled_task::ScheduledTask;

type Body = dyn Fn(&Run) -> TaskResult + Send + Sync;

/// Executes an attempt, or its first part if it continues as a task of the engine.
///
/// Returns `Returned` if the body has returned: the engine calls [`finish`](scheduler_core::Fire::finish), which ends the
/// attempt. Returns `NothingToFinish` if the attempt ends itself later.
pub(super) fn execute(
    task: &Arc<Timer<ScheduledTask>>,
    (run, call, phase): (Run, Call, Phase),
    firing: &scheduler_core::Run,
) -> Fired {
    let is_gated = phase == Phase::Gate;
    if is_gated && task.env.gates.has_async() {
        let stage = Stage::gates(task, &run);
        continue_as_task(firing, AttemptFuture::new(task, run, call, stage));
        return Fired::NothingToFinish;
    }
    if is_gated && !pass_gates(task, &run) {
        return Fired::Returned;
    }
    match &call {
        Call::Sync(call) => call_sync(task, run, &**call),
        Call::Async(_) => {
            let mut future = AttemptFuture::new(task, run, call, Stage::Body(None));
            match future.poll_once(&mut Context::from_waker(Waker::noop())) {
                Some(result) => future.end(result),
                None => {
                    continue_as_task(firing, future);
                    return Fired::NothingToFinish;
                }
            }
        }
    }
    Fired::Returned
}

fn continue_as_task(firing: &scheduler_core::Run, future: AttemptFuture) {
    let name = Arc::clone(future.task.name());
    // It needs no handle: `Run::request_stop` asks it to stop.
    drop(firing.continue_as(Task::once_async(future).name(name)));
}

fn call_sync(task: &Arc<Timer<ScheduledTask>>, run: Run, call: &Body) {
    let span = span_of(&run);
    run.enter(|run| {
        if let Err(failure) = flatten(run, catch_in(span.as_ref(), || call(run))) {
            fail(task, run, span.as_ref(), &failure);
        }
    });
}

#[cfg(feature = "tracing")]
fn span_of(run: &Run) -> Option<Span> {
    Some(Span::of_run(run, run.facts()))
}

#[cfg(not(feature = "tracing"))]
fn span_of(_: &Run) -> Option<Span> {
    None
}

/// Calls user code inside the span.
fn catch_in<R>(span: Option<&Span>, call: impl FnOnce() -> R) -> Result<R, Failure> {
    match span {
        None => catch(call),
        #[cfg(feature = "tracing")]
        Some(span) => span.in_scope(|| catch(call)),
        #[cfg(not(feature = "tracing"))]
        Some(span) => match *span {},
    }
}

fn flatten(run: &Run, result: Result<TaskResult, Failure>) -> Result<(), Failure> {
    let Err(error) = result? else { return Ok(()) };
    if record_error_kind(run, error.job_error_kind()) {
        return Ok(());
    }
    Err(Failure::from_error(&error))
}

/// Stores the failure of an attempt until it ends.
#[cold]
fn fail(task: &ScheduledTask, run: &Run, span: Option<&Span>, failure: &Failure) {
    let next_attempt_in = keep_failure(task, run, failure);
    #[cfg(feature = "tracing")]
    span.iter().for_each(|span| span.fail(failure, next_attempt_in));
    #[cfg(not(feature = "tracing"))]
    let _ = (span, next_attempt_in);
}

/// Returns the wait before the next attempt, if the run is not stopped before.
fn keep_failure(task: &ScheduledTask, run: &Run, failure: &Failure) -> Option<Duration> {
    let mut state = task.lock();
    let index = state.find(run)?;
    state.active[index].failure = Some(Box::new(failure.clone()));
    if run.stop_cause().is_some() {
        return None;
    }
    let of_job = || {
        let outcome = failure.clone().into();
        next_attempt_of_job(run, &outcome, end_of_job(run, &outcome).as_ref())
    };
    state.next_attempt_in(index).or_else(of_job)
}

/// Asks sync gates; returns true if the run may start.
#[cold]
fn pass_gates(task: &Arc<Timer<ScheduledTask>>, run: &Run) -> bool {
    let context = GateContext::of(run);
    let verdict = task.env.gates.admit(&context);
    take_verdict(task, run, verdict, true)
}

/// Stores the verdict of gates; returns true if the run may start. Unless `begins_here`, the timer's next firing starts
/// the attempt.
fn take_verdict(
    task: &Arc<Timer<ScheduledTask>>,
    run: &Run,
    verdict: Verdict,
    begins_here: bool,
) -> bool {
    let now = task.now();
    let mut locked = LockedTask::lock(task, now);
    let timeout = locked.state.planner.policy().timeout;
    let has_ended = locked.state.end.is_some();
    // Always there: only this attempt takes its run out.
    let Some(index) = locked.state.find(run) else { return false };
    let active = &mut locked.state.active[index];
    if has_ended && !begins_here {
        // The timer does not fire any more, so that the attempt cannot begin.
        interrupt(run);
        active.is_cancelled = true;
        run.request_stop(StopCause::Cancelled);
    }
    let is_stopped = run.stop_cause().is_some();
    let (permits, is_admitted) = match verdict {
        Verdict::Admitted(permits) => (permits, !is_stopped),
        Verdict::Refused { reason, permits } => {
            active.refusal = Some(reason);
            (permits, false)
        }
        Verdict::Failed { failure, permits } => {
            active.failure = Some(Box::new(failure));
            locked.release_unused(permits);
            locked.commit();
            return false;
        }
    };
    if !permits.is_empty() {
        active.permits = Some(permits);
    }
    if is_admitted {
        active.is_admitted = true;
        active.deadline = timeout.map(|limit| now.tick + limit);
        active.has_attempted = begins_here;
        active.phase = if begins_here { Phase::Attempt } else { Phase::Wait(now.tick) };
        run.set_deadline(active.deadline);
    }
    if is_admitted && begins_here {
        locked.report_start(run);
    }
    locked.commit();
    is_admitted
}

impl LockedTask<'_> {
    /// Releases the permits of an attempt that has not begun.
    fn release_unused(&mut self, permits: Permits) {
        if !permits.is_empty() {
            self.effects.push(Effect::Release(permits, Outcome::Cancelled));
        }
    }
}

/// The progress of an [`AttemptFuture`].
enum Stage {
    Gates(Pin<Box<dyn Future<Output = Verdict> + Send>>),
    /// `None` before the first poll.
    Body(Option<BoxFuture>),
    Over,
}

/// An attempt that is polled: first by the firing of its timer, then as a task of the engine.
struct AttemptFuture {
    task: Arc<Timer<ScheduledTask>>,
    run: Run,
    span: Option<Span>,
    call: Call,
    stage: Stage,
}

impl Stage {
    fn gates(task: &Arc<Timer<ScheduledTask>>, run: &Run) -> Self {
        let context = GateContext::of(run);
        let reporter = Arc::clone(task);
        let report = move |failure| reporter.report_hook("gate", failure);
        Self::Gates(Box::pin(Arc::clone(&task.env.gates).admit_async(context, report)))
    }
}

impl AttemptFuture {
    fn new(task: &Arc<Timer<ScheduledTask>>, run: Run, call: Call, stage: Stage) -> Self {
        let span = span_of(&run);
        Self { task: Arc::clone(task), run, span, call, stage }
    }

    /// Polls once inside the run; `None` while it is pending.
    fn poll_once(&mut self, context: &mut Context<'_>) -> Option<Result<(), Failure>> {
        // Why it stopped is the outcome, not this result.
        if self.run.stop_cause().is_some() {
            return Some(Ok(()));
        }
        if let Stage::Gates(future) = &mut self.stage {
            let Poll::Ready(verdict) = future.as_mut().poll(context) else {
                return self.run.stop_cause().map(|_| Ok(()));
            };
            self.stage = Stage::Over;
            let is_async = matches!(self.call, Call::Async(_));
            if !take_verdict(&self.task, &self.run, verdict, is_async) || !is_async {
                return Some(Ok(()));
            }
            self.stage = Stage::Body(None);
        }
        let Self { run, span, call, stage, .. } = self;
        run.poll_begins();
        let polled = run.clone().enter(|run| {
            let poll = || match stage {
                Stage::Body(future) => {
                    let Call::Async(make) = &*call else { return Poll::Ready(Ok(())) };
                    future.get_or_insert_with(|| make(run)).as_mut().poll(context)
                }
                Stage::Gates(_) | Stage::Over => Poll::Pending,
            };
            catch_in(span.as_ref(), poll)
        });
        run.poll_ends();
        match polled {
            Ok(Poll::Ready(result)) => Some(flatten(run, Ok(result))),
            Err(failure) => Some(Err(failure)),
            // The waker of the first poll does nothing, so a request during it is looked for here.
            Ok(Poll::Pending) => run.stop_cause().map(|_| Ok(())),
        }
    }

    /// Drops the future inside the run, and stores the failure.
    fn end(&mut self, result: Result<(), Failure>) {
        self.drop_future();
        if let Err(failure) = result {
            fail(&self.task, &self.run, self.span.as_ref(), &failure);
        }
    }

    fn drop_future(&mut self) {
        let (stage, span) = (std::mem::replace(&mut self.stage, Stage::Over), self.span.as_ref());
        let dropped = self.run.clone().enter(|_| catch_in(span, || drop(stage)));
        if let Err(failure) = dropped {
            self.task.report_drop(self.run.facts(), failure);
        }
    }
}

impl Future for AttemptFuture {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.run.goes_on();
        let Some(result) = self.poll_once(context) else { return Poll::Pending };
        self.end(result);
        LockedTask::lock(&self.task, self.task.now()).end_attempt_of(&self.run).commit();
        Poll::Ready(())
    }
}

/// The pool has dropped the attempt while it was pending.
impl Drop for AttemptFuture {
    fn drop(&mut self) {
        if matches!(self.stage, Stage::Over) {
            return;
        }
        self.drop_future();
        LockedTask::lock(&self.task, self.task.now()).end_dropped_attempt(&self.run).commit();
    }
}

crate::base::opaque! { AttemptFuture }

impl Fire for ScheduledTask {
    fn fire(task: &Arc<Timer<Self>>, firing: &scheduler_core::Run) -> Fired {
        let mut locked = LockedTask::lock(task, firing.started());
        locked.state.armed = None;
        let (locked, begun) = locked.next_attempt(firing);
        locked.commit();
        match begun {
            Some(begun) => attempt::execute(task, begun, firing),
            None => Fired::NothingToFinish,
        }
    }

    fn finish(task: &Arc<Timer<Self>>, firing: &scheduler_core::Run, now: Now) {
        LockedTask::lock(task, now).end_attempt_of_firing(firing.number()).commit();
    }

    fn clock_set_back(task: &Arc<Timer<Self>>, now: Now) {
        let mut locked = LockedTask::lock(task, now);
        locked.state.armed = None;
        locked.state.planner.look(now);
        locked.commit();
    }

    fn dropped(task: &Arc<Timer<Self>>) {
        let mut locked = LockedTask::lock(task, task.now());
        locked.state.armed = None;
        locked.end(TaskState::Cancelled);
        locked.commit();
    }
}
