//! Reports tasks that wait for a thread, while they wait.
//!
//! A run that starts late is explained when it starts. One that never starts, because a run that hangs holds the last thread,
//! is found by a thread of its own, in real time: workers may all be busy.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::Duration;
use std::{io, thread};

use chrono::{DateTime, TimeDelta, Utc};

use super::task_table::TaskTable;
use crate::observe::{ThreadUse, longest_of_all};
use crate::task::Control;

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
