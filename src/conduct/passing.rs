//! Going through fire times that start no run, however many they are.

use std::time::Duration;

use scheduler_core::Due;
use scheduler_core::Failure;
use scheduler_core::Now;
use scheduler_core::Tick;
use scheduler_core::WallTime;

use super::timetable::Answer;
use super::timetable::FireTime;
use super::timetable::Times;
use super::timetable::Timetable;
use super::timetable::nanos;
use super::timetable::tick_of;
use super::timetable::wall_of;

/// How many fire times of a cron expression are gone through one by one, and so counted exactly.
const CALENDAR_WALK_MAX: u64 = 10_000;

/// Half of how many answers of a trigger of the user's are gone through at once.
const TRIGGER_WALK_MAX: u64 = 1_000;

/// Up to when fire times are gone through.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    Before(Now),
    UpTo(Now),
}

/// What going through fire times has met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// How many; at least that many, where there were more than are gone through one by one.
    pub(super) count: u64,
    pub(super) last: Option<FireTime>,
    pub(super) last_but_one: Option<FireTime>,
    /// The first that was not passed.
    pub(super) next: Option<FireTime>,
}

impl Timetable {
    /// Goes through the fire times from `first` on that are due before the limit. Those passed count as
    /// served, as far as [`serve`](Self::serve) says: they do not come again when the clock is set back.
    pub(super) fn pass(&self, first: FireTime, limit: Limit) -> Result<Passed, Failure> {
        let passed = self.go_through(first, limit)?;
        if let Some(last) = passed.last {
            self.serve(last, limit.now());
        }
        Ok(passed)
    }

    /// Goes through the same fire times, which do not count as served; but those of a trigger of the
    /// user's do, which is never asked for the same twice, all but the last, which may still run.
    pub(super) fn go_through(&self, first: FireTime, limit: Limit) -> Result<Passed, Failure> {
        let mut passed = Passed { next: Some(first), ..Passed::default() };
        self.leap_on_grid(&mut passed, limit);
        let walk_max = match self.times {
            Times::Trigger(_) => TRIGGER_WALK_MAX,
            _ => CALENDAR_WALK_MAX,
        };
        let mut has_leapt = false;
        let mut walked = 0;
        while let Some(fire) = passed.next.filter(|fire| limit.is_after(fire.due)) {
            passed.note(fire);
            walked += 1;
            passed.next = self.after_passed(fire, limit.now())?;
            if self.asks() && passed.is_cut(limit) {
                self.serve(fire, limit.now());
            }
            if walked >= walk_max && !has_leapt {
                has_leapt = true;
                self.leap_on_calendar(&mut passed, limit)?;
            }
            if walked >= 2 * walk_max {
                break;
            }
        }
        Ok(passed)
    }

    fn after_passed(&self, of: FireTime, now: Now) -> Answer {
        match &self.times {
            Times::Rate { .. } => Ok(self.after_tick(of)),
            Times::Calendar { times, .. } => {
                Ok(times.following(wall_of(of))?.map(|at| self.on_wall(at)))
            }
            Times::Trigger(asking) => {
                let next = asking.ask(|times| times.following_at(wall_of(of), now.wall));
                Ok(next.map(|at| self.on_wall(at)))
            }
            Times::Delay { .. } | Times::Once { .. } | Times::At(_) => Ok(None),
        }
    }

    /// Counts at once the points of a grid that are due before the limit whatever their jitter.
    fn leap_on_grid(&self, passed: &mut Passed, limit: Limit) {
        let (Times::Rate { period, .. }, Some(first)) = (&self.times, passed.next) else { return };
        let (first, period) = (tick_of(first).as_nanos(), nanos(*period).max(1));
        let room = limit.now().tick.as_nanos().saturating_sub(first);
        let Some(count) = room.saturating_sub(nanos(self.jitter)).checked_div(period) else {
            return;
        };
        if count == 0 {
            return;
        }
        let point = |number: u64| self.on_tick(Tick::from_nanos(first + number * period));
        passed.count += count;
        passed.last = Some(point(count - 1));
        passed.last_but_one = count.checked_sub(2).map(point);
        passed.next = self.after_tick(point(count - 1));
    }

    /// Goes on with the last two before the limit, when there are too many fire times to go through: two,
    /// because whoever runs the last skips up to the other.
    fn leap_on_calendar(&self, passed: &mut Passed, limit: Limit) -> Result<(), Failure> {
        let (Times::Calendar { times, .. }, Some(next)) = (&self.times, passed.next) else {
            return Ok(());
        };
        let until = limit.now().wall - self.jitter;
        // Of two in a row after an instant, the first, if both are before the limit. What has run under a
        // clock that was set back since is none of them.
        let pair_after = |at: WallTime| -> Result<Option<WallTime>, Failure> {
            let Some(first) = times.following(at)? else { return Ok(None) };
            let second = times.following(first)?;
            Ok(second.filter(|second| *second < until).map(|_| first))
        };
        let (mut low, mut high) = (wall_of(next), until);
        while high.since(low) > Duration::from_nanos(1) {
            let middle = low + high.since(low) / 2;
            match pair_after(middle)? {
                Some(first) => (low, passed.next) = (middle, Some(self.on_wall(first))),
                None => high = middle,
            }
        }
        Ok(())
    }
}

impl Passed {
    /// Whether there are more before the limit; in the end, more than are gone through at once.
    pub(super) fn is_cut(&self, limit: Limit) -> bool {
        self.next.is_some_and(|next| limit.is_after(next.due))
    }

    fn note(&mut self, fire: FireTime) {
        self.count += 1;
        self.last_but_one = self.last.replace(fire);
    }
}

impl Limit {
    pub(super) fn now(self) -> Now {
        match self {
            Self::Before(now) | Self::UpTo(now) => now,
        }
    }

    /// The earlier of two, by both clocks.
    pub(super) fn or_earlier(self, other: Self) -> Self {
        let (this, that) = (self.now(), other.now());
        let wall = this.wall.min(that.wall);
        let is_other = (that.tick, matches!(other, Self::UpTo(_)))
            < (this.tick, matches!(self, Self::UpTo(_)));
        match if is_other { other } else { self } {
            Self::Before(now) => Self::Before(Now { wall, ..now }),
            Self::UpTo(now) => Self::UpTo(Now { wall, ..now }),
        }
    }

    pub(super) fn is_after(self, due: Due) -> bool {
        match (self, due) {
            (_, Due::NEVER) => false,
            (Self::Before(now), Due::Tick(tick)) => tick < now.tick,
            (Self::Before(now), Due::Wall(wall)) => wall < now.wall,
            (Self::UpTo(now), due) => due.is_reached(now),
        }
    }
}
