//! Many tasks at once: all of them, or the first that succeeds.

use std::sync::Arc;
use std::time::Duration;

use super::ScheduledThreadPool;
use crate::error::Error;
use crate::sync::Mutex;
use crate::task::block::TaskBlock;
use crate::task::run::InterruptibleWait;
use crate::task::spec::Once;
use crate::task::{
    AnyTask, Interruptible, OnceBody, Run, TaskHandle, TaskPool, TaskState, starves_at,
};
use crate::time::{Clock, Due, EventCount, Tick};

/// Handles that are cancelled when the call that made them ends early.
struct Members<T: Send + Sync + 'static> {
    handles: Vec<TaskHandle<T>>,
}

impl<T: Send + Sync + 'static> Members<T> {
    /// The first that waits for a worker, unless one of them has got one.
    fn starving(&self) -> Option<Arc<dyn AnyTask>> {
        let is_waiting = |handle: &&TaskHandle<T>| handle.state() == TaskState::Scheduled;
        let is_any_run = self.handles.iter().any(|handle| handle.state() == TaskState::Running);
        let waiting = if is_any_run { None } else { self.handles.iter().find(is_waiting) };
        waiting.map(TaskHandle::task)
    }

    /// Cancels those that have not ended, the last first: a worker that becomes free meanwhile does not
    /// begin another.
    fn cancel(&self) {
        for handle in self.handles.iter().rev() {
            handle.cancel_now();
        }
    }
}

impl<T: Send + Sync + 'static> Drop for Members<T> {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl ScheduledThreadPool {
    /// Runs all bodies, and returns their handles, in the same order, when all have ended.
    ///
    /// A body that panics does not fail the call: its handle has failed.
    ///
    /// ```
    /// use scheduler_core::ScheduledThreadPool;
    ///
    /// let pool = ScheduledThreadPool::new(2);
    /// let handles = pool.invoke_all([1, 2, 3].map(|n| move || n * n))?;
    /// let squares: Result<Vec<i32>, _> = handles.iter().map(|handle| handle.wait()).collect();
    /// assert_eq!(squares?, [1, 4, 9]);
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::is_rejected`] when the pool takes no (more) tasks, and [`Error::is_interrupted`] when
    /// the calling task is asked to stop; tasks submitted by then are cancelled.
    #[doc(alias = "invokeAll")]
    pub fn invoke_all<T, F>(
        &self,
        bodies: impl IntoIterator<Item = F>,
    ) -> Result<Vec<TaskHandle<T>>, Error>
    where
        T: Send + Sync + 'static,
        F: OnceBody<T>,
    {
        let mut members = Members { handles: Vec::new() };
        for body in bodies {
            members.handles.push(self.submit(body)?);
        }
        for handle in &members.handles {
            handle.wait_done()?;
        }
        Ok(std::mem::take(&mut members.handles))
    }

    /// As [`invoke_all`](Self::invoke_all), for at most `limit`: tasks that have not ended by then are
    /// cancelled and asked to stop, so that all handles are done.
    ///
    /// A body that comes when the time is over is not submitted; with a limit of zero none is.
    ///
    /// # Errors
    ///
    /// As [`invoke_all`](Self::invoke_all).
    #[doc(alias = "invokeAll")]
    pub fn invoke_all_for<T, F>(
        &self,
        bodies: impl IntoIterator<Item = F>,
        limit: Duration,
    ) -> Result<Vec<TaskHandle<T>>, Error>
    where
        T: Send + Sync + 'static,
        F: OnceBody<T>,
    {
        let clock = &self.state().clock;
        let until = clock.now() + limit;
        let mut members = Members { handles: Vec::new() };
        for body in bodies {
            let is_over = clock.now() >= until;
            let handle = if is_over { self.withhold(body) } else { self.submit(body)? };
            members.handles.push(handle);
        }
        for handle in &members.handles {
            match handle.wait_done_for(until.since(clock.now())) {
                Err(error) if error.is_timeout() => {
                    members.cancel();
                    break;
                }
                waited => waited?,
            }
        }
        Ok(std::mem::take(&mut members.handles))
    }

    /// Runs the bodies until one succeeds, returns its value, and cancels the others.
    ///
    /// A body fails that panics, or that is [`fallible`](crate::fallible) and returns an error. Otherwise a `Result` is a
    /// value like any other.
    ///
    /// ```
    /// use scheduler_core::ScheduledThreadPool;
    ///
    /// let pool = ScheduledThreadPool::new(2);
    /// let found = pool.invoke_any(["here", "there"].map(|place| move || place.len()))?;
    /// assert!([4, 5].contains(&found));
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::is_argument`] when there are no bodies; the failure of the last one to fail when all
    /// fail; otherwise as [`invoke_all`](Self::invoke_all).
    #[doc(alias = "invokeAny")]
    pub fn invoke_any<T, F>(&self, bodies: impl IntoIterator<Item = F>) -> Result<T, Error>
    where
        T: Clone + Send + Sync + 'static,
        F: OnceBody<T>,
    {
        self.race(bodies, None)
    }

    /// As [`invoke_any`](Self::invoke_any), for at most `limit`.
    ///
    /// # Errors
    ///
    /// [`Error::is_timeout`] when no body has succeeded within `limit`; otherwise as
    /// [`invoke_any`](Self::invoke_any).
    #[doc(alias = "invokeAny")]
    pub fn invoke_any_for<T, F>(
        &self,
        bodies: impl IntoIterator<Item = F>,
        limit: Duration,
    ) -> Result<T, Error>
    where
        T: Clone + Send + Sync + 'static,
        F: OnceBody<T>,
    {
        self.race(bodies, Some(limit))
    }

    /// A cancelled handle of a body that is not submitted.
    fn withhold<T, F>(&self, body: F) -> TaskHandle<T>
    where
        T: Send + Sync + 'static,
        F: OnceBody<T>,
    {
        let now = self.state().clock.now();
        let block = TaskBlock::new(Arc::clone(&self.state().link), (), Once(body), now);
        block.header().set_id(self.state().draw_id());
        TaskHandle::cancelled(block)
    }

    /// Starts one body, and one more each time none has ended yet, as the JDK does.
    fn race<T, F>(
        &self,
        bodies: impl IntoIterator<Item = F>,
        limit: Option<Duration>,
    ) -> Result<T, Error>
    where
        T: Clone + Send + Sync + 'static,
        F: OnceBody<T>,
    {
        let clock = &self.state().clock;
        let until = limit.map(|limit| clock.now() + limit);
        let finish = Arc::new(CallEnd::default());
        let mut members = Members { handles: Vec::new() };
        let mut failed = 0;
        let mut last = Error::argument("list of bodies", "it is empty");
        let mut bodies = bodies.into_iter();
        let run = Run::current();
        let interruptible = InterruptibleWait::new(run.as_ref(), &finish.gate);
        let neighbour = run.as_ref().filter(|run| run.belongs_to(self.state().address()));
        let stops_at = run.as_ref().and_then(|run| run.deadline_in(self.state().address()));
        let mut starves_at = neighbour.map(|_| starves_at(&**clock, Due::Tick(clock.now())));
        loop {
            let seen = finish.gate.epoch();
            while let Some(index) = finish.pop() {
                match members.handles[index].result_now() {
                    Ok(value) => return Ok(value),
                    Err(_) => last = failure_of(&members.handles[index]),
                }
                failed += 1;
            }
            if let Some(body) = bodies.next() {
                // Watched before it can run, so that members are noted in the order in which they end.
                let index = members.handles.len();
                let watch = |handle: &TaskHandle<T>| finish.watch(handle, index);
                members.handles.push(self.schedule_watched(Duration::ZERO, body, watch)?);
                continue;
            }
            if failed == members.handles.len() {
                return Err(last);
            }
            if interruptible.is_asked_to_stop() {
                return Err(Error::interrupted());
            }
            if is_over(&**clock, until) {
                return Err(Error::timeout(limit.unwrap_or_default()));
            }
            if let Some(run) = neighbour
                && starves_at.take_if(|at| clock.now() >= *at).is_some()
                && let Some(waiting) = members.starving()
            {
                self.state().wait_starves(run, &*waiting);
            }
            let wake_ups = [until, starves_at, stops_at];
            clock.wait(&finish.gate, seen, wake_ups.into_iter().flatten().min());
        }
    }
}

fn is_over(clock: &dyn Clock, until: Option<Tick>) -> bool {
    until.is_some_and(|until| clock.now() >= until)
}

fn failure_of<T: Send + Sync + 'static>(handle: &TaskHandle<T>) -> Error {
    handle.failure_now().map_or_else(|_| Error::cancelled(), Error::failed)
}

/// The members of a race that have ended, in the order in which they did.
struct CallEnd {
    gate: Arc<EventCount>,
    ended: Mutex<Vec<usize>>,
}

impl Default for CallEnd {
    fn default() -> Self {
        Self { gate: Arc::new(EventCount::new()), ended: Mutex::new(Vec::new()) }
    }
}

impl CallEnd {
    fn watch<T: Send + Sync + 'static>(self: &Arc<Self>, handle: &TaskHandle<T>, index: usize) {
        let this = Arc::clone(self);
        handle.on_done(move |_: TaskState| {
            this.ended.lock().push(index);
            this.gate.open();
        });
    }

    fn pop(&self) -> Option<usize> {
        let mut ended = self.ended.lock();
        if ended.is_empty() { None } else { Some(ended.remove(0)) }
    }
}
