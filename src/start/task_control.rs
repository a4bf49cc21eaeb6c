//! One task of a running scheduler: reading and controlling it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::Zone;
#[cfg(feature = "durable")]
use scheduler_store::Signature;

#[cfg(feature = "durable")]
use super::durable::InStore;
use super::task_table::TaskTable;
use crate::define::schedule::Schedule;
use crate::observe::{RuleKind, TaskSnapshot};
use crate::run::Pause;
use crate::task::{Control, ControlError, ManualRun, Until};

/// One task of a running scheduler: see [`Tasks::get`](super::Tasks::get).
///
/// ```rust
/// use scheduler::{Pause, Schedule, Scheduler};
///
/// let scheduler = Scheduler::builder()
///     .task("import", Schedule::fixed_rate("1h").initial_delay("1h"), |_| {})
///     .spawn()?;
/// let import = scheduler.tasks().get("import")?;
/// import.pause_with(&Pause::new().reason("migration"))?;
/// assert_eq!(import.snapshot().next, None);
/// import.resume()?;
/// import.reschedule(Schedule::fixed_rate("5m"))?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[doc(alias = "ScheduledTask")]
pub struct TaskControl {
    control: Control,
    table: Arc<TaskTable>,
    /// The person for whom this handle changes a durable task.
    #[cfg(feature = "durable")]
    signature: Option<Arc<Signature>>,
}

impl TaskControl {
    pub(super) fn new(control: Control, table: Arc<TaskTable>) -> Self {
        Self {
            control,
            table,
            #[cfg(feature = "durable")]
            signature: None,
        }
    }

    /// A handle whose changes of a durable task are those of a person: see [`Jobs::signed`](crate::Jobs::signed). A change of a
    /// task in memory is [noted](super::Tasks::note_action) by the program.
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    #[must_use]
    pub fn signed(&self, signature: &Signature) -> Self {
        Self { signature: Some(Arc::new(signature.clone())), ..self.clone() }
    }

    #[cfg(test)]
    pub(super) fn control(&self) -> &Control {
        &self.control
    }

    /// The full name of the task.
    #[must_use]
    pub fn name(&self) -> &str {
        self.control.name()
    }

    /// The task at this moment: rule, state, next run, last runs, counters.
    ///
    /// A durable task that is paused in the store is shown as paused, by whichever process: of a kind of job as soon as this
    /// process polls, which is a second; of a schedule within a minute; and as soon as [`Jobs::pauses`](crate::Jobs::pauses) or
    /// [`Schedules::list`](crate::Schedules::list) has said it.
    #[must_use]
    pub fn snapshot(&self) -> TaskSnapshot {
        self.table.snapshot(&self.control)
    }

    /// The next fire times of its rule, without jitter, at most `count`; also while it is paused. Of a fixed delay, a one-time
    /// task and a custom trigger at most one is known, and none of a task that has ended or is disabled.
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .task("report", Schedule::cron("0 0 9 * * *").zone("Europe/Berlin"), |_| {})
    ///     .spawn()?;
    /// let next = scheduler.tasks().get("report")?.next_fire_times(10);
    /// assert_eq!(next.len(), 10);
    /// assert!(next.is_sorted());
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn next_fire_times(&self, count: usize) -> Vec<DateTime<Utc>> {
        self.control.next_fire_times(count)
    }

    /// Runs the task now, also while it is paused. Its schedule does not change.
    ///
    /// While a run is in progress the task's `overlap` decides: `skip` refuses, `queue_one` starts the run after it,
    /// `allow` starts it at once.
    ///
    /// # Errors
    ///
    /// When the task has ended, is disabled, is running, or is about to be run; or when the scheduler is stopping.
    pub fn run_now(&self) -> Result<ManualRun, ControlError> {
        self.control.run_now()
    }

    /// Starts no run of the schedule until the task is resumed; a run in progress goes on.
    ///
    /// Fire times during the pause are skipped and counted, and never run later.
    ///
    /// A durable task is paused in the store, for all processes and after restarts: the call returns when the store has
    /// answered. The jobs of a kind of job wait, and are done once it is resumed.
    ///
    /// # Errors
    ///
    /// When the task has ended or is disabled, or is durable and the store does not do it.
    pub fn pause(&self) -> Result<(), ControlError> {
        self.pause_with(&Pause::new())
    }

    /// As [`pause`](Self::pause), with a reason, or until an instant.
    ///
    /// # Errors
    ///
    /// As [`pause`](Self::pause).
    pub fn pause_with(&self, pause: &Pause) -> Result<(), ControlError> {
        #[cfg(feature = "durable")]
        if let Some(stored) = self.in_store()? {
            return stored.pause(pause);
        }
        self.control.pause(pause)
    }

    /// Ends a pause. The task continues with its next fire time; a kind of job with the jobs that have waited.
    ///
    /// # Errors
    ///
    /// When the task has ended, is disabled, or is not paused; or is durable and the store does not do it.
    pub fn resume(&self) -> Result<(), ControlError> {
        #[cfg(feature = "durable")]
        if let Some(stored) = self.in_store()? {
            return stored.resume();
        }
        self.control.resume()
    }

    /// The task in the store, if it is durable.
    #[cfg(feature = "durable")]
    fn in_store(&self) -> Result<Option<InStore>, ControlError> {
        if !self.control.is_durable() {
            return Ok(None);
        }
        self.control.check_living()?;
        let jobs = self.table.jobs.get().cloned();
        let jobs = jobs.map(|jobs| match &self.signature {
            Some(signature) => jobs.signed(signature),
            None => jobs,
        });
        Ok(jobs.map(|jobs| InStore::new(jobs, Arc::clone(self.control.name()))))
    }

    /// Replaces the rule of the task. Its policies stay, and a run in progress goes on. A fire time of the old rule that
    /// has come and was not started is skipped as [`Rescheduled`](crate::SkipReason::Rescheduled).
    ///
    /// A rate or delay without an initial delay starts after one period. A disabled task stays disabled, and has the rule
    /// when it is enabled. Settings of the task do not apply to the new rule, but its placeholders are replaced.
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .task("import", Schedule::cron("0 0 3 * * *"), |_| {})
    ///     .spawn()?;
    /// let import = scheduler.tasks().get("import")?;
    /// import.reschedule(Schedule::cron("0 0 4 * * *").zone("Europe/Berlin"))?;
    /// assert!(import.snapshot().facts.rule.starts_with("0 0 4 * * *"));
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the task has ended, or the schedule is faulty, has more in it than a rule, or is a rate that is not
    /// longer than the task's jitter.
    #[track_caller]
    pub fn reschedule(&self, schedule: Schedule) -> Result<(), ControlError> {
        #[cfg(feature = "durable")]
        if let Some(stored) = self.in_store()? {
            return stored.reschedule(schedule);
        }
        let rule = self.table.rule(self.control.name(), schedule)?;
        self.control.reschedule(rule)
    }

    /// Previews [`reschedule`](Self::reschedule): the rule in words, and its next fire times. Nothing changes.
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .task("import", Schedule::fixed_rate("1h"), |_| {})
    ///     .spawn()?;
    /// let import = scheduler.tasks().get("import")?;
    /// let preview = import.preview(Schedule::cron("0 0 4 * * *").zone("UTC"), 5)?;
    /// assert_eq!(&*preview.rule, "0 0 4 * * * (04:00, every day) in UTC");
    /// assert_eq!(preview.fire_times.len(), 5);
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`reschedule`](Self::reschedule). Of a durable task the rule can be looked at, too.
    #[track_caller]
    pub fn preview(&self, schedule: Schedule, count: usize) -> Result<Preview, ControlError> {
        let rule = self.table.rule(self.control.name(), schedule)?;
        Ok(Preview {
            kind: rule.kind(),
            rule: rule.to_string().into(),
            expression: rule.expression(),
            zone: rule.zone(),
            fire_times: self.control.fire_times_of(rule, count)?,
        })
    }

    /// Returns true if a store keeps the task's schedule and runs, for all processes. It is paused, resumed and rescheduled in
    /// the store; its runs are jobs, which [`Tasks::jobs`](super::Tasks::jobs) has.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.control.is_durable()
    }

    /// Enables a task that is disabled by `enabled = false` or the cron expression `-`. It starts as with the scheduler.
    /// Does nothing if the task is enabled.
    ///
    /// A task that is disabled by `-` has no rule, and needs one first: [`reschedule`](Self::reschedule).
    ///
    /// ```rust
    /// use scheduler::{Attribute, Schedule, Scheduler, TaskState};
    ///
    /// let hourly = Schedule::fixed_rate("1h").initial_delay("1h");
    /// let scheduler = Scheduler::builder()
    ///     .task("import", hourly.set(Attribute::Enabled, "false"), |_| {})
    ///     .spawn()?;
    /// let import = scheduler.tasks().get("import")?;
    /// assert_eq!(import.snapshot().state, TaskState::Disabled);
    /// assert!(import.run_now().unwrap_err().is_disabled());
    /// import.enable()?;
    /// assert_eq!(import.snapshot().state, TaskState::Waiting);
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the task has ended, has no rule or is durable, when its attributes are faulty, or when the scheduler is
    /// stopping.
    pub fn enable(&self) -> Result<(), ControlError> {
        self.table.enable(&self.control)
    }

    /// Ends the task, and asks runs in progress to stop: a future is dropped at its next await, a plain
    /// function sees [`Run::stop_requested`](crate::Run::stop_requested).
    ///
    /// # Errors
    ///
    /// When the task has ended before.
    pub fn cancel(&self) -> Result<(), ControlError> {
        self.control.cancel()
    }

    /// Asks the runs in progress to stop. The task continues with its next fire time.
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .task("import", Schedule::fixed_rate("1h").initial_delay("1h"), |_| {})
    ///     .spawn()?;
    /// let import = scheduler.tasks().get("import")?;
    /// assert!(import.cancel_run().unwrap_err().is_not_running());
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When no run is in progress.
    pub fn cancel_run(&self) -> Result<(), ControlError> {
        self.control.cancel_run()
    }
}

/// Waits for runs.
impl TaskControl {
    /// Blocks until the task has had some number of runs, for at most `limit` on the scheduler's clock. For tests of a whole
    /// program in real time. It does not poll.
    ///
    /// ```
    /// use scheduler::{Schedule, Scheduler, Until};
    /// use std::time::Duration;
    ///
    /// let scheduler = Scheduler::builder()
    ///     .task("purge", Schedule::fixed_rate("1ms"), |_| {})
    ///     .spawn()?;
    /// scheduler.tasks().get("purge")?.wait_for(Until::runs(3), Duration::from_secs(10))?;
    /// assert!(scheduler.tasks().get("purge")?.snapshot().counters.runs >= 3);
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the time is over ([`ControlError::is_too_late`]), or the task is disabled or has ended with fewer runs.
    pub fn wait_for(&self, until: Until, limit: Duration) -> Result<(), ControlError> {
        self.control.wait_for(until, limit)
    }

    /// As [`wait_for`](Self::wait_for), without blocking the calling thread, and without a limit: use one of the runtime,
    /// such as `tokio::time::timeout`.
    ///
    /// # Errors
    ///
    /// When the task is disabled or has ended with fewer runs.
    pub async fn wait_for_async(&self, until: Until) -> Result<(), ControlError> {
        self.control.wait_for_async(until).await
    }
}

impl fmt::Debug for TaskControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskControl").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// A rule that a task might be given: see [`TaskControl::preview`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preview {
    /// The kind of the rule.
    pub kind: RuleKind,
    /// The rule as people read it, such as `0 0 9 * * * (09:00, every day) in Europe/Berlin`.
    pub rule: Arc<str>,
    /// The cron expression.
    pub expression: Option<Arc<str>>,
    /// The zone of the cron expression.
    pub zone: Option<Zone>,
    /// The next fire times, without jitter; of a fixed delay and a one-time rule one, of a custom trigger none.
    pub fire_times: Vec<DateTime<Utc>>,
}

/// The tasks with a tag, to be controlled together: see [`Tasks::tagged`](super::Tasks::tagged).
///
/// Each operation returns the number of tasks it changed. It ignores tasks that have ended, are disabled, or are in that
/// state already.
#[derive(Clone, Debug)]
#[must_use = "the tasks are not changed before an operation is called"]
pub struct Tagged {
    tasks: Vec<TaskControl>,
}

impl Tagged {
    pub(super) fn new(tasks: Vec<TaskControl>) -> Self {
        Self { tasks }
    }

    /// The tasks, in the order in which they were added.
    #[must_use]
    pub fn tasks(&self) -> &[TaskControl] {
        &self.tasks
    }

    /// Runs them now: see [`TaskControl::run_now`].
    pub fn run_now(&self) -> usize {
        self.each(TaskControl::run_now)
    }

    /// Pauses them: see [`TaskControl::pause`].
    pub fn pause(&self) -> usize {
        self.pause_with(&Pause::new())
    }

    /// Pauses them: see [`TaskControl::pause_with`].
    pub fn pause_with(&self, pause: &Pause) -> usize {
        self.each(|task| task.pause_with(pause))
    }

    /// Resumes those that are paused: see [`TaskControl::resume`].
    pub fn resume(&self) -> usize {
        self.each(TaskControl::resume)
    }

    /// Ends them: see [`TaskControl::cancel`].
    pub fn cancel(&self) -> usize {
        self.each(TaskControl::cancel)
    }

    fn each<T>(&self, operation: impl Fn(&TaskControl) -> Result<T, ControlError>) -> usize {
        self.tasks.iter().filter(|task| operation(task).is_ok()).count()
    }
}
