//! The future of one attempt of an async task.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::task::Poll;

use super::conductor::Conductor;
use super::start::flat;
use super::start::in_scope;
use super::state::Seat;
use crate::inject::Call;
use crate::observe::Event;
use crate::observe::EventKind;
use crate::observe::Failure;
use crate::observe::Span;
use crate::observe::catch;
use crate::run::BoxFuture;
use crate::run::Run;

/// One attempt of an async task: polls its future inside the run, and drops it where it awaits when
/// the run is asked to stop.
pub(super) struct RunFuture {
    /// None when there is nothing to run, or nothing more.
    work: Option<Work>,
}

struct Work {
    conductor: Arc<Conductor>,
    seat: Seat,
    run: Run,
    span: Option<Span>,
    /// None before the first poll.
    future: Option<BoxFuture>,
}

impl RunFuture {
    pub(super) fn new(conductor: &Arc<Conductor>, seat: Seat) -> Self {
        let work = conductor.begin(seat).map(|opening| Work {
            conductor: Arc::clone(conductor),
            seat,
            span: opening.span(),
            run: opening.run,
            future: None,
        });
        Self { work }
    }
}

impl Future for RunFuture {
    type Output = Result<(), Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.work else { return Poll::Ready(Ok(())) };
        let Some(result) = work.poll(context) else { return Poll::Pending };
        if let Some(mut work) = self.work.take() {
            work.drop_future();
            if let Err(failure) = &result {
                work.span.iter().for_each(|span| span.fail(failure));
                work.conductor.note_failure(work.seat, &work.run, failure);
            }
        }
        Poll::Ready(result)
    }
}

impl Work {
    /// Polls once; none while the future is pending.
    fn poll(&mut self, context: &mut Context<'_>) -> Option<Result<(), Failure>> {
        let Self { conductor, run, span, future, .. } = self;
        if run.stop_cause().is_some() {
            return Some(Ok(()));
        }
        let Call::Async(begin) = &conductor.call else { return Some(Ok(())) };
        let polled = run.clone().enter(|run| {
            in_scope(span.as_ref(), || {
                catch(|| future.get_or_insert_with(|| begin(run)).as_mut().poll(context))
            })
        });
        match polled {
            Ok(Poll::Ready(result)) => Some(flat(Ok(result))),
            Err(failure) => Some(Err(failure)),
            // A request that came during the poll may have woken nobody.
            Ok(Poll::Pending) => run.stop_cause().map(|_| Ok(())),
        }
    }

    /// Drops the future, which is the task's own code, inside the run.
    fn drop_future(&mut self) {
        let (future, run) = (self.future.take(), self.run.clone());
        let dropped = run.enter(|_| in_scope(self.span.as_ref(), || catch(|| drop(future))));
        if let Err(failure) = dropped {
            let (at, facts) = (self.conductor.clock.wall(), self.conductor.facts());
            self.conductor.bus.emit(Event::of(at, &facts, EventKind::DropPanicked { failure }));
        }
    }
}

/// The pool has dropped the run while its future was pending.
impl Drop for RunFuture {
    fn drop(&mut self) {
        if let Some(mut work) = self.work.take() {
            work.drop_future();
            work.conductor.abandoned(work.seat, &work.run);
        }
    }
}

impl fmt::Debug for RunFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunFuture").finish_non_exhaustive()
    }
}
