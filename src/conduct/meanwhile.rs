//! What came while runs were in progress: going through fire times that start no run, with the reason of
//! each.

use scheduler_core::Due;
use scheduler_core::Failure;
use scheduler_core::Now;

use super::judge::Skip;
use super::passing::Limit;
use super::passing::Passed;
use super::timetable::FireTime;
use super::timetable::MISSED_AFTER;
use super::timetable::Timetable;
use super::timetable::late;
use crate::observe::SkipReason;
use scheduler_expr::Misfire;
use scheduler_expr::Overlap;

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

/// How many runs are remembered.
const RUNS_MAX: usize = 1_000;

/// When runs were in progress, in their order, as far as fire times may have come then that are not
/// decided.
///
/// There may be more of them the longer a task catches up. Then the shortest is forgotten, of several the
/// latest: what came during it runs. So no fire time that came between two runs is taken for one that came
/// during them, and the next that are skipped are near.
#[derive(Debug, Default)]
pub(super) struct Runs(Vec<Busy>);

impl Runs {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn all(&self) -> &[Busy] {
        &self.0
    }

    /// The run during which a fire time came.
    pub(super) fn around(&self, due: Due) -> Option<Busy> {
        self.0.iter().find(|busy| busy.contains(due)).copied()
    }

    pub(super) fn note(&mut self, busy: Busy) {
        self.0.retain(|before| before.from.tick < busy.from.tick);
        self.0.push(busy);
        if self.0.len() > RUNS_MAX {
            let length = |busy: &Busy| busy.to.tick.since(busy.from.tick);
            let shortest = self.0.iter().enumerate().rev().min_by_key(|(_, busy)| length(busy));
            if let Some((index, _)) = shortest {
                self.0.remove(index);
            }
        }
    }

    /// Forgets those behind which no fire time waits any more.
    pub(super) fn forget_before(&mut self, next: Option<FireTime>) {
        self.0.retain(|busy| next.is_some_and(|next| !busy.is_before(next.due)));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
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

/// What is told of so many fire times, if there are any.
pub(super) fn skipped(reason: SkipReason, count: u64, last: Option<FireTime>) -> Option<Skip> {
    last.filter(|_| count > 0).map(|last| Skip { reason, at: last.at, count })
}

/// Goes through fire times from one on, and decides about each but the latest that may still run.
pub(super) struct Walk<'a> {
    timetable: &'a Timetable,
    overlap: Overlap,
    /// Why those are skipped about which `overlap` does not decide.
    reason: SkipReason,
    /// When those that a trigger of the user's has given, and that are skipped, count as served.
    served_at: Option<Now>,
    /// Whether what was to follow a run gives way to what comes during the next.
    is_joined: bool,
    /// The first that was not gone through.
    next: Option<FireTime>,
    /// Whether there are more than are gone through at once.
    is_cut: bool,
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
        let (served_at, is_joined, is_cut, held, walked, last, skips) = <_>::default();
        Self {
            timetable,
            overlap,
            reason,
            served_at,
            is_joined,
            next: from,
            is_cut,
            held,
            walked,
            last,
            skips,
        }
    }

    /// Has what was to follow a run give way to what comes during the next, if nothing comes between.
    pub(super) fn joined(self, is_joined: bool) -> Self {
        Self { is_joined, ..self }
    }

    pub(super) fn past(mut self, runs: &[Busy], limit: Limit) -> Result<Self, Failure> {
        self.served_at = self.timetable.asks().then(|| limit.now());
        for busy in runs {
            let passed = self.pass(limit.or_earlier(Limit::UpTo(busy.from)))?;
            self.hold(passed, None);
            if self.overlap != Overlap::QueueOne {
                let passed = self.pass(limit.or_earlier(Limit::Before(busy.to)))?;
                self.skip(SkipReason::Overlap, passed, self.walked);
            } else if self.is_one_to_follow(busy) {
                self.queue_one(*busy, limit)?;
            }
        }
        let passed = self.pass(limit)?;
        self.hold(passed, None);
        Ok(self)
    }

    /// Whether one has come during a run, or what was to follow the run before comes during this one.
    fn is_one_to_follow(&self, busy: &Busy) -> bool {
        let is_joined = self.is_joined && self.held.is_some_and(|held| held.follows.is_some());
        is_joined || self.next.is_some_and(|next| busy.contains(next.due))
    }

    /// Holds the latest that has come during a run: one that comes just as the run ends is it, too.
    fn queue_one(&mut self, busy: Busy, limit: Limit) -> Result<(), Failure> {
        let passed = self.pass(limit.or_earlier(Limit::UpTo(busy.to)))?;
        if self.is_joined && passed.count > 0 {
            self.give_way();
        }
        if self.is_cut {
            self.skip(SkipReason::Overlap, passed, self.walked);
            return Ok(());
        }
        let earlier = Passed { last: passed.last_but_one, ..passed };
        let earlier = Passed { count: passed.count.saturating_sub(1), ..earlier };
        self.skip(SkipReason::Overlap, earlier, self.walked.saturating_sub(1));
        let latest = Passed { count: passed.count.min(1), ..passed };
        self.hold(latest, Some(busy));
        Ok(())
    }

    /// Whether the walk has to be gone on with: what is the latest as yet is not.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
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
        let next = self.next.filter(|next| limit.is_after(next.due) && !self.is_cut);
        let Some(next) = next else { return Ok(Passed::default()) };
        let passed = self.timetable.go_through(next, limit)?;
        self.is_cut = passed.is_cut(limit);
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
            if let Some(at) = self.served_at {
                self.timetable.serve(last, at);
            }
            self.skips.push((Skip { reason, at: last.at, count: passed.count }, number));
        }
    }
}

/// Adds skipped fire times that follow on others.
pub(super) fn append(skips: &mut Vec<Skip>, more: impl IntoIterator<Item = Skip>) {
    for skip in more {
        match skips.last_mut().filter(|last| last.reason == skip.reason) {
            Some(last) => (last.at, last.count) = (skip.at, last.count + skip.count),
            None => skips.push(skip),
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
