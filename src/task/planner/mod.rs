//! Which fire times start a run, and which are skipped: the policies, as plain data and arithmetic.
//!
//! **Each fire time is judged by the state that held when it came.** The state changes only at transitions: a start, the
//! end of a run, pause, resume, run now, reschedule. Each first [settles](Planner::settle) what has come since the last one,
//! so that a late look decides what a punctual one would have.
//!
//! | state when it came | what becomes of the fire time |
//! |---|---|
//! | as many runs as may be, `skip` or `allow` | skipped (`overlap`) |
//! | as many runs as may be, `queue_one` | follows the run, in place of the one before, which is skipped (`overlap`) |
//! | fewer runs, paused | skipped (`paused`) |
//! | fewer runs, not paused | waits; `misfire` decides when a worker is there |
//! | a one-time task, in any state | waits |
//!
//! It reads no clock, takes no lock and calls no code of the user's: a custom trigger is asked by others
//! ([`Planner::question`]). A clone is a preview.
//!
//! | file | what |
//! |---|---|
//! | `settle` | what becomes of fire times that have come |
//! | `missed` | what a worker that is there starts of those that wait |
//! | `preview` | when the next run starts if nobody does anything |

mod missed;
mod preview;
mod settle;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::{Due, Now, Tick, WallTime};

use super::fire_times::{FireTime, FireTimes, Kind, Limit, Range};
use super::jitter::Chance;
use super::pause::Pause;
use super::policy::Policy;
use super::question::{Question, Questions};
use super::rule::Rule;
use super::served::Served;
use crate::observe::SkipReason;
use crate::run::Cause;
use scheduler_expr::Overlap;

/// How late a fire time may start without being missed: Quartz' threshold.
const MISSED_AFTER: Duration = Duration::from_secs(60);

/// A run to start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) fire: FireTime,
    pub(super) cause: Cause,
    /// Which rule of the task it is of; see [`Planner::reschedule`].
    generation: u32,
}

/// Fire times that are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Skip {
    pub(super) reason: SkipReason,
    pub(super) first: Due,
    pub(super) last: Due,
    pub(super) count: u64,
    /// Whether there are more than were counted.
    pub(super) at_least: bool,
}

/// Why a run by hand cannot start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A run is in progress.
    Running,
    /// Another run by hand is about to start.
    AlreadyAsked,
}

/// Fire times that have come and wait for a worker.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    range: Range,
    /// When the run ended that they follow.
    ready: Option<Now>,
}

/// Plans one task. See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Planner {
    times: FireTimes,
    policy: Arc<Policy>,
    /// The next fire time that has not come.
    next: Option<FireTime>,
    /// Fire times that have come, in their order.
    waiting: VecDeque<Waiting>,
    /// The fire time that follows the run in progress (`queue_one`).
    queued: Option<FireTime>,
    /// When runs by hand were asked for.
    manual: VecDeque<Now>,
    /// How many runs are in progress.
    running: u32,
    /// How many runs of the schedule have started, for `max_runs`.
    starts: u64,
    pause: Option<Box<Pause>>,
    /// For what a fire time was skipped, if a delay begins anew, or a trigger is asked again, when that is over.
    restarts: Option<SkipReason>,
    generation: u32,
    questions: Questions,
    served: Served,
    /// The last look at the clocks.
    seen: Now,
    report: Reports,
    skips: Vec<Skip>,
    /// Whether a pause has ended by its time, which is not reported yet.
    has_resumed: bool,
}

/// When skips during a run are reported.
#[derive(Clone, Copy, Debug, Default)]
struct Reports {
    gap: Duration,
    next_at: Tick,
}

impl Planner {
    pub(super) fn new(rule: &Rule, policy: Arc<Policy>, chance: Chance, now: Now) -> Self {
        Self {
            times: FireTimes::new(rule, &policy, chance),
            policy,
            next: None,
            waiting: VecDeque::new(),
            queued: None,
            manual: VecDeque::new(),
            running: 0,
            starts: 0,
            pause: None,
            restarts: None,
            generation: 0,
            questions: Questions::default(),
            served: Served::default(),
            seen: now,
            report: Reports::default(),
            skips: Vec::new(),
            has_resumed: false,
        }
    }

    /// Begins: the first fire time counts from now. A trigger that was asked before keeps its answer.
    pub(super) fn begin(&mut self, now: Now) {
        self.seen = now;
        match self.times.kind {
            Kind::Custom if self.next.is_some() || self.questions.is_open() => {}
            Kind::Custom => self.questions.put(Question::first()),
            _ => {
                let first = self.times.first(now, &self.served);
                self.next = self.admitted(first);
            }
        }
    }

    /// Returns when the ticker has to look next; `None` if nothing happens by itself.
    pub(super) fn wake(&self) -> Option<Due> {
        let is_free = !self.is_full();
        if is_free && let Some(asked) = self.manual.front() {
            return Some(Due::Tick(asked.tick));
        }
        if let Some(pause) = &self.pause {
            return pause.until.map(|_| pause.end());
        }
        if self.is_spent() {
            return None;
        }
        if !is_free {
            let next = self.next?.due;
            let is_first = next.as_tick(self.seen) >= self.report.next_at;
            return Some(if is_first { next } else { Due::Tick(self.report.next_at) });
        }
        if let Some(first) = self.waiting.front() {
            let due = first.range.first.due;
            // It keeps its turn when the clock is set back.
            return Some(if due.is_reached(self.seen) { due } else { Due::Tick(self.seen.tick) });
        }
        self.questions.again_at().map(Due::Tick).or_else(|| Some(self.next?.due))
    }

    /// Decides what a worker starts now, if anything.
    pub(super) fn fire(&mut self, now: Now) -> Option<Start> {
        if let Some(fire) = self.in_time(&now) {
            return Some(self.start(fire, Cause::Schedule));
        }
        self.settle(Limit::UpTo(now), now);
        if self.questions.again_at().is_some_and(|at| at <= now.tick) {
            self.questions.ask_again();
        }
        if self.is_full() {
            return None;
        }
        if self.manual.pop_front().is_some() {
            return Some(self.start(FireTime::manual(now), Cause::Manual));
        }
        if self.pause.is_some() || self.is_spent() {
            return None;
        }
        let fire = self.choose(now)?;
        Some(self.start(fire, Cause::Schedule))
    }

    /// Ends a run. One that was refused before its first attempt does not count for `max_runs`.
    pub(super) fn run_ended(&mut self, run: &Start, began: Now, now: Now, is_refused: bool) {
        let is_queued = self.policy.overlap == Overlap::QueueOne;
        self.settle(if is_queued { Limit::UpTo(now) } else { Limit::Before(now) }, now);
        self.running -= 1;
        self.report = Reports::default();
        if is_refused && run.cause == Cause::Schedule {
            self.starts -= 1;
        }
        if let Some(fire) = self.queued.take() {
            self.let_follow(fire, now);
        }
        let is_own = run.cause == Cause::Schedule && run.generation == self.generation;
        // While another run may yet be refused, nothing is given up.
        if self.is_spent() && self.running == 0 {
            (self.next, self.restarts) = (None, None);
            self.waiting.clear();
            self.questions = Questions::default();
        } else if is_own || self.restarts == Some(SkipReason::Overlap) {
            let last = if is_own { Some((run.fire, began)) } else { None };
            self.restart(last, now);
        }
    }

    /// Pauses, or changes the note and the end of a pause. What has come and waits is skipped.
    pub(super) fn pause(&mut self, note: Option<Arc<str>>, until: Option<DateTime<Utc>>, now: Now) {
        self.settle(Limit::UpTo(now), now);
        let since = self.pause.as_ref().map_or(now.wall.to_utc(), |pause| pause.since);
        self.pause = Some(Box::new(Pause { note, since, until, set_at: now }));
        self.skip_waiting(SkipReason::Paused);
    }

    /// Ends a pause; returns false if there is none, or it is over by itself.
    pub(super) fn resume(&mut self, now: Now) -> bool {
        self.settle(Limit::Before(now), now);
        let is_paused = self.pause.is_some();
        if is_paused {
            self.end_pause(now);
        }
        is_paused
    }

    /// Asks for a run by hand.
    pub(super) fn run_now(&mut self, now: Now) -> Result<(), Refusal> {
        self.settle(Limit::UpTo(now), now);
        match self.policy.overlap {
            Overlap::Allow
                if self.running as usize + self.manual.len() >= self.limit() as usize =>
            {
                return Err(Refusal::Running);
            }
            Overlap::Allow => {}
            Overlap::Skip if self.is_full() => return Err(Refusal::Running),
            _ if !self.manual.is_empty() => return Err(Refusal::AlreadyAsked),
            Overlap::Skip | Overlap::QueueOne => {}
        }
        self.manual.push_back(now);
        Ok(())
    }

    /// Goes by another rule from now on. What has come under the old one and was not started is skipped, also where its
    /// jitter is not over. The same cron expression keeps what is served.
    pub(super) fn reschedule(&mut self, rule: &Rule, chance: Chance, now: Now) {
        self.settle(Limit::UpTo(now), now);
        let is_paused = self.pause.is_some() && !self.times.is_once();
        let reason = if is_paused { SkipReason::Paused } else { SkipReason::Rescheduled };
        let jittered = self.next.filter(|next| next.at.is_reached(now) && next.at != Due::NEVER);
        let jittered = jittered.filter(|_| !self.is_spent());
        let queued = self.queued.take();
        for waiting in std::mem::take(&mut self.waiting) {
            self.skip(reason, waiting.range);
        }
        queued.into_iter().chain(jittered).for_each(|fire| self.skip(reason, Range::one(fire)));
        let times = FireTimes::new(rule, &self.policy, chance);
        if !self.times.has_same_calendar(&times) {
            self.served = Served::default();
        }
        (self.times, self.next, self.restarts) = (times, None, None);
        self.questions = Questions::default();
        self.generation += 1;
        self.begin(now);
    }

    /// Starts no run any more, and forgets what waits.
    pub(super) fn stop(&mut self) {
        (self.next, self.queued, self.pause, self.restarts) = (None, None, None, None);
        self.waiting.clear();
        self.manual.clear();
        self.questions = Questions::default();
    }

    /// Applies what has come up to now, without deciding anything that needs a worker.
    pub(super) fn look(&mut self, now: Now) {
        self.settle(Limit::UpTo(now), now);
    }

    /// Returns true if no run is in progress and none will start by itself.
    pub(super) fn is_finished(&self) -> bool {
        let is_over = self.is_spent()
            || self.next.is_none()
                && self.waiting.is_empty()
                && self.restarts.is_none()
                && !self.questions.is_open();
        is_over && self.running == 0 && self.queued.is_none() && self.manual.is_empty()
    }

    /// Returns how the pause of the task is, if it is paused.
    pub(super) fn paused(&self) -> Option<&Pause> {
        self.pause.as_deref()
    }

    /// Takes out the skips since the last call.
    pub(super) fn take_skips(&mut self) -> Vec<Skip> {
        std::mem::take(&mut self.skips)
    }

    /// Returns true, once, if a pause has ended by its time.
    pub(super) fn take_resumed(&mut self) -> bool {
        std::mem::take(&mut self.has_resumed)
    }

    /// Returns true if there is anything to report.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        self.has_resumed || !self.skips.is_empty()
    }

    /// Returns true if a run would have to wait for one in progress.
    pub(super) fn is_full(&self) -> bool {
        self.running >= self.limit()
    }
}

/// A trigger of the user's, which is asked by others.
impl Planner {
    /// Takes out what the trigger is to be asked. Until the [answer](Self::answer) there is no other question.
    pub(super) fn question(&mut self) -> Option<(Question, u32)> {
        let question = self.questions.take()?;
        Some((question, self.generation))
    }

    /// Returns true if there is a question.
    pub(super) fn has_question(&self) -> bool {
        self.questions.has_one()
    }

    /// Takes the answer to a question: the fire time, or `None` if the trigger fires no more. That to an earlier rule is
    /// dropped.
    pub(super) fn answer(&mut self, generation: u32, answer: Option<WallTime>) {
        if generation != self.generation {
            return;
        }
        self.questions.answered();
        let Some(next) = answer else { return };
        if let Some(end) = self.served.end_around(next) {
            self.questions.put(Question::following(end));
            return;
        }
        let fire = self.times.on_wall(next);
        self.next = self.admitted(Some(fire));
    }

    /// Takes note that the trigger could not answer; returns after how long it is asked again.
    pub(super) fn unanswered(
        &mut self,
        generation: u32,
        question: Question,
        now: Now,
    ) -> Option<Duration> {
        (generation == self.generation).then(|| self.questions.failed(question, now.tick))
    }
}

impl Planner {
    fn limit(&self) -> u32 {
        match self.policy.overlap {
            Overlap::Skip | Overlap::QueueOne => 1,
            Overlap::Allow => self.policy.max_concurrent.map_or(u32::MAX, std::num::NonZero::get),
        }
    }

    fn max_left(&self) -> u64 {
        self.policy.max_runs.map_or(u64::MAX, |max| max.get().saturating_sub(self.starts))
    }

    /// Returns true if `max_runs` is reached.
    fn is_spent(&self) -> bool {
        self.max_left() == 0
    }

    /// Returns a fire time unless it is after `until`.
    fn admitted(&self, fire: Option<FireTime>) -> Option<FireTime> {
        let fire = fire?;
        let is_over = |until: DateTime<Utc>| fire.at.as_wall(self.seen) > until.into();
        if self.policy.until.is_some_and(is_over) { None } else { Some(fire) }
    }

    /// Takes the next fire time if it starts now and nothing else is to be decided.
    #[inline]
    fn in_time(&mut self, now: &Now) -> Option<FireTime> {
        let is_plain = self.running == 0
            && self.waiting.is_empty()
            && self.manual.is_empty()
            && self.pause.is_none()
            && self.policy.until.is_none()
            && self.policy.max_runs.is_none();
        let fire = self.next.filter(|_| is_plain)?;
        let next = self.times.next_on_grid(&fire, now, MISSED_AFTER)?;
        (self.next, self.seen) = (Some(next), *now);
        Some(fire)
    }

    fn start(&mut self, fire: FireTime, cause: Cause) -> Start {
        self.running += 1;
        self.report = Reports::default();
        if cause == Cause::Schedule {
            self.starts += 1;
            self.mark_served(fire);
        }
        Start { fire, cause, generation: self.generation }
    }

    fn mark_served(&mut self, fire: FireTime) {
        let Due::Wall(at) = fire.at else { return };
        match self.times.kind {
            Kind::Cron(_) => self.served.start(at),
            Kind::Custom => return self.served.given(at, self.seen.tick),
            _ => return,
        }
        // It waited while the clock was set back.
        if self.next.is_some_and(|next| next.at == fire.at) {
            let next = self.times.unserved_after(at, &self.served);
            self.next = self.admitted(next);
        }
    }
}

#[cfg(test)]
impl Planner {
    /// Returns how many fire times before an instant have come and are not decided.
    pub(super) fn undecided_before(&self, instant: WallTime) -> u64 {
        let now = self.seen;
        let is_before = |fire: &FireTime| fire.at.as_wall(now) < instant;
        let waiting = self.waiting.iter().flat_map(|waiting| {
            let Range { first, last, .. } = waiting.range;
            std::iter::successors(Some(first), move |fire| {
                self.times.following(*fire).filter(|_| *fire != last)
            })
        });
        waiting.chain(self.queued).filter(is_before).count() as u64
    }
}
