//! The facts of a task that never change, and the marks that others leave on it.

use std::fmt;
use std::sync::Arc;

use super::rhythm::Rhythm;
use super::spec::OnError;
use super::{Home, Link};
use crate::sync::{AtomicU64, Ordering, UnexploredU64};
use crate::time::Tick;
use scheduler_queue::Ticket;

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

/// What only some tasks have: a name, a rhythm, a limit. A nameless one-shot has none of it.
pub(crate) struct Traits {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) rhythm: Rhythm,
    pub(crate) on_error: OnError,
    /// When the task is to have ended; [`Tick::MAX`] for no such time.
    pub(crate) deadline: Tick,
    /// How many runs have begun; changed under the task's lock.
    runs: AtomicU64,
    /// The number of the last run that was asked to stop, or [`EVERY_RUN`]; zero for none.
    stop_asked: AtomicU64,
    /// Whether this is not a task, but a call of an alarm or a timer.
    is_call: bool,
}

static ONCE: Rhythm = Rhythm::Once;

/// What a task is, for its whole life.
///
/// Small on purpose: of most pending tasks nothing else is ever looked at, and memory that is
/// not in the cache is what a submission and a cancellation cost.
pub(crate) struct Header {
    /// The task's number; the highest bit is set when the only run of a nameless one-shot was asked to stop.
    number: UnexploredU64,
    traits: Option<Box<Traits>>,
    link: Arc<Link>,
    /// Where the task stands in its pool's queue; written under the pool's lock.
    ticket: AtomicU64,
}

/// See [`Header::number`]. No pool lives to see so many tasks.
const STOP: u64 = 1 << 63;

impl Traits {
    /// Those of a task; none for a nameless one-shot without a limit.
    pub(crate) fn if_special(
        name: Option<Arc<str>>,
        rhythm: Rhythm,
        on_error: OnError,
        deadline: Tick,
        is_call: bool,
    ) -> Option<Box<Self>> {
        let is_timed = rhythm.is_recurring() || deadline != Tick::MAX;
        (name.is_some() || is_timed || is_call).then(|| {
            let (runs, stop_asked) = (AtomicU64::new(0), AtomicU64::new(0));
            Box::new(Self { name, rhythm, on_error, deadline, runs, stop_asked, is_call })
        })
    }
}

impl Header {
    #[inline]
    pub(crate) fn new(id: TaskId, traits: Option<Box<Traits>>, link: Arc<Link>) -> Self {
        Self {
            number: UnexploredU64::new(id.0),
            traits,
            link,
            ticket: AtomicU64::new(Ticket::STAGED.to_bits()),
        }
    }

    /// Makes it that of another task of the pool.
    pub(super) fn renew(&mut self, id: TaskId, traits: Option<Box<Traits>>) {
        *self.number.get_mut() = id.0;
        self.traits = traits;
        self.set_ticket(Ticket::STAGED);
    }

    #[inline]
    pub(crate) fn id(&self) -> TaskId {
        // ORDERING: relaxed is enough, the number never changes.
        TaskId(self.number.load(Ordering::Relaxed) & !STOP)
    }

    /// Returns true if this is not a task, but a call of an alarm or a timer. It is not reported.
    #[inline]
    pub(crate) fn is_call(&self) -> bool {
        self.traits.as_ref().is_some_and(|traits| traits.is_call)
    }

    /// The pool, while it exists.
    pub(crate) fn home(&self) -> Option<Arc<dyn Home>> {
        self.link.0.upgrade()
    }

    /// The way to the pool, for another task of it.
    pub(crate) fn link(&self) -> Arc<Link> {
        Arc::clone(&self.link)
    }

    /// The address of the pool: it identifies the pool of a task, even when that no longer exists.
    pub(crate) fn home_address(&self) -> usize {
        self.link.0.as_ptr().addr()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.traits.as_ref()?.name.as_deref()
    }

    pub(crate) fn rhythm(&self) -> &Rhythm {
        self.traits.as_ref().map_or(&ONCE, |traits| &traits.rhythm)
    }

    /// When the task is to have ended; [`Tick::MAX`] for no such time.
    pub(crate) fn deadline(&self) -> Tick {
        self.traits.as_ref().map_or(Tick::MAX, |traits| traits.deadline)
    }

    pub(crate) fn ends_on_failure(&self) -> bool {
        self.traits.as_ref().is_none_or(|traits| traits.on_error == OnError::Stop)
    }

    /// Returns true if the task is more than a nameless one-shot without a limit.
    pub(crate) fn is_special(&self) -> bool {
        self.traits.is_some()
    }

    /// Takes out what may be user code, so that it can be dropped where that is contained.
    pub(crate) fn take_rhythm(&mut self) -> Option<Rhythm> {
        let traits = self.traits.as_mut()?;
        Some(std::mem::replace(&mut traits.rhythm, Rhythm::Once))
    }

    /// The task's name in messages: its own, or else its number.
    pub(crate) fn label(&self) -> String {
        match self.name() {
            Some(name) => format!("task `{name}`"),
            None => format!("task {}", self.id()),
        }
    }

    /// The number of the last run that has begun. A nameless one-shot that runs has begun once.
    pub(crate) fn runs(&self) -> u64 {
        // ORDERING: relaxed is enough, the task's lock orders all accesses.
        self.traits.as_ref().map_or(1, |traits| traits.runs.load(Ordering::Relaxed).max(1))
    }

    /// Counts a run that begins, and returns its number; called under the task's lock.
    pub(crate) fn count_run(&self) -> u64 {
        let Some(traits) = &self.traits else { return 1 };
        // ORDERING: relaxed is enough, see `runs`. No two threads count at once.
        let number = traits.runs.load(Ordering::Relaxed) + 1;
        traits.runs.store(number, Ordering::Relaxed);
        number
    }

    pub(crate) fn ticket(&self) -> Ticket {
        // ORDERING: acquire, see `set_ticket`.
        Ticket::from_bits(self.ticket.load(Ordering::Acquire))
    }

    pub(crate) fn set_ticket(&self, ticket: Ticket) {
        // ORDERING: release, because a worker that takes a timer from the line has not the pool's lock: it reads when
        // the timer was due before others see it disarmed, and arm it for another time. All else is ordered by that lock.
        self.ticket.store(ticket.to_bits(), Ordering::Release);
    }

    /// Asks one run to stop, or [`EVERY_RUN`]. A request is never taken back; it means nothing to the
    /// runs that come after.
    pub(crate) fn ask_to_stop(&self, run: u64) {
        // ORDERING: release, so that a body that sees the request sees what its canceller did before.
        match &self.traits {
            Some(traits) => _ = traits.stop_asked.fetch_max(run, Ordering::Release),
            None => _ = self.number.fetch_or(STOP, Ordering::Release),
        }
    }

    /// Returns true if the task should have ended.
    pub(crate) fn is_overdue(&self, now: Tick) -> bool {
        let deadline = self.deadline();
        deadline != Tick::MAX && now >= deadline
    }

    pub(crate) fn is_asked_to_stop(&self, run: u64) -> bool {
        // ORDERING: acquire, see `ask_to_stop`.
        let Some(traits) = &self.traits else {
            return self.number.load(Ordering::Acquire) & STOP != 0;
        };
        let asked = traits.stop_asked.load(Ordering::Acquire);
        asked == run || asked == EVERY_RUN
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
