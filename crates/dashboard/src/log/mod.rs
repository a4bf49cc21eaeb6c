//! The runs that the listener keeps, within a bound.
//!
//! A task's history in the scheduler has its last 20 runs, with everything. For the sparkline, the percentiles and the
//! histograms of `/metrics`, the [`Recorder`] keeps 100 runs of each task, in about 70 bytes each, and a few texts.
//!
//! It must never grow with what tasks do: of each task it keeps a number of runs, at most eight different texts, and
//! the attempts of ten runs; and of at most 50 queues the last hour. It must not do anything slow: all listeners of a program share one thread.
//!
//! | file | what |
//! |---|---|
//! | `task_log` | the runs of one task, the texts of its failures, outcomes and histograms |

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scheduler::chrono::{DateTime, Utc};
use scheduler::{Event, EventKind, Listener, RunInfo, StoreEvent, TaskSnapshot};

pub(crate) use crate::log::task_log::{Buckets, LENGTHS, OutcomeKind, Sum, Tally};
pub(crate) use crate::log::task_log::{LoggedRun, TaskHistory};

mod task_log;

/// The number of ended tasks that keep their runs.
const ENDED_MAX: usize = 200;
/// The surplus of known tasks at which the others are forgotten.
const SLACK: usize = 1_000;
/// The greatest number of tasks that are known.
const TASKS_MAX: usize = 100_000;

/// Listens to the tasks of one scheduler.
pub(crate) struct Recorder {
    inner: Mutex<Records>,
    keep: usize,
    /// Set while a client watches: only then changes are noted.
    is_watched: AtomicBool,
    has_heard: AtomicBool,
}

#[derive(Default)]
struct Records {
    tasks: HashMap<Arc<str>, TaskHistory>,
    ended: VecDeque<Arc<str>>,
    changed: HashSet<Arc<str>>,
    lost: u64,
    expired: BTreeMap<Arc<str>, u64>,
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
    pub(crate) fn with<R>(&self, task: &str, read: impl FnOnce(&TaskHistory) -> R) -> Option<R> {
        self.lock().tasks.get(task).map(read)
    }

    /// Runs and waits of the last hour.
    pub(crate) fn hour(&self) -> LastHour {
        self.lock().hour.clone()
    }

    /// The number of events that were lost before they came here.
    pub(crate) fn lost(&self) -> u64 {
        self.lock().lost
    }

    /// The numbers of jobs that this process has found expired, by task.
    pub(crate) fn expired(&self) -> BTreeMap<Arc<str>, u64> {
        self.lock().expired.clone()
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

    fn lock(&self) -> MutexGuard<'_, Records> {
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
        if let EventKind::Store { what: StoreEvent::JobsExpired { task, count, .. }, .. } =
            &event.kind
        {
            *inner.expired.entry(Arc::clone(task)).or_default() += count;
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

impl Records {
    fn added(&mut self, name: &Arc<str>, at: DateTime<Utc>) {
        self.ended.retain(|ended| ended != name);
        self.tasks.insert(Arc::clone(name), TaskHistory::new(at));
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

pub(crate) const MINUTES: usize = 60;
/// The greatest number of queues that are counted by themselves.
const QUEUES_MAX: usize = 50;

/// The figures of one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Minute {
    /// Its number since 1970, by which an old one is known.
    number: i64,
    pub(crate) started: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    /// From the due time to the start, of all that have started, in sum.
    pub(crate) waited: Duration,
    pub(crate) longest_wait: Duration,
}

/// The last 60 minutes, each in the place of its number.
#[derive(Clone, Debug)]
pub(crate) struct Hour(Box<[Minute; MINUTES]>);

impl Hour {
    fn new() -> Self {
        Self(Box::new([Minute::default(); MINUTES]))
    }

    /// The minute of an instant, which is empty if the place has an older one.
    fn at(&mut self, at: DateTime<Utc>) -> Option<&mut Minute> {
        let number = number(at);
        let minute = self.0.get_mut(place(number))?;
        if minute.number != number {
            *minute = Minute { number, ..Minute::default() };
        }
        Some(minute)
    }

    /// The minutes that end with the one of an instant, the latest last.
    pub(crate) fn until(&self, at: DateTime<Utc>) -> Vec<Minute> {
        let last = number(at);
        let kept = |number: i64| {
            let minute = self.0.get(place(number)).filter(|minute| minute.number == number);
            minute.copied().unwrap_or_default()
        };
        (last - MINUTES as i64 + 1..=last).map(kept).collect()
    }

    /// True if nothing in it belongs to the hour before an instant.
    fn is_over(&self, at: DateTime<Utc>) -> bool {
        self.until(at).iter().all(|minute| minute.number == 0)
    }

    fn started(&mut self, at: DateTime<Utc>, waited: Duration) {
        let Some(minute) = self.at(at) else { return };
        minute.started += 1;
        minute.waited = minute.waited.saturating_add(waited);
        minute.longest_wait = minute.longest_wait.max(waited);
    }

    fn ended(&mut self, at: DateTime<Utc>, ended: OutcomeKind) {
        let Some(minute) = self.at(at) else { return };
        match ended {
            OutcomeKind::Success => minute.succeeded += 1,
            OutcomeKind::Error | OutcomeKind::Panic | OutcomeKind::Timeout => minute.failed += 1,
            OutcomeKind::Cancelled => {}
        }
    }
}

fn number(at: DateTime<Utc>) -> i64 {
    at.timestamp().div_euclid(60)
}

fn place(number: i64) -> usize {
    usize::try_from(number.rem_euclid(MINUTES as i64)).unwrap_or_default()
}

/// The last hour of all tasks, and of the jobs of each queue.
#[derive(Clone, Debug)]
pub(crate) struct LastHour {
    /// When the first event came.
    pub(crate) known_since: Option<DateTime<Utc>>,
    pub(crate) all: Hour,
    pub(crate) queues: HashMap<Arc<str>, Hour>,
}

impl Default for LastHour {
    fn default() -> Self {
        Self { known_since: None, all: Hour::new(), queues: HashMap::new() }
    }
}

impl LastHour {
    /// Counts an event. The wait of a later attempt of a run in memory is its own, and no lateness.
    pub(super) fn on_event(&mut self, kind: &EventKind, at: DateTime<Utc>) {
        self.known_since.get_or_insert(at);
        match kind {
            EventKind::RunStarted { run, late, .. } if run.attempt == 1 || run.job.is_some() => {
                self.each(run, at, |hour| hour.started(at, *late));
            }
            EventKind::RunFinished { run, outcome, .. } => {
                if let Some(ended) = OutcomeKind::of(outcome) {
                    self.each(run, at, |hour| hour.ended(at, ended));
                }
            }
            _ => {}
        }
    }

    /// Calls a function with the hour of all, and with the hour of the queue if the run is of a job.
    fn each(&mut self, run: &RunInfo, at: DateTime<Utc>, count: impl Fn(&mut Hour)) {
        count(&mut self.all);
        if let Some(job) = &run.job
            && self.has_room(&job.queue, at)
        {
            count(self.queues.entry(Arc::clone(&job.queue)).or_insert_with(Hour::new));
        }
    }

    fn has_room(&mut self, queue: &str, at: DateTime<Utc>) -> bool {
        if self.queues.len() >= QUEUES_MAX && !self.queues.contains_key(queue) {
            self.queues.retain(|_, hour| !hour.is_over(at));
        }
        self.queues.len() < QUEUES_MAX || self.queues.contains_key(queue)
    }
}

#[cfg(test)]
mod tests {
    use scheduler::chrono::TimeDelta;

    use super::*;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::minutes(1_000 + minute)
    }

    #[test]
    fn a_minute_is_kept_for_an_hour_and_counts_again_from_zero() {
        let mut hour = Hour::new();
        hour.started(at(0), Duration::from_secs(3));
        hour.started(at(0), Duration::from_secs(1));
        hour.ended(at(0), OutcomeKind::Success);
        hour.ended(at(1), OutcomeKind::Panic);
        hour.ended(at(1), OutcomeKind::Cancelled);
        let minutes = hour.until(at(1));
        assert_eq!((minutes.len(), minutes[59].failed, minutes[59].succeeded), (MINUTES, 1, 0));
        let first = minutes[58];
        assert_eq!((first.started, first.succeeded, first.failed), (2, 1, 0));
        assert_eq!((first.waited.as_secs(), first.longest_wait.as_secs()), (4, 3));
        assert!(minutes[..58].iter().all(|minute| minute.started == 0));
        assert_eq!(hour.until(at(59))[0].started, 2);
        assert!(hour.until(at(60)).iter().all(|minute| minute.started == 0));
        hour.started(at(60), Duration::ZERO);
        assert_eq!(hour.until(at(60))[59].started, 1, "the place was taken by another minute");
        // A clock that is set back.
        hour.started(at(-30), Duration::ZERO);
        assert_eq!(hour.until(at(-30))[59].started, 1);
    }

    #[test]
    fn queues_are_bounded_and_those_that_rest_make_room() {
        let mut hour = LastHour::default();
        for number in 0..QUEUES_MAX {
            let queue = number.to_string();
            assert!(hour.has_room(&queue, at(0)));
            hour.queues
                .entry(queue.into())
                .or_insert_with(Hour::new)
                .ended(at(0), OutcomeKind::Success);
        }
        assert!(!hour.has_room("one more", at(59)) && hour.has_room("7", at(59)));
        assert!(hour.has_room("one more", at(60)));
        assert!(hour.queues.is_empty());
    }
}
