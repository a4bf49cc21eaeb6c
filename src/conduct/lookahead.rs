//! A look ahead in a timetable: for those who want to know when, and decide nothing.

use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Now;
use scheduler_core::trigger::FireTimes;

use super::passing::Limit;
use super::timetable::FireTime;
use super::timetable::Held;
use super::timetable::Times;
use super::timetable::Timetable;
use super::timetable::wall_of;

impl Timetable {
    /// The same timetable for a look ahead, which knows nothing of what was served. It asks no trigger of
    /// the user's.
    pub(super) fn sketch(&self) -> Self {
        let times = match &self.times {
            Times::Rate { period, initial_delay, first } => {
                Times::Rate { period: *period, initial_delay: *initial_delay, first: *first }
            }
            Times::Delay { delay, initial_delay, number } => {
                Times::Delay { delay: *delay, initial_delay: *initial_delay, number: *number }
            }
            Times::Calendar { trigger, since, .. } => Times::Calendar {
                trigger: Arc::clone(trigger),
                times: FireTimes::new(Held(Arc::clone(trigger))),
                since: *since,
            },
            Times::Once { .. } | Times::Trigger(_) => Times::Once { delay: Duration::ZERO },
        };
        Self { times, ..*self }
    }

    /// The first fire time from `pending` on that is due at `now` or later, as far as the rule tells.
    pub(super) fn upcoming(&self, pending: FireTime, now: Now) -> Option<FireTime> {
        if pending.due.left(now) > Duration::ZERO {
            return Some(pending);
        }
        match &self.times {
            Times::Rate { .. } => self.pass(pending, Limit::Before(now)).ok()?.next,
            Times::Calendar { trigger, .. } => {
                let from = now.wall - self.jitter - Duration::from_nanos(1);
                let fires = trigger.upcoming(from.to_utc()).map(|at| self.on_wall(at.into()));
                fires.take(1_000).find(|fire| !Limit::Before(now).is_after(fire.due))
            }
            Times::Delay { .. } | Times::Once { .. } | Times::Trigger(_) => None,
        }
    }

    /// The fire time after one, served or not.
    pub(super) fn following_sketch(&self, of: FireTime) -> Option<FireTime> {
        match &self.times {
            Times::Rate { .. } => self.after_tick(of),
            Times::Calendar { trigger, .. } => {
                trigger.next_after(wall_of(of).to_utc()).map(|at| self.on_wall(at.into()))
            }
            Times::Delay { .. } | Times::Once { .. } | Times::Trigger(_) => None,
        }
    }
}
