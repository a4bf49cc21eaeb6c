//! The pools of tasks, and reports of tasks that wait for a thread.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::Duration;
use std::{fmt, io, thread};

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::{Clock, ScheduledThreadPool};
use scheduler_expr::check_name;

use crate::define::settings::word;
use crate::observe::{ThreadUse, longest_of_all};
use crate::run::Run;
use crate::start::report::PoolLine;
use crate::start::task_table::TaskTable;
use crate::task::Control;

/// The name of the pool of tasks that choose none.
pub(crate) const DEFAULT: &str = "default";

/// Configures a pool of threads that tasks choose by `pool = "name"`.
///
/// ```rust
/// use scheduler::{Pool, Scheduler};
///
/// let scheduler = Scheduler::builder()
///     .pool("io", Pool::new().size(16).thread_name_prefix("io-"))
///     .spawn()?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a pool does nothing until a builder has it"]
#[doc(alias = "ThreadPoolTaskScheduler")]
pub struct Pool {
    pub(super) size: Option<usize>,
    pub(super) prefix: Option<String>,
}

impl Pool {
    /// A pool with the default settings: one thread per processor, at least 2 and at most 8.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of threads that run its tasks.
    #[doc(alias = "setPoolSize")]
    pub fn size(self, threads: usize) -> Self {
        Self { size: Some(threads), ..self }
    }

    /// The prefix of its thread names; the pool's name and `-` by default.
    #[doc(alias = "threadNamePrefix")]
    pub fn thread_name_prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: Some(prefix.into()), ..self }
    }

    /// The faults of a pool that the program configures.
    pub(super) fn faults(&self, name: &str) -> Vec<String> {
        let mut faults = Vec::new();
        if self.size == Some(0) {
            faults.push(format!("the pool {} has `0` threads, which can run nothing", word(name)));
        }
        if let Some(prefix) =
            self.prefix.as_deref().filter(|prefix| prefix.contains(char::is_control))
        {
            let (prefix, name) = (word(prefix), word(name));
            faults.push(format!(
                "the thread-name prefix {prefix} of the pool {name} has a control character in it"
            ));
        }
        faults
    }
}

/// A pool with all its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolPlan {
    pub(crate) name: String,
    pub(crate) size: usize,
    pub(crate) prefix: String,
}

impl PoolPlan {
    /// The fault of the name of a pool that is not the default one.
    pub(super) fn fault(&self) -> Option<String> {
        let name = word(&self.name);
        if self.name == DEFAULT {
            return Some(format!(
                "the pool {name} is the one of tasks that name none, and is there anyway\n\
                 help: size it by Scheduler::builder().pool_size(4), or `scheduler.pool.size = 4` in settings"
            ));
        }
        let error = check_name(&self.name).err()?;
        let help = error.help().unwrap_or("write for example `io`");
        Some(format!("the name {name} of a pool {error}\nhelp: {help}"))
    }

    /// The pool in the start message.
    pub(crate) fn line(&self) -> PoolLine {
        let (name, threads, prefix) = (self.name.clone(), self.size, self.prefix.clone());
        PoolLine { name, threads, prefix }
    }
}

/// The number of threads of a pool by default.
pub(crate) fn default_size() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8)
}

/// The running pools, by name.
#[derive(Clone)]
pub(crate) struct Pools {
    by_name: BTreeMap<String, Arc<ScheduledThreadPool>>,
}

impl Pools {
    pub(crate) fn new(by_name: BTreeMap<String, Arc<ScheduledThreadPool>>) -> Self {
        Self { by_name }
    }

    /// Returns true if a run takes place in one of the pools.
    pub(crate) fn execute(&self, run: &Run) -> bool {
        self.by_name.values().any(|pool| run.is_in(pool))
    }

    /// Returns true if no run is in progress. After a shutdown none will be.
    pub(crate) fn are_idle(&self) -> bool {
        let stats = self.by_name.values().map(|pool| pool.stats());
        stats.into_iter().all(|stats| stats.active == 0 && stats.suspended == 0)
    }

    /// Starts no new runs.
    pub(crate) fn shutdown(&self) {
        self.by_name.values().for_each(|pool| pool.shutdown());
    }

    /// Also asks the runs in progress to stop.
    pub(crate) fn shutdown_now(&self) {
        for pool in self.by_name.values() {
            drop(pool.shutdown_now());
        }
    }

    /// Waits until all runs have ended, for at most `limit` altogether.
    pub(crate) fn await_termination(&self, clock: &dyn Clock, limit: Duration) -> bool {
        let until = clock.now() + limit;
        // Also without time left: a pool may have ended.
        let ended = self.by_name.values().map(|pool| {
            let left = until.since(clock.now());
            pool.await_termination(left)
        });
        ended.fold(true, |all, ended| all & ended)
    }
}

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.by_name).finish()
    }
}

/// The real time between two looks.
const GAP: Duration = Duration::from_secs(5);

/// The least time that a run has waited when it is reported.
const WAITED_MIN: TimeDelta = TimeDelta::seconds(5);

/// The time between two reports about one task.
const PAUSE: TimeDelta = TimeDelta::seconds(60);

/// A moment before the look, at which the threads were held already.
const MOMENT: TimeDelta = TimeDelta::seconds(1);

/// The thread that looks. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    _end: mpsc::Sender<()>,
}

impl Watch {
    /// Starts the thread, for pools with these names and numbers of threads. It keeps no task alive.
    pub(super) fn start(
        table: &Arc<TaskTable>,
        pools: BTreeMap<String, usize>,
    ) -> io::Result<Self> {
        let (end, ended) = mpsc::channel();
        let mut looker = Looker { table: Arc::downgrade(table), pools, reported: HashMap::new() };
        let watch = move || {
            while ended.recv_timeout(GAP) == Err(RecvTimeoutError::Timeout) {
                looker.look();
            }
        };
        thread::Builder::new().name("scheduler-watch".to_owned()).spawn(watch)?;
        Ok(Self { _end: end })
    }
}

struct Looker {
    table: Weak<TaskTable>,
    pools: BTreeMap<String, usize>,
    /// When the tasks that still wait were reported.
    reported: HashMap<Arc<str>, DateTime<Utc>>,
}

impl Looker {
    fn look(&mut self) {
        let tasks = self.table.upgrade().map(|table| table.all()).unwrap_or_default();
        tasks.iter().for_each(Control::settle);
        let late =
            |task: &Control| task.late_since().filter(|(since, now)| *now - *since >= WAITED_MIN);
        let waiting: Vec<_> = tasks.iter().filter_map(|task| Some((task, late(task)?))).collect();
        self.reported.retain(|name, _| waiting.iter().any(|(task, _)| task.name() == name));
        let Some(now) = waiting.iter().map(|(_, (_, now))| *now).min() else { return };
        let held = tasks.iter().filter_map(|task| task.threads_since(now - MOMENT));
        let uses: Vec<ThreadUse> = held.collect();
        for (task, (since, now)) in waiting {
            let last = self.reported.get(task.name());
            if last.is_some_and(|last| (TimeDelta::zero()..PAUSE).contains(&(now - *last))) {
                continue;
            }
            let facts = task.facts();
            let Some(threads) = self.pools.get(&*facts.pool) else { continue };
            if let Some(longest) = longest_of_all(*threads, &facts, now - MOMENT, &uses) {
                task.report_starved((now - since).to_std().unwrap_or_default(), *threads, longest);
                self.reported.insert(Arc::clone(task.name()), now);
            }
        }
    }
}
