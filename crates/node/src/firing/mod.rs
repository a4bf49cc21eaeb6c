//! The ticks of a schedule that fire, and those that are skipped.
//!
//! A schedule is a cursor over its ticks. From the row, the store's clock and the policy, [`plan()`] computes the
//! statements that decide the ticks which have come: a tick fell into a pause, came during an unfinished job, was
//! missed, or fires. No plan walks over all ticks of a long outage: counting is arithmetic for rates, and bounded for
//! computed rules.

use std::time::Duration;

use scheduler_store::{
    DueSchedule, Next, OnBusy, Overlap, Pause, Skips, StoreTime, StoredSchedule, Timing, micros,
};

use crate::config::{LATE, Misfire, Policy, Rules};
use crate::rng::mix;

#[cfg(test)]
mod tests;

/// One statement: the cursor moves, and a tick becomes a job or none does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FirePlan {
    pub(crate) seen: StoreTime,
    pub(crate) cursor: StoreTime,
    pub(crate) next: Next,
    pub(crate) tick: Option<PlannedTick>,
    pub(crate) on_busy: OnBusy,
    pub(crate) skips: Skips,
}

/// A tick that becomes a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedTick {
    pub(crate) tick: StoreTime,
    pub(crate) missed: u64,
    pub(crate) run_at: StoreTime,
}

/// The statements for all ticks that have come by an instant of the store's clock, in order; at most so many. None if
/// nothing can be decided before a job has ended.
pub(crate) fn plan(
    due: &DueSchedule,
    now: StoreTime,
    rules: &dyn Rules,
    limit: u32,
) -> Vec<FirePlan> {
    let schedule = &due.schedule;
    let policy = rules.policy(schedule);
    let planner = FirePlanner {
        due,
        now,
        sequence: Sequence::of(schedule, rules, policy.until),
        policy,
        pause: schedule.pause.as_ref().filter(|pause| {
            // One whose end was before its beginning has no ticks.
            pause.until.is_none_or(|until| pause.since < until)
        }),
    };
    match schedule.rule().timing {
        Timing::Delay { .. } | Timing::Once(_) | Timing::OnceAfter(_) => {
            planner.single().into_iter().collect()
        }
        Timing::Computed | Timing::Rate { .. } => planner.recurring(limit),
    }
}

struct FirePlanner<'a> {
    due: &'a DueSchedule,
    now: StoreTime,
    sequence: Sequence<'a>,
    policy: Policy,
    pause: Option<&'a Pause>,
}

/// Ticks in stretches without a pause: how many, and the last one.
#[derive(Clone, Copy, Default)]
struct Ticks {
    count: u64,
    last: Option<StoreTime>,
}

impl FirePlanner<'_> {
    fn recurring(&self, limit: u32) -> Vec<FirePlan> {
        let cursor = self.due.schedule.cursor;
        let Some(last) = self.sequence.last_in(cursor, self.now) else {
            // Nothing has come; only the next tick was not known.
            return vec![self.moves(cursor, cursor)];
        };
        let plan = match (self.due.busy_since, self.policy.misfire) {
            (Some(since), _) => return self.busy(since, last).into_iter().collect(),
            (None, Misfire::CatchUp) => return self.catch_up(last, limit),
            (None, misfire) => self.free(misfire, last),
        };
        vec![plan]
    }

    /// No job is unfinished, and at most the latest tick fires.
    fn free(&self, misfire: Misfire, last: StoreTime) -> FirePlan {
        let cursor = self.due.schedule.cursor;
        let came = self.unpaused(cursor, self.now);
        let runs = came.last.filter(|tick| match misfire {
            Misfire::Skip => *tick == last && self.now.since(*tick) <= LATE,
            _ => true,
        });
        let missed = came.count - u64::from(runs.is_some());
        let skips = Skips { missed, paused: self.paused(cursor, self.now), ..Skips::default() };
        let is_missed = missed > 0 || runs.is_some_and(|tick| self.now.since(tick) > LATE);
        let on_busy = match (is_missed, misfire) {
            (true, Misfire::RunOnce) => OnBusy::Wait,
            _ => self.on_overlap(),
        };
        let plan = FirePlan { skips, on_busy, ..self.moves(cursor, last) };
        runs.map_or(plan.clone(), |tick| self.with(plan, tick, missed))
    }

    /// No job is unfinished: what is not too old fires, one after the other if the jobs keep each other out.
    fn catch_up(&self, last: StoreTime, limit: u32) -> Vec<FirePlan> {
        let mut seen = self.due.schedule.cursor;
        let limit = if self.due.schedule.is_exclusive() { 1 } else { limit.max(1) };
        let mut plans = Vec::new();
        let old_until = seen.max(self.oldest().before(STEP));
        let mut missed = self.unpaused(seen, old_until).count;
        let mut at = old_until;
        while plans.len() < limit as usize {
            let Some(tick) = self.first_unpaused(at) else {
                if seen < last {
                    let paused = self.paused(seen, self.now);
                    let skips = Skips { missed, paused, ..Skips::default() };
                    plans.push(FirePlan { skips, ..self.moves(seen, last) });
                }
                break;
            };
            let skips = Skips { missed, paused: self.paused(seen, tick), ..Skips::default() };
            let is_missed = self.now.since(tick) > LATE || tick < last;
            let on_busy = if is_missed { OnBusy::Wait } else { self.on_overlap() };
            let plan = FirePlan { skips, on_busy, ..self.moves(seen, tick) };
            plans.push(self.with(plan, tick, 0));
            (seen, at, missed) = (tick, tick, 0);
        }
        plans
    }

    /// The oldest tick that [`Misfire::CatchUp`] runs.
    fn oldest(&self) -> StoreTime {
        self.policy.window.map_or(StoreTime::MIN, |window| self.now.before(window))
    }

    /// A job is unfinished that was accepted then: what came before was missed, what came after overlaps.
    fn busy(&self, since: StoreTime, last: StoreTime) -> Option<FirePlan> {
        let cursor = self.due.schedule.cursor;
        let before = self.unpaused(cursor, since.min(self.now));
        let during = self.unpaused(since.max(cursor), self.now);
        match self.policy.misfire {
            Misfire::CatchUp if before.last.is_some_and(|tick| tick >= self.oldest()) => {
                return None;
            }
            Misfire::RunOnce if before.count > 0 && during.count == 0 => {
                if self.due.schedule.definition.overlap != Overlap::QueueOne {
                    return None;
                }
            }
            Misfire::RunOnce | Misfire::Skip | Misfire::CatchUp => {}
        }
        let follows = match (self.due.schedule.definition.overlap, self.policy.misfire) {
            (Overlap::QueueOne, Misfire::RunOnce) => during.last.or(before.last),
            (Overlap::QueueOne, _) => during.last,
            (Overlap::Skip | Overlap::Allow, _) => None,
        };
        let of_during = u64::from(follows.is_some() && follows == during.last);
        let of_before = u64::from(follows.is_some() && follows != during.last);
        let overlap = Skips { overlap: during.count - of_during, ..Skips::default() };
        let (missed, paused) = (before.count - of_before, self.paused(cursor, self.now));
        let skips = Skips { missed, paused, ..overlap };
        let plan = FirePlan { skips, on_busy: OnBusy::Queue, ..self.moves(cursor, last) };
        Some(follows.map_or(plan.clone(), |tick| self.with(plan, tick, before.count - of_before)))
    }

    /// A fixed delay, or a single tick: never missed, and late if need be.
    fn single(&self) -> Option<FirePlan> {
        let schedule = &self.due.schedule;
        let is_delay = matches!(schedule.rule().timing, Timing::Delay { .. });
        let Next::At(tick) = schedule.next else { return None };
        // The cursor moves also with a delay of zero, so that two processes do not both fire.
        let cursor = tick.max(schedule.cursor.after(STEP));
        let moves = FirePlan {
            seen: schedule.cursor,
            cursor,
            next: if is_delay { Next::AfterJob } else { Next::Never },
            tick: None,
            on_busy: if is_delay { self.on_overlap() } else { OnBusy::Wait },
            skips: Skips::default(),
        };
        if is_delay && self.policy.until.is_some_and(|until| until < tick) {
            return Some(FirePlan { next: Next::Never, ..moves });
        }
        if let (Timing::Delay { delay, .. }, Some(pause)) =
            (schedule.rule().timing, self.pause.filter(|pause| pause.contains(tick)))
        {
            let next = pause.until.map_or(Next::AfterJob, |end| Next::At(end.after(delay)));
            return Some(FirePlan {
                next,
                skips: Skips { paused: 1, ..Skips::default() },
                ..moves
            });
        }
        match (self.due.busy_since, is_delay, schedule.definition.overlap) {
            (Some(_), false, _) => return None,
            (Some(_), true, Overlap::Skip | Overlap::Allow) => {
                return Some(FirePlan { skips: Skips { overlap: 1, ..Skips::default() }, ..moves });
            }
            _ => {}
        }
        Some(self.with(moves, tick, 0))
    }

    /// The cursor moves, and no tick becomes a job.
    fn moves(&self, seen: StoreTime, cursor: StoreTime) -> FirePlan {
        let next = self.sequence.first_after(cursor).map_or(Next::Never, Next::At);
        let (on_busy, skips) = (OnBusy::Skip, Skips::default());
        FirePlan { seen, cursor, next, tick: None, on_busy, skips }
    }

    fn with(&self, mut plan: FirePlan, tick: StoreTime, missed: u64) -> FirePlan {
        let run_at = tick.after(jitter(&self.due.schedule.definition.name, tick, self.policy));
        plan.tick = Some(PlannedTick { tick, missed, run_at });
        plan
    }

    fn on_overlap(&self) -> OnBusy {
        match self.due.schedule.definition.overlap {
            Overlap::QueueOne => OnBusy::Queue,
            Overlap::Skip | Overlap::Allow => OnBusy::Skip,
        }
    }

    /// The ticks in `(from, until]` outside the pause.
    fn unpaused(&self, from: StoreTime, until: StoreTime) -> Ticks {
        let Some(pause) = self.pause else { return self.ticks(from, until) };
        let before = self.ticks(from, until.min(pause.since));
        let after = pause
            .until
            .map_or(Ticks::default(), |end| self.ticks(from.max(end.before(STEP)), until));
        Ticks { count: before.count + after.count, last: after.last.or(before.last) }
    }

    fn ticks(&self, from: StoreTime, until: StoreTime) -> Ticks {
        if until <= from {
            return Ticks::default();
        }
        let last = self.sequence.last_in(from, until);
        Ticks { count: last.map_or(0, |_| self.sequence.count_in(from, until)), last }
    }

    /// The number of ticks in `(from, until]` that are in the pause.
    fn paused(&self, from: StoreTime, until: StoreTime) -> u64 {
        let Some(pause) = self.pause else { return 0 };
        let end = pause.until.map_or(until, |end| end.before(STEP).min(until));
        self.sequence.count_in(from.max(pause.since), end)
    }

    /// The first tick after an instant that has come, outside the pause.
    fn first_unpaused(&self, after: StoreTime) -> Option<StoreTime> {
        let mut tick = self.sequence.first_after(after)?;
        if let Some(pause) = self.pause.filter(|pause| pause.contains(tick)) {
            tick = self.sequence.first_after(pause.until?.before(STEP))?;
        }
        (tick <= self.now).then_some(tick)
    }
}

/// A part of the jitter, the same in each process.
fn jitter(schedule: &str, tick: StoreTime, policy: Policy) -> Duration {
    let seed = schedule.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let number = mix(seed ^ mix(tick.as_micros().cast_unsigned()));
    let nanos = (u128::from(number) * policy.jitter.as_nanos()) >> 64;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The ticks of a rule: what comes after an instant, what came last before one, and how many lie between.
pub(crate) enum Sequence<'a> {
    /// Every period from an anchor.
    Rate { anchor: i64, period: i64, until: StoreTime },
    /// Computed by the program.
    Computed { text: &'a str, rules: &'a dyn Rules },
    /// A single one, unless it is already decided.
    Single(Option<StoreTime>),
}

/// A count of skipped ticks of a computed rule that reaches this may be less than there were.
pub const COUNTED_MAX: u64 = 10_000;

impl<'a> Sequence<'a> {
    pub(crate) fn of(
        schedule: &'a StoredSchedule,
        rules: &'a dyn Rules,
        until: Option<StoreTime>,
    ) -> Self {
        let rule = schedule.rule();
        let next = match schedule.next {
            Next::At(tick) => Some(tick),
            _ => None,
        };
        match rule.timing {
            Timing::Computed => Self::Computed { text: &rule.text, rules },
            Timing::Rate { period, .. } => {
                let anchor = schedule.anchor.or(next).unwrap_or(schedule.cursor);
                let (anchor, period) = (anchor.as_micros(), micros(period).max(1));
                Self::Rate { anchor, period, until: until.unwrap_or(StoreTime::MAX) }
            }
            Timing::Delay { .. } | Timing::Once(_) | Timing::OnceAfter(_) => Self::Single(next),
        }
    }

    /// The first tick after an instant.
    pub(crate) fn first_after(&self, after: StoreTime) -> Option<StoreTime> {
        match *self {
            Self::Rate { anchor, period, until } => {
                let passed = passed(anchor, period, after);
                let tick = anchor.saturating_add(passed.saturating_mul(period));
                let tick = StoreTime::from_micros(tick);
                (after < tick && tick <= until).then_some(tick)
            }
            Self::Computed { text, rules } => match rules.next_after(text, after) {
                Next::At(tick) if after < tick => Some(tick),
                _ => None,
            },
            Self::Single(tick) => tick.filter(|tick| after < *tick),
        }
    }

    /// The last tick in `(from, until]`.
    pub(crate) fn last_in(&self, from: StoreTime, until: StoreTime) -> Option<StoreTime> {
        let mut last = self.first_after(from).filter(|tick| *tick <= until)?;
        if let Self::Rate { anchor, period, until: end } = *self {
            let passed = passed(anchor, period, until.min(end)) - 1;
            return Some(StoreTime::from_micros(anchor + passed * period));
        }
        // INVARIANT: `last` is a tick, and none is in `(end, until]`. The distance of the two is halved.
        let mut end = until;
        while last < end {
            let half = (end.as_micros() - last.as_micros()) / 2;
            let middle = StoreTime::from_micros(last.as_micros() + half);
            match self.first_after(middle).filter(|tick| *tick <= end) {
                Some(tick) => last = tick,
                None => end = middle,
            }
        }
        Some(last)
    }

    /// The number of ticks in `(from, until]`. Those of a computed rule are counted up to [`COUNTED_MAX`] and one that
    /// fires.
    pub(crate) fn count_in(&self, from: StoreTime, until: StoreTime) -> u64 {
        if until <= from {
            return 0;
        }
        if let Self::Rate { anchor, period, until: end } = *self {
            let passed = |at: StoreTime| passed(anchor, period, at.min(end));
            let count = passed(until) - passed(from);
            return count.try_into().unwrap_or(0);
        }
        let (mut at, mut count) = (from, 0);
        while count <= COUNTED_MAX
            && let Some(tick) = self.first_after(at).filter(|tick| *tick <= until)
        {
            (at, count) = (tick, count + 1);
        }
        count
    }
}

/// The number of ticks of a rate that have come by an instant.
fn passed(anchor: i64, period: i64, until: StoreTime) -> i64 {
    match until.as_micros().saturating_sub(anchor) {
        since if since < 0 => 0,
        since => since / period + 1,
    }
}

/// The smallest step of a store's clock.
const STEP: Duration = Duration::from_micros(1);
