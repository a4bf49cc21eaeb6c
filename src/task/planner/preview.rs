//! Finds the next start: advances a clone of the planner.

use scheduler_core::{Due, Now};

use super::{FireTime, Planner};

/// The number of steps after which a preview gives up.
const PREVIEW_STEPS_MAX: usize = 1_000;

/// Fire times that are held up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::task) struct Delays {
    /// The first fire time that came during the runs in progress, and that these held up.
    pub(in crate::task) stuck_since: Option<Due>,
    /// When the first run was due that may start and waits for a thread.
    pub(in crate::task) late_since: Option<Due>,
}

impl Planner {
    /// Returns when the next run starts without further commands; a run in progress counts as over by then. Returns `None`
    /// also if that is not known: the run follows the one in progress, or the trigger has not answered.
    pub(in crate::task) fn next_start(&self, now: Now) -> Option<Due> {
        let is_plain = self.waiting.is_empty() && self.requests.is_empty() && self.queued.is_none();
        // With jitter a later fire time may come before the next one.
        let is_in_order = self.policy().jitter.is_zero() || !self.times.is_by_wall();
        let has_left = self.max_left() > u64::from(self.is_full());
        if is_plain && is_in_order && has_left && self.pause.is_none() {
            let next = self.next?.due;
            if !next.is_reached(now) {
                return (next != Due::NEVER).then_some(next);
            }
        }
        self.clone().preview(now)
    }

    /// As [`next_start`](Self::next_start), if a paused task were resumed now.
    pub(in crate::task) fn next_start_if_resumed(&self, now: Now) -> Option<Due> {
        let mut planner = self.clone();
        planner.resume(now);
        planner.next_start(now)
    }

    /// Returns the next fire times that have not come, at most `count`, without jitter.
    pub(in crate::task) fn fire_times(&mut self, now: Now, count: usize) -> Vec<Due> {
        self.look(now);
        let first = self.next.filter(|next| next.at != Due::NEVER);
        let following = |fire: &FireTime| self.admitted(self.times.following(*fire));
        let all = std::iter::successors(first, following);
        let left = usize::try_from(self.max_left()).unwrap_or(usize::MAX);
        all.map(|fire| fire.at).take_while(|at| *at != Due::NEVER).take(count.min(left)).collect()
    }

    /// Returns which fire times are held up, and since when.
    pub(in crate::task) fn delays(&self, now: Now) -> Delays {
        let has_come = self.next.is_some_and(|next| next.due.is_reached(now));
        let is_plain =
            self.waiting.is_empty() && self.overrun.first.is_none() && self.pause.is_none();
        if is_plain && !has_come {
            return Delays::default();
        }
        let mut planner = self.clone();
        planner.look(now);
        Delays { stuck_since: planner.overrun.first, late_since: planner.late_since() }
    }

    /// Returns the due time of the first run that may start and waits for a thread.
    fn late_since(&self) -> Option<Due> {
        if self.is_full() || self.pause.is_some() || self.is_spent() {
            return None;
        }
        let waiting = self.waiting.front()?;
        let ended = waiting.ready.map(|ended| Due::Wall(ended.wall));
        Some(ended.unwrap_or(waiting.range.first.due))
    }

    fn preview(mut self, now: Now) -> Option<Due> {
        self.look(now);
        if self.is_full() {
            if self.queued.is_some() || !self.waiting.is_empty() || !self.requests.is_empty() {
                return None;
            }
            self.running = 0;
        }
        let mut at = now;
        for _ in 0..PREVIEW_STEPS_MAX {
            if self.fire(at).is_some() {
                return Some(Due::Wall(at.wall));
            }
            let due = self.wake().filter(|due| *due != Due::NEVER && !due.is_reached(at))?;
            at = Now { tick: due.as_tick(at), wall: due.as_wall(at) };
        }
        None
    }
}
