//! What came while runs were in progress: going through fire times that start no run, with the reason of
//! each.

use scheduler_core::Due;
use scheduler_core::Failure;
use scheduler_core::Now;

use super::judge::Skip;
use super::judge::late;
use super::passing::Limit;
use super::passing::Passed;
use super::policy::Misfire;
use super::policy::Overlap;
use super::timetable::FireTime;
use super::timetable::MISSED_AFTER;
use super::timetable::Timetable;
use crate::observe::SkipReason;

/// A time during which a run was in progress, without its two ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy {
    pub(super) from: Now,
    pub(super) to: Now,
}

impl Busy {
    pub(super) fn contains(&self, due: Due) -> bool {
        match due {
            Due::Tick(tick) => self.from.tick < tick && tick < self.to.tick,
            Due::Wall(wall) => self.from.wall < wall && wall < self.to.wall,
        }
    }

    pub(super) fn is_before(&self, due: Due) -> bool {
        match due {
            Due::Tick(tick) => self.to.tick <= tick,
            Due::Wall(wall) => self.to.wall <= wall,
        }
    }
}

impl Timetable {
    /// Whether a fire time that is due was missed; behind a run it was to follow it has waited since the
    /// end of that.
    pub(super) fn is_missed(
        &self,
        fire: FireTime,
        follows: Option<Busy>,
        now: Now,
    ) -> Result<bool, Failure> {
        let mut late = late(fire.due, now);
        if let Some(before) = follows {
            late = late.min(now.tick.since(before.to.tick));
        }
        Ok(late > MISSED_AFTER || self.next_has_come(fire, late, now)?)
    }
}

/// Goes through fire times from one on, and decides about each but the latest that may still run.
pub(super) struct Walk<'a> {
    timetable: &'a Timetable,
    overlap: Overlap,
    /// Why those are skipped about which `overlap` does not decide.
    reason: SkipReason,
    /// Whether what was to follow a run gives way to what comes during the next.
    is_joined: bool,
    /// The first that was not gone through.
    next: Option<FireTime>,
    held: Option<Held>,
    /// How many it has gone through, and the last of them.
    walked: u64,
    last: Option<FireTime>,
    /// Each with the number of its last fire time.
    skips: Vec<(Skip, u64)>,
}

/// The latest fire time about which `overlap` has not decided.
#[derive(Clone, Copy)]
struct Held {
    fire: FireTime,
    number: u64,
    /// The run that it was to follow.
    follows: Option<Busy>,
}

impl<'a> Walk<'a> {
    /// A walk from a fire time on, past runs in their order, as far as a limit.
    pub(super) fn new(
        (timetable, overlap): (&'a Timetable, Overlap),
        from: Option<FireTime>,
        reason: SkipReason,
    ) -> Self {
        let (held, walked, last, skips) = <_>::default();
        Self { timetable, overlap, reason, is_joined: false, next: from, held, walked, last, skips }
    }

    /// Has what was to follow a run give way to what comes during the next, if nothing comes between.
    pub(super) fn joined(self, is_joined: bool) -> Self {
        Self { is_joined, ..self }
    }

    pub(super) fn past(mut self, runs: &[Busy], limit: Limit) -> Result<Self, Failure> {
        for busy in runs {
            let passed = self.pass(limit.or_earlier(Limit::UpTo(busy.from)))?;
            self.hold(passed, None);
            if self.overlap == Overlap::QueueOne {
                // One that comes just as the run ends is the latest, too.
                let passed = self.pass(limit.or_earlier(Limit::UpTo(busy.to)))?;
                if self.is_joined && passed.count > 0 {
                    self.give_way();
                }
                let earlier = Passed { last: passed.last_but_one, ..passed };
                let earlier = Passed { count: passed.count.saturating_sub(1), ..earlier };
                self.skip(SkipReason::Overlap, earlier, self.walked.saturating_sub(1));
                let latest = Passed { count: passed.count.min(1), ..passed };
                self.hold(latest, Some(*busy));
            } else {
                let passed = self.pass(limit.or_earlier(Limit::Before(busy.to)))?;
                self.skip(SkipReason::Overlap, passed, self.walked);
            }
        }
        let passed = self.pass(limit)?;
        self.hold(passed, None);
        Ok(self)
    }

    /// Whether the latest starts now, having been missed.
    pub(super) fn starts(&self, misfire: Misfire, now: Now) -> bool {
        self.held.is_some_and(|Held { fire, follows, .. }| {
            let is_now = !Limit::Before(now).is_after(fire.due);
            let is_in_time = |run: Busy| now.tick.since(run.to.tick) <= MISSED_AFTER;
            misfire == Misfire::RunOnce || is_now || follows.is_some_and(is_in_time)
        })
    }

    /// Lets the latest run: what came after it is not decided, if it can be asked for again.
    pub(super) fn up_to_latest(mut self, limit: Limit) -> (Option<FireTime>, Vec<Skip>) {
        let Some(held) = self.held else { return self.all(limit) };
        if !self.timetable.asks() {
            self.timetable.serve(held.fire, limit.now());
            self.skips.retain(|(_, number)| *number < held.number);
        }
        (Some(held.fire), in_order(self.skips))
    }

    /// Skips the latest, too; gives the first fire time that was not gone through.
    pub(super) fn all(mut self, limit: Limit) -> (Option<FireTime>, Vec<Skip>) {
        self.release();
        if let Some(last) = self.last {
            self.timetable.serve(last, limit.now());
        }
        (self.next, in_order(self.skips))
    }

    fn pass(&mut self, limit: Limit) -> Result<Passed, Failure> {
        let Some(next) = self.next.filter(|next| limit.is_after(next.due)) else {
            return Ok(Passed::default());
        };
        let passed = self.timetable.go_through(next, limit)?;
        (self.next, self.last) = (passed.next, passed.last.or(self.last));
        self.walked += passed.count;
        Ok(passed)
    }

    /// Holds the last of these, and lets go of those before it.
    fn hold(&mut self, passed: Passed, follows: Option<Busy>) {
        let Some(fire) = passed.last.filter(|_| passed.count > 0) else { return };
        self.release();
        let earlier = Passed { count: passed.count - 1, last: passed.last_but_one, ..passed };
        self.skip(self.reason, earlier, self.walked - 1);
        self.held = Some(Held { fire, number: self.walked, follows });
    }

    fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.skip_one(self.reason, held);
        }
    }

    fn give_way(&mut self) {
        if let Some(held) = self.held.take_if(|held| held.follows.is_some()) {
            self.skip_one(SkipReason::Overlap, held);
        }
    }

    fn skip_one(&mut self, reason: SkipReason, Held { fire, number, .. }: Held) {
        let one = Passed { count: 1, last: Some(fire), ..Passed::default() };
        self.skip(reason, one, number);
    }

    /// Takes note of fire times that are skipped, the last of them the so-manieth.
    fn skip(&mut self, reason: SkipReason, passed: Passed, number: u64) {
        if let Some(last) = passed.last.filter(|_| passed.count > 0) {
            self.skips.push((Skip { reason, at: last.at, count: passed.count }, number));
        }
    }
}

/// Skipped fire times in their order, each reason that goes on told once.
fn in_order(mut skips: Vec<(Skip, u64)>) -> Vec<Skip> {
    skips.sort_by_key(|(_, number)| *number);
    let mut told: Vec<(Skip, u64)> = Vec::with_capacity(skips.len());
    for (skip, number) in skips {
        match told.last_mut() {
            Some((last, before))
                if last.reason == skip.reason && *before + skip.count == number =>
            {
                (last.at, last.count, *before) = (skip.at, last.count + skip.count, number);
            }
            _ => told.push((skip, number)),
        }
    }
    told.into_iter().map(|(skip, _)| skip).collect()
}
