//! The durable jobs of a simulation.

use std::collections::BTreeSet;
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_store::{JobFilter, JobId, StoredJob};

use super::or_panic;
use super::sim::Sim;
use super::world::Step;
use crate::durable::{Jobs, Payload, Schedules};

/// After how many runs a simulation does not believe any more that its jobs have an end.
const RUNS_MAX: u64 = 10_000;

/// The most jobs that a message shows.
const SHOWN_MAX: usize = 20;

/// Durable jobs.
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
impl Sim {
    /// The durable jobs of the scheduler: to enqueue, to look at, to control.
    ///
    /// # Panics
    ///
    /// When it has no store: see [`with_store`](Self::with_store).
    #[must_use]
    #[track_caller]
    pub fn jobs(&self) -> Jobs {
        let jobs = self.started().jobs.clone();
        or_panic(jobs.ok_or("the simulation has no store\nhelp: Sim::at(…).with_store()"))
    }

    /// The durable schedules of the scheduler, those that are data among them.
    ///
    /// # Panics
    ///
    /// As [`jobs`](Self::jobs).
    #[must_use]
    #[track_caller]
    pub fn schedules(&self) -> Schedules {
        Schedules::of(&self.jobs())
    }

    /// The payloads of all jobs of a task that were enqueued, in the order in which the code made them; `()` for those without.
    ///
    /// Ended jobs are among them, for as long as the store keeps them: a day by default.
    ///
    /// ```standalone_crate
    /// use scheduler::job;
    /// use scheduler::testing::*;
    ///
    /// #[job(name = "mail")]
    /// fn mail(#[payload] to: String) {
    ///     println!("dear {to}");
    /// }
    ///
    /// let sim = Sim::at("2026-01-01T00:00:00Z").with_store().task(mail);
    /// sim.jobs().enqueue(mail::job("Ada".to_owned())).expect("it is stored");
    /// assert_eq!(sim.enqueued::<String>("mail"), ["Ada"]);
    /// ```
    ///
    /// # Panics
    ///
    /// When a payload is of another type, or there is no such task.
    #[must_use]
    #[track_caller]
    pub fn enqueued<P: Payload>(&self, task: &str) -> Vec<P> {
        self.jobs_of(task).iter().map(|job| or_panic(payload(job))).collect()
    }

    /// Fails the test unless a job of a task was enqueued whose payload meets a condition. Returns the first such job.
    ///
    /// Ended jobs are among them, for as long as the store keeps them: a day by default.
    ///
    /// ```standalone_crate
    /// use scheduler::testing::*;
    /// use scheduler::{Jobs, job, scheduled};
    ///
    /// #[scheduled(cron = "0 0 * * * *", zone = "UTC")]
    /// fn remind(jobs: Jobs) {
    ///     jobs.enqueue(mail::job("Ada".to_owned()).key("ada")).expect("it is stored");
    /// }
    ///
    /// #[job(name = "mail")]
    /// fn mail(#[payload] to: String) {
    ///     println!("dear {to}");
    /// }
    ///
    /// let mut sim = Sim::at("2026-01-01T00:30:00Z").with_store().tasks(scheduler::tasks![remind, mail]);
    /// sim.advance(minutes(30));
    /// let job = sim.assert_enqueued("mail", |to: &String| to == "Ada");
    /// assert_eq!(job.key.as_deref(), Some("ada"));
    /// ```
    ///
    /// # Panics
    ///
    /// When there is none, with a list of the jobs that were enqueued; or when there is no such task.
    #[track_caller]
    pub fn assert_enqueued<P: Payload>(
        &self,
        task: &str,
        is_meant: impl Fn(&P) -> bool,
    ) -> StoredJob {
        let jobs = self.jobs_of(task);
        let found = jobs.iter().find(|job| payload(job).is_ok_and(|payload| is_meant(&payload)));
        let Some(job) = found else {
            let of_type = std::any::type_name::<P>();
            let all = self.stored(&JobFilter::default());
            panic!("no such job of `{task}` was enqueued, with a `{of_type}`{}", listed(&all));
        };
        job.clone()
    }

    /// Advances time until no job is unfinished, those included that are due later and those that are tried again. Returns
    /// the jobs that have ended meanwhile, in the order of their ends.
    ///
    /// ```standalone_crate
    /// use scheduler::job;
    /// use scheduler::store::JobState;
    /// use scheduler::testing::*;
    ///
    /// #[job(name = "mail", retry(max = 2, base = "1m"))]
    /// fn mail(#[payload] to: String) {
    ///     println!("dear {to}");
    /// }
    ///
    /// let mut sim = Sim::at("2026-01-01T00:00:00Z").with_store().task(mail);
    /// sim.fail_next("mail", "no network");
    /// sim.jobs().enqueue(mail::job("Ada".to_owned())).expect("it is stored");
    /// let ended = sim.drain_jobs(hours(1));
    /// assert_eq!((ended[0].state, ended[0].attempt), (JobState::Done, 2));
    /// ```
    ///
    /// # Panics
    ///
    /// When jobs are unfinished after the limit or after 10,000 runs, with a list of them. As the other methods that move
    /// time, if a task panicked.
    #[track_caller]
    pub fn drain_jobs(&mut self, limit: Duration) -> Vec<StoredJob> {
        let (until, record) = (self.world().now() + limit, &self.started().shared.record);
        let runs = || record.count().0;
        let before: BTreeSet<JobId> = self.finished().map(|job| job.id).collect();
        let first = runs();
        while self.has_unfinished_jobs() {
            if runs() - first >= RUNS_MAX || self.step(until) == Step::Rests {
                break;
            }
        }
        let left: Vec<StoredJob> =
            self.all_jobs().filter(|job| job.state.is_unfinished()).collect();
        let (passed, count) = (limit - until.since(self.world().now()), runs() - first);
        assert!(
            left.is_empty(),
            "after {passed:?} and {count} runs jobs are unfinished{}",
            listed(&left)
        );
        let mut ended: Vec<StoredJob> =
            self.finished().filter(|job| !before.contains(&job.id)).collect();
        ended.sort_by_key(|job| job.finished_at);
        ended
    }

    #[track_caller]
    fn has_unfinished_jobs(&self) -> bool {
        let depths = or_panic(self.jobs().depths());
        depths.iter().any(|depth| depth.due + depth.later + depth.running > 0)
    }

    #[track_caller]
    fn finished(&self) -> impl Iterator<Item = StoredJob> {
        self.all_jobs().filter(|job| !job.state.is_unfinished())
    }

    #[track_caller]
    fn all_jobs(&self) -> impl Iterator<Item = StoredJob> {
        self.stored(&JobFilter::default()).into_iter()
    }

    #[track_caller]
    fn jobs_of(&self, task: &str) -> Vec<StoredJob> {
        let task = Some(self.control(task).name().to_owned());
        self.stored(&JobFilter { task, ..JobFilter::default() })
    }

    #[track_caller]
    fn stored(&self, filter: &JobFilter) -> Vec<StoredJob> {
        or_panic(self.jobs().list(filter, u32::MAX))
    }
}

/// The payload of a job.
fn payload<P: Payload>(job: &StoredJob) -> Result<P, String> {
    job.payload.decode().map_err(|error| {
        let of_type = std::any::type_name::<P>();
        format!("the payload of {} is no `{of_type}`: {error}", shown(job))
    })
}

/// The jobs, a line for each.
fn listed(jobs: &[StoredJob]) -> String {
    if jobs.is_empty() {
        return "; there is no job at all".to_owned();
    }
    let mut text = ":".to_owned();
    for job in jobs.iter().take(SHOWN_MAX) {
        let (state, due) = (job.state.word(), job.run_at.utc().to_rfc3339());
        let error = job.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        text += &format!("\n  {}, {state}, due {due}{error}", shown(job));
    }
    if let Some(more) = jobs.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        text += &format!("\n  and {more} more");
    }
    text
}

/// The task of a job, and its payload.
fn shown(job: &StoredJob) -> String {
    let payload: String = job.payload.text().chars().take(200).collect();
    format!("`{}` {payload}", job.task).trim_end().to_owned()
}
