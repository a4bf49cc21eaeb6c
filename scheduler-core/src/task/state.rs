//! What a task *is*, and every way in which that changes: the only file that changes a state.
//!
//! | from | by | to |
//! |---|---|---|
//! | queued | a worker begins a run | running |
//! | running | the run ends, and the task recurs | queued |
//! | running | the run ends, and the task does not recur | ended: completed or failed |
//! | running | the run's future is pending | suspended, or woken if it was woken meanwhile |
//! | suspended | its waker | woken |
//! | woken | a worker polls on | running |
//! | running | cancel | ended: cancelled |
//! | queued, suspended or woken | cancel | leaving |
//! | leaving | its body has been dropped | ended |
//!
//! An ended task never changes again. The thread that makes a task leave owns its body from then on; while it runs, its
//! worker owns it. A task that is leaving is still shown as what it was: what it is made of is dropped before
//! its end is seen. Only the end of a task that is cancelled during a run comes before its body is dropped.

use crate::sync::planted;

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

/// How a task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Completed,
    Failed,
    Cancelled,
}

/// The state of one task, with its transitions.
#[derive(Debug)]
pub(crate) struct StateMachine {
    phase: Phase,
    /// Whether the waker was called during the present poll.
    was_woken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Queued,
    Running,
    Suspended,
    Woken,
    /// Will not run again, and ends when its body has been dropped; until then it is shown as this.
    Leaving(TaskState),
    Ended(End),
}

/// The answer to a worker that wants to run the task.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// A new run begins.
    Run,
    /// The suspended run goes on.
    Resume,
    /// The task has ended meanwhile; there is nothing to run.
    Ended,
}

/// The answer to a worker that has run the task, or to the pool that puts it back into the queue.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Settle {
    /// The transition took place.
    Done,
    /// The task was cancelled meanwhile; after a run its body is to be dropped.
    WasCancelled,
}

/// The answer to a worker whose poll is pending.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Suspend {
    /// The run waits for its waker.
    Suspended,
    /// The waker was called during the poll: the run is to be polled again.
    Woken,
    /// The task was cancelled during the poll: its future is to be dropped.
    WasCancelled,
}

/// The answer to a waker.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The run is to be put into the queue.
    Resume,
    /// The run is being polled, is queued already, or is over.
    Nothing,
}

/// The answer to a canceller.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancel {
    /// The task will not run; the canceller owns its body, and ends it when that is dropped.
    WhileWaiting,
    /// The task has ended while it is being run; its worker will drop the body.
    WhileRunning,
    /// The task had ended before, or is leaving.
    Refused,
}

impl StateMachine {
    pub(crate) fn new() -> Self {
        Self { phase: Phase::Queued, was_woken: false }
    }

    pub(crate) fn visible(&self) -> TaskState {
        match self.phase {
            Phase::Queued => TaskState::Scheduled,
            Phase::Running | Phase::Suspended | Phase::Woken => TaskState::Running,
            Phase::Leaving(was) => was,
            Phase::Ended(End::Completed) => TaskState::Completed,
            Phase::Ended(End::Failed) => TaskState::Failed,
            Phase::Ended(End::Cancelled) => TaskState::Cancelled,
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// Returns true if the task has ended, or is about to without another run.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Leaving(_) | Phase::Ended(_))
    }

    pub(crate) fn begin(&mut self) -> Begin {
        let answer = match self.phase {
            Phase::Queued => Begin::Run,
            Phase::Woken => Begin::Resume,
            Phase::Ended(End::Cancelled) if planted("L3") => Begin::Run,
            Phase::Leaving(_) | Phase::Ended(_) => return Begin::Ended,
            Phase::Running | Phase::Suspended => unreachable!("only a queued task is begun"),
        };
        self.phase = Phase::Running;
        self.was_woken = false;
        answer
    }

    pub(crate) fn requeue(&mut self) -> Settle {
        self.leave_running(Phase::Queued)
    }

    pub(crate) fn end(&mut self, end: End) -> Settle {
        self.leave_running(Phase::Ended(end))
    }

    /// Ends a task that is leaving, because its body has been dropped.
    pub(crate) fn left(&mut self, end: End) {
        debug_assert!(matches!(self.phase, Phase::Leaving(_)), "only who made it leave ends it");
        self.phase = Phase::Ended(end);
    }

    pub(crate) fn suspend(&mut self) -> Suspend {
        let (next, answer) = if self.was_woken {
            (Phase::Woken, Suspend::Woken)
        } else {
            (Phase::Suspended, Suspend::Suspended)
        };
        match self.leave_running(next) {
            Settle::Done => answer,
            Settle::WasCancelled => Suspend::WasCancelled,
        }
    }

    pub(crate) fn wake(&mut self) -> Woken {
        match self.phase {
            Phase::Suspended => {
                self.phase = Phase::Woken;
                Woken::Resume
            }
            Phase::Running => {
                self.was_woken = !planted("L12");
                Woken::Nothing
            }
            Phase::Queued | Phase::Woken | Phase::Leaving(_) | Phase::Ended(_) => Woken::Nothing,
        }
    }

    pub(crate) fn cancel(&mut self) -> Cancel {
        match self.phase {
            Phase::Queued | Phase::Suspended | Phase::Woken => {
                self.phase = Phase::Leaving(self.visible());
                Cancel::WhileWaiting
            }
            Phase::Running => {
                self.phase = Phase::Ended(End::Cancelled);
                Cancel::WhileRunning
            }
            Phase::Leaving(_) | Phase::Ended(_) => Cancel::Refused,
        }
    }

    fn leave_running(&mut self, next: Phase) -> Settle {
        match self.phase {
            Phase::Running => {
                self.phase = next;
                Settle::Done
            }
            Phase::Ended(End::Cancelled) => Settle::WasCancelled,
            phase => unreachable!("only its worker changes a running task; it is {phase:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_phase(phase: Phase) -> StateMachine {
        StateMachine { phase, was_woken: false }
    }

    const PHASES: [Phase; 9] = [
        Phase::Queued,
        Phase::Running,
        Phase::Suspended,
        Phase::Woken,
        Phase::Leaving(TaskState::Scheduled),
        Phase::Leaving(TaskState::Running),
        Phase::Ended(End::Completed),
        Phase::Ended(End::Failed),
        Phase::Ended(End::Cancelled),
    ];

    #[test]
    fn cancel_wins_exactly_once_and_never_against_an_end() {
        let expected = [Cancel::WhileWaiting, Cancel::WhileRunning, Cancel::WhileWaiting];
        let expected = expected.into_iter().chain([Cancel::WhileWaiting]);
        let expected = expected.chain(std::iter::repeat(Cancel::Refused));
        for (phase, expected) in PHASES.into_iter().zip(expected) {
            let mut state = in_phase(phase);
            let before = state.visible();
            assert_eq!(state.cancel(), expected);
            let is_at_once = expected == Cancel::WhileRunning;
            assert_eq!(state.visible(), if is_at_once { TaskState::Cancelled } else { before });
            assert!(state.is_over());
            assert_eq!(state.cancel(), Cancel::Refused);
            if expected == Cancel::WhileWaiting {
                state.left(End::Cancelled);
                assert_eq!(state.visible(), TaskState::Cancelled);
            }
        }
    }

    #[test]
    fn a_task_that_is_over_is_never_begun_and_ignores_its_waker() {
        for phase in &PHASES[4..] {
            assert_eq!(in_phase(*phase).begin(), Begin::Ended);
            assert_eq!(in_phase(*phase).wake(), Woken::Nothing);
        }
    }

    #[test]
    fn a_run_whose_task_was_cancelled_changes_nothing_more() {
        let mut state = in_phase(Phase::Running);
        assert_eq!(state.cancel(), Cancel::WhileRunning);
        assert_eq!(state.requeue(), Settle::WasCancelled);
        assert_eq!(state.end(End::Completed), Settle::WasCancelled);
        assert_eq!(state.suspend(), Suspend::WasCancelled);
        assert_eq!(state.visible(), TaskState::Cancelled);
    }

    #[test]
    fn a_wake_during_the_poll_is_kept_and_later_ones_are_one() {
        let mut state = StateMachine::new();
        assert_eq!(state.begin(), Begin::Run);
        assert_eq!(state.wake(), Woken::Nothing);
        assert_eq!(state.suspend(), Suspend::Woken);
        assert_eq!(state.wake(), Woken::Nothing);
        assert_eq!(state.begin(), Begin::Resume);
        assert_eq!(state.suspend(), Suspend::Suspended);
        assert_eq!(state.wake(), Woken::Resume);
        assert_eq!(state.wake(), Woken::Nothing);
        assert_eq!(state.begin(), Begin::Resume);
        assert_eq!(state.requeue(), Settle::Done);
        assert_eq!(state.visible(), TaskState::Scheduled);
    }
}
