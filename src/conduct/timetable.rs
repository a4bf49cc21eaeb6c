//! The fire times of one rule, one after the other.
//!
//! It reads no clock and knows no policy. It may ask a trigger that is user code, and then it is never
//! used under a lock: see [`Timetable::asks`].

use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Due;
use scheduler_core::Failure;
use scheduler_core::Now;
use scheduler_core::Tick;
use scheduler_core::WallTime;
use scheduler_core::trigger::CronTrigger;
use scheduler_core::trigger::FireTimes;

use super::asking::Asking;
use super::chance::Chance;
use super::chance::Draw;
use super::rule::Rule;

/// Fire times of cron are at least this far apart.
const CRON_PERIOD: Duration = Duration::from_secs(1);

/// How late a fire time may start without being missed: Quartz's threshold.
pub(super) const MISSED_AFTER: Duration = Duration::from_secs(60);

/// A fire time, and the instant at which it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FireTime {
    /// What the rule asks for.
    pub(super) at: Due,
    /// That, and jitter.
    pub(super) due: Due,
}

impl FireTime {
    /// That of a run by hand, which is never late: it is due when it starts.
    pub(super) fn manual(now: Now) -> Self {
        let at = Due::Wall(now.wall);
        Self { at, due: at }
    }

    /// Whether it is later than another one of the same rule.
    pub(super) fn is_after(self, other: Self) -> bool {
        match (self.at, other.at) {
            (Due::Tick(this), Due::Tick(other)) => this > other,
            (Due::Wall(this), Due::Wall(other)) => this > other,
            _ => false,
        }
    }
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
    Rate {
        period: Duration,
        initial_delay: Duration,
        first: Tick,
    },
    Delay {
        delay: Duration,
        initial_delay: Duration,
        number: u64,
    },
    Once {
        delay: Duration,
    },
    At(WallTime),
    /// And when the task was taken up. A look ahead holds its times, too, and has none of them served.
    Calendar {
        trigger: Arc<CronTrigger>,
        times: Arc<FireTimes>,
        since: Now,
    },
    Trigger(Box<Asking>),
}

impl Timetable {
    pub(super) fn new(rule: &Rule, jitter: Duration, chance: Chance) -> Self {
        let times = match rule {
            Rule::Cron(trigger) => Times::Calendar {
                trigger: Arc::clone(trigger),
                times: Arc::new(FireTimes::new(Arc::clone(trigger))),
                since: Now { tick: Tick::ZERO, wall: WallTime::from_nanos(0) },
            },
            Rule::FixedRate { period, initial_delay } => {
                let initial_delay = initial_delay.unwrap_or_default();
                Times::Rate { period: *period, initial_delay, first: Tick::ZERO }
            }
            Rule::FixedDelay { delay, initial_delay } => {
                let initial_delay = initial_delay.unwrap_or_default();
                Times::Delay { delay: *delay, initial_delay, number: 0 }
            }
            Rule::Once { delay } => Times::Once { delay: *delay },
            Rule::At(at) => Times::At(*at),
            Rule::None => Times::Once { delay: Duration::MAX },
            Rule::Custom(trigger) => Times::Trigger(Box::new(Asking::new(Arc::clone(trigger)))),
        };
        Self { times, jitter, chance }
    }

    /// Whether its answers come from a trigger of the user's, which is not to be asked under a lock.
    pub(super) fn asks(&self) -> bool {
        matches!(self.times, Times::Trigger(_))
    }

    /// Whether fire times can pass while a run of the task is in progress or cannot start.
    pub(super) fn goes_on_by_itself(&self) -> bool {
        !matches!(self.times, Times::Delay { .. } | Times::Once { .. } | Times::At(_))
    }

    pub(super) fn is_once(&self) -> bool {
        matches!(self.times, Times::Once { .. } | Times::At(_))
    }

    /// Whether a fire time is due and was not missed, as far as can be told at once.
    #[inline]
    pub(super) fn is_in_time(&self, fire: &FireTime, now: &Now) -> bool {
        match (&self.times, fire.due) {
            (_, Due::NEVER) => false,
            (Times::Rate { period, .. }, Due::Tick(tick)) => {
                let patience = (*period).min(MISSED_AFTER);
                self.jitter.is_zero() && tick <= now.tick && now.tick < tick + patience
            }
            (Times::Delay { .. }, due) => due.is_reached(*now),
            (Times::Calendar { .. }, Due::Wall(wall)) => {
                self.jitter.is_zero() && wall <= now.wall && now.wall.since(wall) < CRON_PERIOD
            }
            _ => false,
        }
    }

    /// The next point of a grid without jitter, where it has not come before a run ended.
    #[inline]
    pub(super) fn next_on_grid(&self, of: &FireTime, ended: Tick) -> Option<Tick> {
        match (&self.times, of.at) {
            (Times::Rate { period, .. }, Due::Tick(tick)) if self.jitter.is_zero() => {
                let next = tick + *period;
                (ended <= next).then_some(next)
            }
            _ => None,
        }
    }

    /// The fire time after one whose run has just ended, where that can be told at once, and it has not
    /// come before.
    pub(super) fn next_in_time(
        &mut self,
        of: FireTime,
        started: &Now,
        ended: &Now,
    ) -> Option<FireTime> {
        match &self.times {
            Times::Rate { .. } | Times::Once { .. } | Times::At(_) | Times::Trigger(_) => None,
            Times::Delay { .. } => Some(self.after_delay(*ended)),
            Times::Calendar { .. } => self.next_by_calendar(of, started, ended),
        }
    }

    fn next_by_calendar(&self, of: FireTime, started: &Now, ended: &Now) -> Option<FireTime> {
        let (Times::Calendar { times, .. }, at) = (&self.times, wall_of(of)) else { return None };
        if !self.jitter.is_zero() || ended.wall < at {
            return None;
        }
        self.serve(of, *started);
        let next = times.following(at).ok()??;
        (ended.wall <= next).then(|| self.on_wall(next))
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
            Times::At(at) => {
                let delay = at.since(now.wall);
                let at = now.tick + delay;
                Ok(Some(self.on_tick(at)))
            }
            Times::Calendar { times, since, .. } => {
                *since = now;
                Ok(times.first(now.wall)?.map(|at| self.on_wall(at)))
            }
            Times::Trigger(asking) => {
                Ok(asking.ask(|times| times.first(now.wall)).map(|at| self.on_wall(at)))
            }
        }
    }

    /// The fire time after a run that has just ended.
    pub(super) fn after_run(&mut self, of: FireTime, started: Now, ended: Now) -> Answer {
        match &self.times {
            Times::Rate { .. } => Ok(self.after_tick(of)),
            Times::Delay { .. } => Ok(Some(self.after_delay(ended))),
            Times::Once { .. } | Times::At(_) => Ok(None),
            Times::Calendar { times, .. } => {
                let at = wall_of(of);
                self.serve(of, started);
                let next =
                    if ended.wall < at { times.renew(ended.wall) } else { times.following(at) };
                Ok(next?.map(|at| self.on_wall(at)))
            }
            Times::Trigger(asking) => {
                let ask =
                    |times: &FireTimes| times.after_run(wall_of(of), started.wall, ended.wall);
                Ok(asking.ask(ask).map(|at| self.on_wall(at)))
            }
        }
    }

    /// What a trigger of the user's that could not answer says now.
    pub(super) fn ask_again(&self, now: Now) -> Option<FireTime> {
        let Times::Trigger(asking) = &self.times else { return None };
        asking.ask(|times| times.ask_again(now.wall)).map(|at| self.on_wall(at))
    }

    /// The trigger of the user's, if it could not answer the last question.
    pub(super) fn failed(&self) -> Option<&Asking> {
        match &self.times {
            Times::Trigger(asking) if asking.has_failed() => Some(asking),
            _ => None,
        }
    }

    /// Has a fire time count as served, and those before it that time has passed over since the last was.
    ///
    /// How much time has passed the monotonic clock says. What the wall clock jumps over, and is skipped
    /// for that, comes again when it is set right: else it would be a silence of years when it was wrong
    /// by years for a moment.
    pub(super) fn serve(&self, fire: FireTime, at: Now) {
        match &self.times {
            Times::Calendar { times, since, .. } => {
                times.serve(wall_of(fire), since.wall + at.tick.since(since.tick));
            }
            Times::Trigger(asking) => asking.times.serve(wall_of(fire), at.wall),
            Times::Rate { .. } | Times::Delay { .. } | Times::Once { .. } | Times::At(_) => {}
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
            // It has come, though its jitter may not be over.
            _ if pending.at.is_reached(now) => return pending,
            Times::Calendar { times, .. } => &**times,
            Times::Trigger(asking) if is_set_back => &asking.times,
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
            Times::Calendar { .. } if self.jitter.is_zero() && late < CRON_PERIOD => None,
            Times::Calendar { times, .. } => {
                times.following(wall_of(of))?.map(|at| self.on_wall(at))
            }
            // A trigger is asked once a run is over, and not before.
            Times::Trigger(_) | Times::Delay { .. } | Times::Once { .. } | Times::At(_) => None,
        };
        Ok(next.is_some_and(|next| next.due.is_reached(now) && next.due != Due::NEVER))
    }

    /// The next point of a grid; the end of time is never reached.
    pub(super) fn after_tick(&self, of: FireTime) -> Option<FireTime> {
        let Times::Rate { period, .. } = &self.times else { return None };
        Some(self.on_tick(tick_of(of) + *period))
    }

    pub(super) fn on_tick(&self, at: Tick) -> FireTime {
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

    pub(super) fn on_wall(&self, at: WallTime) -> FireTime {
        if self.jitter.is_zero() {
            return FireTime { at: Due::Wall(at), due: Due::Wall(at) };
        }
        let nanos = at.as_nanos();
        let second = nanos.div_euclid(1_000_000_000).cast_unsigned();
        let draw = Draw::Jitter(second, nanos.rem_euclid(1_000_000_000) as u32);
        let jitter = self.chance.part_of(self.jitter, draw);
        FireTime { at: Due::Wall(at), due: Due::Wall(at + jitter) }
    }
}

/// How long ago an instant was.
pub(super) fn late(due: Due, now: Now) -> Duration {
    match due {
        Due::Tick(tick) => now.tick.since(tick),
        Due::Wall(wall) => now.wall.since(wall),
    }
}

pub(super) fn tick_of(fire: FireTime) -> Tick {
    match fire.at {
        Due::Tick(tick) => tick,
        Due::Wall(_) => Tick::MAX,
    }
}

pub(super) fn wall_of(fire: FireTime) -> WallTime {
    match fire.at {
        Due::Wall(wall) => wall,
        Due::Tick(_) => WallTime::MAX,
    }
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
