//! The fire times of one rule, and which are decided.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::Now;
use scheduler_core::trigger::CronTrigger;

use crate::observe::SkipReason;
use crate::task::Rule;

/// More starts than these of a calendar are not remembered one by one.
const STARTED_MAX: usize = 30_000;

/// From how many on the fire times of a calendar are not counted exactly.
const COUNTED_MAX: u64 = 10_000;

/// The fault in words, if there is one.
pub(super) type Answer = Result<(), String>;

/// An instant in nanoseconds by the monotonic clock, or by the wall clock.
pub(super) type Nanos = i128;

#[derive(Debug)]
pub(super) enum Times {
    Grid(Grid),
    Calendar(Calendar),
    /// It may be earlier by as much as is not known of when a pause ended.
    Delay {
        delay: Nanos,
        next: Nanos,
        slack: Nanos,
        /// The skipped fire time and the reason: the delay begins anew when that is over.
        skipped: Option<(Nanos, SkipReason)>,
    },
    Once {
        at: Nanos,
        is_done: bool,
    },
}

/// The points of a fixed rate: those below the cursor are decided, and those ahead of it.
#[derive(Debug)]
pub(super) struct Grid {
    first: Nanos,
    period: Nanos,
    cursor: Nanos,
    ahead: BTreeSet<Nanos>,
}

#[derive(Debug)]
pub(super) struct Calendar {
    trigger: Arc<CronTrigger>,
    /// The first that is not decided.
    cursor: Option<DateTime<Utc>>,
    ahead: BTreeSet<DateTime<Utc>>,
    /// The fire times that have run: they do not run again when the clock is set back.
    started: BTreeSet<DateTime<Utc>>,
    /// Up to when fire times may have been skipped before the clock was set back: they may be again,
    /// and may run.
    doubtful_until: DateTime<Utc>,
    /// The reading of the wall clock before it was set back: fire times up to it keep their turn.
    kept_until: DateTime<Utc>,
}

pub(super) fn tick(now: &Now) -> Nanos {
    now.tick.as_nanos().into()
}

pub(super) fn wall(now: &Now) -> DateTime<Utc> {
    now.wall.to_utc()
}

pub(super) fn nanos(length: Duration) -> Nanos {
    i128::try_from(length.as_nanos()).expect("no age of the world")
}

/// An instant of an event by the monotonic clock, as the clocks go now.
pub(super) fn tick_of(at: DateTime<Utc>, now: &Now) -> Nanos {
    let from_now = (at - wall(now)).num_nanoseconds().expect("within centuries");
    tick(now) + i128::from(from_now)
}

impl Times {
    pub(super) fn new(rule: &Rule, now: &Now) -> Self {
        let in_ticks = |delay: Duration| tick(now) + nanos(delay);
        match rule {
            Rule::FixedRate { period, initial_delay } => Self::Grid(Grid {
                first: in_ticks(initial_delay.unwrap_or_default()),
                period: nanos(*period),
                cursor: 0,
                ahead: BTreeSet::new(),
            }),
            Rule::Cron(trigger) => Self::Calendar(Calendar {
                trigger: Arc::clone(trigger),
                cursor: trigger.next_after(wall(now)),
                ahead: BTreeSet::new(),
                started: BTreeSet::new(),
                doubtful_until: DateTime::<Utc>::MIN_UTC,
                kept_until: DateTime::<Utc>::MIN_UTC,
            }),
            Rule::FixedDelay { delay, initial_delay } => Self::Delay {
                delay: nanos(*delay),
                next: in_ticks(initial_delay.unwrap_or_default()),
                slack: 0,
                skipped: None,
            },
            Rule::Once { delay } => Self::Once { at: in_ticks(*delay), is_done: false },
            Rule::At(_) | Rule::Custom(_) | Rule::Job | Rule::None => {
                unreachable!("no plan has a trigger of its own")
            }
        }
    }

    pub(super) fn goes_on_by_itself(&self) -> bool {
        matches!(self, Self::Grid(_) | Self::Calendar(_))
    }

    pub(super) fn period(&self) -> Option<Duration> {
        let Self::Grid(grid) = self else { return None };
        Some(Duration::from_nanos(u64::try_from(grid.period).expect("no age of the world")))
    }

    /// Returns true if there is no further fire time.
    pub(super) fn are_over(&self) -> bool {
        matches!(self, Self::Once { is_done: true, .. })
    }

    /// A run of the schedule starts; `is_in_order` unless others may have been decided before.
    pub(super) fn start(&mut self, fire: DateTime<Utc>, now: &Now, is_in_order: bool) -> Answer {
        let at = tick_of(fire, now);
        match self {
            Self::Grid(grid) => grid.start(at, is_in_order),
            Self::Calendar(calendar) => calendar.start(fire, is_in_order),
            Self::Delay { next, slack, .. } if at > *next || at < *next - *slack => {
                Err(format!("fire time {at} where {next} follows from the last run"))
            }
            Self::Delay { next, slack, .. } => {
                (*next, *slack) = (Nanos::MAX, 0);
                Ok(())
            }
            Self::Once { at: expected, .. } if at != *expected => {
                Err(format!("fire time {at} instead of {expected}"))
            }
            Self::Once { is_done: true, .. } => Err("a one-time task runs twice".to_owned()),
            Self::Once { is_done, .. } => {
                *is_done = true;
                Ok(())
            }
        }
    }

    /// Fire times are skipped, the last of them this one.
    pub(super) fn skip(
        &mut self,
        (fire, count, why): (DateTime<Utc>, u64, SkipReason),
        now: &Now,
        is_in_order: bool,
    ) -> Answer {
        let at = tick_of(fire, now);
        match self {
            Self::Grid(grid) => grid.skip(at, count),
            Self::Calendar(calendar) => calendar.skip(fire, count, is_in_order),
            Self::Delay { next, slack, skipped, .. }
                if at <= *next && *next - *slack <= at && count == 1 =>
            {
                (*next, *slack, *skipped) = (Nanos::MAX, 0, Some((at, why)));
                Ok(())
            }
            Self::Delay { next, .. } => Err(format!("{count} skipped, {at}, instead of {next}")),
            Self::Once { at: expected, is_done: is_done @ false }
                if why == SkipReason::Rescheduled && at == *expected && count == 1 =>
            {
                *is_done = true;
                Ok(())
            }
            Self::Once { .. } => Err("a one-time task is never skipped".to_owned()),
        }
    }

    /// A run of the schedule has ended.
    pub(super) fn ended(&mut self, now: &Now) {
        if let Self::Delay { delay, next, slack, skipped } = self {
            (*next, *slack, *skipped) = (tick(now) + *delay, 0, None);
        }
    }

    /// The reason for a skip is over; for a pause it is not certain since when.
    pub(super) fn is_over(&mut self, what: SkipReason, now: &Now) {
        if let Self::Delay { delay, next, slack, skipped } = self
            && let Some((at, _)) = skipped.take_if(|(_, why)| *why == what)
        {
            let is_pause = what == SkipReason::Paused;
            (*next, *slack) = (tick(now) + *delay, if is_pause { tick(now) - at } else { 0 });
        }
    }

    /// Returns true if a fire time is undecided that has been due for longer than `jitter`.
    pub(super) fn overdue(&mut self, now: &Now, jitter: Duration) -> Answer {
        let latest = tick(now) - nanos(jitter);
        match self {
            Self::Grid(grid) => match grid.first + grid.cursor * grid.period {
                at if at <= latest => Err(format!("point {}, at {at}, is overdue", grid.cursor)),
                _ => Ok(()),
            },
            Self::Calendar(calendar) => calendar.overdue(wall(now) - jitter),
            Self::Delay { next: at, .. } | Self::Once { at, is_done: false } if *at <= latest => {
                Err(format!("fire time {at} is overdue"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn clock_set_back(&mut self, before: DateTime<Utc>, now: &Now) {
        if let Self::Calendar(calendar) = self {
            calendar.clock_set_back(before, wall(now));
        }
    }

    /// Up to which instant of the wall clock a fire time may have come.
    pub(super) fn has_come_until(&self, now: &Now) -> DateTime<Utc> {
        self.kept_until().max(wall(now))
    }

    /// Up to when fire times had come before the wall clock was set back.
    pub(super) fn kept_until(&self) -> DateTime<Utc> {
        match self {
            Self::Calendar(calendar) => calendar.kept_until,
            _ => DateTime::<Utc>::MIN_UTC,
        }
    }
}

impl Grid {
    fn number(&self, at: Nanos) -> Result<Nanos, String> {
        let since = at - self.first;
        let is_point = since >= 0 && since % self.period == 0;
        is_point.then(|| since / self.period).ok_or_else(|| format!("{at} is not on the grid"))
    }

    fn decide(&mut self, number: Nanos) -> Answer {
        if number < self.cursor || !self.ahead.insert(number) {
            return Err(format!("point {number} is decided twice"));
        }
        while self.ahead.first() == Some(&self.cursor) {
            self.ahead.pop_first();
            self.cursor += 1;
        }
        Ok(())
    }

    fn start(&mut self, at: Nanos, is_in_order: bool) -> Answer {
        let number = self.number(at)?;
        if number == self.cursor && self.ahead.is_empty() {
            self.cursor += 1;
            return Ok(());
        }
        if is_in_order && number > self.cursor {
            return Err(format!("point {number} runs where {} is lost", self.cursor));
        }
        self.decide(number)
    }

    fn skip(&mut self, last: Nanos, count: u64) -> Answer {
        let last = self.number(last)?;
        let first = last + 1 - Nanos::from(count);
        if first == self.cursor && self.ahead.is_empty() {
            self.cursor = last + 1;
            return Ok(());
        }
        // Others between them may have been decided before.
        let is_open = |number: &Nanos| *number == last || !self.ahead.contains(number);
        let open = (self.cursor..=last).rev().filter(is_open);
        let skipped: Vec<_> = open.take(usize::try_from(count).expect("few")).collect();
        if skipped.len() as u64 != count {
            return Err(format!("{count} skipped up to {last}, and others are decided twice"));
        }
        skipped.into_iter().try_for_each(|number| self.decide(number))
    }
}

impl Calendar {
    fn after(&self, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.trigger.next_after(at)
    }

    fn is_decided(&self, at: DateTime<Utc>) -> bool {
        self.ahead.contains(&at) || self.started.contains(&at)
    }

    /// Moves the cursor over what is decided.
    fn settle(&mut self) {
        while let Some(at) = self.cursor.filter(|at| self.is_decided(*at)) {
            self.ahead.remove(&at);
            self.cursor = self.after(at);
        }
        if self.started.len() > STARTED_MAX {
            let kept = self.started.iter().nth(STARTED_MAX / 2).copied();
            self.started = kept.map(|kept| self.started.split_off(&kept)).unwrap_or_default();
        }
    }

    fn start(&mut self, fire: DateTime<Utc>, is_in_order: bool) -> Answer {
        if self.cursor == Some(fire) && self.ahead.is_empty() {
            self.started.insert(fire);
            self.settle();
            return Ok(());
        }
        if self.after(fire - TimeDelta::nanoseconds(1)) != Some(fire) {
            return Err(format!("{fire} is no fire time"));
        }
        if self.ahead.contains(&fire) || !self.started.insert(fire) {
            return Err(format!("{fire} is decided twice"));
        }
        let Some(cursor) = self.cursor else { return Err(format!("{fire} is after the last")) };
        if fire < cursor && fire > self.kept_until {
            return Err(format!("{fire} is decided already"));
        }
        if is_in_order && fire > cursor && fire > self.kept_until {
            self.pass_doubtful();
            if self.cursor.is_some_and(|cursor| cursor < fire) {
                return Err(format!("{fire} runs where {cursor} is lost"));
            }
        }
        self.settle();
        Ok(())
    }

    /// Skips the latest undecided ones up to this one.
    fn skip(&mut self, last: DateTime<Utc>, count: u64, is_in_order: bool) -> Answer {
        let mut undecided = Vec::new();
        let mut at = self.cursor;
        while let Some(fire) = at.filter(|fire| *fire <= last) {
            if !self.is_decided(fire) {
                undecided.push(fire);
            }
            at = self.after(fire);
        }
        if last <= self.kept_until && undecided.last() != Some(&last) {
            // A fire time before the clock was set back keeps its turn, also to be skipped.
            return Ok(());
        }
        if undecided.last() != Some(&last) {
            return Err(format!("{last} is skipped, and no fire time, or decided already"));
        }
        let is_certain = |fire: &&DateTime<Utc>| **fire > self.doubtful_until;
        let certain = undecided.iter().filter(is_certain).count() as u64;
        let is_counted = count < COUNTED_MAX;
        let most = undecided.len() as u64;
        if is_counted && count > most || is_counted && is_in_order && count < certain {
            let (first, of) = (undecided[0], undecided.len());
            return Err(format!("{count} skipped up to {last}, of {of} from {first} on"));
        }
        let first =
            if is_counted { undecided.len() - usize::try_from(count).expect("few") } else { 0 };
        self.ahead.extend(&undecided[first..]);
        // One that keeps its turn says nothing of those before it.
        if last > self.kept_until {
            let doubtful = self.doubtful_until;
            self.ahead.extend(undecided.iter().filter(|fire| **fire <= doubtful));
        }
        self.settle();
        Ok(())
    }

    /// Gives up on fire times that may have been skipped before the clock was set back.
    fn pass_doubtful(&mut self) {
        while let Some(at) = self.cursor.filter(|at| *at <= self.doubtful_until) {
            self.ahead.remove(&at);
            self.cursor = self.after(at);
            self.settle();
        }
    }

    fn overdue(&mut self, latest: DateTime<Utc>) -> Answer {
        if self.cursor.is_none_or(|at| at > latest) {
            return Ok(());
        }
        while let Some(at) = self.cursor.filter(|at| *at <= self.doubtful_until.min(latest)) {
            self.ahead.remove(&at);
            self.cursor = self.after(at);
            self.settle();
        }
        match self.cursor.filter(|at| *at <= latest) {
            Some(at) => Err(format!("{at} is overdue")),
            None => Ok(()),
        }
    }

    fn clock_set_back(&mut self, before: DateTime<Utc>, now: DateTime<Utc>) {
        // All before the cursor is decided, and some ahead of it: by a run, or else by a skip.
        let last =
            self.ahead.last().copied().max(self.cursor.map(|at| at - TimeDelta::nanoseconds(1)));
        let decided_until = last.unwrap_or(before).min(before);
        self.doubtful_until = self.doubtful_until.max(decided_until);
        self.kept_until = self.kept_until.max(before);
        // Fire times that have come by either clock, and are not decided, stay.
        if self.cursor.is_none_or(|cursor| cursor > now) {
            self.ahead.clear();
            self.cursor = self.after(now);
        } else {
            self.ahead.retain(|at| *at <= now);
        }
        self.settle();
    }
}
