//! The fire times of one rule, one after the other.
//!
//! It reads no clock and knows no policy. It asks triggers, which may be user code, so it is never used
//! under a lock when its rule has one: see [`Timetable::asks`].

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::TimeDelta;
use chrono::Utc;
use scheduler_core::Due;
use scheduler_core::Failure;
use scheduler_core::Now;
use scheduler_core::Tick;
use scheduler_core::Trigger;
use scheduler_core::TriggerContext;
use scheduler_core::trigger::CronTrigger;
use scheduler_core::trigger::FireTimes;

use super::chance::Chance;
use super::chance::Draw;
use super::rule::Rule;

/// How many fire times of a cron expression are gone through one by one, and so counted exactly.
const CALENDAR_WALK_MAX: u64 = 10_000;

/// How many answers of a trigger of the user's are gone through at once.
const TRIGGER_WALK_MAX: u64 = 1_000;

/// A fire time, and the instant at which it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FireTime {
    /// What the rule asks for.
    pub(super) at: Due,
    /// That, and jitter.
    pub(super) due: Due,
}

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

/// A fire time, none when there is none any more, or why the trigger could not say.
pub(super) type Answer = Result<Option<FireTime>, Failure>;

/// The fire times of one rule.
#[derive(Debug)]
pub(super) struct Timetable {
    pub(super) times: Times,
    pub(super) jitter: Duration,
    pub(super) chance: Chance,
}

#[derive(Debug)]
pub(super) enum Times {
    Rate { period: Duration, initial_delay: Duration, first: Tick },
    Delay { delay: Duration, initial_delay: Duration, number: u64 },
    Once { delay: Duration },
    Calendar { trigger: Arc<CronTrigger>, times: FireTimes },
    Trigger(FireTimes),
}

/// A trigger that others hold, too.
#[derive(Debug)]
pub(super) struct Held<T: ?Sized>(pub(super) Arc<T>);

impl<T: Trigger + ?Sized> Trigger for Held<T> {
    fn next_fire_time(&self, context: &TriggerContext) -> Option<DateTime<Utc>> {
        self.0.next_fire_time(context)
    }
}

impl Timetable {
    pub(super) fn new(rule: &Rule, jitter: Duration, chance: Chance) -> Self {
        let times = match rule {
            Rule::Cron(trigger) => Times::Calendar {
                trigger: Arc::clone(trigger),
                times: FireTimes::new(Held(Arc::clone(trigger))),
            },
            Rule::FixedRate { period, initial_delay } => {
                Times::Rate { period: *period, initial_delay: *initial_delay, first: Tick::ZERO }
            }
            Rule::FixedDelay { delay, initial_delay } => {
                Times::Delay { delay: *delay, initial_delay: *initial_delay, number: 0 }
            }
            Rule::Once { delay } => Times::Once { delay: *delay },
            Rule::Custom(trigger) => Times::Trigger(FireTimes::new(Held(Arc::clone(trigger)))),
        };
        Self { times, jitter, chance }
    }

    /// Whether its answers come from a trigger, which is not to be asked under a lock.
    pub(super) fn asks(&self) -> bool {
        matches!(self.times, Times::Calendar { .. } | Times::Trigger(_))
    }

    /// Whether fire times can pass while a run of the task is in progress or cannot start.
    pub(super) fn goes_on_by_itself(&self) -> bool {
        !matches!(self.times, Times::Delay { .. } | Times::Once { .. })
    }

    pub(super) fn is_once(&self) -> bool {
        matches!(self.times, Times::Once { .. })
    }

    /// The first fire time of a task that starts now.
    pub(super) fn first(&mut self, now: Now) -> Answer {
        match &mut self.times {
            Times::Rate { initial_delay, first, .. } => {
                *first = now.tick + *initial_delay;
                let first = *first;
                Ok(Some(self.on_tick(first)))
            }
            Times::Delay { initial_delay: delay, .. } | Times::Once { delay } => {
                let at = now.tick + *delay;
                Ok(Some(self.on_tick(at)))
            }
            Times::Calendar { times, .. } | Times::Trigger(times) => {
                Ok(times.first(now.wall)?.map(|at| self.on_wall(at)))
            }
        }
    }

    /// The fire time after a run that has just ended.
    pub(super) fn after_run(&mut self, of: FireTime, started: Now, ended: Now) -> Answer {
        match &mut self.times {
            Times::Rate { .. } => Ok(self.after_tick(of)),
            Times::Delay { .. } => Ok(Some(self.after_delay(ended))),
            Times::Once { .. } => Ok(None),
            Times::Calendar { times, .. } => {
                let at = wall_of(of);
                times.serve(at, started.wall);
                let next =
                    if ended.wall < at { times.renew(ended.wall) } else { times.following(at) };
                Ok(next?.map(|at| self.on_wall(at)))
            }
            Times::Trigger(times) => {
                let next = times.after_run(wall_of(of), started.wall, ended.wall)?;
                Ok(next.map(|at| self.on_wall(at)))
            }
        }
    }

    /// The fire time of a fixed delay after a run, or what stands for one, that has ended now.
    pub(super) fn after_delay(&mut self, ended: Now) -> FireTime {
        let Times::Delay { delay, number, .. } = &mut self.times else {
            return FireTime { at: Due::NEVER, due: Due::NEVER };
        };
        *number += 1;
        let at = ended.tick + *delay;
        self.on_tick(at)
    }

    /// The fire time of a waiting task anew, when the wall clock may have been set back.
    pub(super) fn renewed(&self, pending: FireTime, now: Now, is_set_back: bool) -> FireTime {
        let times = match &self.times {
            _ if pending.due.is_reached(now) => return pending,
            Times::Calendar { times, .. } if is_set_back || !pending.at.is_reached(now) => times,
            Times::Trigger(times) if is_set_back => times,
            _ => return pending,
        };
        let renewed = times.renew(now.wall).ok().flatten();
        renewed.map_or(pending, |at| self.on_wall(at))
    }

    /// Whether the fire time after this one, which is late, is due too.
    pub(super) fn next_has_come(
        &self,
        of: FireTime,
        late: Duration,
        now: Now,
    ) -> Result<bool, Failure> {
        let next = match &self.times {
            Times::Rate { .. } => self.after_tick(of),
            // Fire times of cron are at least a second apart.
            Times::Calendar { .. } if self.jitter.is_zero() && late < Duration::from_secs(1) => {
                None
            }
            Times::Calendar { times, .. } => {
                times.following(wall_of(of))?.map(|at| self.on_wall(at))
            }
            // A trigger is asked once a run is over, and not before.
            Times::Trigger(_) | Times::Delay { .. } | Times::Once { .. } => None,
        };
        Ok(next.is_some_and(|next| next.due.is_reached(now) && next.due != Due::NEVER))
    }

    /// Goes through the fire times from `first` on that are due before the limit. Those passed count as
    /// served: none of them comes again when the wall clock is set back.
    pub(super) fn pass(&self, first: FireTime, limit: Limit) -> Result<Passed, Failure> {
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
            if walked >= walk_max && !has_leapt {
                has_leapt = true;
                self.leap_on_calendar(&mut passed, limit);
            }
            if walked >= 2 * walk_max {
                break;
            }
        }
        if let (Times::Calendar { times, .. } | Times::Trigger(times), Some(last)) =
            (&self.times, passed.last)
        {
            times.serve(wall_of(last), limit.now().wall);
        }
        Ok(passed)
    }

    fn after_passed(&self, of: FireTime, now: Now) -> Answer {
        match &self.times {
            Times::Rate { .. } => Ok(self.after_tick(of)),
            Times::Calendar { times, .. } => {
                Ok(times.following(wall_of(of))?.map(|at| self.on_wall(at)))
            }
            Times::Trigger(times) => {
                let next = times.after_run(wall_of(of), now.wall, now.wall)?;
                Ok(next.map(|at| self.on_wall(at)))
            }
            Times::Delay { .. } | Times::Once { .. } => Ok(None),
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

    /// Goes on near the limit, when there are too many fire times to go through.
    fn leap_on_calendar(&self, passed: &mut Passed, limit: Limit) {
        let (Times::Calendar { trigger, .. }, Some(next)) = (&self.times, passed.next) else {
            return;
        };
        let jitter = TimeDelta::from_std(self.jitter).unwrap_or_default();
        let Some(until) = limit.now().wall.checked_sub_signed(jitter) else { return };
        let mut back = TimeDelta::seconds(2);
        while let Some(from) = until.checked_sub_signed(back).filter(|from| *from > wall_of(next)) {
            if let Some(at) = trigger.next_after(from).filter(|at| *at < until) {
                passed.next = Some(self.on_wall(at));
                return;
            }
            back = back * 2;
        }
    }

    /// The next point of a grid; the end of time is never reached.
    pub(super) fn after_tick(&self, of: FireTime) -> Option<FireTime> {
        let Times::Rate { period, .. } = &self.times else { return None };
        Some(self.on_tick(tick_of(of) + *period))
    }

    fn on_tick(&self, at: Tick) -> FireTime {
        let due = if self.jitter.is_zero() { at } else { at + self.jitter_at(at) };
        FireTime { at: Due::Tick(at), due: Due::Tick(due) }
    }

    fn jitter_at(&self, at: Tick) -> Duration {
        let number = match &self.times {
            Times::Rate { period, first, .. } => {
                nanos(at.since(*first)).checked_div(nanos(*period)).unwrap_or_default()
            }
            Times::Delay { number, .. } => *number,
            _ => 0,
        };
        self.chance.part_of(self.jitter, Draw::Jitter(number, 0))
    }

    pub(super) fn on_wall(&self, at: DateTime<Utc>) -> FireTime {
        let jitter = if self.jitter.is_zero() {
            Duration::ZERO
        } else {
            let second = at.timestamp().cast_unsigned();
            self.chance.part_of(self.jitter, Draw::Jitter(second, at.timestamp_subsec_nanos()))
        };
        let due = TimeDelta::from_std(jitter).ok().and_then(|jitter| at.checked_add_signed(jitter));
        FireTime { at: Due::Wall(at), due: Due::Wall(due.unwrap_or(at)) }
    }
}

impl Passed {
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

    pub(super) fn is_after(self, due: Due) -> bool {
        match (self, due) {
            (_, Due::NEVER) => false,
            (Self::Before(now), Due::Tick(tick)) => tick < now.tick,
            (Self::Before(now), Due::Wall(wall)) => wall < now.wall,
            (Self::UpTo(now), due) => due.is_reached(now),
        }
    }
}

fn tick_of(fire: FireTime) -> Tick {
    match fire.at {
        Due::Tick(tick) => tick,
        Due::Wall(_) => Tick::MAX,
    }
}

pub(super) fn wall_of(fire: FireTime) -> DateTime<Utc> {
    match fire.at {
        Due::Wall(wall) => wall,
        Due::Tick(_) => DateTime::<Utc>::MAX_UTC,
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
