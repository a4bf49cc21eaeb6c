//! The runs in progress of one task, for its checker.

use std::time::Duration;

use scheduler_core::Now;

use super::times::{Answer, Nanos, nanos, tick};
use crate::observe::{Counters, Outcome, StopReason};
use crate::run::{Cause, RunInfo};
use crate::task::Policy;

/// The length and the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) takes: Duration,
    pub(super) end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Succeeds,
    Fails,
    Panics,
}

/// A run in progress.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) number: u64,
    pub(super) cause: Cause,
    /// Under which rule it started.
    pub(super) rule: u32,
    began: Nanos,
    attempt: u32,
    attempt_began: Nanos,
    /// Unknown until its body has been called.
    act: Option<Act>,
    stop: Option<StopReason>,
    is_called_off: bool,
    /// True if its task has ended.
    is_last_attempt: bool,
    /// When the next attempt is due, if the last one is over.
    again_at: Option<Nanos>,
}

/// Counts of the runs that are over.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) starts: u64,
    pub(super) counters: Counters,
    pub(super) streak: u64,
}

impl Live {
    pub(super) fn new(run: &RunInfo, rule: u32, now: &Now) -> Self {
        let began = tick(now);
        Self {
            number: run.number,
            cause: run.cause,
            rule,
            began,
            attempt: 1,
            attempt_began: began,
            act: None,
            stop: None,
            is_called_off: false,
            is_last_attempt: false,
            again_at: None,
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.again_at.is_some()
    }

    /// Returns true if it waits for an attempt that is due.
    pub(super) fn is_overdue(&self, now: &Now) -> bool {
        self.again_at.is_some_and(|at| at <= tick(now))
    }

    pub(super) fn will_do(&mut self, act: Act) {
        self.act = Some(act);
    }

    pub(super) fn is_called_off(&mut self) {
        self.is_called_off = true;
    }

    pub(super) fn has_no_further_attempt(&mut self) {
        self.is_last_attempt = true;
    }

    /// Another attempt begins.
    pub(super) fn again(&mut self, attempt: u32, now: &Now) -> Answer {
        let Some(again_at) = self.again_at.take() else {
            return Err(format!("attempt {attempt} begins before the one before has ended"));
        };
        if tick(now) < again_at || attempt != self.attempt + 1 {
            return Err(format!("attempt {attempt} at {}, due at {again_at}", tick(now)));
        }
        if self.is_called_off {
            return Err("an attempt begins after the run was cancelled".to_owned());
        }
        (self.attempt, self.attempt_began, self.act) = (attempt, tick(now), None);
        self.stop = None;
        Ok(())
    }

    /// An attempt failed, and there will be another.
    pub(super) fn will_go_on(&mut self, wait: Duration, policy: &Policy, now: &Now) -> Answer {
        if self.is_waiting() {
            return Err("it waits for its next attempt already".to_owned());
        }
        self.check_length(policy, now)?;
        let retry = policy.retry;
        let doubled = retry.base.saturating_mul(1 << (self.attempt - 1).min(20));
        let longest = doubled.min(retry.cap);
        if self.attempt > retry.max || wait > longest || self.is_called_off {
            let attempt = self.attempt;
            return Err(format!("attempt {attempt} is followed by another after {wait:?}"));
        }
        let failed = ["timeout", "error", "panic"];
        if !failed.iter().any(|word| self.may_end(word, policy, now)) {
            return Err("an attempt that went well is followed by another".to_owned());
        }
        self.again_at = Some(tick(now) + nanos(wait));
        Ok(())
    }

    pub(super) fn is_asked_to_stop(
        &mut self,
        why: StopReason,
        policy: &Policy,
        now: &Now,
    ) -> Answer {
        let took = tick(now) - self.attempt_began;
        let is_over = policy.timeout.is_some_and(|limit| took >= nanos(limit));
        if why == StopReason::Timeout && (!is_over || self.is_waiting()) {
            return Err(format!("its time is over after {took} ns"));
        }
        if why == StopReason::Cancelled && !self.is_called_off {
            return Err("it is asked to stop, and the script has not cancelled it".to_owned());
        }
        self.stop = self.stop.or(Some(why));
        Ok(())
    }

    /// Returns true if the present attempt may end like this, in a word.
    fn may_end(&self, word: &str, policy: &Policy, now: &Now) -> bool {
        let takes = self.act.map_or(Duration::ZERO, |act| act.takes);
        let took = tick(now) - self.attempt_began;
        match word {
            "cancelled" => self.is_called_off,
            "timeout" => policy.timeout.is_some_and(|limit| took >= nanos(limit)),
            _ if policy.timeout.is_some_and(|limit| takes > limit) => false,
            "success" => self.act.is_none_or(|act| act.end == End::Succeeds),
            "error" => self.act.is_some_and(|act| act.end == End::Fails),
            _ => self.act.is_some_and(|act| act.end == End::Panics),
        }
    }

    /// A run is over.
    pub(super) fn ends(&self, outcome: &Outcome, policy: &Policy, now: &Now) -> Answer {
        let is_wait_over = self.is_waiting() && outcome.is_failure();
        if !is_wait_over && !self.may_end(outcome.name(), policy, now) {
            return Err(format!("the outcome is {}: {self:?}", outcome.name()));
        }
        let may_go_on = self.attempt <= policy.retry.max && outcome.is_failure();
        let is_over = self.is_called_off || self.is_last_attempt;
        if may_go_on && !is_over {
            return Err(format!("there is no attempt after the {}th", self.attempt));
        }
        if self.is_waiting() && !is_over {
            return Err("a run ends that waits for its next attempt".to_owned());
        }
        if self.is_waiting() { Ok(()) } else { self.check_length(policy, now) }
    }

    /// A future is dropped when its time is over or it is cancelled; a plain function takes its time.
    fn check_length(&self, policy: &Policy, now: &Now) -> Answer {
        let took = tick(now) - self.attempt_began;
        let Some(act) = self.act else {
            return Err("it ends before its body is called".to_owned());
        };
        let limited = policy.timeout.map_or(act.takes, |limit| limit.min(act.takes));
        let is_right = took >= nanos(limited) || self.is_called_off;
        if is_right { Ok(()) } else { Err(format!("an attempt of {act:?} ended after {took} ns")) }
    }

    pub(super) fn took(&self, now: &Now) -> Duration {
        Duration::from_nanos(u64::try_from(tick(now) - self.began).expect("time goes on"))
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }
}

impl Tally {
    pub(super) fn note(&mut self, outcome: &Outcome, attempts: u32) {
        let counters = &mut self.counters;
        counters.runs += 1;
        counters.attempts += u64::from(attempts);
        let streak = self.streak + 1;
        let (count, streak) = match outcome {
            Outcome::Success => (&mut counters.successes, 0),
            Outcome::Error(_) => (&mut counters.errors, streak),
            Outcome::Panic(_) => (&mut counters.panics, streak),
            Outcome::Timeout(_) => (&mut counters.timeouts, streak),
            Outcome::Cancelled => (&mut counters.cancelled, self.streak),
            Outcome::Refused(_) => (&mut counters.skipped_refused, self.streak),
            Outcome::Snoozed(_) | Outcome::Lost => panic!("no jobs here"),
        };
        *count += 1;
        self.streak = streak;
    }
}
