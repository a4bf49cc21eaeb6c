//! What happens to one task where everything is known beforehand: written from `docs/policies.md`, with
//! whole milliseconds, and held against the conductor one fire time after the other.
//!
//! Known is how long each run takes; there are workers enough, but for stalls; nobody sets the clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::TimeDelta;
use scheduler_core::trigger::CronTrigger;

use super::super::stage::start;
use super::random::Random;
use crate::conduct::Misfire;
use crate::conduct::Overlap;
use crate::conduct::Policy;
use crate::observe::SkipReason;

pub(super) const NEVER: u64 = u64::MAX;

/// What periods and lengths are made of: a second.
pub(super) const SCALE: u64 = 1_000;

/// What became of a fire time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    RanAt(u64),
    Skipped(SkipReason),
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Rate(u64),
    Cron(Arc<CronTrigger>),
    Delay(u64),
    Once,
}

/// What has become of all fire times, and when manual runs started.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Story {
    pub(super) fates: BTreeMap<u64, Fate>,
    pub(super) manual: Vec<u64>,
}

pub(super) struct Reference {
    pub(super) kind: Kind,
    pub(super) policy: Policy,
    pub(super) pace: Pace,
    pub(super) now: u64,
    /// Fire times that have come and are not decided, and the next that comes.
    pub(super) waiting: Vec<u64>,
    pub(super) next: u64,
    /// All that have come.
    pub(super) come: Vec<u64>,
    /// Runs in progress: when each began and ends, and whether it is one of the schedule.
    pub(super) runs: Vec<(u64, u64, bool)>,
    /// When runs were in progress, behind whose times fire times wait that are not decided.
    pub(super) busy: Vec<(u64, u64)>,
    pub(super) is_paused: bool,
    pub(super) paused_until: u64,
    pub(super) story: Story,
}

/// How long each run takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) seed: u64,
    pub(super) longest: u64,
}

impl Pace {
    pub(super) fn takes(self, number: u64) -> u64 {
        let mut random = Random::new(self.seed ^ number.rotate_left(17));
        if self.longest == 0 || random.once_in(3) { 0 } else { random.below(self.longest) }
    }
}

impl Reference {
    fn is_alone(&self) -> bool {
        self.policy.overlap != Overlap::Allow
    }

    fn has_schedule(&self) -> bool {
        matches!(self.kind, Kind::Rate(_) | Kind::Cron(_))
    }

    fn following(&self, fire: u64) -> u64 {
        match &self.kind {
            Kind::Rate(period) => fire + period,
            Kind::Cron(trigger) => after(trigger, fire),
            Kind::Delay(_) | Kind::Once => NEVER,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        let is_done = self.waiting.is_empty() && self.next == NEVER;
        matches!(self.kind, Kind::Once) && is_done && !self.runs.iter().any(|run| run.2)
    }

    fn skip(&mut self, reason: SkipReason, which: impl Fn(u64) -> bool) {
        let fates = &mut self.story.fates;
        self.waiting.retain(|fire| {
            let is_skipped = which(*fire);
            if is_skipped {
                fates.insert(*fire, Fate::Skipped(reason));
            }
            !is_skipped
        });
    }

    fn start(&mut self, fire: u64) {
        self.waiting.retain(|waiting| *waiting != fire);
        self.story.fates.insert(fire, Fate::RanAt(self.now));
        self.runs.push((self.now, self.now + self.pace.takes(fire), true));
    }

    pub(super) fn start_manually(&mut self) {
        self.story.manual.push(self.now);
        self.runs.push((self.now, self.now + self.pace.takes(!self.now), false));
    }

    /// Lets time pass while workers are there.
    pub(super) fn until(&mut self, end: u64) {
        loop {
            let over = self.runs.iter().map(|run| run.1).min().unwrap_or(NEVER);
            let next = over.min(self.next).min(self.paused_until);
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            self.settle();
        }
        self.now = end;
        self.settle();
    }

    pub(super) fn stall_until(&mut self, end: u64) {
        self.now = end;
        self.settle();
    }

    /// What happens at one instant.
    pub(super) fn settle(&mut self) {
        loop {
            while self.next <= self.now {
                self.waiting.push(self.next);
                self.come.push(self.next);
                self.next = self.following(self.next);
            }
            if self.paused_until <= self.now {
                self.resume();
            }
            if !self.finish_one() && !self.start_one() {
                return;
            }
        }
    }

    fn finish_one(&mut self) -> bool {
        let over = self.runs.iter().position(|run| run.1 <= self.now);
        let Some((began, _, is_scheduled)) = over.map(|over| self.runs.remove(over)) else {
            return false;
        };
        match self.kind {
            Kind::Delay(delay) if is_scheduled => self.next = self.now + delay,
            Kind::Delay(delay) if self.policy.overlap == Overlap::Skip => {
                let now = self.now;
                let due = self.waiting.first().copied();
                if due.is_some_and(|due| began < due && due < now) {
                    self.skip(SkipReason::Overlap, |_| true);
                    self.next = now + delay;
                }
            }
            _ if self.has_schedule() && self.is_alone() => self.busy.push((began, self.now)),
            _ => {}
        }
        true
    }

    /// Decides about what came while a run was in progress; says since when the first one waits.
    fn sort_out(&mut self) -> Option<u64> {
        let mut since = None;
        for (from, to) in std::mem::take(&mut self.busy) {
            if self.policy.overlap == Overlap::Skip {
                self.skip(SkipReason::Overlap, |fire| from < fire && fire < to);
                continue;
            }
            let inside = self.waiting.iter().filter(|fire| from < **fire && **fire <= to);
            if let Some(latest) = inside.max().copied() {
                self.skip(SkipReason::Overlap, |fire| from < fire && fire < latest);
                since = Some(to).filter(|_| self.waiting.first() == Some(&latest));
            }
        }
        since
    }

    fn start_one(&mut self) -> bool {
        if self.is_alone() && !self.runs.is_empty() || self.is_paused {
            return false;
        }
        let since = self.sort_out();
        let Some(first) = self.waiting.first().copied() else { return false };
        let late = self.now - since.unwrap_or(first);
        let is_missed = self.has_schedule() && (late > 60_000 || self.waiting.len() > 1);
        let (now, latest) = (self.now, self.waiting[self.waiting.len() - 1]);
        match self.policy.misfire {
            Misfire::RunOnce if is_missed => {
                self.skip(SkipReason::Misfire, |fire| fire < latest);
                self.start(latest);
            }
            Misfire::Skip if is_missed => {
                self.skip(SkipReason::Misfire, |fire| fire < now);
                let is_left = self.waiting.first() == Some(&now);
                if is_left {
                    self.start(now);
                }
                return is_left;
            }
            _ => self.start(first),
        }
        true
    }

    pub(super) fn pause(&mut self, until: u64) {
        (self.is_paused, self.paused_until) = (true, until);
    }

    pub(super) fn resume(&mut self) {
        (self.is_paused, self.paused_until) = (false, NEVER);
        if self.is_alone() && !self.runs.is_empty() {
            return;
        }
        let now = self.now;
        match self.kind {
            Kind::Delay(delay) if !self.waiting.is_empty() => {
                self.skip(SkipReason::Paused, |_| true);
                self.next = now + delay;
            }
            Kind::Delay(_) | Kind::Once => {}
            Kind::Rate(_) | Kind::Cron(_) => {
                self.sort_out();
                self.skip(SkipReason::Paused, |fire| fire < now);
            }
        }
    }
}

pub(super) fn after(trigger: &CronTrigger, fire: u64) -> u64 {
    let at = start() + TimeDelta::milliseconds(i64::try_from(fire).expect("hours"));
    let next = trigger.next_after(at).expect("it goes on for ever");
    u64::try_from((next - start()).num_milliseconds()).expect("it is later")
}
