//! Which fire times start a run, and which are skipped: the policies `overlap` and `misfire`.
//!
//! Pure: it is told what happened and what time it is. One fire time is *pending*; all before it are
//! decided. What happens to those after it is decided when they have come: when a run begins
//! ([`Judge::begin`]) the late ones are judged by `misfire`; when a run has ended those that came
//! meanwhile are judged by `overlap`, for which the judge remembers when runs were in progress.

use std::time::Duration;

use scheduler_core::Due;
use scheduler_core::Failure;
use scheduler_core::Now;

use super::lookahead::Ahead;
use super::meanwhile::Busy;
use super::meanwhile::Runs;
use super::meanwhile::Walk;
use super::meanwhile::append;
use super::meanwhile::skipped;
use super::passing::Limit;
use super::policy::Policy;
use super::timetable::FireTime;
use super::timetable::Timetable;
use super::timetable::late;
use super::timetable::wall_of;
use crate::observe::SkipReason;
use scheduler_expr::Misfire;
use scheduler_expr::Overlap;

/// What the wall clock may lag behind the monotonic one without having been set back.
const TOLERANCE: Duration = Duration::from_millis(500);

/// Fire times that are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Skip {
    pub(super) reason: SkipReason,
    /// The latest of them.
    pub(super) at: Due,
    pub(super) count: u64,
}

/// What is decided when a worker is there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The fire time whose run starts now.
    pub(super) start: Option<FireTime>,
    pub(super) skips: Vec<Skip>,
}

/// Decides which fire times of one rule start a run.
#[derive(Debug)]
pub(super) struct Judge {
    timetable: Timetable,
    overlap: Overlap,
    misfire: Misfire,
    /// The first fire time that is not decided.
    pending: Option<FireTime>,
    /// The run that the pending fire time is to follow, where it came during one.
    follows: Option<Busy>,
    /// When runs were in progress, as far as fire times may have come then that are not decided.
    busy: Runs,
    /// Up to when fire times are missed, so many that not all have been gone through.
    missed_until: Option<Now>,
    seen: Now,
    /// Whether the trigger has been asked for the first fire time, before the task is taken up.
    is_asked: bool,
}

/// A run that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) began: Now,
    pub(super) at: Now,
    /// When the task was resumed while it was in progress.
    pub(super) resumed: Vec<Now>,
}

/// That another rule has taken the place of this one.
#[derive(Debug)]
pub(super) struct Replaced {
    pub(super) at: Now,
    /// Whether the task was paused then.
    pub(super) was_paused: bool,
    /// When the task had been resumed, as far as that is not seen to.
    pub(super) resumed: Vec<Now>,
}

impl Judge {
    pub(super) fn new(timetable: Timetable, policy: &Policy, now: Now) -> Self {
        Self {
            timetable,
            overlap: policy.overlap,
            misfire: policy.misfire,
            pending: None,
            follows: None,
            busy: Runs::default(),
            missed_until: None,
            seen: now,
            is_asked: false,
        }
    }

    /// Its fire times, and what becomes of those that are missed.
    pub(super) fn rule(&self) -> (&Timetable, Misfire) {
        (&self.timetable, self.misfire)
    }

    /// Whether it asks a trigger of the user's, and so must not be asked under a lock.
    pub(super) fn asks(&self) -> bool {
        self.timetable.asks()
    }

    /// Whether a run starts beside others.
    pub(super) fn starts_beside(&self) -> bool {
        self.overlap == Overlap::Allow && self.timetable.goes_on_by_itself()
    }

    /// The fire time that starts next, as far as is known.
    pub(super) fn pending(&self) -> Option<FireTime> {
        self.pending
    }

    /// What is known of it, for a look ahead.
    pub(super) fn ahead(&self) -> Ahead {
        let policy = (self.overlap, self.misfire);
        Ahead::of(&self.timetable, policy, (self.pending, self.follows), self.busy.all())
    }

    /// Asks a trigger of the user's when it fires first, before the task is [taken up](Self::first).
    pub(super) fn ask_first(&mut self, now: Now) -> Result<(), Failure> {
        if self.asks() {
            self.first(now)?;
            self.is_asked = true;
        }
        Ok(())
    }

    /// Takes a task up.
    pub(super) fn first(&mut self, now: Now) -> Result<(), Failure> {
        if std::mem::take(&mut self.is_asked) {
            return Ok(());
        }
        self.seen = now;
        self.pending = self.timetable.first(now)?;
        Ok(())
    }

    /// Whether the run of the pending fire time starts, and nothing else is to be decided: it is due, was
    /// not missed as far as can be told at once, and starts no run beside others.
    #[inline]
    pub(super) fn is_in_time(&self, now: &Now) -> bool {
        let pending = self.pending.as_ref();
        self.overlap != Overlap::Allow
            && pending.is_some_and(|fire| self.timetable.is_in_time(fire, now))
    }

    /// Begins the run of a fire time that [is in time](Self::is_in_time).
    #[inline]
    pub(super) fn begin_in_time(&mut self, now: Now) -> Option<FireTime> {
        self.seen = now;
        self.pending
    }

    /// Decides what a worker starts now. The fire time stays pending until its run has ended.
    pub(super) fn begin(&mut self, now: Now) -> Result<Verdict, Failure> {
        self.seen = now;
        if self.pending.is_none() && self.due().is_some_and(|due| due.is_reached(now)) {
            self.pending = self.timetable.ask_again(now);
        }
        let Some(fire) = self.pending.filter(|fire| fire.due.is_reached(now)) else {
            return Ok(Verdict::default());
        };
        let is_missed = self.timetable.goes_on_by_itself() && self.is_missed(fire, now)?;
        if is_missed && self.misfire != Misfire::CatchUp {
            return self.begin_missed(fire, now);
        }
        Ok(Verdict { start: Some(fire), skips: Vec::new() })
    }

    /// Goes on to the next fire time where none has come during the run of the pending one. Asks no trigger.
    pub(super) fn ended_in_time(&mut self, started: &Now, ended: &Now) -> Option<Due> {
        if let Some(due) = self.ended_on_grid(ended) {
            return Some(due);
        }
        if !self.busy.is_empty() {
            return None;
        }
        let next = self.timetable.next_in_time(self.pending?, started, ended)?;
        (self.pending, self.follows, self.seen) = (Some(next), None, *ended);
        Some(next.due)
    }

    /// As [`ended_in_time`](Self::ended_in_time), for the points of a grid.
    #[inline]
    pub(super) fn ended_on_grid(&mut self, ended: &Now) -> Option<Due> {
        let pending = self.pending.as_mut().filter(|_| self.busy.is_empty())?;
        let due = Due::Tick(self.timetable.next_on_grid(pending, ended.tick)?);
        (pending.at, pending.due) = (due, due);
        (self.follows, self.seen) = (None, *ended);
        Some(due)
    }

    /// Decides what comes after the run of the pending fire time.
    pub(super) fn ended(&mut self, run: &Ended) -> Result<Vec<Skip>, Failure> {
        self.seen = run.at;
        let Some(fire) = self.pending else { return Ok(Vec::new()) };
        self.pending = self.timetable.after_run(fire, run.began, run.at)?;
        self.follows = None;
        if self.pending.is_some_and(|next| wall_of(next) < wall_of(fire)) {
            self.busy.clear();
        }
        self.settle(run, run.began)
    }

    /// Decides what comes after a run that was not that of a fire time.
    pub(super) fn ended_beside(&mut self, run: &Ended) -> Result<Vec<Skip>, Failure> {
        self.renew(run.at);
        if self.timetable.goes_on_by_itself() {
            let from = self.joined_with(run)?;
            return self.settle(run, from);
        }
        let busy = Busy { from: run.began, to: run.at };
        let is_skipped = |fire: &FireTime| busy.contains(fire.due);
        let may_be_skipped = self.overlap == Overlap::Skip && !self.timetable.is_once();
        let mut skips = Vec::new();
        for resumed in &run.resumed {
            if !may_be_skipped || !self.pending.iter().any(is_skipped) {
                skips.append(&mut self.resumed(*resumed)?);
            }
        }
        if let Some(fire) = self.pending.filter(|fire| may_be_skipped && is_skipped(fire)) {
            self.pending = Some(self.timetable.after_delay(run.at));
            skips.push(Skip { reason: SkipReason::Overlap, at: fire.at, count: 1 });
        }
        Ok(skips)
    }

    /// Since when fire times count as coming during a run: what was to follow the run before gives way
    /// to what comes during this one, unless each is caught up.
    fn joined_with(&mut self, run: &Ended) -> Result<Now, Failure> {
        let (Some(fire), Some(before)) = (self.pending, self.follows.take()) else {
            return Ok(run.began);
        };
        let late = late(fire.due, run.began);
        let is_kept = self.misfire == Misfire::CatchUp
            || self.timetable.next_has_come(fire, late, run.began)?;
        Ok(if is_kept { run.began } else { before.from })
    }

    /// Passes over what had come when the task was resumed.
    pub(super) fn resumed(&mut self, at: Now) -> Result<Vec<Skip>, Failure> {
        let limit = Limit::Before(at);
        let Some(fire) = self.pending.filter(|fire| limit.is_after(fire.due)) else {
            return Ok(Vec::new());
        };
        if self.timetable.is_once() {
            return Ok(Vec::new());
        }
        if !self.timetable.goes_on_by_itself() {
            self.pending = Some(self.timetable.after_delay(at));
            return Ok(vec![Skip { reason: SkipReason::Paused, at: fire.at, count: 1 }]);
        }
        let mut skips = Vec::new();
        loop {
            let rule = (&self.timetable, self.overlap);
            let walk = Walk::new(rule, self.pending, SkipReason::Paused);
            let walk =
                walk.joined(self.misfire != Misfire::CatchUp).past(self.busy.all(), limit)?;
            let is_over = !walk.is_cut();
            let (next, passed) = walk.all(limit);
            append(&mut skips, passed);
            self.pending = next;
            if is_over {
                break;
            }
        }
        self.follows = None;
        self.busy.clear();
        Ok(skips)
    }

    /// Takes note of the end of a run after which this rule is not gone by any more, where its trigger would
    /// have to be asked what has come meanwhile: says whether it is so.
    pub(super) fn ends_unasked(&mut self, is_of_pending: bool) -> bool {
        if self.asks() && is_of_pending {
            self.pending = None;
        }
        self.asks()
    }

    /// Passes over what had come when another rule took the place of this one, which is not to be asked any
    /// more; also where its jitter is not over.
    pub(super) fn replaced(&mut self, by: &Replaced) -> Result<Vec<Skip>, Failure> {
        let is_paused = by.was_paused && !self.timetable.is_once();
        let reason = if is_paused { SkipReason::Paused } else { SkipReason::Rescheduled };
        let (asks, mut skips) = (self.asks(), Vec::new());
        for at in by.resumed.iter().filter(|_| !asks) {
            skips.append(&mut self.resumed(*at)?);
        }
        if asks || !self.timetable.goes_on_by_itself() {
            let one = self.pending.filter(|fire| fire.at.is_reached(by.at));
            let had_come = |at: &Now| one.is_some_and(|fire| Limit::Before(*at).is_after(fire.due));
            let came_in_pause = asks && by.resumed.iter().any(had_come);
            let reason = if came_in_pause { SkipReason::Paused } else { reason };
            skips.extend(skipped(reason, 1, one));
            return Ok(skips);
        }
        let limit = Limit::UpTo(by.at);
        let walk = Walk::new((&self.timetable, self.overlap), self.pending, reason);
        let walk = walk.joined(self.misfire != Misfire::CatchUp).past(self.busy.all(), limit)?;
        let (next, mut come) = walk.all(limit);
        skips.append(&mut come);
        self.timetable.jitter = Duration::ZERO;
        let next = next.map(|fire| FireTime { due: fire.at, ..fire });
        let walk = Walk::new((&self.timetable, self.overlap), next, reason);
        skips.append(&mut walk.past(&[], limit)?.all(limit).1);
        self.pending = None;
        Ok(skips)
    }

    /// Looks at the pending fire time again: the wall clock may have been set back.
    pub(super) fn renew(&mut self, now: Now) -> Option<FireTime> {
        let expected = self.seen.wall + now.tick.since(self.seen.tick);
        let is_set_back = now.wall + TOLERANCE < expected;
        self.seen = now;
        let before = self.pending;
        self.pending = before.map(|fire| self.timetable.renewed(fire, now, is_set_back));
        if self.pending != before {
            // The wall clock shows times again at which runs were in progress.
            (self.follows, self.busy, self.missed_until) = (None, Runs::default(), None);
        }
        self.pending
    }

    fn is_missed(&self, fire: FireTime, now: Now) -> Result<bool, Failure> {
        if self.missed_until.is_some_and(|until| Limit::UpTo(until).is_after(fire.due)) {
            return Ok(true);
        }
        self.timetable.is_missed(fire, self.follows, now)
    }

    /// Decides about a fire time that was missed, and those after it.
    fn begin_missed(&mut self, fire: FireTime, now: Now) -> Result<Verdict, Failure> {
        let (rule, limit) = ((&self.timetable, self.overlap), Limit::UpTo(now));
        let walk = Walk::new(rule, Some(fire), SkipReason::Misfire);
        let walk = walk.joined(true).past(self.busy.all(), limit)?;
        self.missed_until = walk.is_cut().then_some(now);
        let starts = !walk.is_cut() && walk.starts(self.misfire, now);
        let (next, skips) = if starts { walk.up_to_latest(limit) } else { walk.all(limit) };
        (self.pending, self.follows) = (next, None);
        self.busy.forget_before(self.pending);
        Ok(Verdict { start: next.filter(|_| starts), skips })
    }

    /// Makes the pending fire time one after it, where it came while a run was in progress: this one,
    /// to which another time may count, or one before.
    fn settle(&mut self, run: &Ended, from: Now) -> Result<Vec<Skip>, Failure> {
        let mut skips = Vec::new();
        for resumed in run.resumed.iter().copied() {
            if self.overlap != Overlap::Allow {
                self.busy.note(Busy { from, to: resumed });
            }
            skips.append(&mut self.resumed(resumed)?);
        }
        let busy = Busy { from, to: run.at };
        // With `allow` only a run under another rule can have held fire times up: they are late.
        let is_free = self.busy.is_empty() && self.pending.is_none_or(|it| busy.is_before(it.due));
        if is_free || self.overlap == Overlap::Allow {
            return Ok(skips);
        }
        self.busy.note(busy);
        loop {
            let busy = self.pending.and_then(|fire| self.busy.around(fire.due));
            let (Some(fire), Some(busy)) = (self.pending, busy) else { break };
            if self.overlap == Overlap::QueueOne {
                // One that comes just as the run ends is the latest, too.
                let limit = Limit::UpTo(busy.to);
                let passed = self.timetable.go_through(fire, limit)?;
                if let Some(last) = passed.last.filter(|_| passed.is_cut(limit)) {
                    self.timetable.serve(last, limit.now());
                    skips.extend(skipped(SkipReason::Overlap, passed.count, passed.last));
                    self.pending = passed.next;
                    continue;
                }
                if let Some(earlier) = passed.last_but_one {
                    self.timetable.serve(earlier, limit.now());
                }
                let earlier = passed.count.saturating_sub(1);
                skips.extend(skipped(SkipReason::Overlap, earlier, passed.last_but_one));
                (self.pending, self.follows) = (passed.last, Some(busy));
                break;
            }
            let passed = self.timetable.pass(fire, Limit::Before(busy.to))?;
            skips.extend(skipped(SkipReason::Overlap, passed.count, passed.last));
            self.pending = passed.next;
        }
        self.busy.forget_before(self.pending);
        Ok(skips)
    }
}
