//! The runs that the listener keeps: more than a snapshot has, within a bound.
//!
//! A task's history in the scheduler has its last 20 runs, with everything. For the sparkline, the percentiles and the
//! histograms of `/metrics`, the [`Recorder`] keeps 100 runs of each task, in about 70 bytes each, and a few texts.
//!
//! It must never grow with what tasks do: of each task it keeps a number of runs, at most eight different texts, and
//! the attempts of ten runs; and of at most 50 queues the last hour. It must not do anything slow: all listeners of a program share one thread.
//!
//! | file | what |
//! |---|---|
//! | `runs` | the runs of one task |
//! | `texts` | the texts of its failures, each kept once |
//! | `tally` | outcomes, and histograms and sums for `/metrics` |
//! | `hour` | runs and waits of the last hour, minute by minute |

mod hour;
mod tally;
mod task_log;
mod texts;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use scheduler::chrono::{DateTime, Utc};
use scheduler::{Event, EventKind, Listener, StoreEvent, TaskSnapshot};

pub(crate) use self::hour::{Hour, LastHour, Minute};
pub(crate) use self::tally::{Buckets, Ended, LENGTHS, Sum, Tally};
pub(crate) use self::task_log::{LoggedRun, TaskLog};

/// The number of ended tasks that keep their runs.
const ENDED_MAX: usize = 200;
/// The surplus of known tasks at which the others are forgotten.
const SLACK: usize = 1_000;
/// The greatest number of sessions of dead processes that are known.
const TAKEN_OVER_MAX: usize = 50;
/// The greatest number of tasks that are known.
const TASKS_MAX: usize = 100_000;

/// Listens to the tasks of one scheduler.
pub(crate) struct Recorder {
    inner: Mutex<Inner>,
    keep: usize,
    /// Set while a client watches: only then changes are noted.
    is_watched: AtomicBool,
    has_heard: AtomicBool,
}

#[derive(Default)]
struct Inner {
    tasks: HashMap<Arc<str>, TaskLog>,
    ended: VecDeque<Arc<str>>,
    changed: HashSet<Arc<str>>,
    lost: u64,
    /// Sessions of processes that died, which this process has ended, and when: the latest last.
    taken_over: VecDeque<(Arc<str>, DateTime<Utc>)>,
    hour: LastHour,
}

impl Recorder {
    pub(crate) fn new(keep: usize) -> Self {
        Self {
            inner: Mutex::default(),
            keep: keep.max(1),
            is_watched: AtomicBool::new(false),
            has_heard: AtomicBool::new(false),
        }
    }

    /// The number of runs of each task that are kept.
    pub(crate) fn keeps(&self) -> usize {
        self.keep
    }

    /// True if it is a listener of a scheduler that has started.
    pub(crate) fn has_heard(&self) -> bool {
        self.has_heard.load(Ordering::Relaxed)
    }

    /// Calls a function with what is kept of a task.
    pub(crate) fn with<R>(&self, task: &str, read: impl FnOnce(&TaskLog) -> R) -> Option<R> {
        self.lock().tasks.get(task).map(read)
    }

    /// The sessions of processes that died, which this process has ended, and when.
    pub(crate) fn taken_over(&self) -> Vec<(Arc<str>, DateTime<Utc>)> {
        self.lock().taken_over.iter().cloned().collect()
    }

    /// Runs and waits of the last hour.
    pub(crate) fn hour(&self) -> LastHour {
        self.lock().hour.clone()
    }

    /// The number of events that were lost before they came here.
    pub(crate) fn lost(&self) -> u64 {
        self.lock().lost
    }

    /// Notes from now on which tasks have changed, or no longer.
    pub(crate) fn watch(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Ordering::Relaxed);
        if !is_watched {
            self.lock().changed = HashSet::new();
        }
    }

    /// Takes out the names of the tasks that have changed since the last call.
    pub(crate) fn take_changed(&self) -> Vec<Arc<str>> {
        self.lock().changed.drain().collect()
    }

    /// Forgets tasks that are gone, if they have become many: the event of a run may come after its task was forgotten.
    pub(crate) fn forget_others(&self, tasks: &[TaskSnapshot]) {
        let mut inner = self.lock();
        if inner.tasks.len() > tasks.len() + ENDED_MAX + SLACK {
            let known: HashSet<&str> = tasks.iter().map(TaskSnapshot::name).collect();
            inner.tasks.retain(|name, _| known.contains(&**name));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Recorder {
    fn on_event(&self, event: &Event) {
        self.has_heard.store(true, Ordering::Relaxed);
        let mut inner = self.lock();
        if let EventKind::Lost { count, .. } = event.kind {
            inner.lost += count;
        }
        if let EventKind::Store { what: StoreEvent::TookOver { sessions, .. }, .. } = &event.kind {
            inner.took_over(sessions, event.at);
        }
        let Some(facts) = &event.task else { return };
        inner.hour.on_event(&event.kind, event.at);
        if self.is_watched.load(Ordering::Relaxed) && !inner.changed.contains(&facts.name) {
            inner.changed.insert(Arc::clone(&facts.name));
        }
        match &event.kind {
            EventKind::TaskAdded { .. } => inner.added(&facts.name, event.at),
            EventKind::TaskEnded { .. } => inner.ended(&facts.name),
            kind => {
                // One that was added before this listener heard, or that has ended long ago.
                if !inner.tasks.contains_key(&facts.name) && inner.tasks.len() < TASKS_MAX {
                    inner.added(&facts.name, event.at);
                }
                if let Some(task) = inner.tasks.get_mut(&facts.name) {
                    task.on_event(kind, event.at, self.keep);
                }
            }
        }
    }
}

impl Inner {
    fn added(&mut self, name: &Arc<str>, at: DateTime<Utc>) {
        self.ended.retain(|ended| ended != name);
        self.tasks.insert(Arc::clone(name), TaskLog::new(at));
    }

    fn took_over(&mut self, sessions: &[Arc<str>], at: DateTime<Utc>) {
        self.taken_over.extend(sessions.iter().map(|session| (Arc::clone(session), at)));
        let surplus = self.taken_over.len().saturating_sub(TAKEN_OVER_MAX);
        self.taken_over.drain(..surplus);
    }

    /// Keeps what is known of a task that has ended, for a while.
    fn ended(&mut self, name: &Arc<str>) {
        self.ended.push_back(Arc::clone(name));
        if self.ended.len() > ENDED_MAX
            && let Some(first) = self.ended.pop_front()
        {
            self.tasks.remove(&first);
        }
    }
}
