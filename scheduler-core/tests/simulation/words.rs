//! The words in which the model, the client and the bodies speak of tasks and times.

use super::walls::Served;
use scheduler_core::{MisfirePolicy, TaskState};

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
    /// The reading of the monotonic clock at which this is reached if nobody sets the wall clock.
    pub(crate) fn key(self, now: Now) -> i128 {
        match self {
            Self::Tick(tick) => tick.into(),
            Self::Wall(wall) => i128::from(now.tick) + i128::from(wall) - i128::from(now.wall),
        }
    }

    pub(crate) fn is_reached(self, now: Now) -> bool {
        self != Self::Tick(u64::MAX) && self.key(now) <= now.tick.into()
    }

    /// What the wall clock reads when this is reached.
    pub(crate) fn wall(self, now: Now) -> i128 {
        self.key(now) - i128::from(now.tick) + i128::from(now.wall)
    }
}

/// A trigger: strictly forward by `step`, until an instant; or, for a fault, not forward at all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beat {
    pub(crate) step: i64,
    pub(crate) skips_missed: bool,
    pub(crate) until: i64,
    pub(crate) stuck_from: i64,
}

impl Beat {
    pub(crate) fn next(self, now: i64, last: Option<i64>) -> Option<i64> {
        let from = match last {
            Some(last) if last >= self.stuck_from => return Some(last),
            Some(last) if self.skips_missed => last.max(now),
            Some(last) => last,
            None => now,
        };
        Some(from + self.step).filter(|next| *next <= self.until)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Rhythm {
    Once,
    Rate(u64, MisfirePolicy),
    Delay(u64),
    Beat(Beat),
}

impl Rhythm {
    /// When a task without a trigger is due after a run that was due at `due` and has ended now.
    pub(crate) fn next(self, due: Due, now: Now) -> Option<Due> {
        match (self, due) {
            (Self::Rate(period, misfire), Due::Tick(due)) => {
                let behind = now.tick.saturating_sub(due);
                let periods = match misfire {
                    MisfirePolicy::CatchUp => 1,
                    MisfirePolicy::RunOnce => (behind / period).max(1),
                    MisfirePolicy::Skip => behind.div_ceil(period).max(1),
                };
                Some(Due::Tick(due.saturating_add(period.saturating_mul(periods))))
            }
            (Self::Delay(delay), _) => Some(Due::Tick(now.tick.saturating_add(delay))),
            _ => None,
        }
    }
}

/// What a rhythm answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    At(Due),
    Over,
    /// The trigger did not advance.
    Stuck,
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
    /// Out of the queue for a moment, to ask for a new fire time.
    Asking,
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
    pub(crate) served: Served,
    pub(crate) survives_failure: bool,
    pub(crate) place: Place,
    /// How it ended; a worker may still be busy with it, or the queue still hold it.
    pub(crate) end: Option<TaskState>,
    pub(crate) was_woken: bool,
    /// Whether its present run was asked to stop.
    pub(crate) stop_asked: bool,
}

impl Task {
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

/// What came of one step of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    Ok,
    Failed,
    Pending,
}

/// What kind of body a task has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Closure,
    Fallible,
    Future,
    FallibleFuture,
}
