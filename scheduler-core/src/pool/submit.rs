//! Submission of tasks, also with a time limit.

use std::sync::Arc;
use std::time::Duration;

use super::ScheduledThreadPool;
use super::control::UnstartedTask;
use super::entry::key;
use super::inbox::FollowUp;
use super::pool_state::PoolState;
use super::shutdown::EntryKind;
use crate::error::Error;
use crate::task::block::{Awaited, TaskBlock};
use crate::task::header::{MaybeOptions, TaskOptions};
use crate::task::spec::{Around, Decorated, Once, Steps};
use crate::task::{AnyTask, Body, OnceBody, OnceFutureBody, Task, TaskHandle, TaskId, TaskReturn};
use crate::time::Tick;

impl ScheduledThreadPool {
    /// Runs a task as soon as possible, in one order with all other tasks.
    ///
    /// # Errors
    ///
    /// [`Error::is_rejected`] when the pool is shut down, unless its [`RejectionPolicy`](crate::RejectionPolicy) says
    /// otherwise; [`Error::is_no_thread`] when it has no worker, and no thread can be started. (In the JDK the
    /// latter is the `OutOfMemoryError` of the thread's start, or a task that waits where a factory gave no thread.)
    pub fn execute(&self, body: impl FnOnce() + Send + 'static) -> Result<TaskHandle<()>, Error> {
        self.submit(body)
    }

    /// Runs a task as soon as possible, and delivers its value through the handle.
    ///
    /// A `Result` is a value like any other, unless the body is [`fallible`](crate::fallible).
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute).
    pub fn submit<T: Send + Sync + 'static>(
        &self,
        body: impl OnceBody<T>,
    ) -> Result<TaskHandle<T>, Error> {
        self.schedule(Duration::ZERO, body)
    }

    /// Runs a task once, `delay` from now and never earlier.
    ///
    /// A delay that is too long for the clock means never: the task waits until it is cancelled.
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute).
    pub fn schedule<T: Send + Sync + 'static>(
        &self,
        delay: Duration,
        body: impl OnceBody<T>,
    ) -> Result<TaskHandle<T>, Error> {
        self.schedule_watched(delay, body, |_| ())
    }

    /// As [`schedule`](Self::schedule); `watch` is given the handle before the task can run.
    pub(super) fn schedule_watched<T: Send + Sync + 'static>(
        &self,
        delay: Duration,
        body: impl OnceBody<T>,
        watch: impl FnOnce(&TaskHandle<T>),
    ) -> Result<TaskHandle<T>, Error> {
        let state = self.state();
        let now = state.clock.now();
        if state.hooks.decorate.is_some() {
            return self.launch(Task::once(body).initial_delay(delay), now, watch);
        }
        let (link, due) = (Arc::clone(&state.link), now + delay);
        let block = TaskBlock::queued(link, (), Once(body), due);
        self.submit_block(block, Submission { kind: EntryKind::Plain, due, now, id: None }, watch)
    }

    /// Runs a future once, `delay` from now; while it is pending it holds no worker.
    ///
    /// ```
    /// use scheduler_core::ScheduledThreadPool;
    /// use std::time::Duration;
    ///
    /// let pool = ScheduledThreadPool::new(1);
    /// let answer = pool.schedule_async(Duration::ZERO, async { 6 * 7 })?;
    /// assert_eq!(answer.wait()?, 42);
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute).
    pub fn schedule_async<T: Send + Sync + 'static>(
        &self,
        delay: Duration,
        body: impl OnceFutureBody<T>,
    ) -> Result<TaskHandle<T>, Error> {
        self.submit_task(Task::once_async(body).initial_delay(delay))
    }

    /// Runs a task again and again, at fire times that lie `period` apart.
    ///
    /// The first is `initial_delay` from now. Runs never overlap; fire times that are missed because a
    /// run took longer follow back to back, as in the JDK. A run that panics or returns an error ends
    /// the task.
    ///
    /// # Errors
    ///
    /// [`Error::is_argument`] when `period` is zero; otherwise as [`execute`](Self::execute).
    #[doc(alias = "scheduleAtFixedRate")]
    pub fn schedule_at_fixed_rate<R: TaskReturn>(
        &self,
        initial_delay: Duration,
        period: Duration,
        body: impl FnMut() -> R + Send + 'static,
    ) -> Result<TaskHandle<()>, Error> {
        let task = Task::at_fixed_rate(period, Body::new(body));
        self.submit_task(task.initial_delay(initial_delay))
    }

    /// Runs a task again and again, each time `delay` after the end of the run before.
    ///
    /// # Errors
    ///
    /// [`Error::is_argument`] when `delay` is zero; otherwise as [`execute`](Self::execute).
    #[doc(alias = "scheduleWithFixedDelay")]
    pub fn schedule_with_fixed_delay<R: TaskReturn>(
        &self,
        initial_delay: Duration,
        delay: Duration,
        body: impl FnMut() -> R + Send + 'static,
    ) -> Result<TaskHandle<()>, Error> {
        let task = Task::with_fixed_delay(delay, Body::new(body));
        self.submit_task(task.initial_delay(initial_delay))
    }

    /// Submits a task with all its options.
    ///
    /// # Errors
    ///
    /// As the short form that fits its recurrence.
    pub fn submit_task<T: Send + Sync + 'static>(
        &self,
        task: Task<T>,
    ) -> Result<TaskHandle<T>, Error> {
        task.check()?;
        let now = self.state().clock.now();
        self.launch(task, now, |_| ())
    }

    fn launch<T: Send + Sync + 'static>(
        &self,
        task: Task<T>,
        now: Tick,
        watch: impl FnOnce(&TaskHandle<T>),
    ) -> Result<TaskHandle<T>, Error> {
        let state = self.state();
        let due = now + task.initial_delay;
        let kind =
            if task.recurrence.is_recurring() { EntryKind::Recurring } else { EntryKind::OneShot };
        let (body, id) = if state.hooks.decorate.is_some() {
            let id = state.draw_id();
            let around = state.hooks.decorate(id, task.name.as_deref()).map_err(Error::failed)?;
            (decorated(task.body, around), Some(id))
        } else {
            (task.body, None)
        };
        let options =
            TaskOptions::new(task.name, task.recurrence, task.on_error, task.deadline, false);
        let block = TaskBlock::queued(Arc::clone(&state.link), options, body, due);
        self.submit_block(block, Submission { kind, due, now, id }, watch)
    }

    #[inline]
    fn submit_block<T, B, X>(
        &self,
        block: Arc<TaskBlock<T, B, X>>,
        submission: Submission,
        watch: impl FnOnce(&TaskHandle<T>),
    ) -> Result<TaskHandle<T>, Error>
    where
        T: Send + Sync + 'static,
        B: Send + 'static,
        Option<B>: Steps<T>,
        X: MaybeOptions,
    {
        let handle = TaskHandle::new(Arc::clone(&block) as Arc<dyn Awaited<T>>);
        watch(&handle);
        let follow_up = match self.state().push_to_inbox(block, submission) {
            Ok(FollowUp::Nothing) => return Ok(handle),
            Ok(follow_up) => follow_up,
            Err(refused) => {
                self.reject(refused)?;
                return Ok(handle);
            }
        };
        if !self.state().run_follow_up(follow_up) {
            self.check_has_worker(&handle)?;
        }
        Ok(handle)
    }

    #[cold]
    fn reject(&self, refused: Arc<dyn AnyTask>) -> Result<(), Error> {
        refused.withdraw();
        let task = UnstartedTask::new(refused, Arc::clone(self.state()));
        self.rejection_policy().reject(task, self)
    }

    /// Takes a task that was just admitted out again, where no worker is there to run it.
    #[cold]
    fn check_has_worker<T: Send + Sync + 'static>(
        &self,
        handle: &TaskHandle<T>,
    ) -> Result<(), Error> {
        if self.state().step(|core, _| core.workers.live()) > 0 {
            return Ok(());
        }
        let Some(task) = self.remove(handle) else { return Ok(()) };
        let label = task.label();
        drop(task);
        Err(Error::no_thread(label, self.state().refusal.lock().clone()))
    }
}

/// The arguments of a submission to the inbox.
#[derive(Clone, Copy, Debug)]
pub(super) struct Submission {
    pub(super) kind: EntryKind,
    pub(super) due: Tick,
    pub(super) now: Tick,
    /// The number of the task, where it was drawn before.
    pub(super) id: Option<TaskId>,
}

impl PoolState {
    /// Puts a task into the inbox, or hands it back if the pool takes none.
    #[inline]
    fn push_to_inbox<A: AnyTask + 'static>(
        &self,
        task: Arc<A>,
        submission: Submission,
    ) -> Result<FollowUp, Arc<dyn AnyTask>> {
        let Submission { kind, due, now, id } = submission;
        let mut inbox = self.inbox.lock();
        let id = id.unwrap_or_else(|| inbox.draw_id());
        task.header().set_id(id);
        if !inbox.takes(kind) {
            drop(inbox);
            return Err(task);
        }
        let follow_up = inbox.push(task, key(due.as_nanos(), id, kind), now);
        self.note_filled();
        Ok(follow_up)
    }

    /// Submits a task that is no user's to run, and cancels it if the pool takes none.
    pub(super) fn submit_or_cancel<B>(
        &self,
        block: Arc<TaskBlock<(), B, TaskOptions>>,
        submission: Submission,
    ) -> TaskHandle<()>
    where
        B: Send + 'static,
        Option<B>: Steps<()>,
    {
        let handle = TaskHandle::new(Arc::clone(&block) as Arc<dyn Awaited<()>>);
        match self.push_to_inbox(block, submission) {
            Ok(follow_up) => _ = self.run_follow_up(follow_up),
            Err(refused) => {
                refused.withdraw();
                handle.cancel();
            }
        }
        handle
    }
}

/// A body with what surrounds each of its steps, if anything does.
pub(super) fn decorated<T: 'static>(
    body: Box<dyn Steps<T>>,
    around: Option<Around>,
) -> Box<dyn Steps<T>> {
    match around {
        None => body,
        Some(around) => Box::new(Decorated { body, around }),
    }
}

impl ScheduledThreadPool {
    /// Runs a task as soon as possible, and cancels it if it has not ended within `timeout`.
    ///
    /// The timeout counts from the submission. A run in progress is asked to stop, as by
    /// [`TaskHandle::cancel_now`]; a task that has not begun by then, never does; a value that comes
    /// later is dropped. As `submitWithTimeout` of the JDK's `ForkJoinPool`.
    ///
    /// The body and blocked waits see the timeout at once. Callbacks and futures that await the handle are notified by an
    /// [`Alarm`](crate::Alarm): while all workers are busy, by the first that is free.
    ///
    /// ```
    /// use scheduler_core::{Run, ScheduledThreadPool};
    /// use std::time::Duration;
    ///
    /// let pool = ScheduledThreadPool::new(2);
    /// let handle = pool.submit_with_timeout(Duration::from_millis(5), || {
    ///     Run::current().expect("this is a task").sleep(Duration::from_secs(3600))
    /// })?;
    /// assert!(handle.wait().unwrap_err().is_cancelled());
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute).
    #[doc(alias = "submitWithTimeout")]
    pub fn submit_with_timeout<T: Send + Sync + 'static>(
        &self,
        timeout: Duration,
        body: impl OnceBody<T>,
    ) -> Result<TaskHandle<T>, Error> {
        let deadline = self.state().clock.now() + timeout;
        let handle = self.submit_task(Task::once(body).deadline(deadline))?;
        if !handle.is_done() {
            let limited = handle.clone();
            let alarm = self.call_at(deadline, move || _ = limited.cancel_now());
            handle.on_done(move |_| drop(alarm));
        }
        Ok(handle)
    }
}
