//! A run, as its task and the scheduler see it; its waits.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::{ScheduledThreadPool, Tick, WallTime};

use crate::base::metadata::TaskFacts;
use crate::run::attempt::{Attempt, Poll};
use crate::run::info::Cause;
use crate::run::info::RunInfo;
use crate::run::job::ClaimedJob;
use crate::run::stop::{StopCause, Stopped};

/// One run of a scheduled task, as the task sees it.
///
/// A run that is tried again is the same run: it keeps its [`number`](Self::number) and
/// [`fire_time`](Self::fire_time), and its [`attempt`](Self::attempt) grows. Clones are the same run;
/// they may outlive it, and be sent to other threads.
///
/// ```no_run,standalone_crate
/// use scheduler::{Run, scheduled};
///
/// #[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin")]
/// fn report(run: Run) {
///     println!("the report of {}", run.fire_time());
///     if run.attempt() > 1 {
///         run.note("at last");
///     }
/// }
/// ```
#[derive(Clone)]
#[doc(alias = "JobExecutionContext")]
pub struct Run {
    pub(super) attempt: Arc<Attempt>,
}

impl Run {
    /// The name of the task.
    #[must_use]
    pub fn task_name(&self) -> &str {
        &self.attempt.task.name
    }

    /// The number of the run within its task, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.attempt.number
    }

    /// The number of the attempt within the run, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt.attempt
    }

    /// After how many attempts the run fails, or its durable job is parked; the first included.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.attempt.max_attempts
    }

    /// Why the run happens.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.attempt.cause
    }

    /// The instant that the task's rule asked for, without jitter; of a manual run, when it was begun.
    #[must_use]
    #[doc(alias = "getScheduledFireTime")]
    pub fn fire_time(&self) -> DateTime<Utc> {
        self.attempt.fire_time.to_utc()
    }

    /// When this attempt was to start: the fire time and jitter, or the end of the wait after the
    /// attempt before.
    #[must_use]
    pub fn due(&self) -> DateTime<Utc> {
        self.attempt.due.to_utc()
    }

    /// When this attempt started, by the wall clock.
    #[must_use]
    #[doc(alias = "getFireTime")]
    pub fn started_at(&self) -> DateTime<Utc> {
        self.attempt.started_at.to_utc()
    }

    /// The time from the [`due`](Self::due) time of this attempt to its start.
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::{Run, scheduled};
    /// use std::time::Duration;
    ///
    /// #[scheduled(fixed_rate = "1s")]
    /// fn sample(run: Run) {
    ///     if run.lateness() > Duration::from_millis(100) {
    ///         run.note("too late to be of use");
    ///         return;
    ///     }
    ///     println!("a sample");
    /// }
    /// ```
    #[must_use]
    pub fn lateness(&self) -> Duration {
        self.attempt.started_at.since(self.attempt.due)
    }

    /// Returns true if this run is asked to stop: it was cancelled, its `timeout` is over, its process has lost its durable job, or the
    /// scheduler has stopped and waited long enough.
    ///
    /// It is a request that the task may follow. (The future of an async task need not ask: it is dropped where it
    /// awaits. That of a job with `on_lost = "abandon"` goes on when its session has ended.) Earlier,
    /// [`Shutdown`](crate::Shutdown) shows that no new runs start, and this one may finish.
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::{Run, scheduled};
    ///
    /// #[scheduled(fixed_delay = "1h")]
    /// fn import(run: Run) -> Result<(), &'static str> {
    ///     for part in 0..1_000 {
    ///         if run.stop_requested() {
    ///             return Err("stopped half-way");
    ///         }
    ///         println!("part {part}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    #[doc(alias = "isInterrupted")]
    pub fn stop_requested(&self) -> bool {
        let execution = self.attempt.execution.as_ref();
        self.attempt.stop.is_asked()
            || self.claimed().is_some_and(|claimed| claimed.has_lost_session())
            || execution.is_some_and(|run| run.engine().is_cancelled() || run.left().is_zero())
    }

    /// Leaves a note that is kept with the record of this run: at most 16 of them, each of at most
    /// 1,024 bytes.
    ///
    /// The record comes with the end of the run, and is in the memory of this process: no store keeps notes. A durable job shows
    /// others how far it is by `Run::progress`, and its result in tables of the program.
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::{Run, scheduled};
    ///
    /// #[scheduled(fixed_delay = "1h")]
    /// fn purge(run: Run) {
    ///     let removed = 17;
    ///     run.note(format!("{removed} sessions removed"));
    /// }
    /// ```
    pub fn note(&self, text: impl AsRef<str>) {
        self.attempt.notes.add(text.as_ref());
    }
}

/// The part of the scheduler.
impl Run {
    /// An attempt of a run that begins now.
    pub(crate) fn begin(attempt: Attempt) -> Self {
        Self { attempt: Arc::new(attempt) }
    }

    /// A run outside of any scheduler.
    pub(crate) fn detached(task: &str) -> Self {
        let facts = TaskFacts::unknown(task.into(), &Arc::from("none"));
        Self { attempt: Arc::new(Attempt::detached(Arc::new(facts))) }
    }

    /// A run of a job outside of any scheduler.
    #[cfg(all(test, feature = "durable"))]
    pub(crate) fn detached_job(facts: TaskFacts, job: &Arc<ClaimedJob>) -> Self {
        let mut attempt = Attempt::detached(Arc::new(facts));
        attempt.claimed = Some(Arc::clone(job));
        Self { attempt: Arc::new(attempt) }
    }

    /// A run that takes place nowhere.
    #[cfg(test)]
    pub(crate) fn of(info: &RunInfo, task: Arc<TaskFacts>) -> Self {
        Self { attempt: Arc::new(Attempt::of(info, task)) }
    }

    /// The facts of its task.
    pub(crate) fn facts(&self) -> &Arc<TaskFacts> {
        &self.attempt.task
    }

    /// This run as plain data, as it is now.
    #[must_use]
    pub fn info(&self) -> RunInfo {
        let attempt = &*self.attempt;
        let fire_time = attempt.fire_time.to_utc();
        RunInfo {
            number: attempt.number,
            attempt: attempt.attempt,
            max_attempts: attempt.max_attempts,
            cause: attempt.cause,
            fire_time,
            due: if attempt.due == attempt.fire_time { fire_time } else { attempt.due.to_utc() },
            started_at: attempt.started_at.to_utc(),
            job: attempt.claimed.as_ref().map(|claimed| claimed.info()),
        }
    }

    /// The W3C trace context of the code that enqueued the durable job that runs, if it was traced.
    ///
    /// With the feature `opentelemetry` the span of each attempt is a child of it. Without, a program may link its own.
    #[must_use]
    pub fn traceparent(&self) -> Option<&str> {
        self.claimed()?.traceparent()
    }

    /// Makes the request to stop; returns false if it was made before. To be followed, with no lock held, by
    /// [`heed_stop`](Self::heed_stop).
    pub(crate) fn request_stop(&self, cause: StopCause) -> bool {
        self.attempt.stop.ask(cause)
    }

    /// Ends the waits of a run that was asked to stop, and has its future polled once more.
    pub(crate) fn heed_stop(&self) {
        if let Some(execution) = &self.attempt.execution {
            execution.engine().ask_to_stop();
        }
    }

    /// Why the run was asked to stop, if it was.
    pub(crate) fn stop_cause(&self) -> Option<StopCause> {
        self.attempt.stop.cause()
    }

    /// Returns true if only the pool has asked the run to stop, because it shuts down.
    pub(crate) fn is_stopped_by_pool(&self) -> bool {
        let execution = self.attempt.execution.as_ref();
        self.stop_cause().is_none() && execution.is_some_and(|run| run.engine().is_cancelled())
    }

    /// Gives an attempt this deadline, before its body is called.
    pub(crate) fn set_deadline(&self, deadline: Option<Tick>) {
        if let Some(execution) = &self.attempt.execution {
            execution.set_deadline(deadline);
        }
    }

    /// The attempt goes on as the task of the engine that the calling thread executes.
    pub(crate) fn goes_on(&self) {
        if let Some(execution) = &self.attempt.execution {
            execution.go_on();
        }
    }

    /// Takes note that the future of this run is about to be polled.
    pub(crate) fn poll_begins(&self) {
        if let Some(execution) = &self.attempt.execution {
            self.attempt.polls.begin(execution.clock.now());
        }
    }

    /// Takes note that the poll is over.
    pub(crate) fn poll_ends(&self) {
        if let Some(execution) = &self.attempt.execution {
            self.attempt.polls.end(execution.clock.now());
        }
    }

    /// Returns the longest poll if it has blocked its thread.
    pub(crate) fn longest_poll(&self, now: Tick) -> Option<Poll> {
        self.attempt.polls.longest(now)
    }

    /// Returns true if it takes place in this pool.
    pub(crate) fn is_in(&self, pool: &Arc<ScheduledThreadPool>) -> bool {
        let execution = self.attempt.execution.as_ref();
        execution.is_some_and(|run| std::ptr::addr_eq(run.pool.as_ptr(), Arc::as_ptr(pool)))
    }

    pub(crate) fn is_same_attempt(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.attempt, &other.attempt)
    }

    /// Its fire time, as a number.
    pub(crate) fn planned_for(&self) -> WallTime {
        self.attempt.fire_time
    }

    /// The number of attempts in this process.
    pub(crate) fn attempts(&self) -> u32 {
        if self.claimed().is_some() { 1 } else { self.attempt() }
    }

    /// The job that runs, if a store keeps it.
    #[inline]
    pub(crate) fn claimed(&self) -> Option<&Arc<ClaimedJob>> {
        self.attempt.claimed.as_ref()
    }

    /// Takes the notes out, for the record or the next attempt.
    pub(crate) fn take_notes(&self) -> Vec<Box<str>> {
        self.attempt.notes.take()
    }

    /// Gives a new attempt the notes of the previous one.
    pub(crate) fn carry_over_notes(&self, notes: Vec<Box<str>>) {
        self.attempt.notes.carry_over(notes);
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("task", &self.attempt.task.name)
            .field("number", &self.attempt.number)
            .field("attempt", &self.attempt.attempt)
            .field("fire_time", &self.attempt.fire_time)
            .finish_non_exhaustive()
    }
}

/// A wait in a durable job looks so often whether the run has lost a session that it may outlive: nothing wakes it then.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Run {
    /// Blocks the calling thread for this long on the scheduler's clock, or until the run is asked to
    /// stop. In a simulation virtual time goes on for this run alone, which lasts longer by that.
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::{Run, Stopped, scheduled};
    /// use std::time::Duration;
    ///
    /// #[scheduled(fixed_delay = "1h")]
    /// fn poll(run: Run) -> Result<(), Stopped> {
    ///     while !std::path::Path::new("ready").exists() {
    ///         run.sleep(Duration::from_secs(5))?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Stopped`] when the run was asked to stop, before or during the wait. The run of a job with `on_lost = "abandon"` that has lost
    /// its session may go on all the same.
    pub fn sleep(&self, duration: Duration) -> Result<(), Stopped> {
        if self.stop_requested() {
            return Err(Stopped);
        }
        match &self.attempt.execution {
            Some(execution) => {
                let (limit, end) = (execution.left(), duration.min(execution.left()));
                let look = self.claimed().map_or(Duration::MAX, |_| LOOK_EVERY);
                let mut slept = Duration::ZERO;
                while slept < end {
                    let step = look.min(end - slept);
                    execution.engine().sleep(step).map_err(|_| Stopped)?;
                    slept += step;
                    if slept < end && self.stop_requested() {
                        return Err(Stopped);
                    }
                }
                if duration < limit { Ok(()) } else { Err(Stopped) }
            }
            // Outside of any scheduler there is no clock to wait on.
            None => Ok(()),
        }
    }

    /// Waits for this long on the scheduler's clock, and holds no thread meanwhile.
    ///
    /// The future needs no runtime. (When the run is asked to stop, the future of its task is dropped
    /// where it awaits, and this one with it. A job with `on_lost = "abandon"` that has lost its session keeps both.)
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::{Run, scheduled};
    /// use std::time::Duration;
    ///
    /// #[scheduled(fixed_delay = "1h")]
    /// async fn poll(run: Run) {
    ///     while !std::path::Path::new("ready").exists() {
    ///         run.sleep_async(Duration::from_secs(5)).await;
    ///     }
    /// }
    /// ```
    pub fn sleep_async(
        &self,
        duration: Duration,
    ) -> impl Future<Output = ()> + Send + 'static + use<> {
        let execution = self.attempt.execution.as_ref();
        let sleep = execution
            .and_then(|execution| execution.pool.upgrade())
            .map(|pool| pool.sleep(duration));
        async move {
            if let Some(sleep) = sleep {
                sleep.await;
            }
        }
    }
}
