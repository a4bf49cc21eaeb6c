//! The fire times of one rule: arithmetic without a clock; jitter.

use std::sync::Arc;
use std::time::Duration;

use scheduler_core::{Due, Now, Tick, WallTime};

use crate::task::fired_intervals::FiredIntervals;
use crate::task::policy::Policy;
use crate::task::rule::Rule;

/// The number of fire times of a cron expression that are counted one by one; more are "at least" that many.
const COUNTED_MAX: u64 = 10_000;

/// A fire time, and when it is due: its jitter later. It *comes* when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FireTime {
    pub(super) at: Due,
    pub(super) due: Due,
}

/// Consecutive fire times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: FireTime,
    pub(super) last: FireTime,
    /// The one before the last; the first where there is one only.
    last_but_one: FireTime,
    pub(super) count: u64,
    /// True if there are more than were counted.
    pub(super) at_least: bool,
}

impl Range {
    pub(super) fn one(fire: FireTime) -> Self {
        Self { first: fire, last: fire, last_but_one: fire, count: 1, at_least: false }
    }

    pub(super) fn push(&mut self, fire: FireTime) {
        self.last_but_one = std::mem::replace(&mut self.last, fire);
        self.count += 1;
    }

    /// Returns the range without its last fire time.
    pub(super) fn without_last(self) -> Option<Self> {
        let count = self.count - 1;
        (count > 0).then_some(Self { last: self.last_but_one, count, ..self })
    }
}

/// Up to when fire times come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    Before(Now),
    UpTo(Now),
}

impl Limit {
    #[inline]
    pub(super) fn includes(self, due: Due) -> bool {
        match (self, due) {
            (_, Due::NEVER) => false,
            (Self::Before(now), Due::Tick(tick)) => tick < now.tick,
            (Self::Before(now), Due::Wall(wall)) => wall < now.wall,
            (Self::UpTo(now), due) => due.is_reached(now),
        }
    }

    fn now(self) -> Now {
        match self {
            Self::Before(now) | Self::UpTo(now) => now,
        }
    }
}

/// The fire times of one rule. Those of a custom trigger come from outside: it is the user's code, and not called here.
#[derive(Clone, Debug)]
pub(super) struct FireTimes {
    rule: Rule,
    policy: Arc<Policy>,
    jitter_source: SeededJitter,
    /// The first fire time of a fixed rate.
    grid_start: Tick,
    /// The number of delays of a fixed delay that have begun.
    delays: u64,
}

impl FireTimes {
    pub(super) fn new(rule: Rule, policy: Arc<Policy>, jitter_source: SeededJitter) -> Self {
        Self { rule, policy, jitter_source, grid_start: Tick::ZERO, delays: 0 }
    }

    pub(super) fn rule(&self) -> &Rule {
        &self.rule
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(super) fn jitter_source(&self) -> SeededJitter {
        self.jitter_source
    }

    /// Replaces the rule, and returns the old one: a trigger is the user's, and is dropped outside the lock.
    pub(super) fn replace_rule(&mut self, rule: Rule) -> Rule {
        (self.grid_start, self.delays) = (Tick::ZERO, 0);
        std::mem::replace(&mut self.rule, rule)
    }

    /// Returns the first fire time of a task that begins now. A custom trigger is not asked here.
    pub(super) fn first(&mut self, now: Now, fired: &FiredIntervals) -> Option<FireTime> {
        match self.rule {
            Rule::FixedRate { initial_delay, .. } => {
                self.grid_start = now.tick + initial_delay.unwrap_or_default();
                Some(self.on_tick(self.grid_start))
            }
            Rule::FixedDelay { initial_delay, .. } => {
                Some(self.on_tick(now.tick + initial_delay.unwrap_or_default()))
            }
            Rule::Once { delay } => Some(self.on_tick(now.tick + delay)),
            Rule::Job | Rule::None => Some(self.on_tick(Tick::MAX)),
            Rule::At(at) => Some(self.on_wall(at)),
            Rule::Cron(_) => self.first_unfired_after(now.wall, fired),
            Rule::Custom(_) => None,
        }
    }

    /// Returns the fire time of a fixed delay that begins now.
    pub(super) fn after_delay(&mut self, now: Now) -> Option<FireTime> {
        let Rule::FixedDelay { delay, .. } = self.rule else { return None };
        self.delays += 1;
        Some(self.on_tick(now.tick + delay))
    }

    /// Returns the first fire time of a cron expression after an instant that has not fired.
    pub(super) fn first_unfired_after(
        &self,
        instant: WallTime,
        fired: &FiredIntervals,
    ) -> Option<FireTime> {
        let mut next = self.cron_after(instant)?;
        while let Some(end) = fired.end_of_interval_at(next) {
            next = self.cron_after(end)?;
        }
        Some(self.on_wall(next))
    }

    /// Returns the next point of a grid without jitter, if that has not come yet and this one is at most so late.
    #[inline]
    pub(super) fn next_on_grid(
        &self,
        fire: &FireTime,
        now: &Now,
        late_max: Duration,
    ) -> Option<FireTime> {
        let (Rule::FixedRate { period, .. }, Due::Tick(at)) = (&self.rule, fire.at) else {
            return None;
        };
        if !self.policy.jitter.is_zero() || now.tick < at || now.tick.since(at) > late_max {
            return None;
        }
        let next = Due::Tick(at + *period);
        (!next.is_reached(*now)).then_some(FireTime { at: next, due: next })
    }

    /// Takes the fire times from `first` on that come within the limit, and the one after them. Those of a cron expression
    /// end at one that has fired.
    pub(super) fn take(
        &self,
        first: FireTime,
        limit: Limit,
        fired: &FiredIntervals,
    ) -> (Range, Option<FireTime>) {
        match &self.rule {
            Rule::FixedRate { .. } => self.take_on_grid(first, limit),
            Rule::Cron(_) => self.take_by_cron(first, limit, fired),
            _ => (Range::one(first), None),
        }
    }

    /// Returns the fire time after another one of the same range.
    pub(super) fn following(&self, fire: FireTime) -> Option<FireTime> {
        match (&self.rule, fire.at) {
            (Rule::FixedRate { period, .. }, Due::Tick(at)) => Some(self.on_tick(at + *period)),
            (Rule::Cron(_), Due::Wall(at)) => self.cron_after(at).map(|next| self.on_wall(next)),
            _ => None,
        }
    }

    fn take_on_grid(&self, first: FireTime, limit: Limit) -> (Range, Option<FireTime>) {
        let (Rule::FixedRate { period, .. }, Due::Tick(start)) = (&self.rule, first.at) else {
            return (Range::one(first), None);
        };
        let (start, period) = (start.as_nanos(), nanos(*period).max(1));
        let point = |number: u64| {
            self.on_tick(Tick::from_nanos(start.saturating_add(number.saturating_mul(period))))
        };
        let mut last = limit.now().tick.as_nanos().saturating_sub(start) / period;
        // Jitter is shorter than the period, so only the last one may not have come.
        while last > 0 && !limit.includes(point(last).due) {
            last -= 1;
        }
        let range = Range {
            first,
            last: if last == 0 { first } else { point(last) },
            last_but_one: if last <= 1 { first } else { point(last - 1) },
            count: last + 1,
            at_least: false,
        };
        (range, Some(point(last + 1)))
    }

    fn take_by_cron(
        &self,
        first: FireTime,
        limit: Limit,
        fired: &FiredIntervals,
    ) -> (Range, Option<FireTime>) {
        let mut range = Range::one(first);
        let Due::Wall(mut at) = first.at else { return (range, None) };
        while range.count < COUNTED_MAX {
            let Some(next) = self.cron_after(at) else { return (range, None) };
            let fire = self.on_wall(next);
            if fired.end_of_interval_at(next).is_some() {
                return (range, self.first_unfired_after(at, fired));
            }
            if !limit.includes(fire.due) {
                return (range, Some(fire));
            }
            range.push(fire);
            at = next;
        }
        if let Some((last_but_one, last)) = self.last_two_by_cron(at, limit, fired) {
            range.push(last_but_one);
            range.push(last);
            range.at_least = true;
        }
        let Due::Wall(at) = range.last.at else { return (range, None) };
        (range, self.first_unfired_after(at, fired))
    }

    /// Finds the last two fire times within the limit by bisection.
    fn last_two_by_cron(
        &self,
        from: WallTime,
        limit: Limit,
        fired: &FiredIntervals,
    ) -> Option<(FireTime, FireTime)> {
        let pair_after = |instant: WallTime| {
            let first = self.first_unfired_after(instant, fired)?;
            let Due::Wall(at) = first.at else { return None };
            let second = self.first_unfired_after(at, fired)?;
            limit.includes(second.due).then_some((first, second))
        };
        let (mut low, mut high, mut found) = (from, limit.now().wall, None);
        while high.since(low) > Duration::from_nanos(1) {
            let middle = low + high.since(low) / 2;
            match pair_after(middle) {
                Some(pair) => (low, found) = (middle, Some(pair)),
                None => high = middle,
            }
        }
        found
    }

    fn cron_after(&self, instant: WallTime) -> Option<WallTime> {
        let Rule::Cron(trigger) = &self.rule else { return None };
        let next = match &self.policy.skip_days {
            None => trigger.next_after(instant.to_utc()),
            Some(days) => days.next_after(trigger, instant.to_utc()),
        };
        next.map(WallTime::from).filter(|next| *next != WallTime::MAX)
    }

    fn on_tick(&self, at: Tick) -> FireTime {
        let due = if self.policy.jitter.is_zero() { at } else { at + self.jitter_at(at) };
        FireTime { at: Due::Tick(at), due: Due::Tick(due) }
    }

    fn jitter_at(&self, at: Tick) -> Duration {
        let number = match &self.rule {
            Rule::FixedRate { period, .. } => {
                nanos(at.since(self.grid_start)).checked_div(nanos(*period)).unwrap_or_default()
            }
            Rule::FixedDelay { .. } => self.delays,
            _ => 0,
        };
        self.jitter_source.part_of(self.policy.jitter, JitterKind::FireTime(number, 0))
    }

    pub(super) fn on_wall(&self, at: WallTime) -> FireTime {
        if self.policy.jitter.is_zero() {
            return FireTime { at: Due::Wall(at), due: Due::Wall(at) };
        }
        let nanos = at.as_nanos();
        let second = nanos.div_euclid(1_000_000_000).cast_unsigned();
        let draw = JitterKind::FireTime(second, nanos.rem_euclid(1_000_000_000) as u32);
        let jitter = self.jitter_source.part_of(self.policy.jitter, draw);
        FireTime { at: Due::Wall(at), due: Due::Wall(at + jitter) }
    }

    /// Returns the least distance between fire times, for the distance of reports.
    pub(super) fn period(&self) -> Duration {
        match &self.rule {
            Rule::FixedRate { period, .. } => *period,
            _ => Duration::from_secs(1),
        }
    }

    /// Returns true if fire times come by themselves, whether earlier ones run or not.
    pub(super) fn goes_on_by_itself(&self) -> bool {
        matches!(self.rule, Rule::FixedRate { .. } | Rule::Cron(_))
    }

    pub(super) fn is_once(&self) -> bool {
        matches!(self.rule, Rule::Once { .. } | Rule::At(_) | Rule::Job | Rule::None)
    }

    /// Returns true if fire times are known for any time that passes: a custom trigger may give one that has passed.
    pub(super) fn is_cron(&self) -> bool {
        matches!(self.rule, Rule::Cron(_))
    }

    pub(super) fn is_custom(&self) -> bool {
        matches!(self.rule, Rule::Custom(_))
    }

    /// Returns true if another rule is the same cron expression in the same zone.
    pub(super) fn has_calendar_of(&self, other: &Rule) -> bool {
        match (&self.rule, other) {
            (Rule::Cron(one), Rule::Cron(other)) => {
                one.expression() == other.expression() && one.zone() == other.zone()
            }
            _ => false,
        }
    }

    /// Returns true if fire times are instants of the wall clock.
    pub(super) fn is_by_wall(&self) -> bool {
        self.is_cron() || self.is_custom()
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The source of jitter of one task: a hash of its name, a seed and the draw.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeededJitter {
    base: u64,
}

/// The purpose of a draw. Draws for different purposes are independent.
#[derive(Clone, Copy, Debug)]
pub(super) enum JitterKind {
    /// The jitter of a fire time on a grid: its number, or its instant in whole seconds and nanoseconds.
    FireTime(u64, u32),
    /// The wait after an attempt: the number of the run and of the attempt.
    Retry(u64, u32),
}

impl SeededJitter {
    pub(super) fn new(seed: u64, task: &str) -> Self {
        let name = task.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self { base: mix(name ^ mix(seed)) }
    }

    /// Returns a part of `[0, span)`, zero for an empty span.
    pub(super) fn part_of(self, span: Duration, draw: JitterKind) -> Duration {
        let (purpose, major, minor) = match draw {
            JitterKind::FireTime(major, minor) => (1, major, minor),
            JitterKind::Retry(major, minor) => (2, major, minor),
        };
        let hash = mix(mix(self.base ^ purpose ^ major.rotate_left(8)) ^ u64::from(minor));
        let span = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let part = (u128::from(hash) * u128::from(span)) >> 64;
        Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX))
    }
}

/// Spreads every bit of a number over all bits, one to one (the finalizer of `SplitMix64`).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_part_is_always_the_same_and_no_two_purposes_tasks_or_seeds_share_it() {
        let draws = [
            SeededJitter::new(0, "a").part_of(MINUTE, JitterKind::FireTime(7, 0)),
            SeededJitter::new(0, "b").part_of(MINUTE, JitterKind::FireTime(7, 0)),
            SeededJitter::new(1, "a").part_of(MINUTE, JitterKind::FireTime(7, 0)),
            SeededJitter::new(0, "a").part_of(MINUTE, JitterKind::FireTime(8, 0)),
            SeededJitter::new(0, "a").part_of(MINUTE, JitterKind::FireTime(7, 1)),
            SeededJitter::new(0, "a").part_of(MINUTE, JitterKind::Retry(7, 0)),
        ];
        for (number, draw) in draws.iter().enumerate() {
            assert!(*draw < MINUTE);
            assert!(!draws[..number].contains(draw), "{draws:?}");
        }
        // A change of this number would move every fire time of every user.
        assert_eq!(draws[0], Duration::from_nanos(58_719_520_513));
    }

    #[test]
    fn parts_are_spread_over_the_whole_span() {
        let jitter_source = SeededJitter::new(0, "report");
        let mut tenths = [0_u32; 10];
        for number in 0..10_000 {
            let part =
                jitter_source.part_of(Duration::from_nanos(10), JitterKind::FireTime(number, 0));
            tenths[usize::try_from(part.as_nanos()).unwrap()] += 1;
        }
        assert!(tenths.iter().all(|count| (900..1_100).contains(count)), "{tenths:?}");
        assert_eq!(jitter_source.part_of(Duration::ZERO, JitterKind::Retry(1, 1)), Duration::ZERO);
    }
}
