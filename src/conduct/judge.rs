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

use super::passing::Limit;
use super::passing::Passed;
use super::policy::Misfire;
use super::policy::Overlap;
use super::policy::Policy;
use super::timetable::FireTime;
use super::timetable::MISSED_AFTER;
use super::timetable::Timetable;
use crate::observe::SkipReason;

/// How many runs are remembered, behind whose times missed fire times wait; when there are more, the
/// two oldest become one.
const BUSY_MAX: usize = 64;

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
    /// When the pending fire time could have started first, where that is later than it was due.
    waits_since: Option<Now>,
    /// When runs were in progress, as far as fire times may have come then that are not decided.
    busy: Vec<Busy>,
    seen: Now,
}

/// A time during which a run was in progress, without its two ends.
#[derive(Clone, Copy, Debug)]
struct Busy {
    from: Now,
    to: Now,
}

impl Judge {
    pub(super) fn new(timetable: Timetable, policy: &Policy, now: Now) -> Self {
        Self {
            timetable,
            overlap: policy.overlap,
            misfire: policy.misfire,
            pending: None,
            waits_since: None,
            busy: Vec::new(),
            seen: now,
        }
    }

    /// Whether it asks a trigger of the user's, and so must not be asked under a lock.
    pub(super) fn asks(&self) -> bool {
        self.timetable.asks()
    }

    /// Whether a run starts beside others: the fire times of its rule go on meanwhile.
    pub(super) fn starts_beside(&self) -> bool {
        self.overlap == Overlap::Allow && self.timetable.goes_on_by_itself()
    }

    /// The fire time that starts next, as far as is known.
    pub(super) fn pending(&self) -> Option<FireTime> {
        self.pending
    }

    /// Its timetable, for a look ahead.
    pub(super) fn sketch(&self) -> Timetable {
        self.timetable.sketch()
    }

    /// Takes a task up.
    pub(super) fn first(&mut self, now: Now) -> Result<(), Failure> {
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

    /// Decides what a worker that is there now is to start. The fire time stays pending until its run
    /// has ended.
    pub(super) fn begin(&mut self, now: Now) -> Result<Verdict, Failure> {
        self.seen = now;
        let Some(fire) = self.pending.filter(|fire| fire.due.is_reached(now)) else {
            return Ok(Verdict::default());
        };
        if !self.timetable.goes_on_by_itself() || !self.is_missed(fire, now)? {
            return Ok(Verdict { start: Some(fire), skips: Vec::new() });
        }
        match self.misfire {
            Misfire::CatchUp => Ok(Verdict { start: Some(fire), skips: Vec::new() }),
            Misfire::RunOnce => self.start_latest(fire, now),
            Misfire::Skip => self.skip_missed(fire, now),
        }
    }

    /// Goes on to the next fire time where nothing is to be decided: none has come during the run of the
    /// pending one. Asks no trigger of the user's.
    pub(super) fn ended_in_time(&mut self, started: &Now, ended: &Now) -> Option<Due> {
        if let Some(due) = self.ended_on_grid(ended) {
            return Some(due);
        }
        if !self.busy.is_empty() {
            return None;
        }
        let next = self.timetable.next_in_time(self.pending?, started, ended)?;
        (self.pending, self.waits_since, self.seen) = (Some(next), None, *ended);
        Some(next.due)
    }

    /// As [`ended_in_time`](Self::ended_in_time), for the points of a grid.
    #[inline]
    pub(super) fn ended_on_grid(&mut self, ended: &Now) -> Option<Due> {
        let pending = self.pending.as_mut().filter(|_| self.busy.is_empty())?;
        let due = Due::Tick(self.timetable.next_on_grid(pending, ended.tick)?);
        (pending.at, pending.due) = (due, due);
        (self.waits_since, self.seen) = (None, *ended);
        Some(due)
    }

    /// Decides what comes after the run of the pending fire time.
    pub(super) fn ended(&mut self, started: Now, ended: Now) -> Result<Vec<Skip>, Failure> {
        self.seen = ended;
        let Some(fire) = self.pending else { return Ok(Vec::new()) };
        let next = self.timetable.after_run(fire, started, ended)?;
        self.settle(next, started, ended)
    }

    /// Decides what comes after a run that was not that of a fire time.
    pub(super) fn ended_beside(&mut self, started: Now, ended: Now) -> Result<Vec<Skip>, Failure> {
        let next = self.renew(ended);
        if self.timetable.goes_on_by_itself() {
            return self.settle(next, started, ended);
        }
        let busy = Busy { from: started, to: ended };
        match self.pending.filter(|fire| busy.contains(fire.due)) {
            Some(fire) if self.overlap == Overlap::Skip && !self.timetable.is_once() => {
                self.pending = Some(self.timetable.after_delay(ended));
                Ok(vec![Skip { reason: SkipReason::Overlap, at: fire.at, count: 1 }])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Passes over what has come while the task was paused.
    pub(super) fn resumed(&mut self, now: Now) -> Result<Vec<Skip>, Failure> {
        self.seen = now;
        let Some(fire) = self.pending.filter(|fire| fire.due.is_reached(now)) else {
            return Ok(Vec::new());
        };
        if self.timetable.is_once() {
            return Ok(Vec::new());
        }
        self.busy.clear();
        self.waits_since = None;
        if !self.timetable.goes_on_by_itself() {
            self.pending = Some(self.timetable.after_delay(now));
            return Ok(vec![Skip { reason: SkipReason::Paused, at: fire.at, count: 1 }]);
        }
        let passed = self.timetable.pass(fire, Limit::Before(now))?;
        self.pending = passed.next;
        Ok(skipped(SkipReason::Paused, passed.count, passed.last))
    }

    /// Looks at the pending fire time again: the wall clock may have been set back.
    pub(super) fn renew(&mut self, now: Now) -> Option<FireTime> {
        let expected = self.seen.wall + now.tick.since(self.seen.tick);
        let is_set_back = now.wall + TOLERANCE < expected;
        self.seen = now;
        self.pending = self.pending.map(|fire| self.timetable.renewed(fire, now, is_set_back));
        self.pending
    }

    fn is_missed(&self, fire: FireTime, now: Now) -> Result<bool, Failure> {
        let mut late = late(fire.due, now);
        if let Some(since) = self.waits_since {
            late = late.min(now.tick.since(since.tick));
        }
        Ok(late > MISSED_AFTER || self.timetable.next_has_come(fire, late, now)?)
    }

    fn start_latest(&mut self, fire: FireTime, now: Now) -> Result<Verdict, Failure> {
        let Passed { count, last, last_but_one, .. } =
            self.timetable.pass(fire, Limit::UpTo(now))?;
        self.pending = last.or(self.pending);
        let skips = skipped(SkipReason::Misfire, count.saturating_sub(1), last_but_one);
        Ok(Verdict { start: self.pending, skips })
    }

    fn skip_missed(&mut self, fire: FireTime, now: Now) -> Result<Verdict, Failure> {
        let passed = self.timetable.pass(fire, Limit::Before(now))?;
        self.pending = passed.next;
        self.waits_since = None;
        let start = self.pending.filter(|fire| fire.due.is_reached(now));
        Ok(Verdict { start, skips: skipped(SkipReason::Misfire, passed.count, passed.last) })
    }

    /// Makes a fire time the pending one, or one after it, where it came while a run was in progress.
    fn settle(
        &mut self,
        mut next: Option<FireTime>,
        started: Now,
        ended: Now,
    ) -> Result<Vec<Skip>, Failure> {
        let busy = Busy { from: started, to: ended };
        self.waits_since = None;
        // With `allow` only a run under another rule can have held fire times up: they are late.
        let is_free = self.busy.is_empty() && next.is_none_or(|next| busy.is_before(next.due));
        if is_free || self.overlap == Overlap::Allow {
            self.pending = next;
            return Ok(Vec::new());
        }
        self.note_busy(busy);
        let mut skips = Vec::new();
        loop {
            let busy = next.and_then(|fire| self.busy.iter().find(|busy| busy.contains(fire.due)));
            let (Some(fire), Some(busy)) = (next, busy) else { break };
            let to = busy.to;
            if self.overlap == Overlap::QueueOne {
                // One that comes just as the run ends is the latest, too.
                let passed = self.timetable.pass(fire, Limit::UpTo(to))?;
                let earlier = passed.count.saturating_sub(1);
                skips.extend(skipped(SkipReason::Overlap, earlier, passed.last_but_one));
                (next, self.waits_since) = (passed.last, Some(to));
                break;
            }
            let passed = self.timetable.pass(fire, Limit::Before(to))?;
            skips.extend(skipped(SkipReason::Overlap, passed.count, passed.last));
            next = passed.next;
        }
        self.pending = next;
        self.busy.retain(|busy| next.is_some_and(|next| !busy.is_before(next.due)));
        Ok(skips)
    }

    fn note_busy(&mut self, busy: Busy) {
        self.busy.push(busy);
        if self.busy.len() > BUSY_MAX {
            let oldest = self.busy.remove(0);
            self.busy[0].from = oldest.from;
        }
    }
}

impl Busy {
    fn contains(&self, due: Due) -> bool {
        match due {
            Due::Tick(tick) => self.from.tick < tick && tick < self.to.tick,
            Due::Wall(wall) => self.from.wall < wall && wall < self.to.wall,
        }
    }

    fn is_before(&self, due: Due) -> bool {
        match due {
            Due::Tick(tick) => self.to.tick <= tick,
            Due::Wall(wall) => self.to.wall <= wall,
        }
    }
}

/// How long ago an instant was.
pub(super) fn late(due: Due, now: Now) -> Duration {
    match due {
        Due::Tick(tick) => now.tick.since(tick),
        Due::Wall(wall) => now.wall.since(wall),
    }
}

fn skipped(reason: SkipReason, count: u64, last: Option<FireTime>) -> Vec<Skip> {
    match last {
        Some(last) if count > 0 => vec![Skip { reason, at: last.at, count }],
        _ => Vec::new(),
    }
}
