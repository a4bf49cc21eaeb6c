//! Checks at single moments of a run or a worker.

use super::corners::Corner;
use super::verdict::{Invariant, Verdict};
use super::words::{Due, Now, Outcome, Place, Rhythm};
use super::world::{World, wrong};
use scheduler_core::{RunState, TaskState};

impl World {
    /// A body was entered: not early, not twice at a time, not after its end.
    pub(crate) fn check_entry(&mut self, task: usize, fire_time: i64, at: Now) -> Verdict {
        self.runs += 1;
        let known = self.model.tasks[task];
        let is_held = known.place == Place::Held;
        let due = if is_held { known.due } else { known.fired };
        if self.model.state == RunState::ShuttingDown {
            self.reach(Corner::RanAfterShutdown);
        }
        let tally = self.tally(task);
        tally.starts += 1;
        let (starts, was_inside) = (tally.starts, std::mem::replace(&mut tally.is_inside, true));
        Invariant::NeverEarly.holds(is_held || due.is_reached(at), || {
            format!("task {task}, due at {due:?}, started at {at:?}")
        })?;
        Invariant::NoOverlap
            .holds(!was_inside, || format!("task {task} was started during its run"))?;
        let is_once = matches!(known.rhythm, Rhythm::Once);
        Invariant::OneEnd.holds(!is_once || starts == 1, || format!("task {task} ran twice"))?;
        let expected = i64::try_from(due.wall(at)).unwrap_or(i64::MAX);
        Invariant::FireTimes.holds(expected == fire_time, || {
            format!("task {task}, due at {due:?}, fired for {fire_time}")
        })
    }

    /// A timer has fired: for the time that it was armed for, and not early.
    pub(crate) fn check_firing(
        &mut self,
        (task, number): (usize, u64),
        due: Due,
        returned: bool,
        at: Now,
    ) -> Verdict {
        self.runs += 1;
        let known = self.model.tasks[task];
        self.reach(Corner::TimerFired);
        if matches!(due, Due::Wall(_)) {
            self.reach(Corner::TimerFiredByTheWall);
        }
        if self.model.state == RunState::ShuttingDown {
            self.reach(Corner::TimerFiredAfterShutdown);
        }
        let to_finish = &mut self.tally(task).to_finish;
        let is_beside_itself = !to_finish.is_empty();
        let is_new = !returned || to_finish.insert(number);
        if is_beside_itself {
            self.reach(Corner::TimerFiredBesideItself);
        }
        Invariant::NeverEarly.holds(known.fired.is_reached(at), || {
            format!("timer {task}, armed for {:?}, fired at {at:?}", known.fired)
        })?;
        let is_expected = (known.fired, known.calls.fired) == (due, number);
        Invariant::Timers.holds(is_expected && is_new, || {
            format!("firing {number} of timer {task}, {known:?}, was for {due:?}")
        })
    }

    /// Checks that a worker has taken the task that the model takes.
    pub(crate) fn check_take(&self, task: usize, expected: Option<usize>, now: Now) -> Verdict {
        if Some(task) == expected {
            return Ok(());
        }
        let known = self.model.tasks.get(task);
        let invariant = match known {
            Some(known) if known.end.is_some() => Invariant::CancelMeansNoRun,
            Some(known) if known.place == Place::Worker => Invariant::NoOverlap,
            Some(known) if !known.turn.is_reached(now) => Invariant::NeverEarly,
            _ => Invariant::Order,
        };
        invariant.holds(false, || {
            format!("task {task} ({known:?}) was taken at {now:?} instead of {expected:?}")
        })
    }

    /// The event of a run's end says what became of it.
    pub(crate) fn check_finish(&mut self, task: usize, outcome: Outcome, now: Now) -> Verdict {
        let known = self.model.tasks[task];
        if matches!(known.rhythm, Rhythm::Rate(_))
            && known.end.is_none()
            && known.due.is_reached(now)
        {
            self.reach(Corner::Missed);
        }
        let Some((finished, is_ok, next)) = self.finished else {
            return wrong(format!("the end of the run of task {task} was not reported"));
        };
        Invariant::Events.holds(finished == task && is_ok == (outcome == Outcome::Ok), || {
            format!("of task {task} was reported {:?}", self.finished)
        })?;
        let expected = match known.place {
            Place::Queue => i64::try_from(known.due.wall(now)).ok(),
            // Announced as due again, and then cancelled because the pool shuts down.
            _ if known.end == Some(TaskState::Cancelled) => next,
            _ => None,
        };
        Invariant::FireTimes.holds(next == expected, || {
            format!("task {task} is due at {:?}, but {next:?} was reported", known.due)
        })
    }

    /// A worker rests: nothing is due, and it will not wake up in vain.
    pub(crate) fn check_rest(
        &self,
        expected: Option<usize>,
        until: Option<u64>,
        now: Now,
    ) -> Verdict {
        Invariant::Liveness.holds(expected.is_none(), || {
            format!("a worker rests at {now:?}, though {expected:?} is due")
        })?;
        let will_rest = until.is_none_or(|until| until > now.tick);
        Invariant::ClockReads
            .holds(will_rest, || format!("a worker waits until {until:?} at {now:?}, and so spins"))
    }

    /// A worker that may leave for being idle rests no longer than its keep-alive time in all.
    pub(crate) fn check_patience(&self, index: usize, until: Option<u64>, now: Now) -> Verdict {
        let since = self.idle_since(index).unwrap_or(now.tick);
        let limit = since.saturating_add(self.limits.keep_alive);
        let is_patient = until.is_none_or(|until| until > limit);
        Invariant::Liveness.holds(!(is_patient && self.may_time_out()), || {
            format!("a worker that is idle since {since} rests until {until:?} at {now:?}")
        })
    }

    /// A worker leaves: there is no more use for it.
    pub(crate) fn check_leave(&self, index: usize, expected: Option<usize>, now: Now) -> Verdict {
        Invariant::Liveness.holds(expected.is_none(), || {
            format!("a worker leaves at {now:?}, though {expected:?} is due")
        })?;
        let may_leave = match self.model.state {
            RunState::Running => self.has_timed_out(index, now),
            RunState::ShuttingDown => self.is_exhausted() || self.has_timed_out(index, now),
            _ => true,
        };
        Invariant::Liveness.holds(may_leave, || format!("a worker leaves at {now:?} too early"))
    }
}
