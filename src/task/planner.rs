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

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Due;
use scheduler_core::Now;
use scheduler_core::Tick;
use scheduler_core::WallTime;

use super::fire_times::FireTime;
use super::fire_times::FireTimes;
use super::fire_times::Kind;
use super::fire_times::Limit;
use super::fire_times::Range;
use super::jitter::Chance;
use super::pause::Pause;
use super::policy::Policy;
use super::question::Question;
use super::question::Questions;
use super::rule::Rule;
use super::served::Served;
use crate::observe::SkipReason;
use crate::run::Cause;
use scheduler_expr::Misfire;
use scheduler_expr::Overlap;

/// How late a fire time may start without being missed: Quartz' threshold.
pub(super) const MISSED_AFTER: Duration = Duration::from_secs(60);

/// How many stretches of missed fire times wait at most; what would begin another is skipped.
const RANGES_MAX: usize = 1_000;

/// How often a preview looks on for the next start.
const PREVIEW_STEPS_MAX: usize = 1_000;

/// The shortest distance between two reports of skips during one run.
const REPORT_GAP_MIN: Duration = Duration::from_millis(10);

/// The distance that reports of skips grow to, for periods that are shorter.
const REPORT_GAP_MAX: Duration = Duration::from_secs(1);

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
            Kind::Custom(_) if self.next.is_some() || self.questions.is_open() => {}
            Kind::Custom(_) => self.questions.put(Question::first()),
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

    /// Returns when the next run starts if nobody does anything; a run in progress counts as over by then. `None` if that is
    /// not known, too: it follows the run in progress, or only a trigger will say.
    pub(super) fn next_start(&self, now: Now) -> Option<Due> {
        let is_plain = self.waiting.is_empty() && self.manual.is_empty() && self.queued.is_none();
        // With jitter a later fire time may come before the next one.
        let is_in_order = self.policy.jitter.is_zero() || !self.times.is_by_wall();
        let has_left = self.max_left() > u64::from(self.is_full());
        if is_plain && is_in_order && has_left && self.pause.is_none() {
            let next = self.next?.due;
            if !next.is_reached(now) {
                return (next != Due::NEVER).then_some(next);
            }
        }
        self.clone().preview(now)
    }

    /// As [`next_start`](Self::next_start), if a paused task were resumed now.
    pub(super) fn next_start_if_resumed(&self, now: Now) -> Option<Due> {
        let mut planner = self.clone();
        planner.resume(now);
        planner.next_start(now)
    }

    fn preview(mut self, now: Now) -> Option<Due> {
        self.look(now);
        if self.is_full() {
            if self.queued.is_some() || !self.waiting.is_empty() || !self.manual.is_empty() {
                return None;
            }
            self.running = 0;
        }
        let mut at = now;
        for _ in 0..PREVIEW_STEPS_MAX {
            if self.fire(at).is_some() {
                return Some(Due::Wall(at.wall));
            }
            let due = self.wake().filter(|due| *due != Due::NEVER && !due.is_reached(at))?;
            at = Now { tick: due.as_tick(at), wall: due.as_wall(at) };
        }
        None
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
            if let (true, Due::Wall(at)) = (self.times.is_by_wall(), fire.at) {
                self.served.start(at);
                // It waited while the clock was set back.
                if self.next.is_some_and(|next| next.at == fire.at) {
                    let next = self.times.unserved_after(at, &self.served);
                    self.next = self.admitted(next);
                }
            }
        }
        Start { fire, cause, generation: self.generation }
    }

    /// Applies what has come within a limit, in the state that has held since the last transition. The end of a pause by
    /// its time is one.
    fn settle(&mut self, limit: Limit, now: Now) {
        let last = std::mem::replace(&mut self.seen, now);
        let is_by_wall = self.times.is_by_wall();
        if is_by_wall && now.wall < last.wall {
            self.clock_was_set_back(last, now);
        }
        if let Some(end) = self.pause.as_ref().and_then(|pause| pause.over_at(last, now)) {
            self.come(Limit::Before(end));
            self.end_pause(end);
            self.has_resumed = true;
        }
        self.come(limit);
        if self.times.is_cron() && now.wall >= last.wall {
            self.served.look(last, now);
        }
    }

    /// Looks for the next fire time anew.
    #[cold]
    fn clock_was_set_back(&mut self, last: Now, now: Now) {
        if self.times.is_cron() {
            self.served.look(last, now);
        }
        // One that had come, and whose jitter is not over, stays.
        let has_come = |next: FireTime| matches!(next.at, Due::Wall(at) if at <= last.wall);
        if self.next.is_none_or(has_come) {
            return;
        }
        self.next = None;
        if matches!(self.times.kind, Kind::Custom(_)) {
            self.questions.put(Question::first());
        } else {
            let next = self.times.unserved_after(now.wall, &self.served);
            self.next = self.admitted(next);
        }
    }

    fn come(&mut self, limit: Limit) {
        // Nothing is asked for while all runs that may be have started; the last one may yet be refused.
        let is_spent = self.is_spent();
        if is_spent && !self.times.goes_on_by_itself() {
            return;
        }
        while let Some(first) = self.next.filter(|next| limit.includes(next.due)) {
            let (range, next) = self.take(first, limit);
            self.next = self.admitted(next);
            let Some(range) = range.filter(|_| !is_spent) else { continue };
            let range = if self.policy.until.is_some() { self.cut_at_until(range) } else { range };
            self.take_in(range);
        }
    }

    fn take(&self, first: FireTime, limit: Limit) -> (Option<Range>, Option<FireTime>) {
        let wall = |fire: FireTime| fire.at.as_wall(self.seen);
        let queued = self.queued.map(Range::one);
        let mut held = self.waiting.iter().map(|it| it.range).chain(queued);
        let at = wall(first);
        if !self.times.is_cron() || held.clone().all(|range| wall(range.last) < at) {
            let (range, next) = self.times.take(first, limit, &self.served);
            return (Some(range), next);
        }
        // The clock was set back behind fire times that wait: they do not come again while they do.
        let is_held = held.any(|range| wall(range.first) <= at && at <= wall(range.last));
        let range = (!is_held).then(|| Range::one(first));
        (range, self.times.unserved_after(at, &self.served))
    }

    /// Cuts off the fire times after `until`: of a range that was taken at once.
    fn cut_at_until(&self, range: Range) -> Range {
        if self.admitted(Some(range.last)).is_some() {
            return range;
        }
        let mut cut = Range::one(range.first);
        while cut.last != range.last
            && let Some(next) = self.admitted(self.times.following(cut.last))
        {
            cut.push(next);
        }
        cut
    }

    /// Decides about fire times by the present state.
    fn take_in(&mut self, range: Range) {
        let is_once = self.times.is_once();
        let reason = match self.policy.overlap {
            _ if is_once => return self.wait(Waiting { range, ready: None }),
            Overlap::QueueOne if self.is_full() => return self.queue(range),
            _ if self.is_full() => SkipReason::Overlap,
            _ if self.pause.is_some() => SkipReason::Paused,
            _ => return self.wait(Waiting { range, ready: None }),
        };
        self.skip(reason, range);
        self.restart_after(reason);
    }

    /// Lets the last fire time of a range follow the run in progress, in place of the one before.
    ///
    /// What was to follow the run before, and has found no worker since, gives way too, unless each is caught up.
    fn queue(&mut self, range: Range) {
        let is_each = self.policy.misfire == Misfire::CatchUp;
        if let Some(index) = self.waiting.iter().position(|it| it.ready.is_some() && !is_each)
            && let Some(former) = self.waiting.remove(index)
        {
            self.skip(SkipReason::Overlap, former.range);
        }
        if let Some(former) = self.queued.replace(range.last) {
            self.skip(SkipReason::Overlap, Range::one(former));
        }
        if let Some(earlier) = range.without_last() {
            self.skip(SkipReason::Overlap, earlier);
        }
    }

    /// The run has ended that a fire time was to follow.
    fn let_follow(&mut self, fire: FireTime, now: Now) {
        let range = Range::one(fire);
        if self.pause.is_none() || self.times.is_once() {
            self.wait(Waiting { range, ready: Some(now) });
        } else {
            self.skip(SkipReason::Paused, range);
            self.restart_after(SkipReason::Paused);
        }
    }

    fn wait(&mut self, waiting: Waiting) {
        if self.waiting.len() < RANGES_MAX {
            self.waiting.push_back(waiting);
            return;
        }
        self.skip(SkipReason::Misfire, waiting.range);
    }

    /// Chooses by `misfire` among the fire times that wait.
    fn choose(&mut self, now: Now) -> Option<FireTime> {
        let first = *self.waiting.front()?;
        let last = *self.waiting.back()?;
        let is_followed = self.waiting.len() > 1 || first.range.count > 1;
        let is_missed = self.can_be_missed() && (is_followed || first.lateness(now) > MISSED_AFTER);
        if !is_missed || self.policy.misfire == Misfire::CatchUp {
            return self.take_first();
        }
        let is_in_time = last.range.last.due.left(now).is_zero()
            && late(last.range.last.due, now).is_zero()
            || last.ready.is_some_and(|ready| now.tick.since(ready.tick) <= MISSED_AFTER);
        if self.policy.misfire == Misfire::RunOnce || is_in_time {
            self.waiting.pop_back();
            let earlier = last.range.without_last();
            self.skip_waiting(SkipReason::Misfire);
            earlier.into_iter().for_each(|earlier| self.skip(SkipReason::Misfire, earlier));
            return Some(last.range.last);
        }
        self.skip_waiting(SkipReason::Misfire);
        if matches!(self.times.kind, Kind::Custom(_)) {
            self.restart(Some((last.range.last, now)), now);
        }
        None
    }

    fn can_be_missed(&self) -> bool {
        self.times.goes_on_by_itself() || matches!(self.times.kind, Kind::Custom(_))
    }

    fn take_first(&mut self) -> Option<FireTime> {
        let waiting = self.waiting.front_mut()?;
        let first = waiting.range.first;
        let rest = if first == waiting.range.last { None } else { self.times.following(first) };
        match rest {
            Some(next) => {
                waiting.range.first = next;
                waiting.range.count = waiting.range.count.saturating_sub(1).max(1);
            }
            None => _ = self.waiting.pop_front(),
        }
        Some(first)
    }

    /// Skips what waits, but for a one-time task, which a pause only delays.
    fn skip_waiting(&mut self, reason: SkipReason) {
        if reason == SkipReason::Paused && self.times.is_once() || self.waiting.is_empty() {
            return;
        }
        for waiting in std::mem::take(&mut self.waiting) {
            self.skip(reason, waiting.range);
        }
        if reason == SkipReason::Paused {
            self.restart_after(reason);
        }
    }

    fn end_pause(&mut self, at: Now) {
        self.pause = None;
        self.skip_waiting(SkipReason::Paused);
        if !self.times.is_once()
            && let Some(fire) = self.queued.take()
        {
            self.skip(SkipReason::Paused, Range::one(fire));
            self.restart_after(SkipReason::Paused);
        }
        let is_held_up = self.restarts == Some(SkipReason::Paused);
        if is_held_up && let Some(skipped) = self.questions.skipped() {
            // What a trigger gives now and was in the pause is not replayed.
            self.served.pass(skipped, at.wall);
        }
        if is_held_up {
            self.restart(None, at);
        }
    }

    /// A fire time is skipped that no other follows by itself.
    fn restart_after(&mut self, reason: SkipReason) {
        if !self.times.goes_on_by_itself() {
            self.restarts = Some(reason);
        }
    }

    /// A delay begins anew, or the trigger is asked: after a run of the schedule, or after what was skipped.
    fn restart(&mut self, last: Option<(FireTime, Now)>, now: Now) {
        self.restarts = None;
        match self.times.kind {
            Kind::Delay { .. } => {
                let next = self.times.after_delay(now);
                self.next = self.admitted(next);
            }
            Kind::Custom(_) if self.next.is_none() => {
                self.questions.put(match last {
                    Some((fire, began)) => Question::after_run(fire, began, now),
                    None => Question::after_skip(now),
                });
            }
            _ => {}
        }
    }

    fn skip(&mut self, reason: SkipReason, range: Range) {
        let Range { first, last, count, at_least, .. } = range;
        if let Kind::Custom(_) = self.times.kind
            && let Due::Wall(at) = last.at
        {
            self.questions.note_skipped(at);
            self.served.start(at);
        }
        if self.is_full() {
            self.report.note(self.seen.tick, self.times.period());
        }
        match self.skips.last_mut() {
            Some(before) if before.reason == reason => {
                before.last = last.at;
                before.count = before.count.saturating_add(count);
                before.at_least |= at_least;
            }
            _ => self.skips.push(Skip { reason, first: first.at, last: last.at, count, at_least }),
        }
    }
}

impl Waiting {
    /// How late the first one is: counted from the end of the run that it follows.
    fn lateness(&self, now: Now) -> Duration {
        match self.ready {
            Some(ready) => now.tick.since(ready.tick),
            None => late(self.range.first.due, now),
        }
    }
}

impl Reports {
    /// Skips are reported now: the next ones after twice the time.
    fn note(&mut self, now: Tick, period: Duration) {
        if self.next_at > now {
            return;
        }
        let (min, max) = (period.max(REPORT_GAP_MIN), period.max(REPORT_GAP_MAX));
        self.gap = (self.gap * 2).clamp(min, max);
        self.next_at = now + self.gap;
    }
}

fn late(due: Due, now: Now) -> Duration {
    match due {
        Due::Tick(tick) => now.tick.since(tick),
        Due::Wall(wall) => now.wall.since(wall),
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
