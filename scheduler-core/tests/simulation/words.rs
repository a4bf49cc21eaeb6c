//! The common types of the model, the client and the bodies.

use super::timers::Calls;
use scheduler_core::TaskState;

/// One reading of both clocks, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Now {
    pub(crate) tick: u64,
    pub(crate) wall: i64,
}

impl Now {
    /// By how much the wall clock is ahead.
    pub(crate) fn lead(self) -> i128 {
        i128::from(self.wall) - i128::from(self.tick)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Due {
    Tick(u64),
    Wall(i64),
}

impl Due {
    /// The reading of the monotonic clock at which this is reached if the wall clock is not set.
    pub(crate) fn key(self, now: Now) -> i128 {
        match self {
            Self::Tick(tick) => tick.into(),
            Self::Wall(wall) => i128::from(now.tick) + i128::from(wall) - i128::from(now.wall),
        }
    }

    pub(crate) fn is_reached(self, now: Now) -> bool {
        self != Self::Tick(u64::MAX) && self.key(now) <= now.tick.into()
    }

    /// The reading of the wall clock when this is reached.
    pub(crate) fn wall(self, now: Now) -> i128 {
        self.key(now) - i128::from(now.tick) + i128::from(now.wall)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Rhythm {
    Once,
    Rate(u64),
    Delay(u64),
    /// No task, but a timer: it is due when it is armed for that.
    Timer,
}

impl Rhythm {
    /// When a task is due after a run that was due at `due` and has ended now.
    pub(crate) fn next(self, due: Due, now: Now) -> Option<Due> {
        match (self, due) {
            (Self::Rate(period), Due::Tick(due)) => Some(Due::Tick(due.saturating_add(period))),
            (Self::Delay(delay), _) => Some(Due::Tick(now.tick.saturating_add(delay))),
            _ => None,
        }
    }
}

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// In the queue, for its first or next run.
    Queue,
    /// In the queue, to be polled on.
    Resumed,
    Worker,
    Suspended,
    /// A timer that is not armed.
    Idle,
    /// In the hands of the client: removed or drained.
    Held,
    Gone,
}

/// A task, as the model knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// When it is to run.
    pub(crate) due: Due,
    /// Its place in the queue. A fire time that has passed when it enters counts as now there.
    pub(crate) turn: Due,
    /// The fire time of the run that began last.
    pub(crate) fired: Due,
    pub(crate) rhythm: Rhythm,
    pub(crate) survives_failure: bool,
    pub(crate) place: Place,
    /// The end of the task; a worker may still be busy with it, or the queue still hold it.
    pub(crate) end: Option<TaskState>,
    pub(crate) was_woken: bool,
    /// True if its present run was asked to stop.
    pub(crate) stop_asked: bool,
    /// The calls that a timer has got.
    pub(crate) calls: Calls,
}

impl Task {
    pub(crate) fn new(due: Due, rhythm: Rhythm, place: Place, survives_failure: bool) -> Self {
        Self {
            due,
            turn: due,
            fired: due,
            rhythm,
            survives_failure,
            place,
            end: None,
            was_woken: false,
            stop_asked: false,
            calls: Calls::default(),
        }
    }

    /// A run begins, or a timer fires.
    pub(crate) fn fire(&mut self) {
        (self.fired, self.stop_asked) = (self.due, false);
        self.calls.fired += 1;
    }

    /// Enters the queue, to be run when it is due.
    pub(crate) fn enter(&mut self, due: Due, now: Now) {
        self.due = due;
        self.turn = match due {
            Due::Wall(wall) => Due::Wall(wall.max(now.wall)),
            tick => tick,
        };
    }

    pub(crate) fn is_queued(&self) -> bool {
        matches!(self.place, Place::Queue | Place::Resumed)
    }

    /// Puts a run that was woken into the queue, to be polled on.
    pub(crate) fn resume(&mut self, now: Now) {
        self.place = Place::Resumed;
        self.enter(Due::Tick(now.tick), now);
    }
}

/// The outcome of one step of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    Ok,
    Failed,
    Pending,
}

/// The kind of a task's body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Closure,
    Fallible,
    Future,
    FallibleFuture,
}
