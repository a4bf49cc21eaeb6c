//! Commands to a task and steps of its clock, for its checker.

use super::*;
use crate::task::scheduled_task::WALL_CHECK;

impl Checker {
    /// The body of a run is called.
    pub(in super::super) fn will_do(&mut self, run: &crate::run::Run, act: Act) {
        match self.live(&run.info()) {
            Ok(live) => live.will_do(act),
            Err(why) => self.note("a body is called", Err(why)),
        }
    }

    /// The task is resumed: the start that was shown for this case comes next.
    pub(in super::super) fn will_resume(&mut self, would_run_at: Option<DateTime<Utc>>) {
        let now = wall(&self.now());
        self.announced.show(would_run_at, now, None);
        self.announced.is_of_attempt(self.waits_for_attempt());
    }

    /// The wall clock is set, forward or back.
    pub(in super::super) fn clock_set(&mut self) {
        self.announced.clock_is_set();
        self.resumed_at = None;
        self.unseen_until = tick(&self.now()) + nanos(WALL_CHECK);
    }

    pub(in super::super) fn will_run_now(&mut self) {
        self.manual_runs_wanted += 1;
    }

    pub(in super::super) fn run_now_was_refused(&mut self) {
        self.manual_runs_wanted -= 1;
        let may_be = self.end.is_some() || self.is_cancelled || self.has_failed;
        let is_busy = !self.live.is_empty() || self.manual_runs_wanted > 0;
        let runs = self.live.len() as u64 + self.manual_runs_wanted;
        let is_limited = self.policy.overlap != Overlap::Allow || runs >= self.limit() as u64;
        let may_be = may_be || is_busy && is_limited;
        self.note("run now", holds(may_be, || "refused without a reason".to_owned()));
    }

    pub(in super::super) fn will_call_off(&mut self) {
        self.live.iter_mut().for_each(Live::is_called_off);
    }

    pub(in super::super) fn will_cancel(&mut self) {
        self.is_cancelled = true;
        self.will_call_off();
    }

    pub(in super::super) fn will_reschedule(&mut self, rule: &Rule) {
        let times = Times::new(&rule.clone().taking_over(), &self.now());
        self.rule += 1;
        self.replaced = Some(std::mem::replace(&mut self.times, times));
    }

    /// Returns true if the next start is another attempt, as far as the events show.
    fn waits_for_attempt(&self) -> bool {
        self.is_full() && self.live.iter().any(Live::is_waiting)
    }

    /// Returns true if nothing waits or follows that has come: then all is skipped that comes during the runs.
    fn has_only_what_comes(&self) -> bool {
        let is_kept =
            self.policy.overlap == Overlap::QueueOne || self.policy.misfire == Misfire::CatchUp;
        let is_scheduled = self.live.iter().all(|live| live.cause == Cause::Schedule);
        !is_kept && is_scheduled && self.times.goes_on_by_itself()
    }

    /// After how long a skip during a run is reported: at growing distances.
    fn longest_lag(&self, now: &Now) -> Duration {
        let second = Duration::from_secs(1);
        let period = self.times.period().unwrap_or(second);
        let took = self.live.iter().map(|live| live.took(now)).min().unwrap_or_default();
        period.max(second).min(took + period.max(Duration::from_millis(10)))
    }

    /// The end of a run reports the next start.
    pub(super) fn is_announced(&mut self, next: Option<DateTime<Utc>>, now: &Now) -> Answer {
        let is_over = self.end.is_some() || self.is_cancelled || self.has_failed;
        let is_waiting = self.live.iter().any(Live::is_waiting);
        let is_unclear = is_waiting && !self.waits_for_attempt();
        let next = next.filter(|_| !is_over && !is_unclear);
        self.announced.show(next, wall(now), self.paused_until.filter(|_| self.is_paused));
        self.announced.is_of_attempt(self.waits_for_attempt());
        let is_held_up = self.is_paused && self.paused_until.is_none();
        let is_known = self.live.is_empty() && !is_over && !is_held_up && !self.times.are_over();
        holds(!is_known || next.is_some(), || "no next run".to_owned())
    }

    pub(in super::super) fn clock_set_back(&mut self, before: DateTime<Utc>) {
        let now = self.now();
        self.times.clock_set_back(before, &now);
    }

    pub(in super::super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    pub(in super::super) fn is_at_rest(&self) -> bool {
        self.live.is_empty()
    }

    /// Nothing is left to do at this instant, and a worker is free.
    pub(in super::super) fn rests(&mut self) {
        let (now, jitter) = (self.now(), self.policy.jitter);
        if self.end.is_some() {
            return;
        }
        if self.live.is_empty() && !self.is_cancelled && !self.has_failed {
            let answer = self.announced.rests(wall(&now));
            self.note("at rest", answer);
        }
        if self.live.iter().all(|live| !live.is_waiting()) {
            let is_over = self.is_cancelled || self.has_failed || self.times.are_over();
            let is_to_end = self.live.is_empty() && is_over;
            self.note("at rest", holds(!is_to_end, || "the task has not ended".to_owned()));
        }
        let is_held_up = self.is_paused && self.paused_until.is_none_or(|until| until > wall(&now));
        let is_overdue = !is_held_up && self.live.iter().any(|live| live.is_overdue(&now));
        self.note("at rest", holds(!is_overdue, || "an attempt is overdue".to_owned()));
        let may_be_unseen = !self.live.is_empty() && tick(&now) < self.unseen_until;
        let may_be_overdue = self.is_paused || may_be_unseen;
        if self.is_cancelled || self.has_failed {
            return;
        }
        if self.is_full() {
            if !may_be_overdue && self.has_only_what_comes() {
                let lag = self.longest_lag(&now);
                let answer = self.times.overdue(&now, jitter + lag);
                self.note("during a run", answer);
            }
            return;
        }
        let is_silent = self.replaced.is_some();
        self.note("at rest", holds(!is_silent, || "the new rule is not in force".to_owned()));
        let wanted = self.manual_runs_wanted;
        self.note("at rest", holds(wanted == 0, || format!("{wanted} manual runs are lost")));
        if !may_be_overdue {
            let answer = self.times.overdue(&now, jitter);
            self.note("at rest", answer);
        }
    }

    /// Compares a snapshot at rest with the events.
    pub(in super::super) fn compare(&mut self, shown: &TaskSnapshot) {
        let tally = &self.tally;
        let expected = (tally.counters, tally.streak, self.live.len());
        let seen = (shown.counters, shown.streak, shown.running);
        let answer = holds(expected == seen, || format!("{seen:?} instead of {expected:?}"));
        self.note("the snapshot", answer);
        let is_over = self.end.is_some() || self.is_cancelled || self.has_failed;
        let is_paused = self.is_paused && !is_over;
        self.note("the snapshot", holds(is_paused == shown.is_paused, || "paused?".to_owned()));
        if let Some(end) = self.end.filter(|_| self.live.is_empty()) {
            let (state, next) = (shown.state, shown.next);
            let answer = holds(state == end && next.is_none(), || format!("{state:?} {next:?}"));
            self.note("the snapshot", answer);
        }
        self.announced.is_seen();
        let now = self.now();
        let answer = self.is_announced(shown.next, &now);
        self.note("the snapshot", answer);
    }
}
