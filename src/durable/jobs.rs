//! The handle of durable jobs: enqueue, ask, control.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::TimeDelta;
use scheduler_core::time::EventCount;
use scheduler_core::{Clock, Tick};
use scheduler_store::{
    Command, CommandAll, CommandOutcome, Enqueued, JobAction, JobFilter, JobId, NewJob, Payload,
    QueueDepth, SessionInfo, Signature, StoreError, StoreTime, StoredJob, Uuid,
};

use super::actions::Actions;
use super::client::Client;
use super::error::{EnqueueError, JobsError, answered};
use super::job::Job;
use super::job::JobOptions;
use super::pauses::KnownPauses;
use crate::define::calendar::Calendar;
use crate::define::schedule::Schedule;
use crate::task::TaskSpec;

/// The durable jobs of a scheduler's store; its schedules are [`Schedules`](crate::Schedules).
///
/// [`Scheduler::jobs`](crate::Scheduler::jobs) returns it, and a task or a job takes it as `Jobs` or `&Jobs`. Clones are the
/// same. It works until the program ends, also when the scheduler has stopped.
///
/// A call asks the store on the calling thread, and returns when it has answered. Each has a twin for async code, such as
/// [`get_async`](Self::get_async).
///
/// ```rust,standalone_crate
/// use scheduler::store::Model;
/// use scheduler::{Scheduler, job};
///
/// #[job(name = "welcome")]
/// fn welcome(#[payload] name: String) {
///     println!("hello, {name}");
/// }
///
/// let scheduler = Scheduler::builder().store(Model::new()).spawn()?;
/// let jobs = scheduler.jobs()?;
/// let job = welcome::job("Ada".to_owned());
/// let id = job.id();
/// jobs.enqueue(job)?;
/// assert_eq!(jobs.get(id)?.expect("it was accepted").task, "welcome");
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Jobs {
    pub(super) inner: Arc<JobsContext>,
    /// The person for whom this handle gives commands.
    pub(super) signature: Option<Arc<Signature>>,
}

/// The number of jobs that a command takes in one transaction.
const BATCH: u32 = 1_000;

/// Resolves a schedule that code gives while the program runs, under a name.
pub(crate) type Rules = Arc<dyn Fn(&str, Schedule) -> Result<TaskSpec, String> + Send + Sync>;

pub(super) struct JobsContext {
    pub(super) client: Client,
    /// The tasks of this process, by name.
    pub(super) tasks: OnceLock<BTreeMap<Arc<str>, KnownTask>>,
    pub(super) rules: OnceLock<Rules>,
    pub(super) calendars: OnceLock<BTreeMap<String, Arc<Calendar>>>,
    pub(super) pauses: KnownPauses,
    pub(super) actions: Actions,
}

/// A task of this process, as far as its jobs are concerned.
#[derive(Clone, Debug)]
pub(crate) struct KnownTask {
    pub(crate) options: JobOptions,
    /// The names that a kind of job had before; none of a schedule.
    pub(crate) former: Option<&'static [&'static str]>,
}

impl Jobs {
    pub(crate) fn new(client: Client) -> Self {
        let (tasks, rules, calendars) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let pauses = KnownPauses::default();
        let actions = Actions::default();
        let inner = JobsContext { client, tasks, rules, calendars, pauses, actions };
        Self { inner: Arc::new(inner), signature: None }
    }

    /// Says what the tasks of this process are, and what their rules may name.
    pub(crate) fn know_tasks(
        &self,
        tasks: BTreeMap<Arc<str>, KnownTask>,
        calendars: BTreeMap<String, Arc<Calendar>>,
    ) {
        drop(self.inner.tasks.set(tasks));
        drop(self.inner.calendars.set(calendars));
    }

    /// Says what makes rules of schedules.
    pub(crate) fn know_rules(&self, rules: Rules) {
        drop(self.inner.rules.set(rules));
    }

    /// The former names of a kind of job that this process knows; none of a schedule, and of what it does not know.
    pub(crate) fn former_names(&self, task: &str) -> Option<&'static [&'static str]> {
        self.inner.tasks.get()?.get(task)?.former
    }

    /// Knows what another one knows.
    #[cfg(feature = "testing")]
    pub(crate) fn know_as(&self, other: &Self) {
        let JobsContext { tasks, rules, calendars, .. } = &*other.inner;
        if let Some((tasks, calendars)) = tasks.get().zip(calendars.get()) {
            self.know_tasks(tasks.clone(), calendars.clone());
        }
        if let Some(rules) = rules.get() {
            self.know_rules(Arc::clone(rules));
        }
    }

    /// Returns true while this process holds a lease that the store has renewed when that was last due, a third of the
    /// [lease](crate::NodeOptions::lease) ago at most; [`outage`](Self::outage) says why not.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.outage().is_none()
    }

    /// Why this process has no lease that was renewed when that was last due; none while it has one. A renewal is a write, so
    /// that a store with a full disk is not up. The dashboard's `/readyz` says it, too.
    ///
    /// It asks nothing, but in a process that [only enqueues](crate::Builder::enqueue_only): that asks the store for its clock, and
    /// blocks for as long as it takes.
    ///
    /// ```rust
    /// use scheduler::Scheduler;
    /// use scheduler::store::Model;
    ///
    /// let store = Model::new();
    /// store.set_cut(true);
    /// let scheduler = Scheduler::builder().enqueue_only().store(store).spawn()?;
    /// let outage = scheduler.jobs()?.outage().expect("the store is cut off");
    /// assert!(outage.starts_with("the store is unavailable"), "{outage}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn outage(&self) -> Option<String> {
        self.inner.client.outage()
    }

    /// Enqueues a job. It runs once the store has accepted it, in any process that knows its task.
    ///
    /// # Errors
    ///
    /// The job cannot be stored, or the store did not answer. The error has the job, to be sent again.
    pub fn enqueue(&self, job: Job) -> Result<Enqueued, EnqueueError> {
        let answers = self.enqueue_all(vec![job])?;
        Ok(sole(&answers))
    }

    /// Enqueues jobs, all or none; returns an answer for each.
    ///
    /// # Errors
    ///
    /// A job cannot be stored, or the store did not answer. The error has all of them.
    pub fn enqueue_all(&self, jobs: Vec<Job>) -> Result<Vec<Enqueued>, EnqueueError> {
        let (jobs, new) = self.checked(jobs)?;
        if new.is_empty() {
            return Ok(Vec::new());
        }
        self.accepted(jobs, self.inner.client.enqueue(new))
    }

    /// A job by its identity. One that has ended is there until its retention is over.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn get(&self, id: JobId) -> Result<Option<StoredJob>, JobsError> {
        Ok(self.inner.client.call(|store| store.job(id))?)
    }

    /// Waits until a job has ended, in whichever process it runs, or the limit is over. Returns the job as it is then: its state
    /// says whether it has ended.
    ///
    /// It asks the store after 10 ms, and then after growing waits of a second at most. A store that is away is asked again.
    ///
    /// ```no_run
    /// use scheduler::{Job, Jobs};
    /// use std::time::Duration;
    ///
    /// fn export(jobs: &Jobs, job: Job) -> Result<(), Box<dyn std::error::Error>> {
    ///     let id = jobs.enqueue(job)?.id();
    ///     let job = jobs.wait(id, Duration::from_secs(30))?;
    ///     println!("it is {}", job.state.word());
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such job; or the store did not answer when the limit was over.
    pub fn wait(&self, id: JobId, limit: Duration) -> Result<StoredJob, JobsError> {
        let client = &self.inner.client;
        let (gate, mut asking) = (Arc::new(EventCount::new()), Asking::new(client, limit));
        loop {
            while client.clock().now() < asking.at() {
                client.clock().wait(&gate, gate.epoch(), Some(asking.at()));
            }
            if let Some(end) = asking.end(self.get(id)) {
                return end;
            }
        }
    }

    /// Jobs by identity, the newest first, at most so many. The next page is that [after](JobFilter::after) the last one.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn list(&self, filter: &JobFilter, limit: u32) -> Result<Vec<StoredJob>, JobsError> {
        Ok(self.inner.client.call(|store| store.jobs(filter, limit))?)
    }

    /// Cancels a job: at once if it waits; a run in progress is asked to stop, wherever it is.
    ///
    /// # Errors
    ///
    /// There is no such job, or it has ended; or the store did not answer.
    pub fn cancel(&self, id: JobId) -> Result<(), JobsError> {
        self.command(&Command::Cancel { job: id })
    }

    /// Makes a job due at once that waits or has ended, with one attempt at least.
    ///
    /// # Errors
    ///
    /// There is no such job, it is running, or another one has its key; or the store did not answer.
    pub fn retry(&self, id: JobId) -> Result<(), JobsError> {
        self.command(&Command::Retry { job: id })?;
        self.inner.client.wake_node();
        Ok(())
    }

    /// Gives a job that waits or is parked another payload, such as a parked one before its retry. The job is as
    /// [`get`](Self::get) has returned it: one that was claimed since then is left alone.
    ///
    /// Nothing else changes: a parked job stays parked until its [`retry`](Self::retry). The payload has its own version: the
    /// version of the type that reads it.
    ///
    /// ```
    /// use scheduler::store::JobId;
    /// use scheduler::{Jobs, job};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Letter {
    ///     to: String,
    /// }
    ///
    /// fn send_to(jobs: &Jobs, id: JobId, address: &str) -> Result<(), Box<dyn std::error::Error>> {
    ///     let job = jobs.get(id)?.ok_or("there is no such job")?;
    ///     let mut letter: Letter = job.payload.decode()?;
    ///     letter.to = address.to_owned();
    ///     jobs.edit(&job, &job.payload.with(&letter)?)?;
    ///     jobs.retry(id)?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The payload is no JSON or too long; there is no such job, it is running, has ended, or [was claimed
    /// meanwhile](JobsError::NotDone); or the store did not answer.
    pub fn edit(&self, job: &StoredJob, payload: &Payload) -> Result<(), JobsError> {
        if let Some(why) = payload.fault() {
            return Err(JobsError::Refused(format!("the payload is no JSON: {why}")));
        }
        let (fence, payload) = (Some(job.fence), payload.clone());
        self.command(&Command::Edit { job: job.id, fence, payload })
    }

    /// Deletes a job that is not running.
    ///
    /// # Errors
    ///
    /// There is no such job, or it is running; or the store did not answer.
    pub fn delete(&self, id: JobId) -> Result<(), JobsError> {
        self.command(&Command::Delete { job: id })
    }

    /// Cancels all jobs that a filter selects, as [`cancel`](Self::cancel) does. Returns with how many that was done; those
    /// that have ended are left alone.
    ///
    /// It takes a transaction for each thousand of jobs, so that other processes do not wait for long.
    ///
    /// ```
    /// use scheduler::store::{JobFilter, JobState};
    /// use scheduler::{Jobs, JobsError};
    ///
    /// fn the_mail_server_is_back(jobs: &Jobs) -> Result<u64, JobsError> {
    ///     let parked = JobFilter {
    ///         task: Some("send-invoice".to_owned()),
    ///         state: Some(JobState::Parked),
    ///         ..JobFilter::default()
    ///     };
    ///     jobs.retry_all(&parked)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The store did not answer. With some of the jobs it may be done.
    pub fn cancel_all(&self, filter: &JobFilter) -> Result<u64, JobsError> {
        self.command_all(JobAction::Cancel, filter)
    }

    /// Makes all jobs due at once that a filter selects, as [`retry`](Self::retry) does: see [`cancel_all`](Self::cancel_all).
    /// Jobs that are running, or whose key another job has, are left alone.
    ///
    /// # Errors
    ///
    /// As [`cancel_all`](Self::cancel_all).
    pub fn retry_all(&self, filter: &JobFilter) -> Result<u64, JobsError> {
        let done = self.command_all(JobAction::Retry, filter);
        self.inner.client.wake_node();
        done
    }

    /// Deletes all jobs that a filter selects, as [`delete`](Self::delete) does: see [`cancel_all`](Self::cancel_all). Those
    /// that are running are left alone.
    ///
    /// # Errors
    ///
    /// As [`cancel_all`](Self::cancel_all).
    pub fn delete_all(&self, filter: &JobFilter) -> Result<u64, JobsError> {
        self.command_all(JobAction::Delete, filter)
    }

    fn command_all(&self, action: JobAction, filter: &JobFilter) -> Result<u64, JobsError> {
        let (filter, limit, not_after) = (filter.clone(), BATCH, StoreTime::MIN);
        let signature = self.signature();
        let mut request = CommandAll { action, filter, limit, signature, not_after };
        let mut done = 0;
        let answer = loop {
            let all = self.inner.client.timed(|store, not_after| {
                request.not_after = not_after;
                store.command_all(&request)
            });
            let all = match all {
                Ok(all) => all,
                Err(error) if done == 0 => return Err(JobsError::Store(error)),
                Err(error) => break Err(JobsError::Stopped { done, error }),
            };
            done += all.done;
            match all.last {
                Some(last) => request.filter.after = Some(last),
                None => break Ok(done),
            }
        };
        let is_whole = self.signature.as_ref().is_some_and(|by| by.scope.is_none());
        let entry = request.entry(done, self.inner.client.store_now());
        if let Some(entry) = entry.filter(|_| is_whole) {
            self.tell(&entry);
        }
        answer
    }

    /// The numbers of jobs that wait, run and are parked, by queue and task.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn depths(&self) -> Result<Vec<QueueDepth>, JobsError> {
        Ok(self.inner.client.call(|store| store.depths())?)
    }

    /// The queues that tasks of this process name, by name.
    #[must_use]
    pub fn queues(&self) -> BTreeSet<String> {
        let tasks = self.inner.tasks.get().into_iter().flat_map(BTreeMap::values);
        tasks.map(|task| task.options.queue.clone()).collect()
    }

    /// The processes that use the store; then those whose sessions ended within the last hour, the latest first. The
    /// [end](SessionInfo::ended) of one says whether it was closed or lost, and who found that.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn sessions(&self) -> Result<Vec<SessionInfo>, JobsError> {
        Ok(self.inner.client.call(|store| store.sessions())?)
    }

    /// By how much the clock of this process is ahead of the store's, as far as its node has measured; zero within what a request takes.
    #[must_use]
    pub fn clock_offset(&self) -> TimeDelta {
        self.inner.client.ahead()
    }

    pub(super) fn command(&self, command: &Command) -> Result<(), JobsError> {
        self.command_by(self.signature().as_ref(), command)
    }

    pub(super) fn command_by(
        &self,
        by: Option<&Signature>,
        command: &Command,
    ) -> Result<(), JobsError> {
        let client = &self.inner.client;
        answered(client.timed(|store, not_after| store.command_by(by, command, not_after)))?;
        if let Some(signature) = by.filter(|by| by.scope.is_none()) {
            self.tell(&signature.entry_of(command, None, client.store_now()));
        }
        Ok(())
    }

    /// A command after which something may be due.
    pub(super) fn changed(&self, command: &Command) -> Result<(), JobsError> {
        self.command(command)?;
        self.inner.client.wake_node();
        Ok(())
    }

    /// Gives a job the options of its task that it does not have of its own.
    pub(super) fn complete(&self, job: &mut Job) {
        let tasks = self.inner.tasks.get();
        if let Some(task) = tasks.and_then(|tasks| tasks.get(job.task_name())) {
            job.take_options(&task.options);
        }
    }

    /// The jobs, and what is sent of them.
    pub(super) fn checked(
        &self,
        mut jobs: Vec<Job>,
    ) -> Result<(Vec<Job>, Vec<NewJob>), EnqueueError> {
        jobs.iter_mut().for_each(|job| self.complete(job));
        let new = |job: &Job| job.to_new().map_err(|why| format!("`{}`: {why}", job.task_name()));
        let new: Result<Vec<NewJob>, String> = jobs.iter().map(new).collect();
        match new {
            Ok(new) => Ok((jobs, new)),
            Err(reason) => Err(EnqueueError::refused(jobs, reason)),
        }
    }

    pub(super) fn accepted(
        &self,
        jobs: Vec<Job>,
        answer: Result<Vec<Enqueued>, StoreError>,
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        match answer {
            Ok(answers) => {
                self.inner.client.wake_node();
                Ok(answers)
            }
            Err(error) => Err(EnqueueError::of(jobs, &error)),
        }
    }
}

/// The times at which a store is asked for a job that a caller waits for.
pub(super) struct Asking<'a> {
    clock: &'a dyn Clock,
    at: Tick,
    pause: Duration,
    until: Tick,
}

impl<'a> Asking<'a> {
    pub(super) fn new(client: &'a Client, limit: Duration) -> Self {
        let (clock, pause) = (client.clock(), Duration::from_millis(10));
        let now = clock.now();
        Self { clock, at: now, pause, until: now + limit }
    }

    /// The next time.
    pub(super) fn at(&self) -> Tick {
        self.at
    }

    /// The end of the wait after an answer; none if the store is to be asked again.
    pub(super) fn end(
        &mut self,
        answer: Result<Option<StoredJob>, JobsError>,
    ) -> Option<Result<StoredJob, JobsError>> {
        let is_over = self.clock.now() >= self.until;
        self.at = (self.clock.now() + self.pause).min(self.until);
        self.pause = (self.pause * 2).min(Duration::from_secs(1));
        match answer {
            Ok(Some(job)) => (is_over || !job.state.is_unfinished()).then_some(Ok(job)),
            Ok(None) => Some(Err(JobsError::NotDone(CommandOutcome::NotFound))),
            // Another transaction may be in the way, so that an error is no end.
            Err(error) if error.is_unavailable() || error.is_failed() => {
                is_over.then_some(Err(error))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// The only answer. A store gives one for each job.
pub(super) fn sole(answers: &[Enqueued]) -> Enqueued {
    answers.first().copied().unwrap_or(Enqueued::Accepted(JobId::from_uuid(Uuid::nil())))
}

crate::run::inject::handle!(Jobs);

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Jobs").field(&self.inner.client).finish()
    }
}
