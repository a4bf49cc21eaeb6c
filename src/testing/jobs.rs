//! The durable jobs of a simulation, its store's clock, their identities.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_node::Rng;
use scheduler_store::{JobFilter, JobId, Model, StoreTime, StoredJob, Uuid};

use crate::durable::{Jobs, Payload, Schedules, SimulatedNodes, identities_from};
use crate::testing::or_panic;
use crate::testing::sim::{RUNS_MAX, Sim};
use crate::testing::world::{Step, World};

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
        depths.iter().any(|depth| depth.unfinished() > 0)
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

impl World {
    /// A store in memory that goes by this clock.
    pub(super) fn new_store(self: &Arc<Self>) -> Model {
        let world = Arc::downgrade(self);
        Model::with_clock(move || {
            let wall = world.upgrade().map(|world| Clock::wall(&*world).timestamp_micros());
            StoreTime::from_micros(wall.unwrap_or_default())
        })
    }

    /// The nodes of all processes.
    pub(super) fn nodes(&self) -> Arc<SimulatedNodes> {
        Arc::clone(&self.nodes)
    }

    /// Makes the identities of all jobs that this thread creates, until another simulation is used on it. So each use of
    /// a simulation calls this again.
    pub(super) fn provide_identities(self: &Arc<Self>) {
        let world = Arc::downgrade(self);
        identities_from(move || Some(world.upgrade()?.next_identity()));
    }

    /// A UUID of version 7: the time, how many there were before, and bits that follow from the seed.
    fn next_identity(&self) -> Uuid {
        let (seed, count) = self.count_identity();
        let millis = u64::try_from(self.wall().timestamp_millis()).unwrap_or_default();
        let drawn = Rng::new(u128::from(count) << 64 | u128::from(seed)).number();
        let time = u128::from(millis & 0xFFFF_FFFF_FFFF) << 80;
        let (high, low) = (u128::from(count >> 20 & 0xFFF), u128::from(count & 0xF_FFFF));
        let random = u128::from(drawn >> 22);
        Uuid::from_u128(time | 0x7 << 76 | high << 64 | 0x2 << 62 | low << 42 | random)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cluster, Sim, days, hours, minutes, secs};
    use crate::define::schedule::Schedule;

    const MIDNIGHT: &str = "2026-01-01T00:00:00Z";

    fn nightly(sim: Sim) -> Sim {
        let schedule = Schedule::cron("0 0 3 * * *").zone("UTC").durable();
        sim.define("nightly", schedule, |_| {})
    }

    fn three() -> Cluster {
        Sim::cluster(MIDNIGHT, 3, nightly)
    }

    #[test]
    fn a_day_of_a_daily_task_takes_few_looks_at_the_store() {
        let mut sim = nightly(Sim::at(MIDNIGHT).with_store());
        sim.advance(days(1));
        assert_eq!(sim.starts("nightly"), [hours(3)]);
        let looks = sim.world().node_steps();
        assert!(looks <= 20, "{looks} looks");
        sim.advance(days(100));
        assert_eq!(sim.starts("nightly").len(), 101);
        let looks = sim.world().node_steps();
        assert!(looks <= 100 * 10, "{looks} looks in 100 days");
    }

    #[test]
    fn a_day_of_three_processes_takes_few_looks_at_the_store() {
        let mut cluster = three();
        cluster.advance(days(1));
        assert_eq!(cluster.starts("nightly").len(), 1);
        let looks = cluster[0].world().node_steps();
        assert!(looks <= 60, "{looks} looks");
        assert_eq!(cluster.jobs().sessions().expect("it answers").len(), 3);
    }

    #[test]
    fn after_skipped_time_a_killed_process_keeps_its_lease_for_as_long_as_ever() {
        for idle in [minutes(5), hours(2) + secs(3), hours(2) + secs(4)] {
            let mut cluster = three();
            cluster.advance(idle);
            cluster.kill(1);
            let sessions = |cluster: &Cluster| {
                let sessions = cluster.jobs().sessions().expect("it answers");
                sessions.iter().filter(|session| session.is_alive()).count()
            };
            cluster.advance(secs(10));
            assert_eq!(sessions(&cluster), 3, "its lease was renewed within 5 s before");
            cluster.advance(secs(20));
            assert_eq!(sessions(&cluster), 2, "its lease has run out");
        }
    }

    #[test]
    fn after_skipped_time_a_frozen_process_has_lost_its_session_and_others_have_not() {
        let mut cluster = three();
        cluster.advance(hours(1));
        cluster.freeze_for(2, minutes(1));
        cluster.advance(minutes(10));
        let log = cluster.event_log();
        let lost: Vec<&str> = log.lines().filter(|line| line.contains("is lost")).collect();
        assert!(lost.len() == 1 && lost[0].starts_with("2 "), "{log}");
    }

    #[test]
    fn a_job_from_outside_ends_the_rest_within_a_poll() {
        let mut cluster = three();
        cluster.advance(hours(1));
        cluster.schedules().run_now("nightly").expect("nothing is unfinished");
        cluster.advance(secs(2));
        assert_eq!(cluster.starts("nightly").len(), 1);
    }

    #[test]
    fn a_clock_that_is_set_ends_the_rest() {
        let mut sim = nightly(Sim::at(MIDNIGHT).with_store());
        sim.advance(hours(1));
        sim.jump_wall_forward(hours(3));
        sim.advance(secs(2));
        assert_eq!(sim.starts("nightly").len(), 1);
    }
}
