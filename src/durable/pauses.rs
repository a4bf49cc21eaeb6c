//! Pauses of kinds of jobs and of queues, and those that are known.

use std::sync::Arc;

use scheduler_store::{
    Command, JobPause, Pause as StoredPause, PauseScope, StoreTime, StoredSchedule,
};

use super::error::JobsError;
use super::jobs::{Jobs, KnownTask};
use super::known_pauses::{OnPause, Paused};
use crate::run::Pause;

/// A pause as the store keeps it, from an instant on.
pub(super) fn stored(pause: &Pause, since: StoreTime) -> StoredPause {
    let (by, reason) = (pause.by.as_deref(), pause.reason.as_deref());
    let until = pause.until.map(StoreTime::from);
    StoredPause::new(since, until, by.unwrap_or_default(), reason.unwrap_or_default())
}

/// Pauses of kinds of jobs and of queues, for all processes and after restarts.
///
/// While a kind or a queue is paused, jobs are still accepted, and wait. Runs in progress go on. No process claims a job of it
/// once the call has returned; what a process has claimed ahead goes back as soon as it hears of the pause.
impl Jobs {
    /// Pauses a kind of job: its jobs wait until it is resumed, or until an instant. One that is paused gets the new reason and
    /// end.
    ///
    /// A task of this process is paused under its former names, too.
    ///
    /// ```rust,standalone_crate
    /// use scheduler::store::Model;
    /// use scheduler::{Pause, Scheduler, job};
    ///
    /// #[job(name = "welcome")]
    /// fn welcome(#[payload] name: String) {
    ///     println!("hello, {name}");
    /// }
    ///
    /// let scheduler = Scheduler::builder().store(Model::new()).spawn()?;
    /// let jobs = scheduler.jobs()?;
    /// jobs.pause_task("welcome", &Pause::new().by("ada").reason("the mail server is down"))?;
    /// jobs.enqueue(welcome::job("Ada".to_owned()))?;
    /// assert_eq!(jobs.pauses()?[0].pause.by, "ada");
    /// jobs.resume_task("welcome")?;
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The name cannot be stored, or the store did not answer.
    pub fn pause_task(&self, task: &str, pause: &Pause) -> Result<(), JobsError> {
        self.each_name(task, |name| self.pause_jobs(&PauseScope::Task(name), pause))
    }

    /// Ends the pause of a kind of job. Jobs that waited are due. Does nothing if it is not paused.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn resume_task(&self, task: &str) -> Result<(), JobsError> {
        self.each_name(task, |name| self.resume_jobs(&PauseScope::Task(name)))
    }

    /// Pauses a queue, as [`pause_task`](Self::pause_task) does a kind of job.
    ///
    /// # Errors
    ///
    /// As [`pause_task`](Self::pause_task).
    pub fn pause_queue(&self, queue: &str, pause: &Pause) -> Result<(), JobsError> {
        self.pause_jobs(&PauseScope::Queue(queue.to_owned()), pause)
    }

    /// Ends the pause of a queue. Jobs that waited are due. Does nothing if it is not paused.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn resume_queue(&self, queue: &str) -> Result<(), JobsError> {
        self.resume_jobs(&PauseScope::Queue(queue.to_owned()))
    }

    /// The kinds of jobs and the queues that are paused now.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn pauses(&self) -> Result<Vec<JobPause>, JobsError> {
        let question = self.inner.pauses.ask(Paused::Kinds);
        let pauses = self.inner.client.call(|store| store.pauses())?;
        let kinds = pauses.iter().filter_map(|paused| match &paused.scope {
            PauseScope::Task(name) => Some((name.clone(), paused.pause.clone())),
            PauseScope::Queue(_) => None,
        });
        self.inner.pauses.answer(Paused::Kinds, question, kinds);
        self.report_pauses();
        Ok(pauses)
    }

    /// Returns true if a kind of job is paused by itself, and not only a queue of it.
    pub(crate) fn is_task_paused(&self, task: &str) -> Result<bool, JobsError> {
        let former = self.former_names(task).unwrap_or_default();
        let is_of = |scope: &PauseScope| match scope {
            PauseScope::Task(name) => name == task || former.contains(&&**name),
            PauseScope::Queue(_) => false,
        };
        Ok(self.pauses()?.iter().any(|paused| is_of(&paused.scope)))
    }

    fn each_name(
        &self,
        task: &str,
        command: impl Fn(String) -> Result<(), JobsError>,
    ) -> Result<(), JobsError> {
        let former = self.former_names(task).unwrap_or_default();
        let mut names = std::iter::once(task).chain(former.iter().copied());
        names.try_for_each(|name| command(name.to_owned()))
    }

    fn pause_jobs(&self, scope: &PauseScope, pause: &Pause) -> Result<(), JobsError> {
        let StoredPause { by, reason, until, .. } = stored(pause, StoreTime::MIN);
        self.changed(&Command::PauseJobs { scope: scope.clone(), until, by, reason })?;
        self.has_paused(scope, Some(pause));
        Ok(())
    }

    fn resume_jobs(&self, scope: &PauseScope) -> Result<(), JobsError> {
        self.changed(&Command::ResumeJobs { scope: scope.clone() })?;
        self.has_paused(scope, None);
        Ok(())
    }

    fn has_paused(&self, scope: &PauseScope, pause: Option<&Pause>) {
        if let PauseScope::Task(name) = scope {
            self.note_pause(Paused::Kinds, name, pause);
        }
    }
}

/// The pauses as this process knows them, for snapshots and events.
impl Jobs {
    /// Has this called when a durable task of this process is paused, gets another pause, or goes on.
    pub(crate) fn on_pause(&self, call: OnPause) {
        self.inner.pauses.on_change(call);
    }

    /// The pause of a durable task of this process that holds now, as far as it is known.
    pub(crate) fn known_pause(&self, task: &str) -> Option<StoredPause> {
        self.pause_of(task, self.inner.tasks.get()?.get(task)?)
    }

    fn pause_of(&self, task: &str, known: &KnownTask) -> Option<StoredPause> {
        let (pauses, now) = (&self.inner.pauses, self.inner.client.store_now());
        let former = known.former.into_iter().flatten().copied();
        let of = if known.former.is_some() { Paused::Kinds } else { Paused::Schedules };
        pauses.find(of, std::iter::once(task).chain(former), now)
    }

    /// Takes note of a pause, or of its end, that the store has made for this process.
    pub(super) fn note_pause(&self, of: Paused, name: &str, pause: Option<&Pause>) {
        let since = self.inner.client.store_now();
        let pause = pause.map(|pause| stored(pause, since));
        self.inner.pauses.change(of, name, pause);
        self.report_pauses();
    }

    /// Takes note of a schedule of this process as it is in the store.
    pub(super) fn note_schedule(&self, schedule: &StoredSchedule) {
        let pause = schedule.pause.clone();
        self.inner.pauses.change(Paused::Schedules, &schedule.definition.name, pause);
        self.report_pauses();
    }

    /// Returns true if a task of this process has a durable schedule.
    pub(super) fn has_schedule(&self, name: &str) -> bool {
        let known = self.inner.tasks.get().and_then(|tasks| tasks.get(name));
        known.is_some_and(|known| known.former.is_none())
    }

    /// Returns true if any task of this process has one.
    pub(super) fn has_schedules(&self) -> bool {
        let tasks = self.inner.tasks.get();
        tasks.into_iter().flat_map(|tasks| tasks.values()).any(|known| known.former.is_none())
    }

    /// Takes note of the kinds of jobs that a poll has named as paused; almost always there is none.
    pub(super) fn heard_paused(&self, named: &[String]) {
        let pauses = &self.inner.pauses;
        if named.is_empty() && pauses.is_empty() {
            return;
        }
        if pauses.is_question(named, &self.own_kinds(), self.inner.client.clock().now()) {
            // Without an answer the next poll asks again.
            drop(self.pauses());
        } else {
            self.report_pauses();
        }
    }

    /// The names of the kinds of jobs of this process, former ones among them.
    fn own_kinds(&self) -> Vec<&str> {
        let tasks = self.inner.tasks.get().into_iter().flatten();
        let names = tasks.filter_map(|(name, known)| {
            Some(std::iter::once(&**name).chain(known.former?.iter().copied()))
        });
        names.flatten().collect()
    }

    /// Reports the changes since the last call.
    pub(super) fn report_pauses(&self) {
        let tasks = self.inner.tasks.get().into_iter().flatten();
        let paused =
            tasks.filter_map(|(name, known)| Some((Arc::clone(name), self.pause_of(name, known)?)));
        self.inner.pauses.report(paused.collect());
    }
}
