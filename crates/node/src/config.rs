//! The configuration of a node, the rules and policies of schedules.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use scheduler_store::{LimitSpec, Next, ScheduleSpec, SessionTask, StoreTime, StoredSchedule};

pub use scheduler_expr::Misfire;

/// The configuration of a node. The defaults suit a store on the same machine and one far away.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of the process for people.
    pub label: String,
    /// The build of the process, for people.
    pub build: String,
    /// The name of the application. Its processes share a store.
    pub application: String,
    /// The life of a session after each renewal.
    pub lease: Duration,
    /// The time between two renewals of the lease; a third of it if none is given.
    pub renew_every: Option<Duration>,
    /// The time between two searches for jobs that run without a session (R10). The jobs of a dead session are taken
    /// over at once.
    pub reap_every: Duration,
    /// The time between two polls when nothing is known to be due.
    pub poll_every: Duration,
    /// The time between two deletions of jobs that ended long ago.
    pub prune_every: Duration,
    /// The time, at most, between two comparisons of the session's jobs with those in hand (R1).
    pub compare_every: Duration,
    /// The longest time for an answer, after which the store does not execute the request any more.
    pub answer_limit: Duration,
    /// The greatest number of runs in progress.
    pub workers: u32,
    /// The threads of each pool whose threads runs hold; also the number of runs that share another bound.
    pub pools: Vec<u32>,
    /// The greatest number of jobs that are claimed beyond the free workers.
    pub prefetch_max: u32,
    /// The tasks that the process runs.
    pub tasks: Vec<TaskConfig>,
    /// The queues that the process serves; none for all.
    pub queues: Option<Arc<[Arc<str>]>>,
    /// The schedules that stand in the code.
    pub definitions: Vec<ScheduleSpec>,
    /// The limits of each task that the process runs, also of one that has none.
    pub limits: Vec<LimitSpec>,
    /// After how many losses a job is parked.
    pub max_lost: u32,
    /// A lost job waits for a random time below this one (R14).
    pub lost_spread: Duration,
    /// The time for which done and cancelled jobs are kept; those that succeed are gone at once if it is zero.
    pub keep_done: Duration,
    /// The least time for which a store remembers jobs that have ended, for callers that send them again (R2).
    pub keep_least: Duration,
    /// The time for which parked jobs are kept.
    pub keep_parked: Duration,
    /// The time for which changes by hand are kept.
    pub keep_actions: Duration,
    /// The number of missed ticks of one schedule that are fired before others have their turn.
    pub catch_up_limit: u32,
    /// The time for which a node without a free worker lets others fire first.
    pub yield_for: Duration,
}

/// A task that a process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskConfig {
    /// Its name, or a former one.
    pub name: Arc<str>,
    /// Its name, also with a former one: all share the limit.
    pub task: Arc<str>,
    /// The greatest version of payloads that this build knows. Jobs with newer ones are left to other builds.
    pub version: u32,
    /// The greatest number of its jobs that this process runs at once; none for no limit.
    pub limit: Option<u32>,
    /// Whose threads its runs hold, by the index among [`Config::pools`]; none if they hold none, or any.
    pub pool: Option<usize>,
    /// True if its jobs run at most once: then none is claimed before it can begin (R14).
    pub is_abandon: bool,
}

impl From<&TaskConfig> for SessionTask {
    fn from(task: &TaskConfig) -> Self {
        Self { name: task.name.to_string(), version: task.version }
    }
}

impl Default for Config {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self {
            label: String::new(),
            build: String::new(),
            application: String::new(),
            lease: Duration::from_secs(15),
            renew_every: None,
            reap_every: Duration::from_secs(15),
            poll_every: Duration::from_secs(1),
            prune_every: Duration::from_secs(60),
            compare_every: Duration::from_secs(60),
            answer_limit: Duration::from_secs(5),
            workers: 4,
            pools: Vec::new(),
            prefetch_max: 500,
            tasks: Vec::new(),
            queues: None,
            definitions: Vec::new(),
            limits: Vec::new(),
            max_lost: 3,
            lost_spread: Duration::from_secs(1),
            keep_done: day,
            keep_least: Duration::ZERO,
            keep_parked: day * 30,
            keep_actions: day * 90,
            catch_up_limit: 100,
            yield_for: Duration::from_millis(5),
        }
    }
}

impl Config {
    /// The configuration of a task, by its name or a former one.
    pub(crate) fn task(&self, name: &str) -> Option<&TaskConfig> {
        self.tasks.iter().find(|task| *task.name == *name)
    }

    /// The time between two renewals of the lease.
    #[must_use]
    pub fn renew_every(&self) -> Duration {
        self.renew_every.unwrap_or(self.lease / 3)
    }

    /// The time for which a lease is valid for this process, counted from before its renewal was sent.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.lease / 100 * 85
    }
}

/// A tick is *missed* when the next one has come too, or when it is later than that.
pub const LATE: Duration = Duration::from_secs(60);

/// The treatment of a schedule's ticks that the store leaves to the processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The rule for ticks that were missed.
    pub misfire: Misfire,
    /// The greatest age of a missed tick that [`Misfire::CatchUp`] runs; none for any age.
    pub window: Option<Duration>,
    /// A job is due later than its tick by a part of this, which follows from the schedule's name and the tick.
    pub jitter: Duration,
    /// Ticks after this instant do not fire.
    pub until: Option<StoreTime>,
}

/// The rules of schedules, as the program understands them.
pub trait Rules: Send + Sync + fmt::Debug {
    /// Returns why this process cannot compute the ticks of a schedule: then it leaves them to others.
    ///
    /// # Errors
    ///
    /// The rule is of a newer build, or names what this process does not have.
    fn check(&self, schedule: &StoredSchedule) -> Result<(), String>;

    /// The first tick after an instant, of a rule whose timing is computed: [`Next::At`] or [`Next::Never`]. It has to be
    /// the same in each process with the same calculator, and is asked only of rules that pass [`check`](Self::check).
    fn next_after(&self, rule: &str, after: StoreTime) -> Next;

    /// The policy of a schedule.
    fn policy(&self, schedule: &StoredSchedule) -> Policy;
}
