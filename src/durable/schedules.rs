//! The durable schedules of a store, and the commands for all processes.

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, Utc};
use scheduler_store::{
    Command, JobId, Next, Pause as StoredPause, Rule as StoredRule, ScheduleSpec, Signature,
    StoreTime, StoredSchedule, Timing,
};

use super::error::JobsError;
use super::job::Job;
use super::job::new_id;
use super::jobs::Jobs;
use super::pauses::Paused;
use super::pauses::stored;
use super::rule::TextRule;
use super::rule::{definition_of, rule_of};
use crate::define::schedule::Schedule;
use crate::run::Pause;
use crate::task::TaskSpec;

/// The durable schedules in a scheduler's store: those of the code, and those that are data. Each command holds in all processes,
/// and after restarts.
///
/// [`Scheduler::schedules`](crate::Scheduler::schedules) returns it, and a task or a job takes it as `Schedules` or `&Schedules`.
/// Clones are the same. A schedule of the code is a task, too, with the same commands in [`Tasks`](crate::Tasks).
///
/// A call asks the store on the calling thread, and returns when it has answered. Each has a twin for async code, such as
/// [`list_async`](Self::list_async).
///
/// ```no_run,standalone_crate
/// use scheduler::{JobsError, Schedule, Schedules, job};
///
/// #[job(name = "digest")]
/// fn digest(#[payload] customer: u64) {
///     println!("the digest of customer {customer}");
/// }
///
/// fn subscribe(schedules: &Schedules, customer: u64) -> Result<(), JobsError> {
///     let weekly = Schedule::cron("0 0 9 * * MON").zone("Europe/Berlin");
///     schedules.put(&format!("digest-{customer}"), weekly, digest::job(customer))
/// }
/// ```
#[derive(Clone)]
pub struct Schedules {
    pub(super) jobs: Jobs,
}

impl Schedules {
    pub(crate) fn of(jobs: &Jobs) -> Self {
        Self { jobs: jobs.clone() }
    }

    /// A handle whose commands are those of a person: see [`Jobs::signed`].
    #[must_use]
    pub fn signed(&self, signature: &Signature) -> Self {
        Self { jobs: self.jobs.signed(signature) }
    }

    /// All schedules, by name.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn list(&self) -> Result<Vec<StoredSchedule>, JobsError> {
        let question = self.jobs.inner.pauses.ask(Paused::Schedules);
        let schedules = self.jobs.inner.client.call(|store| store.schedules())?;
        let own = schedules.iter().filter(|own| self.jobs.has_schedule(&own.definition.name));
        let paused = own.filter_map(|own| Some((own.definition.name.clone(), own.pause.clone()?)));
        self.jobs.inner.pauses.answer(Paused::Schedules, question, paused);
        self.jobs.report_pauses();
        Ok(schedules)
    }

    /// The next ticks of a schedule that are still to come, at most `count`, as this process computes them; also those that a
    /// pause will skip. Of a fixed delay and a single tick there is one at most.
    #[must_use]
    pub fn upcoming(&self, schedule: &StoredSchedule, count: usize) -> Vec<DateTime<Utc>> {
        let (timing, now) = (schedule.rule().timing, self.jobs.inner.client.store_now());
        let none = BTreeMap::new();
        let calendars = self.jobs.inner.calendars.get().unwrap_or(&none);
        let text = TextRule::parse(&schedule.rule().text, calendars).ok();
        let following = |at: &StoreTime| match timing {
            Timing::Computed => text.as_ref()?.next_after(*at),
            Timing::Rate { period, .. } => Some(at.after(period)),
            _ => None,
        };
        let first = match (schedule.next_tick(), timing) {
            _ if schedule.next == Next::Never => None,
            (Some(at), _) if at > now => Some(at),
            (_, Timing::Computed) => following(&now),
            (Some(at), Timing::Rate { period, .. }) => {
                let passed = now.since(at).as_nanos().checked_div(period.as_nanos()).unwrap_or(0);
                let steps = u32::try_from(passed + 1).unwrap_or(u32::MAX);
                Some(at.after(period.saturating_mul(steps)))
            }
            (next, _) => next.map(|_| now),
        };
        let until = text.as_ref().and_then(|text| text.policy().until).unwrap_or(StoreTime::MAX);
        let ticks = std::iter::successors(first, following).take_while(|at| *at <= until);
        ticks.take(count).map(StoreTime::utc).collect()
    }

    /// Returns true if a schedule is paused now.
    pub(crate) fn is_paused(&self, schedule: &StoredSchedule) -> bool {
        let now = self.jobs.inner.client.store_now();
        schedule.pause.as_ref().is_some_and(|pause| pause.holds(now))
    }

    /// Pauses a schedule: its ticks are skipped until it is resumed, or until an instant. Jobs that are there already run:
    /// [`Jobs::pause_task`] lets them wait. One that is paused gets the new reason and end.
    ///
    /// # Errors
    ///
    /// There is no such schedule, or the store did not answer.
    pub fn pause(&self, schedule: &str, pause: &Pause) -> Result<(), JobsError> {
        let pause = self.jobs.ending(pause)?;
        let StoredPause { by, reason, until, .. } = stored(&pause, StoreTime::MIN);
        let signature = self.jobs.signature_or(pause.by.as_deref());
        let command = Command::Pause { schedule: schedule.to_owned(), until, by, reason };
        self.jobs.command_by(signature.as_ref(), &command)?;
        self.note_pause(schedule, Some(&pause));
        Ok(())
    }

    /// Ends the pause of a schedule. The ticks in it are not run.
    ///
    /// # Errors
    ///
    /// There is no such schedule, or the store did not answer.
    pub fn resume(&self, schedule: &str) -> Result<(), JobsError> {
        self.jobs.changed(&Command::Resume { schedule: schedule.to_owned() })?;
        self.note_pause(schedule, None);
        Ok(())
    }

    /// Runs a schedule's task once, beside its ticks, also while it is paused. Returns the job.
    ///
    /// # Errors
    ///
    /// There is no such schedule; a job of it is unfinished, unless its overlap is allowed; or the store did not answer.
    pub fn run_now(&self, schedule: &str) -> Result<JobId, JobsError> {
        let job = new_id();
        self.jobs.changed(&Command::RunNow { schedule: schedule.to_owned(), job })?;
        Ok(job)
    }

    /// Gives a schedule another rule, from now on, until the code has another one or [`reset`](Self::reset) is called.
    ///
    /// A rate or delay without an initial delay starts after one period.
    ///
    /// ```no_run
    /// use scheduler::{JobsError, Schedule, Schedules};
    ///
    /// fn less_often(schedules: &Schedules) -> Result<(), JobsError> {
    ///     schedules.reschedule("report", Schedule::cron("0 0 6 * * *").zone("UTC"))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such schedule, or the rule is faulty or cannot be durable; or the store did not answer.
    pub fn reschedule(&self, schedule: &str, rule: Schedule) -> Result<(), JobsError> {
        if let Some(policy) = rule.policy() {
            let why = format!("`{policy}` is no part of a rule; only the rule can be changed");
            return Err(JobsError::Refused(why));
        }
        let mut spec = self.resolve(schedule, rule)?;
        spec.rule = spec.rule.taking_over();
        let rule = rule_in_store(&spec, false)?;
        self.jobs.changed(&Command::Reschedule { schedule: schedule.to_owned(), rule: Some(rule) })
    }

    /// Gives a schedule the rule that stands in the code.
    ///
    /// # Errors
    ///
    /// There is no such schedule, or the store did not answer.
    pub fn reset(&self, schedule: &str) -> Result<(), JobsError> {
        self.jobs.changed(&Command::Reschedule { schedule: schedule.to_owned(), rule: None })
    }

    /// Makes a schedule whose ticks are jobs like this one, or changes it: for schedules that are data, such as one for each
    /// customer. Any process that knows the task fires it. The retries, the queue and the priority are those of the job; the
    /// rule, `overlap`, `misfire`, `misfire_window` and `jitter` those of the schedule.
    ///
    /// A schedule that is over is deleted a day after its last tick. A single tick that is more than a day late when it is put
    /// does not fire.
    ///
    /// # Errors
    ///
    /// The schedule is faulty or cannot be durable; a schedule in the code has the name; or the store did not answer.
    #[doc(alias = "create")]
    #[doc(alias = "upsert")]
    pub fn put(&self, name: &str, schedule: Schedule, mut job: Job) -> Result<(), JobsError> {
        if job.is_timed() {
            let why =
                "the job of a schedule has no due time and no key of its own: ticks give both";
            return Err(JobsError::Refused(why.to_owned()));
        }
        self.jobs.complete(&mut job);
        let new = job.to_new().map_err(JobsError::Refused)?;
        let spec = self.resolve(name, schedule)?;
        let rule = rule_in_store(&spec, true)?;
        let Some(ticked) = definition_of(&spec) else { return Err(no_rule()) };
        let definition = ScheduleSpec {
            task: new.task,
            payload: new.payload,
            queue: new.queue,
            priority: new.priority,
            partition: new.partition,
            max_attempts: new.max_attempts,
            on_lost: new.on_lost,
            rule,
            is_dynamic: true,
            ..ticked
        };
        self.jobs.changed(&Command::Put { definition: Box::new(definition) })
    }

    /// Removes a schedule. Its jobs stay. One that stands in the code of a process comes back with the next start of that.
    ///
    /// # Errors
    ///
    /// There is no such schedule, or the store did not answer.
    pub fn remove(&self, schedule: &str) -> Result<(), JobsError> {
        self.jobs.command(&Command::Remove { schedule: schedule.to_owned() })?;
        self.note_pause(schedule, None);
        Ok(())
    }

    fn note_pause(&self, schedule: &str, pause: Option<&Pause>) {
        if self.jobs.has_schedule(schedule) {
            self.jobs.note_pause(Paused::Schedules, schedule, pause);
        }
    }

    fn resolve(&self, name: &str, schedule: Schedule) -> Result<TaskSpec, JobsError> {
        let Some(rules) = self.jobs.inner.rules.get() else {
            return Err(JobsError::Refused("the scheduler has not started".to_owned()));
        };
        rules(name, schedule.durable()).map_err(JobsError::Refused)
    }
}

fn rule_in_store(spec: &TaskSpec, is_dynamic: bool) -> Result<StoredRule, JobsError> {
    let durable = spec.durable.as_ref();
    durable.and_then(|durable| rule_of(spec, durable, is_dynamic)).ok_or_else(no_rule)
}

fn no_rule() -> JobsError {
    JobsError::Refused("`-` is no rule; pause the schedule instead".to_owned())
}

crate::run::inject::handle!(Schedules);

impl fmt::Debug for Schedules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schedules").field(&self.jobs.inner.client).finish()
    }
}
