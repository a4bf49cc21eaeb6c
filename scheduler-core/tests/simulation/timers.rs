//! Timers in the model: armed, moved, disarmed, called after a set clock, dropped.

use super::model::Model;
use super::words::{Due, Now, Place, Rhythm, Task};
use scheduler_core::RunState;

/// By how much the wall clock has to be set back to be noticed.
const TOLERANCE: i128 = 500_000_000;

/// The state of a timer beside its place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Calls {
    /// The number of firings that have begun.
    pub(crate) fired: u64,
    /// The number of calls of `dropped`.
    pub(crate) dropped: u64,
    /// By how much the wall clock was ahead when the timer was armed, or at the last look at that clock.
    lead: i128,
}

impl Task {
    pub(crate) fn is_timer(&self) -> bool {
        matches!(self.rhythm, Rhythm::Timer)
    }

    /// The time that a timer is armed for, while it is.
    pub(crate) fn armed_for(&self) -> Option<Due> {
        (self.place == Place::Queue).then_some(self.due)
    }

    fn waits_for_the_wall(&self, now: Now) -> bool {
        let is_wall = self.is_timer() && matches!(self.armed_for(), Some(Due::Wall(_)));
        is_wall && !self.turn.is_reached(now)
    }
}

impl Model {
    pub(crate) fn add_timer(&mut self) {
        self.tasks.push(Task::new(Due::Tick(u64::MAX), Rhythm::Timer, Place::Idle, false));
    }

    /// Arms a timer; false where the pool takes none any more.
    pub(crate) fn arm(&mut self, id: usize, due: Due, now: Now) -> bool {
        let takes = self.state <= RunState::ShuttingDown;
        let timer = &mut self.tasks[id];
        if takes && timer.armed_for() != Some(due) {
            (timer.place, timer.calls.lead) = (Place::Queue, now.lead());
            timer.enter(due, now);
            if let Due::Wall(_) = due {
                self.lead_max = self.lead_max.max(Some(now.lead()));
            }
        }
        takes
    }

    pub(crate) fn disarm(&mut self, id: usize) {
        self.tasks[id].place = Place::Idle;
    }

    /// The timers that wait for a time ahead on a wall clock that was set back since they were armed, or since a
    /// worker looked: they have to hear of it.
    pub(crate) fn set_back(&self, now: Now) -> Vec<usize> {
        let is_told =
            |task: &Task| task.waits_for_the_wall(now) && task.calls.lead - now.lead() > TOLERANCE;
        (0..self.tasks.len()).filter(|id| is_told(&self.tasks[*id])).collect()
    }

    /// Returns true if a timer may be called though it was armed after the clock was set.
    ///
    /// A worker knows only that some timers were armed before.
    pub(crate) fn may_be_told(&self, id: usize, now: Now) -> bool {
        let is_noticed = self.lead_max.is_some_and(|lead| lead - now.lead() > TOLERANCE);
        is_noticed && self.tasks[id].waits_for_the_wall(now)
    }

    /// A worker looks at the wall clock if any timer waits for that, or if it has nothing to do; and it may look in any case,
    /// for an entry of the queue that is dead.
    pub(crate) fn look(&mut self, now: Now, has_rested: bool) {
        let is_armed =
            |task: &Task| task.is_timer() && matches!(task.armed_for(), Some(Due::Wall(_)));
        if has_rested || self.tasks.iter().any(is_armed) {
            self.lead_max = Some(now.lead());
            self.tasks.iter_mut().for_each(|task| task.calls.lead = now.lead());
        } else {
            self.lead_max = self.lead_max.max(Some(now.lead()));
        }
    }

    /// The end of a firing.
    pub(crate) fn fired(&mut self) {
        self.completed += 1;
    }

    /// The pool drops what is armed, and tells it.
    pub(crate) fn drop_timers(&mut self) {
        for timer in self.tasks.iter_mut().filter(|task| task.is_timer()) {
            if timer.armed_for().is_some() {
                timer.place = Place::Idle;
                timer.calls.dropped += 1;
            }
        }
    }
}
