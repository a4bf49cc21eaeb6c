//! The configuration of a node.

use std::sync::Arc;
use std::time::Duration;

use scheduler_store::Definition;

use crate::safeguard::Safeguards;

/// The configuration of a node. The defaults suit a store on the same machine and one far away.
#[derive(Clone, Debug)]
pub struct Config {
    /// What people call the process.
    pub label: String,
    /// The build of the process, for people.
    pub build: String,
    /// How long a session lives after each renewal.
    pub lease: Duration,
    /// How often the lease is renewed; a third of it if none is given.
    pub renew_every: Option<Duration>,
    /// How often jobs are looked for that run without a session (R10). What a dead session held is taken over at once.
    pub reap_every: Duration,
    /// How often the store is asked for work when nothing is known to be due.
    pub poll_every: Duration,
    /// How often jobs are deleted that ended long ago.
    pub prune_every: Duration,
    /// How often the jobs of the session are compared with those in hand, at least (R1).
    pub compare_every: Duration,
    /// How long a request may take, and how late the store may execute it.
    pub answer_limit: Duration,
    /// How many runs can be in progress.
    pub workers: u32,
    /// How many threads each pool has whose threads runs hold.
    pub pools: Vec<u32>,
    /// How many jobs are claimed beyond the free workers, at most.
    pub prefetch_max: u32,
    /// The tasks that the process runs.
    pub tasks: Vec<TaskConfig>,
    /// The queues that the process serves; none for all.
    pub queues: Option<Arc<[Arc<str>]>>,
    /// The schedules that stand in the code.
    pub definitions: Vec<Definition>,
    /// After how many losses a job is parked.
    pub max_lost: u32,
    /// A lost job waits for a random time below this one (R14).
    pub lost_spread: Duration,
    /// How long jobs are kept that are done or cancelled.
    pub keep_done: Duration,
    /// How long jobs are kept that are parked.
    pub keep_parked: Duration,
    /// How many missed ticks of one schedule are fired before others have their turn.
    pub catch_up_limit: u32,
    /// How long a node without a free worker lets others fire first.
    pub yield_for: Duration,
    /// The rules of the design that hold: all of them.
    pub safeguards: Safeguards,
}

/// A task that a process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskConfig {
    /// Its name, or a former one.
    pub name: Arc<str>,
    /// Its name, also with a former one: all share the limit.
    pub task: Arc<str>,
    /// How many jobs of it this process runs at once; none for no limit.
    pub limit: Option<u32>,
    /// Whose threads its runs hold, by the index among [`Config::pools`]; none if they hold none, or any.
    pub pool: Option<usize>,
}

impl Default for Config {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self {
            label: String::new(),
            build: String::new(),
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
            max_lost: 3,
            lost_spread: Duration::from_secs(1),
            keep_done: day,
            keep_parked: day * 30,
            catch_up_limit: 100,
            yield_for: Duration::from_millis(5),
            safeguards: Safeguards::default(),
        }
    }
}

impl Config {
    /// What the process knows of a task.
    pub(crate) fn task(&self, name: &str) -> Option<&TaskConfig> {
        self.tasks.iter().find(|task| *task.name == *name)
    }

    /// How often the lease is renewed.
    #[must_use]
    pub fn renew_every(&self) -> Duration {
        self.renew_every.unwrap_or(self.lease / 3)
    }

    /// How long a lease is valid for this process, counted from before its renewal was sent.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.lease / 100 * 85
    }
}
