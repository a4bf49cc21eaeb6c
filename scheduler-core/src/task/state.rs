//! The states of a task, and every way from one to another.
//!
//! | from | by | to |
//! |---|---|---|
//! | waiting | a worker begins a run | running |
//! | running | the run ends, and the task recurs | waiting |
//! | running | the run ends, and the task does not recur | ended: completed or failed |
//! | running | the run's future is pending | suspended, woken if the waker was called meanwhile |
//! | suspended | its waker | suspended and woken |
//! | suspended and woken | a worker polls on | running |
//! | running | cancel | ended: cancelled |
//! | waiting or suspended | cancel | leaving |
//! | leaving | its body has been dropped | ended: cancelled |
//!
//! The end itself is in the task's [`Header`](super::header::Header), where it can be read without a lock; it comes once, and
//! nothing changes a task that has ended. Until then the body is here, and who takes it owns it: a worker during a run, a canceller
//! while the task is leaving. A task that is leaving is still shown as what it was, because its body is dropped
//! before its end is seen. Only a task that is cancelled during a run has ended before its body is dropped.

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::{fmt, mem};

use super::run::Run;
use super::spec::Step;
use crate::error::Failure;
use crate::sync::Mutex;
use crate::time::{EventCount, Tick};
use crate::unwind::catch;

/// The state of a task, as its handle shows it.
///
/// The JDK's `Future.State` has no `Scheduled`: there a waiting task counts as running.
///
/// ```
/// use scheduler_core::{ScheduledThreadPool, TaskState};
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let later = pool.schedule(Duration::from_secs(3_600), || ())?;
/// assert_eq!(later.state(), TaskState::Scheduled);
/// later.cancel();
/// assert!(later.state().is_done());
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "Future.State")]
pub enum TaskState {
    /// Waits to be run, for the first time or again.
    Scheduled,
    /// Is being run, or its run awaits something.
    Running,
    /// Has delivered its value.
    #[doc(alias = "SUCCESS")]
    Completed,
    /// Has panicked or returned an error, and will not run again.
    #[doc(alias = "FAILED")]
    Failed,
    /// Was cancelled, or dropped before it could run.
    #[doc(alias = "CANCELLED")]
    Cancelled,
}

impl TaskState {
    /// Returns true if this is a final state.
    #[must_use]
    pub fn is_done(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The end of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskEnd {
    Completed = 1,
    Failed = 2,
    Cancelled = 3,
}

/// The state of a task that has not ended, with its body; small, because there may be very many tasks.
pub(crate) enum TaskPhase<B, V> {
    /// Waits to be run.
    Waiting {
        /// True if an entry of the queue stands for it.
        is_queued: bool,
        body: B,
    },
    /// Its worker has the body.
    Running {
        /// True if the waker was called during this poll.
        was_woken: bool,
    },
    /// A virtual worker holds the outcome of a step back; the task counts as running.
    Held { was_woken: bool },
    /// The run's future is pending.
    Suspended { is_woken: bool, is_queued: bool, body: B },
    /// Its body is being dropped by a canceller.
    Leaving { keeps_place: bool, was_running: bool },
    /// It has ended. A task that was cancelled in a run, or that delivered no value, may end in another phase: its header decides.
    Over {
        /// True if an entry of the queue still stands for it: a pool may keep cancelled tasks.
        is_queued: bool,
        value: Option<V>,
    },
}

/// The answer to a worker that wants to run a task.
pub(crate) enum Begin<B> {
    /// A new run begins.
    Run(B),
    /// The suspended run goes on.
    Resume(B),
    Nothing(NothingToRun),
}

/// A task is not to be run any more, or its entry was an old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NothingToRun {
    /// True if the entry was one of those that the pool counts as live.
    pub(crate) was_counted: bool,
}

/// The answer to a canceller.
pub(crate) enum Cancel<B> {
    /// The task leaves without another run, and the canceller owns its body.
    Leaves {
        body: B,
        /// True if the pool counted an entry that is dead now.
        died: bool,
        was_suspended: bool,
    },
    /// Its worker owns the body.
    IsRunning,
    /// The task has ended, or is leaving.
    IsOver,
}

/// The answer to a worker that moves a run out whose future is pending.
pub(crate) enum Suspend<B = ()> {
    /// The run waits for its waker.
    Waits,
    /// Its waker was called during the poll.
    IsWoken,
    /// The task was cancelled during the poll, and the body is to be dropped.
    IsOver(B),
}

impl<B, V> TaskPhase<B, V> {
    const OVER: Self = Self::Over { is_queued: false, value: None };

    pub(crate) fn visible(&self) -> TaskState {
        match self {
            Self::Waiting { .. } | Self::Leaving { was_running: false, .. } => TaskState::Scheduled,
            _ => TaskState::Running,
        }
    }

    /// Returns true if it will not be run again, whatever the header says.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Self::Leaving { .. } | Self::Over { .. })
    }

    /// Begins a run, or goes on with one, for who has taken the task from the queue or was handed it.
    #[inline]
    pub(crate) fn begin(&mut self, by_worker: bool) -> Begin<B> {
        match std::mem::replace(self, Self::Running { was_woken: false }) {
            Self::Waiting { is_queued, body } if is_queued == by_worker => Begin::Run(body),
            Self::Suspended { is_woken: true, is_queued: true, body } => Begin::Resume(body),
            Self::Over { is_queued, value } => {
                *self = Self::Over { is_queued: false, value };
                Begin::Nothing(NothingToRun { was_counted: is_queued })
            }
            Self::Leaving { keeps_place, was_running } => {
                *self = Self::Leaving { keeps_place: false, was_running };
                Begin::Nothing(NothingToRun { was_counted: keeps_place })
            }
            other => {
                *self = other;
                Begin::Nothing(NothingToRun { was_counted: false })
            }
        }
    }

    /// Notes that an entry of the queue stands for the task; false if it is over, or has an entry.
    pub(crate) fn enqueue(&mut self) -> bool {
        match self {
            Self::Waiting { is_queued, .. } | Self::Suspended { is_woken: true, is_queued, .. } => {
                !std::mem::replace(is_queued, true)
            }
            _ => false,
        }
    }

    /// Takes the task out of the queue: its entry is a dead one from now on. Returns true if it had one.
    pub(crate) fn withdraw(&mut self) -> bool {
        match self {
            Self::Waiting { is_queued, .. }
            | Self::Suspended { is_queued, .. }
            | Self::Over { is_queued, .. }
            | Self::Leaving { keeps_place: is_queued, .. } => std::mem::take(is_queued),
            Self::Running { .. } | Self::Held { .. } => false,
        }
    }

    /// Returns true if an entry of the queue stands for the task.
    pub(crate) fn is_queued(&self) -> bool {
        match self {
            Self::Waiting { is_queued, .. }
            | Self::Suspended { is_queued, .. }
            | Self::Over { is_queued, .. }
            | Self::Leaving { keeps_place: is_queued, .. } => *is_queued,
            Self::Running { .. } | Self::Held { .. } => false,
        }
    }

    /// Gives the body back to the worker that has held a step back.
    fn run_on(&mut self) {
        if let Self::Held { was_woken } = *self {
            *self = Self::Running { was_woken };
        }
    }

    /// Moves a run whose future is pending out of its worker.
    pub(crate) fn suspend(&mut self, body: B, has_ended: bool) -> Suspend<B> {
        if has_ended {
            // The canceller saw a run, and left the body to its worker.
            *self = Self::OVER;
            return Suspend::IsOver(body);
        }
        let is_woken = matches!(self, Self::Running { was_woken: true });
        *self = Self::Suspended { is_woken, is_queued: false, body };
        if is_woken { Suspend::IsWoken } else { Suspend::Waits }
    }

    /// Returns true if the run is to be put into the queue.
    pub(crate) fn wake(&mut self) -> bool {
        match self {
            Self::Suspended { is_woken, .. } => !std::mem::replace(is_woken, true),
            Self::Running { was_woken } | Self::Held { was_woken, .. } => {
                *was_woken = true;
                false
            }
            _ => false,
        }
    }

    /// `keeps_place`: whether a waiting task that is cancelled stays in the queue.
    #[inline]
    pub(crate) fn cancel(&mut self, keeps_place: bool) -> Cancel<B> {
        match std::mem::replace(self, Self::OVER) {
            Self::Waiting { is_queued, body } => {
                let keeps_place = keeps_place && is_queued;
                *self = Self::Leaving { keeps_place, was_running: false };
                let died = is_queued && !keeps_place;
                Cancel::Leaves { body, died, was_suspended: false }
            }
            Self::Suspended { is_queued, body, .. } => {
                *self = Self::Leaving { keeps_place: false, was_running: true };
                Cancel::Leaves { body, died: is_queued, was_suspended: true }
            }
            running @ (Self::Running { .. } | Self::Held { .. }) => {
                *self = running;
                Cancel::IsRunning
            }
            over @ (Self::Leaving { .. } | Self::Over { .. }) => {
                *self = over;
                Cancel::IsOver
            }
        }
    }

    /// Ends a task that is leaving, because its body has been dropped.
    #[inline]
    pub(crate) fn left(&mut self) {
        let is_queued = matches!(self, Self::Leaving { keeps_place: true, .. });
        *self = Self::Over { is_queued, value: None };
    }
}

/// The data that a task's lock guards.
pub(super) struct Slot<T, B> {
    pub(super) phase: TaskPhase<B, Arc<T>>,
    /// When the task is due, or was for its present run.
    pub(super) due: Tick,
    pub(super) extras: Option<Box<Extras<T, B>>>,
}

/// State that only some tasks have; a closure that runs once without waiters has none.
pub(super) struct Extras<T, B> {
    pub(super) waiters: Waiters,
    /// Opened when the run is asked to stop.
    pub(super) interruptible: Waiters,
    /// The present run, while its future is pending.
    pub(super) suspended: Option<Run>,
    /// A step of a virtual worker whose outcome is held back.
    pub(super) held: Option<StepOutcome<T, B>>,
    /// Why the task has failed.
    pub(super) failure: Option<Failure>,
}

impl<T, B> Default for Extras<T, B> {
    fn default() -> Self {
        let (waiters, interruptible) = (Waiters::default(), Waiters::default());
        Self { waiters, interruptible, suspended: None, held: None, failure: None }
    }
}

impl<T, B> Slot<T, B> {
    pub(super) fn extras(&mut self) -> &mut Extras<T, B> {
        self.extras.get_or_insert_default()
    }

    pub(super) fn take_waiters(&mut self) -> Vec<(u64, Waiter)> {
        self.extras.as_mut().map(|extras| extras.waiters.take()).unwrap_or_default()
    }

    pub(super) fn take_interruptible(&mut self) -> Vec<(u64, Waiter)> {
        self.extras.as_mut().map(|extras| extras.interruptible.take()).unwrap_or_default()
    }

    /// Takes the step that is held back.
    pub(super) fn take_held(&mut self) -> Option<StepOutcome<T, B>> {
        self.phase.run_on();
        self.extras.as_mut()?.held.take()
    }
}

/// The result of one step, and what is left of the body.
pub(super) struct StepOutcome<T, B> {
    pub(super) body: Option<B>,
    pub(super) step: Step<T>,
    /// True if the body was not run, because the before-run hook has panicked.
    pub(super) was_refused: bool,
}

impl<T, B> StepOutcome<T, B> {
    pub(super) fn is_pending(&self) -> bool {
        self.step.is_pending()
    }

    /// The outcome of a run that is over.
    pub(super) fn outcome(&self) -> Result<(), Failure> {
        match &self.step {
            Poll::Ready(Err(failure)) => Err(failure.clone()),
            Poll::Ready(Ok(_)) | Poll::Pending => Ok(()),
        }
    }
}

/// A callback that is called with the final state of a task, once.
pub(crate) type Callback = Box<dyn FnOnce(TaskState) + Send>;

/// The waiters for the end of one task.
#[derive(Default)]
pub(crate) struct Waiters {
    next_number: u64,
    list: Vec<(u64, Waiter)>,
}

/// A waiter for the end of a task.
pub(crate) enum Waiter {
    Thread(Arc<EventCount>),
    Future(Waker),
    Callback(Callback),
}

impl Waiters {
    /// Adds a waiter and returns the number under which it can leave again.
    pub(crate) fn add(&mut self, waiter: Waiter) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        // Most tasks have one waiter at most, and there may be very many tasks.
        if self.list.is_empty() {
            self.list.reserve_exact(1);
        }
        self.list.push((number, waiter));
        number
    }

    /// Takes a waiter out, if it is still here.
    #[must_use = "dropping a waker runs user code, which must not happen under a lock"]
    pub(crate) fn remove(&mut self, number: u64) -> Option<Waiter> {
        let index = self.list.iter().position(|(each, _)| *each == number)?;
        Some(self.list.swap_remove(index).1)
    }

    /// Takes all waiters out, in the order in which they came unless one was removed.
    #[must_use = "the waiters must be notified"]
    pub(crate) fn take(&mut self) -> Vec<(u64, Waiter)> {
        mem::take(&mut self.list)
    }
}

/// Notifies all waiters; a panic of a waker or a callback is contained.
#[inline]
pub(crate) fn notify(waiters: Vec<(u64, Waiter)>, state: TaskState) {
    if !waiters.is_empty() {
        notify_all(waiters, state);
    }
}

#[inline(never)]
fn notify_all(waiters: Vec<(u64, Waiter)>, state: TaskState) {
    for (_, waiter) in waiters {
        match waiter {
            Waiter::Thread(gate) => gate.open(),
            Waiter::Future(waker) => drop(catch(|| waker.wake())),
            Waiter::Callback(callback) => drop(catch(|| callback(state))),
        }
    }
}

/// The event counts of waiting threads, to be notified together.
#[derive(Default)]
pub(crate) struct EventCounts {
    list: Mutex<Vec<(u64, Arc<EventCount>)>>,
}

impl EventCounts {
    /// Adds a gate and returns the number under which it can leave again.
    pub(crate) fn add(&self, gate: &Arc<EventCount>) -> u64 {
        let mut list = self.list.lock();
        let number = list.last().map_or(0, |(last, _)| last + 1);
        list.push((number, Arc::clone(gate)));
        number
    }

    pub(crate) fn remove(&self, number: u64) {
        self.list.lock().retain(|(each, _)| *each != number);
    }

    /// Opens all gates; each waiter then checks what has changed.
    pub(crate) fn open_all(&self) {
        let gates: Vec<_> = self.list.lock().iter().map(|(_, gate)| Arc::clone(gate)).collect();
        for gate in gates {
            gate.open();
        }
    }
}

impl fmt::Debug for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").field("count", &self.list.len()).finish()
    }
}
