//! One task by the documentation alone.
//!
//! It keeps every fire time by itself, and makes one step of time after another.

use std::collections::BTreeSet;

use super::planted::Bug;
use super::rules::{Coming, Rule};
use crate::observe::SkipReason;
use crate::run::Cause;
use crate::task::fire_times::SeededJitter;
use crate::task::policy::Policy;
use scheduler_expr::{Misfire, Overlap};

/// Nanoseconds since the start, on either clock.
pub(super) type Nanos = i64;

pub(super) const MILLI: Nanos = 1_000_000;
pub(super) const SECOND: Nanos = 1_000 * MILLI;

/// The readings of both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Instant {
    pub(super) tick: Nanos,
    pub(super) wall: Nanos,
}

/// One fire time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) at: Nanos,
    pub(super) due: Nanos,
    /// When the run ended that it follows.
    pub(super) ready: Option<Nanos>,
}

/// A run that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Started {
    pub(super) cause: Cause,
    pub(super) at: Nanos,
    pub(super) generation: u32,
}

/// The last fire times that a transition includes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Before,
    UpTo,
}

/// When a delay begins anew whose fire time was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anew {
    AfterRun,
    AfterPause,
}

#[derive(Clone, Debug)]
pub(super) struct Specification {
    pub(super) bug: Option<Bug>,
    policy: Policy,
    coming: Coming,
    generation: u32,
    pub(super) now: Instant,
    waiting: Vec<Item>,
    queued: Option<Item>,
    asked: usize,
    pub(super) running: usize,
    starts: u64,
    /// If paused: until when, if that is known.
    pause: Option<Option<Nanos>>,
    anew: Option<Anew>,
    /// Instants of the wall clock that it has shown while time passed, and fire times that have started.
    fired: BTreeSet<Nanos>,
    /// True if the wall clock shows this instant because time has passed.
    was_passed: bool,
    skips: Vec<(SkipReason, Nanos)>,
    /// True if a fire time has come since the last look.
    has_come: bool,
    /// True if a pause has ended by its time since the last look.
    has_resumed: bool,
    is_skip_of_run: bool,
    gap: Nanos,
    report_at: Nanos,
}

impl Specification {
    pub(super) fn new(rule: Rule, policy: Policy, jitter_source: SeededJitter) -> Self {
        let now = Instant::default();
        Self {
            bug: None,
            coming: Coming::new(rule, policy.jitter, jitter_source, now),
            policy,
            generation: 0,
            now,
            waiting: Vec::new(),
            queued: None,
            asked: 0,
            running: 0,
            starts: 0,
            pause: None,
            anew: None,
            fired: BTreeSet::new(),
            was_passed: false,
            skips: Vec::new(),
            has_come: false,
            has_resumed: false,
            is_skip_of_run: false,
            gap: 0,
            report_at: 0,
        }
    }

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Time passes: one step, on both clocks.
    pub(super) fn step(&mut self, unit: Nanos) {
        self.leave_instant();
        self.now.tick += unit;
        self.now.wall += unit;
        self.was_passed = true;
        self.settle(Bound::Before);
    }

    /// All that comes now has come.
    fn leave_instant(&mut self) {
        self.come(Bound::UpTo, self.now);
        self.end_pause_that_is_over();
        if self.was_passed && self.coming.is_by_wall() && !self.has(Bug::FiredIsForgotten) {
            self.fired.insert(self.now.wall);
        }
        self.was_passed = false;
    }

    /// The wall clock is set, or the machine suspended.
    pub(super) fn set_wall(&mut self, wall: Nanos) {
        self.leave_instant();
        let is_back = wall < self.now.wall;
        self.now.wall = wall;
        if is_back {
            self.coming.look_anew(wall);
        }
        self.look();
    }

    pub(super) fn look(&mut self) {
        self.settle(Bound::UpTo);
        self.note_report();
    }

    /// Decides about the fire times until now, and ends a pause whose time is over.
    fn settle(&mut self, bound: Bound) {
        if let Some(Some(until)) = self.pause
            && until <= self.now.wall
        {
            self.come(Bound::Before, Instant { wall: until, ..self.now });
            self.end_pause_that_is_over();
        }
        self.come(bound, self.now);
    }

    fn end_pause_that_is_over(&mut self) {
        if self.pause.flatten().is_some_and(|until| until <= self.now.wall) {
            self.end_pause();
            self.has_resumed = true;
        }
    }

    fn come(&mut self, bound: Bound, now: Instant) {
        // While all runs that may be have started, a rule asks for nothing; the last one may yet be refused.
        let is_spent = self.is_spent();
        if is_spent && self.coming.is_never_missed() {
            return;
        }
        while let Some(item) = self.next_of_rule() {
            let left = item.due - if self.coming.is_by_wall() { now.wall } else { now.tick };
            if left > 0 || left == 0 && bound == Bound::Before {
                break;
            }
            self.coming.has_come(item);
            if !is_spent {
                self.has_come = true;
                self.decide(item);
            }
        }
        self.coming.has_come_until(now.wall - Nanos::from(bound == Bound::Before));
    }

    /// The next fire time that may come.
    fn next(&self) -> Option<Item> {
        if self.is_spent() { None } else { self.next_of_rule() }
    }

    fn next_of_rule(&self) -> Option<Item> {
        let mine = self.waiting.iter().chain(&self.queued);
        let is_taken = |at| self.fired.contains(&at) || mine.clone().any(|item| item.at == at);
        let item = self.coming.next(is_taken)?;
        let until = self.policy.until.map(super::nanos_of);
        let is_over = until.is_some_and(|until| {
            if self.has(Bug::UntilIsExclusive) { item.at >= until } else { item.at > until }
        });
        (!is_over).then_some(item)
    }

    /// The table of "the one rule".
    fn decide(&mut self, item: Item) {
        let is_full = self.is_full();
        if self.coming.is_once() {
            self.waiting.push(item);
        } else if is_full && self.policy.overlap == Overlap::QueueOne {
            self.follow(item);
        } else if is_full {
            self.skip(SkipReason::Overlap, item);
            self.wait_until(Anew::AfterRun);
        } else if self.pause.is_some() {
            self.skip(SkipReason::Paused, item);
            self.wait_until(Anew::AfterPause);
        } else {
            self.waiting.push(item);
        }
    }

    /// It follows the run in progress, in place of the one before: also of one that followed the run before, and has not
    /// started since, unless each is caught up.
    fn follow(&mut self, item: Item) {
        let is_former = |item: &Item| item.ready.is_some();
        if self.policy.misfire != Misfire::CatchUp
            && let Some(index) = self.waiting.iter().position(is_former)
        {
            let former = self.waiting.remove(index);
            self.skip(SkipReason::Overlap, former);
        }
        if self.has(Bug::QueuedIsKept) && self.queued.is_some() {
            return self.skip(SkipReason::Overlap, item);
        }
        if let Some(former) = self.queued.replace(item) {
            self.skip(SkipReason::Overlap, former);
        }
    }

    fn skip(&mut self, reason: SkipReason, item: Item) {
        self.skips.push((reason, item.at));
        self.is_skip_of_run |= self.is_full();
    }

    fn limit(&self) -> usize {
        let allowed = self.policy.max_concurrent.map_or(usize::MAX, |max| max.get() as usize);
        match self.policy.overlap {
            Overlap::Allow if self.has(Bug::LimitIsOneMore) => allowed.saturating_add(1),
            Overlap::Allow => allowed,
            Overlap::Skip | Overlap::QueueOne => 1,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.running >= self.limit()
    }

    fn is_spent(&self) -> bool {
        self.policy.max_runs.is_some_and(|max| self.starts >= max.get())
    }

    /// Returns true if a worker that is free has to look now.
    pub(super) fn wants_worker(&self) -> bool {
        if self.has_resumed || self.asked > 0 && !self.is_full() {
            return true;
        }
        if let Some(until) = self.pause {
            return until.is_some_and(|until| until <= self.now.wall);
        }
        if self.is_spent() {
            return false;
        }
        let now = if self.coming.is_by_wall() { self.now.wall } else { self.now.tick };
        let comes = self.next().is_some_and(|item| item.due <= now);
        if self.is_full() {
            return (comes || self.has_come) && self.now.tick >= self.report_at;
        }
        comes || !self.waiting.is_empty()
    }

    /// A worker looks, and starts a run if one is to start.
    pub(super) fn work(&mut self) -> Option<Started> {
        self.look();
        if self.is_full() {
            return None;
        }
        if self.asked > 0 {
            self.asked -= 1;
            return Some(self.start(Cause::Manual, self.now.wall));
        }
        if self.pause.is_some() || self.is_spent() {
            return None;
        }
        let item = self.choose()?;
        Some(self.start(Cause::Schedule, item.at))
    }

    fn choose(&mut self) -> Option<Item> {
        let (first, last) = (*self.waiting.first()?, *self.waiting.last()?);
        let is_late = |item: &Item| match item.ready {
            Some(ready) => self.now.tick - ready > 60 * SECOND,
            None => self.clock() - item.due > 60 * SECOND,
        };
        let is_missed = self.waiting.len() > 1 || is_late(&first);
        if !is_missed || self.coming.is_never_missed() {
            return Some(self.waiting.remove(0));
        }
        match self.policy.misfire {
            Misfire::CatchUp if self.has(Bug::CatchUpFromTheEnd) => self.waiting.pop(),
            Misfire::CatchUp => Some(self.waiting.remove(0)),
            Misfire::RunOnce if self.has(Bug::MissedRunsTheFirst) => {
                self.waiting.remove(0);
                self.skip_waiting(SkipReason::Misfire);
                Some(first)
            }
            Misfire::RunOnce => self.take_last(),
            Misfire::Skip => {
                let has_followed = last.ready.is_some() && !is_late(&last);
                let is_now = last.due == self.clock() && !self.has(Bug::DueNowIsMissed);
                if is_now || has_followed {
                    return self.take_last();
                }
                self.skip_waiting(SkipReason::Misfire);
                None
            }
        }
    }

    fn clock(&self) -> Nanos {
        if self.coming.is_by_wall() { self.now.wall } else { self.now.tick }
    }

    fn take_last(&mut self) -> Option<Item> {
        let last = self.waiting.pop();
        self.skip_waiting(SkipReason::Misfire);
        last
    }

    fn skip_waiting(&mut self, reason: SkipReason) {
        for item in std::mem::take(&mut self.waiting) {
            self.skip(reason, item);
        }
    }

    fn start(&mut self, cause: Cause, at: Nanos) -> Started {
        self.running += 1;
        self.reset_reports();
        if cause == Cause::Schedule {
            self.starts += 1;
            if self.coming.is_by_wall() && !self.has(Bug::StartIsNotFired) {
                self.fired.insert(at);
            }
        }
        Started { cause, at, generation: self.generation }
    }

    /// A run ends; one that a gate has refused does not count.
    pub(super) fn run_ended(&mut self, run: Started, is_refused: bool) {
        let is_queued = self.policy.overlap == Overlap::QueueOne;
        let is_early = is_queued || self.has(Bug::EndIsAfterWhatComes);
        self.settle(if is_early { Bound::UpTo } else { Bound::Before });
        self.note_report();
        self.running -= 1;
        self.reset_reports();
        if is_refused && run.cause == Cause::Schedule && !self.has(Bug::RefusedCounts) {
            self.starts -= 1;
        }
        if let Some(item) = self.queued.take() {
            if self.pause.is_some() && !self.has(Bug::PausedFollows) {
                self.skip(SkipReason::Paused, item);
                self.wait_until(Anew::AfterPause);
            } else {
                self.waiting.push(Item { ready: Some(self.now.tick), ..item });
            }
        }
        if self.is_spent() && self.running == 0 {
            self.waiting.clear();
        }
        let is_current = run.generation == self.generation || self.has(Bug::OldRunRestarts);
        let is_own = run.cause == Cause::Schedule && is_current;
        if is_own || self.anew == Some(Anew::AfterRun) {
            self.begin_anew();
        }
    }

    fn wait_until(&mut self, anew: Anew) {
        if self.coming.is_delay() {
            self.anew = Some(anew);
        }
    }

    fn begin_anew(&mut self) {
        self.anew = None;
        self.coming.begin_anew(self.now);
    }

    pub(super) fn pause(&mut self, until: Option<Nanos>) {
        self.settle(Bound::UpTo);
        self.pause = Some(until);
        if !self.coming.is_once() && !self.has(Bug::PauseKeepsWaiting) {
            if !self.waiting.is_empty() {
                self.wait_until(Anew::AfterPause);
            }
            self.skip_waiting(SkipReason::Paused);
        }
        self.note_report();
    }

    /// Returns true if it was paused.
    pub(super) fn resume(&mut self) -> bool {
        let bound = if self.has(Bug::ResumeIsLate) { Bound::UpTo } else { Bound::Before };
        self.settle(bound);
        let is_paused = self.pause.is_some();
        if is_paused {
            self.end_pause();
        }
        self.note_report();
        is_paused
    }

    fn end_pause(&mut self) {
        self.pause = None;
        if let Some(item) = self.queued.take() {
            self.skip(SkipReason::Paused, item);
            self.wait_until(Anew::AfterPause);
        }
        if self.anew == Some(Anew::AfterPause) && !self.has(Bug::DelayStaysSkipped) {
            self.begin_anew();
        }
    }

    /// Returns true if a run by hand is taken.
    pub(super) fn run_now(&mut self) -> bool {
        self.look();
        let is_taken = match self.policy.overlap {
            Overlap::Skip => !self.is_full() && self.asked == 0,
            Overlap::QueueOne => self.asked == 0,
            Overlap::Allow => self.running + self.asked < self.limit(),
        };
        self.asked += usize::from(is_taken);
        is_taken
    }

    pub(super) fn reschedule(&mut self, rule: Rule, jitter_source: SeededJitter) {
        self.settle(Bound::UpTo);
        let is_paused = self.pause.is_some() && !self.coming.is_once();
        let reason = if is_paused { SkipReason::Paused } else { SkipReason::Rescheduled };
        self.skip_waiting(reason);
        let clock = self.clock();
        let jittered = self.next().filter(|item| item.at <= clock);
        let jittered = jittered.filter(|_| !self.has(Bug::JitterIsForgotten));
        for item in self.queued.take().into_iter().chain(jittered) {
            self.skip(reason, item);
        }
        if !self.coming.has_same_calendar(rule) {
            self.fired.clear();
            self.was_passed = false;
        }
        self.note_report();
        self.coming = Coming::new(rule, self.policy.jitter, jitter_source, self.now);
        (self.generation, self.anew) = (self.generation + 1, None);
    }

    /// The first skip of a run is reported at once, others at growing distances.
    fn note_report(&mut self) {
        (self.has_come, self.has_resumed) = (false, false);
        if !std::mem::take(&mut self.is_skip_of_run) || self.report_at > self.now.tick {
            return;
        }
        let period = self.coming.period().unwrap_or(SECOND);
        self.gap = (2 * self.gap).clamp(period.max(10 * MILLI), period.max(SECOND));
        self.report_at = self.now.tick + self.gap;
    }

    fn reset_reports(&mut self) {
        self.is_skip_of_run = false;
        if !self.has(Bug::ReportsGoOnSlowly) {
            (self.gap, self.report_at) = (0, 0);
        }
    }

    /// The fire times that were skipped since the last call.
    pub(super) fn take_skips(&mut self) -> Vec<(SkipReason, Nanos)> {
        std::mem::take(&mut self.skips)
    }

    pub(super) fn is_finished(&self) -> bool {
        let is_idle = self.running == 0 && self.asked == 0 && self.queued.is_none();
        let has_more = self.next().is_some() || !self.waiting.is_empty() || self.anew.is_some();
        is_idle && (self.is_spent() || !has_more)
    }

    /// When the next run starts if no command comes and a worker is always free, a run in progress counting as over;
    /// `Err` if that is later than so many steps, `None` if it is not known or never.
    pub(super) fn next_start(&self, unit: Nanos, steps: u32) -> Result<Option<Nanos>, ()> {
        let mut ahead = self.clone();
        ahead.look();
        if ahead.is_full() {
            if ahead.queued.is_some() || !ahead.waiting.is_empty() || ahead.asked > 0 {
                return Ok(None);
            }
            ahead.running = 0;
        }
        for _ in 0..steps {
            while ahead.wants_worker() {
                if ahead.work().is_some() {
                    return Ok(Some(ahead.now.wall));
                }
            }
            ahead.step(unit);
        }
        let sleeps = ahead.pause == Some(None) && ahead.asked == 0;
        let begins_anew = ahead.pause.is_some() && ahead.anew == Some(Anew::AfterPause);
        let is_idle = ahead.next().is_none() && ahead.waiting.is_empty() && !begins_anew;
        let is_over = ahead.is_spent() || is_idle;
        if sleeps || is_over { Ok(None) } else { Err(()) }
    }
}
