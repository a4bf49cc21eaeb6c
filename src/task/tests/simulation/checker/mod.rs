//! The checker of one task: it hears events and finds faults.
//!
//! This file handles events; `others` handles commands to the task and the checks at rest. A checker never panics: it keeps
//! the first fault, and the world asks for it.

mod others;

use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::{ManualClock, Now};

use super::announced::Announced;
use super::runs::{Act, Live, Tally};
use super::times::{Answer, Nanos, Times, nanos, tick, tick_of, wall};
use crate::observe::{Event, EventKind, SkipReason, TaskSnapshot, TaskState};
use crate::run::{Cause, RunInfo};
use crate::task::{Policy, Rule};
use scheduler_expr::{Misfire, OnError, Overlap};

#[derive(Debug)]
pub(super) struct Checker {
    policy: Policy,
    clock: ManualClock,
    times: Times,
    /// The how-manieth rule this is.
    rule: u32,
    /// The rule before, while it is replaced: what has come is skipped.
    replaced: Option<Times>,
    live: Vec<Live>,
    is_paused: bool,
    paused_until: Option<DateTime<Utc>>,
    has_been_paused: bool,
    /// When the last pause was over; none when the wall clock was set since.
    resumed_at: Option<Nanos>,
    /// The latest instant at which a task with a run in progress sees that the wall clock was set.
    unseen_until: Nanos,
    is_cancelled: bool,
    has_failed: bool,
    end: Option<TaskState>,
    manual_runs_wanted: u64,
    pub(super) announced: Announced,
    pub(super) tally: Tally,
    pub(super) fault: Option<String>,
}

impl Checker {
    pub(super) fn new(rule: &Rule, policy: Policy, clock: ManualClock) -> Self {
        let times = Times::new(rule, &Now::read(&clock));
        Self {
            policy,
            clock,
            times,
            rule: 1,
            replaced: None,
            live: Vec::new(),
            is_paused: false,
            paused_until: None,
            has_been_paused: false,
            resumed_at: None,
            unseen_until: 0,
            is_cancelled: false,
            has_failed: false,
            end: None,
            manual_runs_wanted: 0,
            announced: Announced::default(),
            tally: Tally::default(),
            fault: None,
        }
    }

    fn now(&self) -> Now {
        Now::read(&self.clock)
    }

    /// Keeps the first thing that is wrong.
    fn note(&mut self, what: &str, answer: Answer) {
        if let Err(why) = answer
            && self.fault.is_none()
        {
            self.fault = Some(format!("{what}: {why}, at {:?}", wall(&self.now())));
        }
    }

    pub(super) fn hear(&mut self, event: &Event) {
        let now = self.now();
        let answer = self.check(event, &now);
        if answer.is_err() {
            self.note(&format!("{event:?}"), answer);
        }
    }

    fn check(&mut self, event: &Event, now: &Now) -> Answer {
        match &event.kind {
            EventKind::RunStarted { run, late } if run.attempt == 1 => {
                self.started(run, *late, now)
            }
            EventKind::RunStarted { run, .. } => {
                if self.is_paused {
                    return Err("an attempt begins in a pause".to_owned());
                }
                self.announced.attempt_begins(run.due, wall(now))?;
                self.live(run)?.again(run.attempt, now)
            }
            EventKind::AttemptFailed { run, next_attempt_in, .. } => {
                if self.policy.overlap == Overlap::Allow {
                    // Its next attempt may come before the next attempt of another run.
                    self.announced.forget();
                }
                let policy = self.policy.clone();
                self.live(run)?.will_go_on(*next_attempt_in, &policy, now)
            }
            EventKind::StopRequested { run, reason, .. } => {
                let policy = self.policy.clone();
                self.live(run)?.is_asked_to_stop(*reason, &policy, now)
            }
            EventKind::RunFinished { run, outcome, took, next, streak, .. } => {
                let mut live = self.take_out(run)?;
                if self.has_failed || self.end.is_some() {
                    live.has_no_further_attempt();
                }
                live.ends(outcome, &self.policy, now)?;
                self.tally.note(outcome, live.attempt());
                if live.cause == Cause::Schedule && live.rule == self.rule {
                    self.times.ended(now);
                }
                self.times.is_over(SkipReason::Overlap, now);
                self.has_failed |= outcome.is_failure() && self.policy.on_error == OnError::Stop;
                let expected = (live.took(now), self.tally.streak);
                holds(expected == (*took, *streak), || format!("expected {expected:?}"))?;
                self.is_announced(*next, now)
            }
            EventKind::Skipped { reason, last: fire_time, count, .. } => {
                self.skipped(*reason, *fire_time, *count, now)
            }
            EventKind::Paused { until, .. } => {
                (self.is_paused, self.has_been_paused) = (true, true);
                self.paused_until = *until;
                Ok(())
            }
            EventKind::Resumed { .. } => {
                let until = self.paused_until.map_or(Nanos::MAX, |until| tick_of(until, now));
                self.resumed_at = Some(until.min(tick(now)));
                self.times.is_over(SkipReason::Paused, now);
                holds(std::mem::take(&mut self.is_paused), || "it was not paused".to_owned())
            }
            EventKind::TaskEnded { state, .. } => self.ended(*state),
            EventKind::Rescheduled { next, .. } => {
                let Some(mut replaced) = self.replaced.take() else {
                    return Err("the script wanted no other rule".to_owned());
                };
                replaced.overdue(now, Duration::ZERO)?;
                self.is_announced(*next, now)
            }
            other => Err(format!("{other:?} is not expected")),
        }
    }

    fn live(&mut self, run: &RunInfo) -> Result<&mut Live, String> {
        let live = self.live.iter_mut().find(|live| live.number == run.number);
        live.ok_or_else(|| "the run is not in progress".to_owned())
    }

    fn take_out(&mut self, run: &RunInfo) -> Result<Live, String> {
        let index = self.live.iter().position(|live| live.number == run.number);
        Ok(self.live.swap_remove(index.ok_or("the run is not in progress")?))
    }

    /// The most runs in progress.
    fn limit(&self) -> usize {
        match (self.policy.overlap, self.policy.max_concurrent) {
            (Overlap::Allow, None) => usize::MAX,
            (Overlap::Allow, Some(max)) => max.get() as usize,
            _ => 1,
        }
    }

    fn is_full(&self) -> bool {
        self.live.len() >= self.limit()
    }

    fn started(&mut self, run: &RunInfo, late: Duration, now: &Now) -> Answer {
        let (is_alone, is_full) = (self.policy.overlap != Overlap::Allow, self.is_full());
        holds(self.end.is_none(), || "a run after the end of its task".to_owned())?;
        holds(!is_full, || format!("it overlaps {:?}", self.live))?;
        self.tally.starts += 1;
        let starts = self.tally.starts;
        holds(run.number == starts, || format!("it is the {starts}th"))?;
        holds(run.started_at == wall(now), || "it starts at another time".to_owned())?;
        self.live.push(Live::new(run, self.rule, now));
        if run.cause == Cause::Manual {
            holds(self.manual_runs_wanted > 0, || "the script wanted no such run".to_owned())?;
            self.manual_runs_wanted -= 1;
            self.announced.forget();
            return Ok(());
        }
        holds(!self.is_paused, || "a run of the schedule in a pause".to_owned())?;
        holds(!self.has_failed, || "a run after a failure that ends the task".to_owned())?;
        let (fire, due) = (run.fire_time, run.due);
        let jitter = (due - fire).to_std().map_err(|_| "it is due before its fire time")?;
        let most = self.policy.jitter;
        holds(jitter < most || jitter == most && most.is_zero(), || format!("jitter {jitter:?}"))?;
        let is_early = due > self.times.has_come_until(now);
        holds(!is_early, || format!("it is early, due at {due}"))?;
        let expected = (wall(now) - due).to_std().unwrap_or_default();
        holds(late == expected, || format!("it is {expected:?} late"))?;
        self.is_not_passed_over(due, late, now)?;
        self.announced.starts(due, self.times.kept_until(), wall(now))?;
        self.times.start(fire, now, is_alone)
    }

    /// A run of the schedule that starts was neither in a pause, nor is too late.
    fn is_not_passed_over(&self, due: DateTime<Utc>, late: Duration, now: &Now) -> Answer {
        if !self.times.goes_on_by_itself() {
            return Ok(());
        }
        let had_come = self.resumed_at.is_some_and(|at| tick_of(due, now) < at);
        holds(!had_come, || "it had come before the end of a pause".to_owned())?;
        let Policy { overlap, misfire, .. } = self.policy;
        let may_be_late = misfire != Misfire::Skip || overlap == Overlap::QueueOne;
        holds(may_be_late || late.as_secs_f64() <= 60.0, || "it was missed".to_owned())
    }

    fn skipped(&mut self, why: SkipReason, fire: DateTime<Utc>, count: u64, now: &Now) -> Answer {
        let begins_anew = !self.times.goes_on_by_itself();
        self.announced.skipped(why, begins_anew, wall(now));
        let is_limited = self.limit() < usize::MAX;
        let counters = &mut self.tally.counters;
        let (counter, may_be) = match why {
            SkipReason::Overlap => (&mut counters.skipped_overlap, is_limited),
            SkipReason::Limit => (&mut counters.skipped_limit, false),
            SkipReason::Paused => (&mut counters.skipped_paused, self.has_been_paused),
            SkipReason::Misfire => {
                let catches_up = self.policy.misfire == Misfire::CatchUp;
                (&mut counters.skipped_misfire, !catches_up && self.times.goes_on_by_itself())
            }
            SkipReason::Rescheduled => (&mut counters.skipped_rescheduled, self.replaced.is_some()),
            SkipReason::Refused => (&mut counters.skipped_refused, false),
        };
        *counter += count;
        let has_run = self.tally.starts > 0 || why != SkipReason::Overlap;
        holds(may_be && has_run && count > 0, || "nothing is skipped for this reason".to_owned())?;
        // A fire time during a run that catches up, or by hand, is skipped before those that wait.
        let is_by_hand = self.live.iter().any(|live| live.cause == Cause::Manual);
        let Policy { overlap, misfire, .. } = self.policy;
        let is_in_order = overlap != Overlap::Allow && misfire != Misfire::CatchUp && !is_by_hand;
        let has_come = |times: &Times| fire <= times.has_come_until(now);
        let has_come = self.replaced.iter().chain([&self.times]).any(has_come);
        holds(has_come, || "it is skipped early".to_owned())?;
        let passed = (fire, count, why);
        // Where the clock was set back, the new rule may have the same fire times ahead.
        let of_this = match why {
            SkipReason::Rescheduled => Err("no rule before this one has it".to_owned()),
            _ => self.times.skip(passed, now, is_in_order),
        };
        if !self.is_paused {
            // It is reported after the end of the pause.
            self.times.is_over(SkipReason::Paused, now);
        }
        let Err(why) = of_this else { return Ok(()) };
        let replaced = self.replaced.as_mut();
        let is_old = replaced.is_some_and(|times| times.skip(passed, now, false).is_ok());
        holds(is_old, || why)
    }

    fn ended(&mut self, state: TaskState) -> Answer {
        holds(self.end.is_none(), || "it has ended before".to_owned())?;
        self.end = Some(state);
        let is_over = self.live.is_empty() || self.policy.overlap == Overlap::Allow;
        holds(is_over, || "a run is in progress".to_owned())?;
        let may_be = match state {
            TaskState::Cancelled => self.is_cancelled,
            TaskState::Failed => self.has_failed,
            TaskState::Completed => self.times.are_over() && self.live.is_empty(),
            _ => false,
        };
        holds(may_be, || format!("why is it {}?", state.name()))
    }
}

fn holds(condition: bool, why: impl FnOnce() -> String) -> Answer {
    if condition { Ok(()) } else { Err(why()) }
}
