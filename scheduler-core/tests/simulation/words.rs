//! The words in which the model, the client and the bodies speak of tasks and times.

use scheduler_core::MisfirePolicy;
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
    fn next(self, due: Due, now: Now) -> Option<Due> {
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

/// The fire times of a trigger that have been served, as stretches of the wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Served {
    stretches: [(i64, i64); 9],
    count: usize,
    last_start: Option<i64>,
}

impl Served {
    /// A run goes on with the last stretch unless the clock has jumped since the run before.
    pub(crate) fn note(&mut self, fire_time: i64, start: i64) {
        let passed = self.last_start.replace(start).map(|last| start - last);
        let end = self.count.checked_sub(1).map(|last| self.stretches[last].1);
        let goes_on = passed.zip(end).is_some_and(|(passed, end)| {
            fire_time >= end && fire_time - end <= passed + 500_000_000
        });
        if goes_on {
            self.stretches[self.count - 1].1 = fire_time;
            return;
        }
        self.stretches[self.count] = (fire_time, fire_time);
        self.count += 1;
        if self.count > 8 {
            let [one, two, ..] = self.stretches;
            self.stretches[1] = (one.0.min(two.0), one.1.max(two.1));
            self.stretches.copy_within(1.., 0);
            self.count -= 1;
        }
    }

    fn end_around(&self, fire_time: i64) -> Option<i64> {
        let stretches = self.stretches[..self.count].iter();
        let around = stretches.filter(|(first, last)| (*first..=*last).contains(&fire_time));
        around.map(|(_, last)| *last).max()
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

    /// A run begins: its fire time is served.
    pub(crate) fn fire(&mut self, now: Now) {
        self.fired = self.due;
        if let Due::Wall(fire_time) = self.due {
            self.served.note(fire_time, now.wall);
        }
    }

    /// When the task is due after the run that has ended now.
    pub(crate) fn next(&self, now: Now) -> Next {
        match (self.rhythm, self.fired) {
            (Rhythm::Beat(_), Due::Wall(last)) if now.wall < last => self.next_anew(now),
            (Rhythm::Beat(beat), Due::Wall(last)) => {
                self.first_unserved(beat, beat.next(now.wall, Some(last)), last)
            }
            (rhythm, fired) => rhythm.next(fired, now).map_or(Next::Over, Next::At),
        }
    }

    /// When the task is due if it is asked as a new one, because the wall clock was set back.
    pub(crate) fn next_anew(&self, now: Now) -> Next {
        match self.rhythm {
            Rhythm::Beat(beat) => {
                self.first_unserved(beat, beat.next(now.wall, None), now.wall - 1)
            }
            _ => Next::Over,
        }
    }

    fn first_unserved(&self, beat: Beat, next: Option<i64>, floor: i64) -> Next {
        match next {
            None => Next::Over,
            Some(next) if next <= floor => Next::Stuck,
            Some(next) => match self.served.end_around(next) {
                None => Next::At(Due::Wall(next)),
                Some(end) => self.first_unserved(beat, beat.next(end, Some(end)), end),
            },
        }
    }

    pub(crate) fn is_queued(&self) -> bool {
        matches!(self.place, Place::Queue | Place::Resumed)
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
