//! The identity of a task, its end, and its options.

use std::fmt;
use std::sync::Arc;

use scheduler_expr::OnError;

use super::PoolLink;
use super::spec::Recurrence;
use super::state::{TaskEnd, TaskState};
use crate::sync::{AtomicU64, Ordering};
use crate::time::Tick;

/// The number of a task, unique in its pool and growing in the order of submission.
///
/// ```
/// use scheduler_core::{Run, ScheduledThreadPool};
///
/// let pool = ScheduledThreadPool::new(1);
/// let handle = pool.submit(|| Run::current().map(|run| run.task_id()))?;
/// assert_eq!(handle.wait()?, Some(handle.id()));
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub(crate) u64);

impl TaskId {
    /// The number itself.
    #[must_use]
    pub fn as_u64(self) -> u64 {
        self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Stands for all runs of a task, the present and those to come. No run has this number.
pub(crate) const EVERY_RUN: u64 = u64::MAX;

/// The identity of a task in one word, with how it ended, and the way to its pool.
pub(crate) struct Header {
    /// From the lowest bit: the end (two bits), [`WAITED`], [`STOP`], [`REMOVED`]; then the number.
    word: AtomicU64,
    pub(crate) link: Arc<PoolLink>,
}

const END: u64 = 0b11;
/// Set when there may be waiters to notify.
const WAITED: u64 = 1 << 2;
/// Set when the only run of a task without options was asked to stop.
const STOP: u64 = 1 << 3;
/// Set when the task was taken out of the queue while its entry stays there.
const REMOVED: u64 = 1 << 4;
/// The number of bits that the flags take. No pool lives to see 2^59 tasks.
const FLAG_BITS: u32 = 5;

impl Header {
    #[inline]
    pub(crate) fn new(link: Arc<PoolLink>) -> Self {
        Self { word: AtomicU64::new(0), link }
    }

    #[inline]
    pub(crate) fn id(&self) -> TaskId {
        // ORDERING: relaxed, it is set before other threads know the task.
        TaskId(self.word.load(Ordering::Relaxed) >> FLAG_BITS)
    }

    /// Gives a new task its number, before other threads know it.
    #[inline]
    pub(crate) fn set_id(&self, id: TaskId) {
        let flags = self.word.load(Ordering::Relaxed) & ((1 << FLAG_BITS) - 1);
        self.word.store(id.0 << FLAG_BITS | flags, Ordering::Relaxed);
    }

    /// Returns the end of the task, if it has ended.
    #[inline]
    pub(crate) fn end(&self) -> Option<TaskEnd> {
        // ORDERING: acquire, so that who sees the end sees what led to it.
        end_of(self.word.load(Ordering::Acquire))
    }

    /// Ends the task, unless it has ended: returns whether there may be waiters to notify, or none if it had ended before.
    #[inline]
    pub(crate) fn try_end(&self, end: TaskEnd) -> Option<bool> {
        let mark = |word| end_of(word).is_none().then_some(word | end as u64);
        // ORDERING: release, see `end`; acquire, so that waiters that were added are seen.
        let before = self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, mark).ok()?;
        Some(before & WAITED != 0)
    }

    /// Notes that there are waiters; returns how the task has ended, if it had before that.
    pub(crate) fn note_waiter(&self) -> Option<TaskEnd> {
        // ORDERING: see `try_end`.
        end_of(self.word.fetch_or(WAITED, Ordering::AcqRel))
    }

    /// Notes that the task is not in the queue, though its entry may be.
    pub(crate) fn note_removed(&self) {
        // ORDERING: relaxed, a dead entry that is found alive is found dead later.
        self.word.fetch_or(REMOVED, Ordering::Relaxed);
    }

    /// Returns true if an entry of the task is a dead one.
    #[inline]
    pub(crate) fn is_gone(&self) -> bool {
        // ORDERING: acquire, as in `end`: who drops a dead entry drops the task after its end.
        self.word.load(Ordering::Acquire) & (END | REMOVED) != 0
    }

    fn ask_to_stop(&self) {
        // ORDERING: release, so that a body that sees the request sees what its canceller did before.
        self.word.fetch_or(STOP, Ordering::Release);
    }

    fn is_asked_to_stop(&self) -> bool {
        // ORDERING: acquire, see `ask_to_stop`.
        self.word.load(Ordering::Acquire) & STOP != 0
    }
}

fn end_of(word: u64) -> Option<TaskEnd> {
    match word & END {
        0 => None,
        1 => Some(TaskEnd::Completed),
        2 => Some(TaskEnd::Failed),
        _ => Some(TaskEnd::Cancelled),
    }
}

/// The facts that only some tasks have: a name, a recurrence, a limit. A nameless one-shot has none of them.
pub(crate) struct TaskOptions {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) recurrence: Recurrence,
    pub(crate) on_error: OnError,
    /// When the task is to have ended; [`Tick::MAX`] for no such time.
    pub(crate) deadline: Tick,
    /// True if this is not a task, but a call of an alarm or a timer.
    pub(crate) is_call: bool,
    /// The number of runs that have begun; changed under the task's lock.
    runs: AtomicU64,
    /// The number of the last run that was asked to stop, or [`EVERY_RUN`]; zero for none.
    stop_asked: AtomicU64,
}

impl TaskOptions {
    pub(crate) fn new(
        name: Option<Arc<str>>,
        recurrence: Recurrence,
        on_error: OnError,
        deadline: Tick,
        is_call: bool,
    ) -> Self {
        let (runs, stop_asked) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { name, recurrence, on_error, deadline, is_call, runs, stop_asked }
    }
}

/// Where a task keeps its options, if its type can have any.
pub(crate) trait MaybeOptions: Send + Sync + 'static {
    fn get(&self) -> Option<&TaskOptions>;
}

impl MaybeOptions for () {
    #[inline]
    fn get(&self) -> Option<&TaskOptions> {
        None
    }
}

impl MaybeOptions for TaskOptions {
    #[inline]
    fn get(&self) -> Option<&TaskOptions> {
        Some(self)
    }
}

/// The number of the last run that has begun. A task without options that runs has begun once.
pub(crate) fn runs(options: Option<&TaskOptions>) -> u64 {
    // ORDERING: relaxed, the task's lock orders all accesses.
    options.map_or(1, |options| options.runs.load(Ordering::Relaxed).max(1))
}

/// Counts a run that begins, and returns its number; called under the task's lock.
#[inline]
pub(crate) fn count_run(options: Option<&TaskOptions>) -> u64 {
    let Some(options) = options else { return 1 };
    // ORDERING: relaxed, see `runs`. No two threads count at once.
    let number = options.runs.load(Ordering::Relaxed) + 1;
    options.runs.store(number, Ordering::Relaxed);
    number
}

/// Asks one run to stop, or [`EVERY_RUN`]. A request is never taken back; it means nothing to the runs that come after.
pub(crate) fn ask_to_stop(header: &Header, options: Option<&TaskOptions>, run: u64) {
    match options {
        // ORDERING: release, so that a body that sees the request sees what its canceller did before.
        Some(options) => _ = options.stop_asked.fetch_max(run, Ordering::Release),
        None => header.ask_to_stop(),
    }
}

pub(crate) fn is_asked_to_stop(header: &Header, options: Option<&TaskOptions>, run: u64) -> bool {
    let Some(options) = options else { return header.is_asked_to_stop() };
    // ORDERING: acquire, see `ask_to_stop`.
    let asked = options.stop_asked.load(Ordering::Acquire);
    asked == run || asked == EVERY_RUN
}

impl From<TaskEnd> for TaskState {
    fn from(end: TaskEnd) -> Self {
        match end {
            TaskEnd::Completed => Self::Completed,
            TaskEnd::Failed => Self::Failed,
            TaskEnd::Cancelled => Self::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TaskId;

    #[test]
    fn a_task_is_shown_by_its_number() {
        assert_eq!((TaskId(7).to_string(), TaskId(7).as_u64()), ("7".to_owned(), 7));
    }
}
