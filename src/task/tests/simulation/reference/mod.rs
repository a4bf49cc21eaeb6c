//! What happens to one task where everything is known beforehand: written from `docs/policies.md`, with
//! whole milliseconds, and held against the conductor one fire time after the other.
//!
//! Known is how long each run takes; there are workers enough, but for stalls; nobody sets the clock.
//! Unlike the conductor, it decides about each fire time as soon as it comes.
//!
//! # What this room is for
//!
//! Here is what follows from time that passes; `others` has what is done to the task.
//!
//! # What it must never do
//!
//! Share a line with the conductor: what both have wrong, nobody notices.

mod others;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::TimeDelta;
use scheduler_core::trigger::CronTrigger;

use super::super::stage::start;
use super::pace::Pace;
use crate::observe::SkipReason;
use crate::task::Policy;
use scheduler_expr::Misfire;
use scheduler_expr::Overlap;

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

/// A fire time that has come and is not decided.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    fire: u64,
    /// The run that it is to follow, and when that has ended.
    follows: Option<(usize, u64)>,
}

impl Waiting {
    /// Whether it gives way to what comes during that run: one follows each where all are caught up, else one.
    fn gives_way(&self, run: usize, misfire: Misfire) -> bool {
        let is_each = misfire == Misfire::CatchUp;
        self.follows.is_some_and(|(before, _)| before == run || !is_each)
    }
}

/// A run in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    number: usize,
    began: u64,
    end: u64,
    /// Under which rule the schedule started it; none for a manual one.
    rule: Option<usize>,
    /// Whether a delay was due during it, and begins anew when it ends.
    is_awaited: bool,
}

#[derive(Debug)]
pub(super) struct Reference {
    pub(super) policy: Policy,
    pub(super) pace: Pace,
    pub(super) now: u64,
    kind: Kind,
    /// The how-manieth rule this is.
    rule: usize,
    /// Of the rules before, whether their runs hold the task up although it may overlap itself.
    held_up: Vec<bool>,
    /// Whether this rule is gone by: no run has held it up since it took the place of another.
    is_taken_up: bool,
    /// What would have come under a rule that was replaced before it was gone by.
    pub(super) forgotten: BTreeSet<u64>,
    /// What may be decided, and not told before a run is over.
    untold: BTreeSet<u64>,
    waiting: Vec<Waiting>,
    /// The next fire time that comes.
    next: u64,
    /// All that have come.
    pub(super) come: Vec<u64>,
    pub(super) runs: Vec<Run>,
    started: usize,
    pub(super) wants_manual: bool,
    /// Until when it is paused.
    paused: Option<u64>,
    pub(super) story: Story,
}

impl Reference {
    pub(super) fn new((kind, next): (Kind, u64), policy: Policy, pace: Pace) -> Self {
        let (held_up, forgotten, untold, waiting, come, runs, story) = <_>::default();
        Self {
            policy,
            pace,
            now: 0,
            kind,
            rule: 0,
            held_up,
            is_taken_up: true,
            forgotten,
            untold,
            waiting,
            next,
            come,
            runs,
            started: 0,
            wants_manual: false,
            paused: None,
            story,
        }
    }

    fn is_alone(&self) -> bool {
        self.policy.overlap != Overlap::Allow
    }

    fn has_schedule(&self) -> bool {
        matches!(self.kind, Kind::Rate(_) | Kind::Cron(_))
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    pub(super) fn is_over(&self) -> bool {
        let has_next = self.next != NEVER || !self.waiting.is_empty() || self.wants_manual;
        matches!(self.kind, Kind::Once) && !has_next && self.runs.is_empty()
    }

    fn skip(&mut self, reason: SkipReason, which: impl Fn(&Waiting) -> bool) {
        let fates = &mut self.story.fates;
        self.waiting.retain(|waiting| {
            let is_skipped = which(waiting);
            if is_skipped {
                fates.insert(waiting.fire, Fate::Skipped(reason));
            }
            !is_skipped
        });
    }
}

/// What passes.
impl Reference {
    /// Lets time pass while workers are there.
    pub(super) fn until(&mut self, end: u64) {
        loop {
            let over = self.runs.iter().map(|run| run.end).min().unwrap_or(NEVER);
            let next = over.min(self.next).min(self.paused.unwrap_or(NEVER));
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            self.settle();
        }
        self.now = end;
        self.settle();
    }

    /// Lets time pass while no worker takes a step, nor notices that a run is over.
    pub(super) fn stall_until(&mut self, end: u64) {
        self.now = end;
        self.runs.iter_mut().for_each(|run| run.end = run.end.max(end));
        self.come();
    }

    /// What happens at one instant.
    pub(super) fn settle(&mut self) {
        self.come();
        while self.finish_one() || self.start_one() {
            self.come();
        }
        if self.waiting.is_empty() && self.runs.is_empty() {
            self.untold.clear();
        }
    }

    /// Fire times come, and the time of a pause is over, in their order.
    fn come(&mut self) {
        loop {
            let over = self.paused.unwrap_or(NEVER);
            if self.next.min(over) > self.now {
                return;
            }
            if self.next < over {
                self.arrive();
            } else {
                self.resume_at(over);
            }
        }
    }

    fn arrive(&mut self) {
        let fire = self.next;
        self.come.push(fire);
        self.untold.insert(fire);
        self.next = match &self.kind {
            Kind::Rate(period) => fire + period,
            Kind::Cron(trigger) => after(trigger, fire),
            Kind::Delay(_) | Kind::Once => NEVER,
        };
        // What comes just as a run ends is in time, and the latest where another one was to follow it.
        let is_queued = self.policy.overlap == Overlap::QueueOne;
        let (waiting, misfire) = (&self.waiting, self.policy.misfire);
        let has_follower = |run: &Run| waiting.iter().any(|it| it.gives_way(run.number, misfire));
        let meets = |run: &Run| {
            run.began < fire && (fire < run.end || fire == run.end && has_follower(run))
        };
        let is_alone = self.is_alone();
        let run = self.runs.iter().position(meets).filter(|_| is_alone);
        match (run, &self.kind) {
            (Some(run), Kind::Delay(_)) if !is_queued => {
                self.runs[run].is_awaited = true;
                self.story.fates.insert(fire, Fate::Skipped(SkipReason::Overlap));
            }
            (Some(run), Kind::Rate(_) | Kind::Cron(_)) => {
                let number = self.runs[run].number;
                self.arrive_during(number, fire);
            }
            _ => {
                // What was to follow a run has found no worker before.
                self.waiting.iter_mut().for_each(|waiting| waiting.follows = None);
                self.waiting.push(Waiting { fire, follows: None });
            }
        }
    }

    fn arrive_during(&mut self, run: usize, fire: u64) {
        if self.policy.overlap == Overlap::Skip {
            self.story.fates.insert(fire, Fate::Skipped(SkipReason::Overlap));
            return;
        }
        let misfire = self.policy.misfire;
        self.skip(SkipReason::Overlap, |waiting| waiting.gives_way(run, misfire));
        self.waiting.push(Waiting { fire, follows: Some((run, NEVER)) });
    }

    fn finish_one(&mut self) -> bool {
        let over = self.runs.iter().position(|run| run.end <= self.now);
        let Some(run) = over.map(|over| self.runs.remove(over)) else { return false };
        self.is_taken_up |= !self.is_held_up();
        for waiting in &mut self.waiting {
            if let Some((_, since)) = waiting.follows.as_mut().filter(|(of, _)| *of == run.number) {
                *since = self.now;
            }
        }
        if let Kind::Delay(delay) = self.kind
            && (run.is_awaited || run.rule == Some(self.rule))
        {
            self.next = self.now + delay;
        }
        true
    }

    fn start(&mut self, rule: Option<usize>, seed: u64) {
        self.started += 1;
        let (number, began, end) = (self.started, self.now, self.now + self.pace.takes(seed));
        self.runs.push(Run { number, began, end, rule, is_awaited: false });
    }

    fn start_scheduled(&mut self, fire: u64) {
        self.waiting.retain(|waiting| waiting.fire != fire);
        self.untold.remove(&fire);
        self.story.fates.insert(fire, Fate::RanAt(self.now));
        self.start(Some(self.rule), fire);
    }

    fn is_held_up(&self) -> bool {
        // A new rule waits for a run of a delay or a one-time task.
        let holds_up = |run: &Run| run.rule.and_then(|rule| self.held_up.get(rule)) == Some(&true);
        self.is_alone() && !self.runs.is_empty() || self.runs.iter().any(holds_up)
    }

    fn start_one(&mut self) -> bool {
        let is_busy = self.is_alone() && !self.runs.is_empty();
        if self.wants_manual && !is_busy {
            self.wants_manual = false;
            self.story.manual.push(self.now);
            self.start(None, !self.now);
            return true;
        }
        if self.is_held_up() || self.is_paused() {
            return false;
        }
        let (Some(first), Some(last)) = (self.waiting.first(), self.waiting.last().copied()) else {
            return false;
        };
        let (now, fire) = (self.now, first.fire);
        let late = now - first.follows.map_or(fire, |(_, since)| since);
        let next = match &self.kind {
            Kind::Rate(period) => fire + period,
            Kind::Cron(trigger) => after(trigger, fire),
            Kind::Delay(_) | Kind::Once => NEVER,
        };
        let is_missed = self.has_schedule() && (late > 60_000 || next <= now);
        if !is_missed || self.policy.misfire == Misfire::CatchUp {
            self.start_scheduled(fire);
            return true;
        }
        let is_in_time = |(_, since): (usize, u64)| now - since <= 60_000;
        let starts = self.policy.misfire == Misfire::RunOnce
            || last.fire == now
            || last.follows.is_some_and(is_in_time);
        self.skip(SkipReason::Misfire, |waiting| !starts || waiting.fire < last.fire);
        if starts {
            self.start_scheduled(last.fire);
        }
        starts
    }
}

pub(super) fn after(trigger: &CronTrigger, fire: u64) -> u64 {
    let at = start() + TimeDelta::milliseconds(i64::try_from(fire).expect("hours"));
    let next = trigger.next_after(at).expect("it goes on for ever");
    u64::try_from((next - start()).num_milliseconds()).expect("it is later")
}
