//! Limits of kinds of jobs: as code gives them, and set by hand.

use scheduler_expr::{Attribute, OnPark, RuleKind, default_burst};
use scheduler_store::{
    Command, JobId, JobWait, Limit as StoredLimit, LimitDepth, LimitOverride, LimitScope,
    LimitSpec, PartitionDepth, Rate, StoredLimit as LimitInStore, WaitReason,
};

use crate::durable::error::JobsError;
use crate::durable::jobs::Jobs;
use crate::task::{DurableOptions, TaskSpec};

/// A limit that people set in place of the one in the code: [`Jobs::set_limit`].
///
/// It has the options of `limit(…)` or `each(…)` in [`#[job]`](macro@crate::job), and replaces that as a whole: what it does not
/// say is not limited.
///
/// ```
/// use scheduler::Limit;
///
/// let limit = Limit::each().running(2).rate("60/1m").by("ada").reason("their API is slow");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a limit does nothing until it is set"]
pub struct Limit {
    scope: LimitScope,
    texts: Vec<(Attribute, String)>,
    by: String,
    reason: String,
}

impl Limit {
    /// Of all jobs of a kind together.
    pub fn all() -> Self {
        Self::of(LimitScope::All)
    }

    /// Of the jobs of each partition.
    pub fn each() -> Self {
        Self::of(LimitScope::Each)
    }

    /// The number of jobs that run at once, at least 1. To run none, [pause](Jobs::pause_task) the kind.
    pub fn running(self, jobs: u32) -> Self {
        self.set_part(0, jobs.to_string())
    }

    /// The number of jobs that start in any window of a time: `100/1m`.
    pub fn rate(self, rate: impl Into<String>) -> Self {
        self.set_part(1, rate.into())
    }

    /// The number of those that start at once after a rest; a tenth of them unless it is given.
    pub fn burst(self, jobs: u32) -> Self {
        self.set_part(2, jobs.to_string())
    }

    /// The jobs of each partition start in their order, each after the one before it has ended. It needs [`running(1)`](Self::running).
    pub fn ordered(self) -> Self {
        self.set(Attribute::EachOrdered, "true".to_owned())
    }

    /// In a partition with order: whether those behind a parked job go on, as they do unless this is given, or wait until a person
    /// retries or deletes it.
    pub fn on_park(self, rule: OnPark) -> Self {
        self.set(Attribute::OnPark, rule.name().to_owned())
    }

    /// The number of due jobs at which an enqueue is refused, in a queue. It counts for kinds with a `waiting` in their code or settings.
    pub fn waiting(self, jobs: u32) -> Self {
        self.set_part(3, jobs.to_string())
    }

    /// The person or program that sets it.
    pub fn by(self, who: impl Into<String>) -> Self {
        Self { by: who.into(), ..self }
    }

    /// Why.
    pub fn reason(self, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), ..self }
    }

    fn of(scope: LimitScope) -> Self {
        Self { scope, texts: Vec::new(), by: String::new(), reason: String::new() }
    }

    fn set_part(self, part: usize, text: String) -> Self {
        let attribute = attributes(self.scope)[part];
        self.set(attribute, text)
    }

    fn set(mut self, attribute: Attribute, text: String) -> Self {
        self.texts.retain(|(known, _)| *known != attribute);
        self.texts.push((attribute, text));
        self
    }

    /// The limit as a store keeps it, or what is wrong with it.
    fn into_stored(self) -> Result<LimitOverride, JobsError> {
        let texts: Vec<(Attribute, &str)> =
            self.texts.iter().map(|(attribute, text)| (*attribute, text.as_str())).collect();
        let mut faults: Vec<_> = texts
            .iter()
            .filter_map(|(attribute, text)| attribute.check(text, None).err())
            .chain(Attribute::check_together(&texts, RuleKind::Job, None))
            .map(|fault| match fault.help() {
                Some(help) => format!("{fault}\nhelp: {help}"),
                None => fault.to_string(),
            })
            .collect();
        let text = |attribute| texts.iter().find(|(known, _)| *known == attribute);
        if self.scope == LimitScope::All && text(Attribute::EachOrdered).is_some() {
            let help = "set it by `Limit::each()`";
            faults.push(format!("`ordered` is of the jobs of each partition\nhelp: {help}"));
        }
        let limit = limit_of(self.scope, &|attribute| text(attribute).map(|(_, text)| *text));
        if limit.is_none() && faults.is_empty() {
            let help =
                "add `.running(…)` or `.rate(…)`, or restore the one in the code by `reset_limit`";
            faults.push(format!("it limits nothing\nhelp: {help}"));
        }
        match faults.is_empty() {
            true => Ok(LimitOverride { limit, by: self.by, reason: self.reason }),
            false => Err(JobsError::Refused(faults.join("\n"))),
        }
    }
}

/// The attributes of a limit: running, rate, burst, waiting.
const fn attributes(scope: LimitScope) -> [Attribute; 4] {
    use Attribute as Of;
    match scope {
        LimitScope::All => [Of::LimitRunning, Of::LimitRate, Of::LimitBurst, Of::LimitWaiting],
        LimitScope::Each => [Of::EachRunning, Of::EachRate, Of::EachBurst, Of::EachWaiting],
    }
}

/// The limit that texts say, as far as they can be read.
fn limit_of<'a>(scope: LimitScope, text: &impl Fn(Attribute) -> Option<&'a str>) -> StoredLimit {
    let [running, rate, burst, waiting] = attributes(scope);
    let count = |attribute| text(attribute).and_then(|text| text.parse::<u32>().ok());
    let rate = text(rate).and_then(|text| rate.parse_rate(text).ok());
    let rate = rate.map(|(starts, period)| {
        let burst = count(burst).unwrap_or_else(|| default_burst(starts));
        Rate { starts, period, burst }
    });
    let on_park = text(Attribute::OnPark).and_then(|text| text.parse().ok()).unwrap_or_default();
    let is_ordered = scope == LimitScope::Each && text(Attribute::EachOrdered) == Some("true");
    let (running, waiting) = (count(running), count(waiting));
    StoredLimit { running, rate, waiting, ordered: is_ordered.then_some(on_park) }
}

/// Returns true if texts say a limit.
pub(super) fn is_limited<'a>(text: &impl Fn(Attribute) -> Option<&'a str>) -> bool {
    LimitScope::BOTH.iter().any(|scope| !limit_of(*scope, text).is_none())
}

/// Returns true if texts say how many jobs may wait.
pub(super) fn is_guarded<'a>(text: &impl Fn(Attribute) -> Option<&'a str>) -> bool {
    LimitScope::BOTH.iter().any(|scope| limit_of(*scope, text).waiting.is_some())
}

/// The limits of a task, as this process registers them.
pub(super) fn limits_of(spec: &TaskSpec, durable: &DurableOptions) -> LimitSpec {
    let former_names = spec.job.iter().flat_map(|job| job.aliases);
    LimitSpec {
        task: spec.name().to_string(),
        former_names: former_names.map(|name| (*name).to_owned()).collect(),
        all: limit_of(LimitScope::All, &|attribute| durable.limit(attribute)),
        each: limit_of(LimitScope::Each, &|attribute| durable.limit(attribute)),
    }
}

/// Limits of kinds of jobs and of durable schedules, for all processes and after restarts.
impl Jobs {
    /// Sets a limit in place of the one in the code, for all processes from their next look at the store on. It holds after
    /// restarts, until it is [reset](Self::reset_limit) or a new build has another limit in its code. Jobs that run go on.
    ///
    /// ```rust,standalone_crate
    /// use scheduler::store::Model;
    /// use scheduler::{Limit, Scheduler, job};
    ///
    /// #[job(name = "send", each(running = 5), partition = tenant)]
    /// fn send(#[payload] tenant: String) {
    ///     println!("to {tenant}");
    /// }
    ///
    /// let scheduler = Scheduler::builder().store(Model::new()).spawn()?;
    /// let jobs = scheduler.jobs()?;
    /// jobs.set_limit("send", Limit::each().running(2).by("ada").reason("their API is slow"))?;
    /// jobs.reset_limit("send")?;
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The limit is faulty, or the store did not answer.
    #[doc(alias = "throttle")]
    pub fn set_limit(&self, task: &str, limit: Limit) -> Result<(), JobsError> {
        let (task, scope) = (self.current_name(task).to_owned(), limit.scope);
        let limit = limit.into_stored()?;
        let is_guarded = |row: &LimitInStore| {
            row.task == task && row.code.is_some_and(|code| code.waiting.is_some())
        };
        if limit.limit.waiting.is_some() && !self.limits()?.iter().any(is_guarded) {
            return Err(JobsError::Refused(format!(
                "no process counts the jobs of `{task}` that wait: it has no `waiting` in its code\n\
                 help: add it there or in the settings, such as `limit(waiting = 10000)`"
            )));
        }
        let limit = Some(limit);
        self.changed(&Command::SetLimit { task, scope, limit })
    }

    /// Restores the limits in the code. Does nothing if none was set by hand.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn reset_limit(&self, task: &str) -> Result<(), JobsError> {
        let task = self.current_name(task);
        for row in self.limits()? {
            if row.task == task && row.by_hand.is_some() {
                let (task, scope) = (row.task, row.scope);
                self.changed(&Command::SetLimit { task, scope, limit: None })?;
            }
        }
        Ok(())
    }

    /// The limits of all kinds of jobs, with what was set by hand.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn limits(&self) -> Result<Vec<LimitInStore>, JobsError> {
        Ok(self.inner.client.call(|store| store.limits())?)
    }

    /// The first thing that stands in the way of a job that is ready; none if it is not ready, or unknown.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    #[doc(alias = "blocked")]
    pub fn why(&self, id: JobId) -> Result<Option<WaitReason>, JobsError> {
        Ok(self.waits(&[id])?.pop().map(|wait| wait.reason))
    }

    /// Those of these jobs that are ready, by identity, each with the first thing that stands in its way: one question to the
    /// store for all.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn waits(&self, jobs: &[JobId]) -> Result<Vec<JobWait>, JobsError> {
        Ok(self.inner.client.call(|store| store.waits(jobs))?)
    }

    /// The partitions of a kind in which jobs are due or run, at most so many: those with the most due jobs first.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn partitions(&self, task: &str, limit: u32) -> Result<Vec<PartitionDepth>, JobsError> {
        let task = self.current_name(task);
        Ok(self.inner.client.call(|store| store.partitions(task, limit))?)
    }

    /// The due jobs of all kinds that have a limit, by queue: those that may start now, and those that a limit holds back.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn limit_depths(&self) -> Result<Vec<LimitDepth>, JobsError> {
        Ok(self.inner.client.call(|store| store.limit_depths())?)
    }

    /// The name of a task of this process that has or had this one; else the name itself.
    fn current_name<'a>(&'a self, name: &'a str) -> &'a str {
        let tasks = self.inner.tasks.get();
        let mut tasks = tasks.into_iter().flatten();
        let had =
            tasks.find(|(_, known)| known.former().into_iter().flatten().any(|it| *it == name));
        had.map_or(name, |(current, _)| current)
    }
}
