//! How a task comes to its pool: made, given to the core, or refused.

use std::sync::Arc;
use std::time::Duration;

use super::core::Core;
use super::entry::AnyItem;
use super::executor::ScheduledThreadPool;
use super::shutdown::Kind;
use super::step::{Effects, Submitter};
use super::unstarted::UnstartedTask;
use crate::error::Error;
use crate::task::cell::TaskCell;
use crate::task::slot::{Around, Work};
use crate::task::steps::{Once, Steps};
use crate::task::{
    Body, Header, Link, OnceBody, OnceFutureBody, Task, TaskHandle, TaskId, TaskReturn, Traits,
};
use crate::time::{Due, Now};
use crate::trigger::Trigger;

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
        let now = Now::read(&*self.shell().clock);
        let due = Due::Tick(now.tick + delay);
        let launch = Launch { traits: None, kind: Kind::OneShot, due, now };
        self.launch(launch, Once(Some(body)), watch)
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
    /// run took longer follow back to back, as in the JDK ([`Task::misfire`] has other choices). A
    /// run that panics or returns an error ends the task.
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

    /// Runs a task whenever its trigger says: a one-shot that schedules itself anew after each run.
    ///
    /// ```
    /// use scheduler_core::{ScheduledThreadPool, trigger::CronTrigger, trigger::Zone};
    ///
    /// let pool = ScheduledThreadPool::new(1);
    /// let daily = CronTrigger::new("@daily".parse()?, Zone::UTC);
    /// let handle = pool.schedule_with_trigger(daily, || println!("a new day"))?;
    /// assert!(handle.cancel());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::is_argument`] when the trigger gives no fire time at all; [`Error::is_failed`] when it
    /// panics at the first question; otherwise as [`execute`](Self::execute).
    pub fn schedule_with_trigger<R: TaskReturn>(
        &self,
        trigger: impl Trigger + 'static,
        body: impl FnMut() -> R + Send + 'static,
    ) -> Result<TaskHandle<()>, Error> {
        self.submit_task(Task::on_trigger(trigger, Body::new(body)))
    }

    /// Submits a task with all its options.
    ///
    /// # Errors
    ///
    /// As the short form that fits its rhythm.
    pub fn submit_task<T: Send + Sync + 'static>(
        &self,
        task: Task<T>,
    ) -> Result<TaskHandle<T>, Error> {
        task.check()?;
        let now = Now::read(&*self.shell().clock);
        let due = first_due(&task, now)?;
        let kind = if task.rhythm.is_recurring() { Kind::Recurring } else { Kind::OneShot };
        let Task { name, rhythm, on_error, deadline, body, .. } = task;
        let traits = Traits::if_special(name, rhythm, on_error, deadline, false);
        self.launch(Launch { traits, kind, due, now }, body, |_| ())
    }

    fn launch<T: Send + Sync + 'static, B: Steps<T> + 'static>(
        &self,
        launch: Launch,
        body: B,
        watch: impl FnOnce(&TaskHandle<T>),
    ) -> Result<TaskHandle<T>, Error> {
        let Launch { traits, kind, due, now } = launch;
        let id = self.shell().draw_id();
        let hooks = &self.shell().hooks;
        let around = if hooks.decorate.is_some() {
            let name = traits.as_ref().and_then(|traits| traits.name.as_deref());
            hooks.decorate(id, name).map_err(Error::failed)?
        } else {
            None
        };
        let work = Work { body, around };
        let handle = TaskHandle::new(self.shell().arena.make(id, traits, work, due));
        watch(&handle);
        match self.shell().stage(handle.task(), id, kind, due, now) {
            Ok(()) => Ok(handle),
            Err(task) => {
                let submitter = if self.shell().is_called_by_worker() {
                    Submitter::Worker
                } else {
                    Submitter::Other
                };
                self.admit(handle, |core, effects| {
                    core.admit(task, kind, due, now, submitter, effects)
                })
            }
        }
    }

    /// Has the core take a new task in.
    #[inline(never)]
    fn admit<T: Send + Sync + 'static>(
        &self,
        handle: TaskHandle<T>,
        admit: impl FnOnce(&mut Core<AnyItem>, &mut Effects<AnyItem>) -> Result<(), AnyItem>,
    ) -> Result<TaskHandle<T>, Error> {
        let (answer, starts) = self.shell().alter_and_count(admit);
        match answer {
            Err(refused) => self.reject(refused)?,
            Ok(()) if starts.refused > 0 => self.shell().check_manned(&handle.task())?,
            Ok(()) => {}
        }
        Ok(handle)
    }

    /// A task of the pool's own, which is not submitted yet.
    pub(super) fn make_handle<T: Send + Sync + 'static>(
        &self,
        id: TaskId,
        task: Task<T>,
        around: Option<Around>,
        due: Due,
    ) -> TaskHandle<T> {
        make_handle(id, task, self.shell().arena.link(), around, due)
    }

    fn reject(&self, refused: AnyItem) -> Result<(), Error> {
        let task = UnstartedTask::new(refused, Arc::clone(self.shell()));
        self.rejection_policy().reject(task, self)
    }
}

/// All of a new task but its body.
struct Launch {
    traits: Option<Box<Traits>>,
    kind: Kind,
    due: Due,
    now: Now,
}

fn first_due<T>(task: &Task<T>, now: Now) -> Result<Due, Error> {
    let first = task.rhythm.first(task.initial_delay, now).map_err(Error::failed)?;
    first.ok_or_else(|| Error::argument("trigger", "it never fires"))
}

/// A task that is not submitted yet.
pub(super) fn make_handle<T: Send + Sync + 'static>(
    id: TaskId,
    task: Task<T>,
    link: Arc<Link>,
    around: Option<Around>,
    due: Due,
) -> TaskHandle<T> {
    let Task { name, rhythm, on_error, deadline, is_alarm, body, .. } = task;
    let traits = Traits::if_special(name, rhythm, on_error, deadline, is_alarm);
    let header = Header::new(id, traits, link);
    TaskHandle::new(TaskCell::new(header, Work { body, around }, due))
}
