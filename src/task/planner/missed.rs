//! Applies the misfire policy to overdue fire times.

use std::time::Duration;

use scheduler_core::{Due, Now};

use super::{MISSED_AFTER, Planner, Waiting};
use crate::observe::SkipReason;
use crate::task::fire_times::FireTime;
use scheduler_expr::Misfire;

impl Planner {
    /// Chooses by `misfire` among the fire times that wait.
    pub(super) fn choose(&mut self, now: Now) -> Option<FireTime> {
        let first = *self.waiting.front()?;
        let last = *self.waiting.back()?;
        let is_followed = self.waiting.len() > 1 || first.range.count > 1;
        let is_missed = self.can_be_missed() && (is_followed || first.lateness(now) > MISSED_AFTER);
        if !is_missed || self.policy().misfire == Misfire::CatchUp {
            return self.take_first();
        }
        let is_in_time = last.range.last.due.left(now).is_zero()
            && late(last.range.last.due, now).is_zero()
            || last.ready.is_some_and(|ready| now.tick.since(ready.tick) <= MISSED_AFTER);
        if self.policy().misfire == Misfire::RunOnce || is_in_time {
            self.waiting.pop_back();
            let earlier = last.range.without_last();
            self.skip_waiting(SkipReason::Misfire);
            earlier.into_iter().for_each(|earlier| self.skip(SkipReason::Misfire, earlier));
            return Some(last.range.last);
        }
        self.skip_waiting(SkipReason::Misfire);
        if self.times.is_custom() {
            self.restart(Some((last.range.last, now)), now);
        }
        None
    }

    fn can_be_missed(&self) -> bool {
        self.times.goes_on_by_itself() || self.times.is_custom()
    }

    fn take_first(&mut self) -> Option<FireTime> {
        let waiting = self.waiting.front_mut()?;
        let first = waiting.range.first;
        let following =
            if first == waiting.range.last { None } else { self.times.following(first) };
        match following {
            Some(next) => {
                waiting.range.first = next;
                waiting.range.count = waiting.range.count.saturating_sub(1).max(1);
            }
            None => _ = self.waiting.pop_front(),
        }
        Some(first)
    }
}

impl Waiting {
    /// The lateness of the first one, counted from the end of the run that it follows.
    fn lateness(&self, now: Now) -> Duration {
        match self.ready {
            Some(ready) => now.tick.since(ready.tick),
            None => late(self.range.first.due, now),
        }
    }
}

fn late(due: Due, now: Now) -> Duration {
    match due {
        Due::Tick(tick) => now.tick.since(tick),
        Due::Wall(wall) => now.wall.since(wall),
    }
}
