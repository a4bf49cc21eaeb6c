//! Decides which fire times start a run: the policies as data.
//!
//! **What happens to a fire time depends on the state at that moment**, even if the task looks later. The state changes only
//! at transitions: a start, the end of a run, pause, resume, run now, reschedule. Each first [settles](Planner::settle) the
//! fire times that came since the last one. So a delayed wake-up gives the same result as one on time.
//!
//! | state when it came | decision about the fire time |
//! |---|---|
//! | no more runs allowed, `skip` or `allow` | skipped (`overlap`) |
//! | no more runs allowed, `queue_one` | queued; replaces the fire time queued earlier, which is skipped (`overlap`) |
//! | a run allowed, paused | skipped (`paused`) |
//! | a run allowed, not paused | waits; `misfire` decides when a worker takes the task |
//! | a one-time task, in any state | waits |
//!
//! A fire time that is queued is skipped if the task is paused when its run ends.
//!
//! The planner reads no clock, takes no lock and calls no user code: [`LockedTask::query_trigger`](super::locked_task::LockedTask::query_trigger)
//! calls custom triggers. A clone can be advanced, to compute the next start.
//!
//! | file | content |
//! |---|---|
//! | `settle` | decides about fire times that have come, and applies `misfire` to those that wait |
//! | `preview` | finds the next start, without further commands |

mod preview;
mod settle;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::{Due, Now, Tick, WallTime};

use super::fire_times::SeededJitter;
use super::fire_times::{FireTime, FireTimes, Limit, Range};
use super::fired_intervals::FiredIntervals;
use super::policy::Policy;
use super::rule::Rule;
use super::rule::{TriggerQueries, TriggerQuery};
use super::scheduled_task::{Empty, LazyBox};
use super::snapshot::ActivePause;
use super::wait::ManualResult;
use super::wait::RunRequest;
use crate::base::set_once::SetOnce;
use crate::observe::SkipReason;
use crate::run::{ClaimedJob, Pause};
use scheduler_expr::Overlap;

/// A fire time that would start later than this is missed (the default of Quartz), as is one after which another has come.
const MISSED_AFTER: Duration = Duration::from_secs(60);

/// A run to start now.
#[derive(Clone, Debug)]
pub(super) enum Start {
    Schedule {
        fire: FireTime,
        /// The number of the task's rule; [`Planner::reschedule`] increments it.
        generation: u32,
    },
    Request(RunRequest),
}

/// Fire times that are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Skip {
    pub(super) reason: SkipReason,
    pub(super) first: Due,
    pub(super) last: Due,
    pub(super) count: u64,
    /// True if there are more than were counted.
    pub(super) at_least: bool,
}

/// Why a manual run cannot start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No more runs are allowed beside those in progress.
    Running,
    /// Another manual run waits to start.
    AlreadyAsked,
}

/// Fire times that have come and wait for a worker.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    range: Range,
    /// For a queued fire time: when the run ended that it follows.
    ready: Option<Now>,
}

/// Plans one task. See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Planner {
    times: FireTimes,
    /// The next fire time that has not come.
    next: Option<FireTime>,
    /// Fire times that have come, in their order.
    waiting: LazyBox<VecDeque<Waiting>>,
    /// The fire time that follows the run in progress (`queue_one`).
    queued: Option<Box<FireTime>>,
    /// Runs that were asked for, in their order.
    requests: LazyBox<VecDeque<RunRequest>>,
    /// The number of runs in progress.
    running: u32,
    overrun: LazyBox<Overrun>,
    /// The number of runs of the schedule that have started, for `max_runs`.
    starts: u64,
    pause: Option<Box<ActivePause>>,
    /// Set if there is no next fire time because one was skipped for this reason. When the reason is over, the delay begins
    /// anew, or the trigger is asked again.
    restarts: Option<SkipReason>,
    generation: u32,
    queries: LazyBox<TriggerQueries>,
    fired: LazyBox<FiredIntervals>,
    /// The last look at the clocks.
    last_look: Now,
    skips: LazyBox<Vec<Skip>>,
    /// True if a pause has ended by its time, which is not reported yet.
    has_resumed: bool,
}

/// Fire times that have come while no more runs were allowed, until a run ends.
#[derive(Clone, Copy, Debug, Default)]
struct Overrun {
    first: Option<Due>,
    /// The distance to the next report of skips; it grows.
    report_gap: Duration,
    next_report: Tick,
}

impl Empty for Overrun {
    const EMPTY: &'static Self =
        &Self { first: None, report_gap: Duration::ZERO, next_report: Tick::ZERO };
}

impl Planner {
    pub(super) fn new(
        rule: Rule,
        policy: Arc<Policy>,
        jitter_source: SeededJitter,
        now: Now,
    ) -> Self {
        Self {
            times: FireTimes::new(rule, policy, jitter_source),
            next: None,
            waiting: LazyBox::default(),
            queued: None,
            requests: LazyBox::default(),
            running: 0,
            overrun: LazyBox::default(),
            starts: 0,
            pause: None,
            restarts: None,
            generation: 0,
            queries: LazyBox::default(),
            fired: LazyBox::default(),
            last_look: now,
            skips: LazyBox::default(),
            has_resumed: false,
        }
    }

    pub(super) fn rule(&self) -> &Rule {
        self.times.rule()
    }

    pub(super) fn policy(&self) -> &Policy {
        self.times.policy()
    }

    pub(super) fn jitter_source(&self) -> SeededJitter {
        self.times.jitter_source()
    }

    /// Takes the rule out: the task is dropped.
    pub(super) fn take_rule(&mut self) -> Rule {
        self.times.replace_rule(Rule::None)
    }

    /// Begins: the first fire time counts from now. A trigger that was asked before keeps its answer.
    pub(super) fn begin(&mut self, now: Now) {
        self.last_look = now;
        if !self.times.is_custom() {
            let first = self.times.first(now, &self.fired);
            self.next = self.admitted(first);
        } else if self.next.is_none() && !self.queries.is_open() {
            self.queries.put(TriggerQuery::first());
        }
    }

    /// Returns when the task has to look next; `None` if nothing happens by itself.
    pub(super) fn wake(&self) -> Option<Due> {
        let is_free = !self.is_full();
        if is_free && let Some(request) = self.requests.front() {
            return Some(Due::Tick(request.asked_at()));
        }
        if let Some(pause) = &self.pause {
            return pause.until().map(|_| pause.end());
        }
        if self.is_spent() {
            return None;
        }
        if !is_free {
            let next = self.next?.due;
            let report = self.overrun.next_report;
            return Some(if next.as_tick(self.last_look) >= report {
                next
            } else {
                Due::Tick(report)
            });
        }
        if let Some(first) = self.waiting.front() {
            let due = first.range.first.due;
            // It keeps its turn when the clock is set back.
            return Some(if due.is_reached(self.last_look) {
                due
            } else {
                Due::Tick(self.last_look.tick)
            });
        }
        self.queries.again_at().map(Due::Tick).or_else(|| Some(self.next?.due))
    }

    /// Decides which run a worker starts now, if any.
    pub(super) fn fire(&mut self, now: Now) -> Option<Start> {
        if let Some(fire) = self.in_time(&now) {
            return Some(self.start_scheduled(fire));
        }
        self.settle(Limit::UpTo(now), now);
        if self.queries.again_at().is_some_and(|at| at <= now.tick) {
            self.queries.ask_again();
        }
        if self.is_full() {
            return None;
        }
        if !self.requests.is_empty()
            && let Some(request) = self.requests.pop_front()
        {
            self.count_running();
            return Some(Start::Request(request));
        }
        if self.pause.is_some() || self.is_spent() {
            return None;
        }
        let fire = self.choose(now)?;
        Some(self.start_scheduled(fire))
    }

    /// Ends a run. One that was refused before its first attempt does not count for `max_runs`.
    pub(super) fn run_ended(&mut self, run: &Start, began: Now, now: Now, is_refused: bool) {
        let is_queued = self.policy().overlap == Overlap::QueueOne;
        self.settle(if is_queued { Limit::UpTo(now) } else { Limit::Before(now) }, now);
        self.running -= 1;
        self.overrun = LazyBox::default();
        if is_refused && matches!(run, Start::Schedule { .. }) {
            self.starts -= 1;
        }
        if let Some(fire) = self.queued.take() {
            self.promote_queued(*fire, now);
        }
        let last = match *run {
            Start::Schedule { fire, generation } if generation == self.generation => {
                Some((fire, began))
            }
            _ => None,
        };
        // While another run may yet be refused, nothing is given up.
        if self.is_spent() && self.running == 0 {
            (self.next, self.restarts) = (None, None);
            self.waiting = LazyBox::default();
            self.queries = LazyBox::default();
        } else if last.is_some() || self.restarts == Some(SkipReason::Overlap) {
            self.restart(last, now);
        }
    }

    /// Pauses, or replaces the reason and the end of a pause. Fire times that wait for a worker are skipped.
    pub(super) fn pause(&mut self, pause: &Pause, now: Now) {
        self.settle(Limit::UpTo(now), now);
        let since = self.pause.as_ref().map_or(now.wall.to_utc(), |pause| pause.since);
        let pause = ActivePause { pause: pause.clone(), since, set_at: now };
        self.pause = Some(Box::new(pause));
        self.skip_waiting(SkipReason::Paused);
    }

    /// Ends a pause; returns false if there is none, or it has expired.
    pub(super) fn resume(&mut self, now: Now) -> bool {
        self.settle(Limit::Before(now), now);
        let is_paused = self.pause.is_some();
        if is_paused {
            self.end_pause(now);
        }
        is_paused
    }

    /// Asks for a manual run.
    pub(super) fn run_now(
        &mut self,
        answer: SetOnce<ManualResult>,
        now: Now,
    ) -> Result<(), Refusal> {
        self.settle(Limit::UpTo(now), now);
        let overlap = self.policy().overlap;
        let with_manual = self.running as usize + self.requests.len();
        let is_refused = match overlap {
            Overlap::Allow => with_manual >= self.limit() as usize,
            Overlap::Skip => self.is_full(),
            Overlap::QueueOne => false,
        };
        if is_refused {
            return Err(Refusal::Running);
        }
        if overlap != Overlap::Allow && !self.requests.is_empty() {
            return Err(Refusal::AlreadyAsked);
        }
        self.requests.push_back(RunRequest::Manual { asked_at: now.tick, answer });
        Ok(())
    }

    /// Asks for the run of a job. Jobs overlap, and no pause holds them back.
    #[cfg(feature = "durable")]
    pub(super) fn request_job(&mut self, job: Arc<ClaimedJob>, now: Now) {
        self.requests.push_back(RunRequest::Job { asked_at: now.tick, job });
    }

    /// Returns the job that runs next, if there is one.
    pub(super) fn next_job(&self) -> Option<&Arc<ClaimedJob>> {
        self.requests.front()?.job()
    }

    /// Takes out the job that would run next.
    pub(super) fn drop_next_job(&mut self) {
        self.requests.pop_front();
    }

    /// Takes out all requests: the task has ended.
    pub(super) fn take_requests(&mut self) -> VecDeque<RunRequest> {
        self.requests.take()
    }

    /// Replaces the rule. Fire times of the old one that have come and were not started are skipped, including one whose
    /// jittered start is still ahead. The same cron expression in the same zone keeps its fired intervals. Returns the old rule.
    pub(super) fn reschedule(&mut self, rule: Rule, now: Now) -> Rule {
        self.settle(Limit::UpTo(now), now);
        let is_paused = self.pause.is_some() && !self.times.is_once();
        let reason = if is_paused { SkipReason::Paused } else { SkipReason::Rescheduled };
        let jittered = self.next.filter(|next| next.at.is_reached(now) && next.at != Due::NEVER);
        let jittered = jittered.filter(|_| !self.is_spent());
        let queued = self.queued.take();
        for waiting in self.waiting.take() {
            self.skip(reason, waiting.range);
        }
        queued
            .map(|fire| *fire)
            .into_iter()
            .chain(jittered)
            .for_each(|fire| self.skip(reason, Range::one(fire)));
        if !self.times.has_calendar_of(&rule) {
            self.fired = LazyBox::default();
        }
        let old = self.times.replace_rule(rule);
        (self.next, self.restarts) = (None, None);
        self.queries = LazyBox::default();
        self.generation += 1;
        self.begin(now);
        old
    }

    /// Starts no more runs, and forgets the fire times that wait. Those that were skipped until now count.
    pub(super) fn stop(&mut self, now: Now) {
        self.settle(Limit::Before(now), now);
        (self.next, self.queued, self.pause, self.restarts) = (None, None, None, None);
        self.waiting = LazyBox::default();
        self.queries = LazyBox::default();
    }

    /// Settles the fire times up to now, without deciding anything that needs a worker.
    pub(super) fn look(&mut self, now: Now) {
        self.settle(Limit::UpTo(now), now);
    }

    /// Returns true if no run is in progress and none will start by itself.
    pub(super) fn is_finished(&self) -> bool {
        let is_over = self.is_spent()
            || self.next.is_none()
                && self.waiting.is_empty()
                && self.restarts.is_none()
                && !self.queries.is_open();
        is_over && self.running == 0 && self.queued.is_none() && self.requests.is_empty()
    }

    /// Returns the pause of the task, if it is paused.
    pub(super) fn paused(&self) -> Option<&ActivePause> {
        self.pause.as_deref()
    }

    /// Takes out the skips since the last call.
    pub(super) fn take_skips(&mut self) -> Vec<Skip> {
        self.skips.take()
    }

    /// Returns true if fire times were missed, and not reported, that are at least so old.
    #[inline]
    pub(super) fn has_missed(&self, now: Now, age: Duration) -> bool {
        let is_old = |skip: &Skip| skip.first.as_wall(now) <= now.wall - age;
        self.skips.iter().any(|skip| skip.reason == SkipReason::Misfire && is_old(skip))
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

/// Custom triggers: [`LockedTask::query_trigger`](super::locked_task::LockedTask::query_trigger) calls them.
impl Planner {
    /// Takes out the query for the trigger. Until the [answer](Self::answer) there is no other one, unless the task gets
    /// another rule.
    pub(super) fn take_query(&mut self) -> Option<(TriggerQuery, u32)> {
        let query = self.queries.begin_asking()?;
        Some((query, self.generation))
    }

    /// Returns true if there is a query.
    pub(super) fn has_query(&self) -> bool {
        self.queries.has_one()
    }

    /// Takes the answer to a query: the fire time, or `None` if the trigger fires no more. An answer for an earlier rule
    /// is ignored.
    pub(super) fn answer(&mut self, generation: u32, answer: Option<WallTime>) {
        if generation != self.generation {
            return;
        }
        self.queries = LazyBox::default();
        let Some(next) = answer else { return };
        if let Some(end) = self.fired.end_of_interval_at(next) {
            self.queries.put(TriggerQuery::following(end));
            return;
        }
        let fire = self.times.on_wall(next);
        self.next = self.admitted(Some(fire));
    }

    /// Takes note that the trigger could not answer; returns after how long it is asked again.
    pub(super) fn unanswered(
        &mut self,
        generation: u32,
        query: TriggerQuery,
        now: Now,
    ) -> Option<Duration> {
        (generation == self.generation).then(|| self.queries.failed(query, now.tick))
    }
}

impl Planner {
    fn limit(&self) -> u32 {
        match self.policy().overlap {
            Overlap::Skip | Overlap::QueueOne => 1,
            Overlap::Allow => self.policy().max_concurrent.map_or(u32::MAX, std::num::NonZero::get),
        }
    }

    fn max_left(&self) -> u64 {
        self.policy().max_runs.map_or(u64::MAX, |max| max.get().saturating_sub(self.starts))
    }

    /// Returns true if `max_runs` is reached.
    fn is_spent(&self) -> bool {
        self.max_left() == 0
    }

    /// Returns a fire time unless it is after `until`.
    fn admitted(&self, fire: Option<FireTime>) -> Option<FireTime> {
        let fire = fire?;
        let is_over = |until: DateTime<Utc>| fire.at.as_wall(self.last_look) > until.into();
        if self.policy().until.is_some_and(is_over) { None } else { Some(fire) }
    }

    /// Takes the next fire time of a fixed rate if it starts now and nothing else is to be decided.
    #[inline]
    fn in_time(&mut self, now: &Now) -> Option<FireTime> {
        let is_plain = self.running == 0
            && self.waiting.is_empty()
            && self.requests.is_empty()
            && self.pause.is_none()
            && self.policy().until.is_none()
            && self.policy().max_runs.is_none();
        let fire = self.next.filter(|_| is_plain)?;
        let next = self.times.next_on_grid(&fire, now, MISSED_AFTER)?;
        (self.next, self.last_look) = (Some(next), *now);
        Some(fire)
    }

    fn start_scheduled(&mut self, fire: FireTime) -> Start {
        self.count_running();
        self.starts += 1;
        self.mark_fired(fire);
        Start::Schedule { fire, generation: self.generation }
    }

    fn count_running(&mut self) {
        self.running += 1;
    }

    fn mark_fired(&mut self, fire: FireTime) {
        let Due::Wall(at) = fire.at else { return };
        match self.rule() {
            Rule::Cron(_) => self.fired.mark_one(at),
            Rule::Custom(_) => return self.fired.mark_trigger_time(at, self.last_look.tick),
            _ => return,
        }
        // The clock was set back while it waited, and the next fire time is the same one.
        if self.next.is_some_and(|next| next.at == fire.at) {
            let next = self.times.first_unfired_after(at, &self.fired);
            self.next = self.admitted(next);
        }
    }
}
