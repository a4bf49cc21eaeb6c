//! A look ahead: which fire time starts a run next, for those who want to know when, and decide nothing.
//!
//! A run in progress counts as over now: nobody knows when it will be. What starts when it is over, at
//! whatever time, has no time that could be shown.

use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Due;
use scheduler_core::Now;
use scheduler_core::WallTime;

use super::meanwhile::Busy;
use super::meanwhile::Walk;
use super::passing::Limit;
use super::timetable::FireTime;
use super::timetable::Times;
use super::timetable::Timetable;
use super::timetable::wall_of;
use crate::observe::SkipReason;
use scheduler_expr::Misfire;
use scheduler_expr::Overlap;

/// More fire times of a calendar than these are not gone through for one whose jitter is not over.
const JITTER_WALK_MAX: usize = 1_000;

/// What is known of the fire times of one rule. It asks no trigger of the user's.
#[derive(Debug)]
pub(super) struct Ahead {
    timetable: Timetable,
    /// Whether only a trigger of the user's knows what comes after its first fire time.
    asks: bool,
    overlap: Overlap,
    misfire: Misfire,
    first: First,
    follows: Option<Busy>,
    busy: Vec<Busy>,
}

/// The first fire time that is not decided.
#[derive(Clone, Copy, Debug)]
enum First {
    Pending(Option<FireTime>),
    /// The one after that of a run in progress.
    After(Option<FireTime>),
    /// That of a rule that is gone by since then.
    Since(Now),
}

/// What a look ahead has to know of a task besides its fire times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances<'a> {
    /// Since when fire times come during a run in progress.
    pub(super) busy_since: Option<Now>,
    /// Whether the task looks at the clock before, which may have been set back.
    pub(super) is_renewed: bool,
    /// When the task was resumed, as far as that is not seen to.
    pub(super) resumed: &'a [Now],
    /// When it will be, where it is paused until then.
    pub(super) paused_until: Option<Now>,
}

/// A fire time that has come, and behind what it waits.
#[derive(Clone, Copy)]
struct Come<'a> {
    fire: FireTime,
    follows: Option<Busy>,
    busy: &'a [Busy],
}

impl Ahead {
    pub(super) fn of(
        timetable: &Timetable,
        (overlap, misfire): (Overlap, Misfire),
        (pending, follows): (Option<FireTime>, Option<Busy>),
        busy: &[Busy],
    ) -> Self {
        let (asks, timetable) = (timetable.asks(), timetable.sketch());
        let (first, busy) = (First::Pending(pending), busy.to_vec());
        Self { timetable, asks, overlap, misfire, first, follows, busy }
    }

    /// Of a rule that is to be gone by since then.
    pub(super) fn since(from: Now, timetable: &Timetable, policy: (Overlap, Misfire)) -> Self {
        let ahead = Self::of(timetable, policy, (None, None), &[]);
        Self { first: First::Since(from), ..ahead }
    }

    /// The same where the run of the pending fire time has begun.
    pub(super) fn after_begun(mut self) -> Self {
        if let First::Pending(pending) = self.first {
            (self.first, self.follows) = (First::After(pending), None);
        }
        self
    }

    /// When the next run starts; none when there is none, and when that is not known.
    pub(super) fn starts(&self, how: &Circumstances<'_>, now: Now) -> Option<WallTime> {
        let mut timetable = self.timetable.sketch();
        let is_renewed = how.is_renewed || how.busy_since.is_some();
        let first = self.first(&mut timetable, is_renewed, now)?;
        if how.busy_since.is_some_and(|since| self.begins_anew(first, since, now)) {
            return None;
        }
        let mut next = first;
        for at in how.resumed.iter().chain(&how.paused_until) {
            next = self.resumed(&mut timetable, next, *at)?;
        }
        let earliest = how.paused_until.map_or(now.wall, |until| until.wall);
        if next.due == Due::NEVER {
            return None;
        }
        if how.paused_until.is_some() || !next.due.is_reached(now) {
            let next = self.not_overtaken(&timetable, next, now)?;
            return Some(next.due.as_wall(now).max(earliest));
        }
        // What comes after those that were passed over waits behind nothing.
        let come = if next == first {
            Come { fire: next, follows: self.follows, busy: &self.busy }
        } else {
            Come { fire: next, follows: None, busy: &[] }
        };
        match how.busy_since {
            None if self.is_started(come, None, now) => return Some(now.wall),
            Some(since) if self.waits_for_end(come, since, now) => return None,
            _ => {}
        }
        let later = timetable.upcoming(next, Limit::UpTo(now))?;
        Some(self.not_overtaken(&timetable, later, now)?.due.as_wall(now))
    }

    /// The first fire time from one on that is not missed when it comes: by its jitter a later one may
    /// come before it.
    fn not_overtaken(
        &self,
        timetable: &Timetable,
        mut next: FireTime,
        now: Now,
    ) -> Option<FireTime> {
        if timetable.jitter.is_zero() || self.misfire != Misfire::Skip {
            return Some(next);
        }
        for _ in 0..JITTER_WALK_MAX {
            let then = Now { tick: next.due.as_tick(now), wall: next.due.as_wall(now) };
            if !timetable.next_has_come(next, Duration::ZERO, then).ok()? {
                return Some(next);
            }
            next = timetable.upcoming(next, Limit::UpTo(then))?;
        }
        None
    }

    fn first(&self, timetable: &mut Timetable, is_renewed: bool, now: Now) -> Option<FireTime> {
        match self.first {
            First::Pending(pending) if is_renewed => Some(timetable.renewed(pending?, now, false)),
            First::Pending(pending) => pending,
            First::After(begun) => timetable.after_begun(begun?, now),
            First::Since(_) if self.asks => None,
            First::Since(from) => timetable.first(from).ok()?,
        }
    }

    /// Whether a fixed delay has come during a run in progress, and begins anew when that is over.
    fn begins_anew(&self, next: FireTime, since: Now, now: Now) -> bool {
        let is_delay = matches!(self.timetable.times, Times::Delay { .. });
        is_delay && self.overlap == Overlap::Skip && came(next, since, now)
    }

    /// The first fire time that is left when the task is resumed.
    fn resumed(&self, timetable: &mut Timetable, next: FireTime, at: Now) -> Option<FireTime> {
        match &timetable.times {
            _ if !Limit::Before(at).is_after(next.due) => Some(next),
            _ if self.asks => None,
            Times::Once { .. } | Times::At(_) | Times::Trigger(_) => Some(next),
            Times::Delay { .. } => Some(timetable.after_delay(at)),
            Times::Rate { .. } | Times::Calendar { .. } => {
                timetable.upcoming(next, Limit::Before(at))
            }
        }
    }

    /// Whether a fire time that has come starts when the run in progress is over.
    fn waits_for_end(&self, come: Come<'_>, since: Now, now: Now) -> bool {
        if !self.timetable.goes_on_by_itself() {
            return true;
        }
        match self.overlap {
            Overlap::Skip if came(come.fire, since, now) => false,
            Overlap::QueueOne if came(come.fire, since, now) => true,
            Overlap::Allow => self.is_started(come, None, now),
            _ if come.follows.is_some() => true,
            _ => self.is_started(come, Some(Busy { from: since, to: now }), now),
        }
    }

    /// Whether a fire time that has come starts if a worker is free now, or one after it that has, with
    /// a run that ends now: as the judge decides it.
    fn is_started(&self, come: Come<'_>, run: Option<Busy>, now: Now) -> bool {
        let Come { fire, follows, busy } = come;
        if self.misfire != Misfire::Skip || !(self.timetable.goes_on_by_itself() || self.asks) {
            return true;
        }
        if !self.timetable.is_missed(fire, follows, now).unwrap_or(true) {
            return true;
        }
        let runs: Vec<Busy> = busy.iter().copied().chain(run).collect();
        let walk = Walk::new((&self.timetable, self.overlap), Some(fire), SkipReason::Misfire);
        let walk = walk.joined(true).past(&runs, Limit::UpTo(now));
        walk.is_ok_and(|walk| walk.starts(self.misfire, now))
    }
}

/// Whether a fire time has come after then, and not after now.
fn came(fire: FireTime, since: Now, now: Now) -> bool {
    fire.due.is_reached(now) && !fire.due.is_reached(since)
}

impl Timetable {
    /// The same timetable for a look ahead, which is never told of what is served.
    fn sketch(&self) -> Self {
        let times = match &self.times {
            Times::Rate { period, initial_delay, first } => {
                Times::Rate { period: *period, initial_delay: *initial_delay, first: *first }
            }
            Times::Delay { delay, initial_delay, number } => {
                Times::Delay { delay: *delay, initial_delay: *initial_delay, number: *number }
            }
            Times::Calendar { trigger, times, since } => Times::Calendar {
                trigger: Arc::clone(trigger),
                times: Arc::clone(times),
                since: *since,
            },
            Times::Once { delay } => Times::Once { delay: *delay },
            Times::At(at) => Times::At(*at),
            Times::Trigger(_) => Times::Once { delay: Duration::ZERO },
        };
        Self { times, ..*self }
    }

    /// The fire time after one whose run is in progress, as far as the rule tells.
    fn after_begun(&self, begun: FireTime, now: Now) -> Option<FireTime> {
        match &self.times {
            Times::Rate { .. } => self.after_tick(begun),
            Times::Calendar { times, .. } => {
                let at = wall_of(begun);
                let is_set_back = now.wall < at;
                let again = if is_set_back { times.renew(now.wall).ok()? } else { Some(at) };
                let next = match again.filter(|again| *again != at) {
                    Some(again) => Some(again),
                    None => times.following(at).ok()?,
                };
                next.map(|at| self.on_wall(at))
            }
            Times::Delay { .. } | Times::Once { .. } | Times::At(_) | Times::Trigger(_) => None,
        }
    }

    /// The first fire time from one on that is due after the limit, as far as the rule tells.
    fn upcoming(&self, first: FireTime, limit: Limit) -> Option<FireTime> {
        if !limit.is_after(first.due) {
            return Some(first);
        }
        match &self.times {
            Times::Rate { .. } => self.go_through(first, limit).ok()?.next,
            Times::Calendar { times, .. } => {
                let just_before = limit.now().wall - self.jitter - Duration::from_nanos(1);
                let mut at = wall_of(first).max(just_before);
                for _ in 0..JITTER_WALK_MAX {
                    at = times.following(at).ok()??;
                    let fire = self.on_wall(at);
                    if !limit.is_after(fire.due) {
                        return Some(fire);
                    }
                }
                None
            }
            Times::Delay { .. } | Times::Once { .. } | Times::At(_) | Times::Trigger(_) => None,
        }
    }
}
