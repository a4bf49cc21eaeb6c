//! The runs of a task: start, next attempt, end.

use std::sync::Arc;
use std::time::Duration;

use scheduler_core::{Due, Tick};

use super::error::ControlError;
use super::gate::GATE_LIMIT;
use super::jobs::{end_of_job, interrupt, next_attempt_of_job, outcome_of_success};
use super::locked_task::Effect;
use super::locked_task::LockedTask;
use super::planner::Start;
use super::scheduled_task::{ActiveRun, Phase};
use super::wait::RunRequest;
use crate::observe::{EventKind, Failure, LATE, Outcome, SkipReason, StopReason, TaskState};
use crate::run::inject::Call;
use crate::run::{Attempt, Cause, Execution, Run, StopCause};
use scheduler_expr::OnError;

/// The number of skipped answers of a trigger in a row after which other tasks have their turn.
const ASKED_MAX: u32 = 1_000;

impl LockedTask<'_> {
    /// Begins a due attempt or run, and asks a custom trigger again while its answers are skipped.
    pub(super) fn next_attempt(
        mut self,
        firing: &scheduler_core::Run,
    ) -> (Self, Option<(Run, Call, Phase)>) {
        let mut asked = 0;
        loop {
            let begun = self.begin_due(firing);
            if begun.is_some() || !self.state.planner.has_query() || asked == ASKED_MAX {
                return (self, begun);
            }
            asked += 1;
            self = self.query_trigger();
        }
    }

    /// Begins the next attempt of a run in progress, or a run.
    #[inline]
    fn begin_due(&mut self, firing: &scheduler_core::Run) -> Option<(Run, Call, Phase)> {
        if !self.state.active.is_empty() {
            self.stop_overdue();
        }
        if self.state.end.is_some() {
            return None;
        }
        if let Some(index) = self.due_attempt() {
            return Some(self.begin_attempt(index, firing));
        }
        let now = self.now;
        self.admit_next_job();
        let start = self.state.planner.fire(now);
        if self.state.planner.has_missed(now, LATE) {
            self.effects.is_late = true;
        }
        Some(self.start(start?, firing))
    }

    /// Asks attempts to stop whose time is over.
    fn stop_overdue(&mut self) {
        let now = self.now.tick;
        for index in 0..self.state.active.len() {
            let active = &mut self.state.active[index];
            if active.deadline.is_none_or(|deadline| deadline > now) {
                continue;
            }
            active.deadline = None;
            self.ask_to_stop(index, StopCause::Timeout);
        }
    }

    fn due_attempt(&self) -> Option<usize> {
        if self.state.active.is_empty() || self.state.planner.paused().is_some() {
            return None;
        }
        let now = self.now.tick;
        let due = self.state.active.iter().enumerate().filter_map(|(index, run)| match run.phase {
            Phase::Wait(at) if at <= now => Some((at, index)),
            _ => None,
        });
        due.min().map(|(_, index)| index)
    }

    /// Opens an attempt: its gates or its body come first, each with a time limit.
    fn open(
        &self,
        is_admitted: bool,
        firing: &scheduler_core::Run,
    ) -> (Phase, Option<Tick>, Execution) {
        let env = &self.task.env;
        let is_gated = !is_admitted && !env.gates.is_empty();
        let (phase, limit) = match is_gated {
            true => (Phase::Gate, Some(GATE_LIMIT)),
            false => (Phase::Attempt, self.state.planner.policy().timeout),
        };
        let deadline = limit.map(|limit| self.now.tick + limit);
        let of_body = deadline.filter(|_| !is_gated);
        (phase, deadline, Execution::new(firing, &env.pool, &env.clock, of_body))
    }

    fn start(&mut self, start: Start, firing: &scheduler_core::Run) -> (Run, Call, Phase) {
        let (phase, deadline, execution) = self.open(false, firing);
        let is_scheduled = matches!(start, Start::Schedule { .. });
        let run = Run::begin(Attempt {
            number: self.number_of(&start),
            started_at: firing.started().wall,
            execution: Some(execution),
            ..self.first_attempt(&start)
        });
        self.state.active.push(Box::new(ActiveRun {
            run: run.clone(),
            start,
            began: self.now,
            phase,
            firing: firing.number(),
            deadline,
            is_cancelled: false,
            is_admitted: false,
            has_attempted: true,
            failure: None,
            refusal: None,
            permits: None,
        }));
        if is_scheduled && run.lateness() >= LATE {
            self.effects.is_late = true;
        }
        if self.state.planner.has_news() {
            self.report_news();
        }
        self.started(run, phase)
    }

    /// Numbers a run: one more than the last, or as the attempt of its job before.
    fn number_of(&mut self, start: &Start) -> u64 {
        let number = match start {
            Start::Request(RunRequest::Job { job, .. }) => self.state.numbers.take(job),
            _ => None,
        };
        number.unwrap_or_else(|| {
            self.state.runs += 1;
            self.state.runs
        })
    }

    fn first_attempt(&self, start: &Start) -> Attempt {
        let (now, facts) = (self.now, Arc::clone(&self.state.facts));
        let (cause, fire_time, due) = match start {
            Start::Request(RunRequest::Job { job, .. }) => return Attempt::of_job(facts, job),
            Start::Request(RunRequest::Manual { .. }) => (Cause::Manual, now.wall, now.wall),
            Start::Schedule { fire, .. } => {
                let due = fire.due.as_wall(now);
                let at = if fire.at == fire.due { due } else { fire.at.as_wall(now) };
                (Cause::Schedule, at, due)
            }
        };
        let retries = self.state.planner.policy().retry.max;
        let max_attempts = retries.saturating_add(1);
        Attempt { max_attempts, cause, fire_time, due, ..Attempt::detached(facts) }
    }

    fn started(&mut self, run: Run, phase: Phase) -> (Run, Call, Phase) {
        if phase == Phase::Attempt {
            self.report_start(&run);
        }
        let call = self.state.call.clone().unwrap_or_else(Call::noop);
        (run, call, phase)
    }

    /// Reports that an attempt starts.
    pub(super) fn report_start(&mut self, run: &Run) {
        if self.task.env.bus.is_heard() {
            self.report(EventKind::RunStarted { run: run.info(), late: run.lateness() });
        }
    }

    fn begin_attempt(&mut self, index: usize, firing: &scheduler_core::Run) -> (Run, Call, Phase) {
        let (phase, deadline, execution) = self.open(self.state.active[index].is_admitted, firing);
        let facts = Arc::clone(&self.state.facts);
        let retries = self.state.planner.policy().retry.max;
        let active = &mut self.state.active[index];
        let last = &active.run;
        let run = Run::begin(Attempt {
            number: last.number(),
            attempt: last.attempt() + u32::from(active.has_attempted),
            max_attempts: match last.claimed() {
                Some(_) => last.max_attempts(),
                None => retries.saturating_add(1),
            },
            cause: last.cause(),
            fire_time: last.planned_for(),
            due: match active.phase {
                Phase::Wait(at) => Due::Tick(at).as_wall(self.now),
                Phase::Gate | Phase::Attempt => self.now.wall,
            },
            started_at: firing.started().wall,
            execution: Some(execution),
            claimed: last.claimed().cloned(),
            ..Attempt::detached(facts)
        });
        run.carry_over_notes(last.take_notes());
        let former = std::mem::replace(&mut active.run, run.clone());
        (active.phase, active.firing, active.deadline) = (phase, firing.number(), deadline);
        (active.failure, active.has_attempted) = (None, true);
        self.effects.push(Effect::DropRun(former));
        self.started(run, phase)
    }

    /// The attempt that a firing has executed is over.
    #[inline]
    pub(super) fn end_attempt_of_firing(self, firing: u64) -> Self {
        let active = &self.state.active;
        match active.iter().position(|run| run.firing == firing && !run.is_waiting()) {
            Some(index) => self.end_attempt(index),
            None => self,
        }
    }

    /// The attempt of a run is over, by itself or because its future was dropped.
    pub(super) fn end_attempt_of(self, run: &Run) -> Self {
        match self.state.find(run) {
            Some(index)
                if matches!(self.state.active[index].phase, Phase::Gate | Phase::Attempt) =>
            {
                self.end_attempt(index)
            }
            _ => self,
        }
    }

    /// The future of a run was dropped by the pool.
    pub(super) fn end_dropped_attempt(mut self, run: &Run) -> Self {
        if let Some(index) = self.state.find(run) {
            self.state.active[index].is_cancelled = true;
            interrupt(run);
            run.request_stop(StopCause::Cancelled);
        }
        self.end_attempt_of(run)
    }

    /// Ends an attempt: the run is over, or waits for its next one.
    fn end_attempt(mut self, index: usize) -> Self {
        let now = self.now;
        let active = &mut self.state.active[index];
        if let Some(reason) = active.refusal.take() {
            return self.refused_by_gate(index, &reason);
        }
        if active.deadline.is_some_and(|deadline| now.tick >= deadline) {
            // All workers were busy when the time was over.
            active.run.request_stop(StopCause::Timeout);
        }
        if active.failure.is_none() && active.run.stop_cause().is_none() {
            let outcome = outcome_of_success(&active.run);
            return self.finish_run(index, outcome);
        }
        let outcome = self.outcome_of(index);
        match (outcome.failure(), self.state.next_attempt_in(index)) {
            (Some(failure), Some(wait)) => {
                let failure = failure.clone();
                self.wait_for_next(index, failure, wait);
                self
            }
            _ => self.finish_run(index, outcome),
        }
    }

    /// Returns the outcome of an attempt. A run that was asked to stop has stopped, whatever it returned.
    #[cold]
    fn outcome_of(&mut self, index: usize) -> Outcome {
        let timeout = self.state.planner.policy().timeout;
        let active = &mut self.state.active[index];
        let failure = active.failure.take();
        match (active.run.stop_cause(), failure) {
            (Some(StopCause::Cancelled), _) => Outcome::Cancelled,
            (Some(StopCause::Lost), _) => Outcome::Lost,
            (Some(StopCause::Timeout), _) => {
                let limit = if active.phase == Phase::Gate { Some(GATE_LIMIT) } else { timeout };
                let limit = limit.unwrap_or_default();
                let is_blocking = active.blocked(self.now.tick, limit.min(LATE)).is_some();
                Failure::from_timeout(limit, is_blocking).into()
            }
            (None, Some(_)) if active.run.is_stopped_by_pool() => Outcome::Cancelled,
            (None, Some(failure)) => (*failure).into(),
            (None, None) => Outcome::Success,
        }
    }

    #[cold]
    fn wait_for_next(&mut self, index: usize, failure: Failure, next_attempt_in: Duration) {
        let now = self.now.tick;
        let active = &mut self.state.active[index];
        active.phase = Phase::Wait(now + next_attempt_in);
        active.deadline = None;
        active.failure = Some(Box::new(failure.clone()));
        let run = active.run.info();
        self.report(EventKind::AttemptFailed { run, failure, next_attempt_in });
    }

    fn finish_run(mut self, index: usize, outcome: Outcome) -> Self {
        let active = self.remove_run(index, &outcome);
        while self.state.planner.has_query() {
            self = self.query_trigger();
        }
        self.record_run(active, outcome);
        if self.state.end.is_some() {
            // After the run for which the task ends.
            self.end_waiting_runs();
        }
        self
    }

    /// Removes a run that is over, and lets the planner decide about the next one.
    fn remove_run(&mut self, index: usize, outcome: &Outcome) -> Box<ActiveRun> {
        let active = self.state.active.remove(index);
        if outcome.is_failure()
            && self.state.planner.policy().on_error == OnError::Stop
            && self.state.end.is_none()
        {
            self.start_no_more(TaskState::Failed);
        }
        if self.state.end.is_none() {
            self.state.planner.run_ended(&active.start, active.began, self.now, false);
        }
        if self.state.facts.is_async
            && let Some(poll) = active.run.longest_poll(self.now.tick)
        {
            self.state.longest_poll = Some(Box::new(poll));
        }
        if self.state.planner.has_news() {
            self.report_news();
        }
        active
    }

    /// Records a run that is over, and reports it if anything listens.
    fn record_run(&mut self, active: Box<ActiveRun>, outcome: Outcome) {
        let job_end = end_of_job(&active.run, &outcome);
        let next_attempt_in = next_attempt_of_job(&active.run, &outcome, job_end.as_ref());
        match (outcome.failure(), next_attempt_in) {
            (Some(failure), Some(wait)) => {
                self.state.history.record_attempt_of_job();
                self.state.numbers.keep(&active.run);
                let (run, failure) = (active.run.info(), failure.clone());
                self.report(EventKind::AttemptFailed { run, failure, next_attempt_in: wait });
            }
            _ => self.record_outcome(&active, &outcome),
        }
        let ActiveRun { run, start, permits, .. } = *active;
        self.end_job(&run, job_end);
        let watchers = self.state.take_watchers();
        self.effects.wake(watchers);
        if let Some(permits) = permits {
            self.effects.push(Effect::Release(permits, outcome));
        }
        if let Start::Request(RunRequest::Manual { answer, .. }) = start
            && let Some(record) = self.state.history.runs().next()
        {
            self.effects.push(Effect::Answer(answer, Ok(record)));
        }
        self.effects.push(Effect::DropRun(run));
    }

    fn record_outcome(&mut self, active: &ActiveRun, outcome: &Outcome) {
        let took = self.now.tick.since(active.began.tick);
        let recorded = self.state.history.record(&active.run, active.began.wall, took, outcome);
        if recorded.is_news || self.task.env.bus.is_heard() {
            let (run, next, streak) = (active.run.info(), self.next_start(), recorded.streak);
            let outcome = outcome.clone();
            self.report(EventKind::RunFinished { run, outcome, took, next, streak });
        }
    }

    /// A gate has refused a run: its fire time is skipped.
    #[cold]
    fn refused_by_gate(mut self, index: usize, reason: &str) -> Self {
        let active = self.state.active.remove(index);
        let now = self.now;
        if active.run.claimed().is_some() && active.run.attempt() > 1 {
            // The job comes again, and its number may not be the last one.
            self.state.numbers.keep(&active.run);
        } else if self.state.runs == active.run.number() {
            self.state.runs -= 1;
        }
        if self.state.end.is_none() {
            self.state.planner.run_ended(&active.start, active.began, now, true);
        }
        let ActiveRun { run, start, began, permits, .. } = *active;
        let at = match &start {
            Start::Schedule { fire, .. } => fire.at.as_wall(began).to_utc(),
            Start::Request(_) => began.wall.to_utc(),
        };
        let (refused, first, last) = (SkipReason::Refused, at, at);
        self.state.history.skip(refused, 1, false);
        self.report(EventKind::Skipped {
            reason: refused,
            first,
            last,
            count: 1,
            at_least: false,
            blocked: None,
        });
        let outcome = Outcome::Refused(reason.into());
        self.end_job(&run, end_of_job(&run, &outcome));
        if let Some(permits) = permits {
            self.effects.push(Effect::Release(permits, outcome));
        }
        if let Start::Request(RunRequest::Manual { answer, .. }) = start {
            let why = format!("its run was refused: {reason}");
            let error = ControlError::refused(self.task.name(), &why);
            self.effects.push(Effect::Answer(answer, Err(error)));
        }
        self.effects.push(Effect::DropRun(run));
        self
    }

    /// Ends the runs that wait for their next attempt, as their last one did.
    pub(super) fn end_waiting_runs(&mut self) {
        while let Some(index) = self.state.active.iter().position(|run| run.is_waiting()) {
            let active = &mut self.state.active[index];
            let failure = active.failure.take().filter(|_| !active.is_cancelled);
            if failure.is_none() && !active.is_cancelled {
                // A job that gates have admitted, and that has not begun, is no cancelled one.
                interrupt(&active.run);
            }
            let outcome = failure.map_or(Outcome::Cancelled, |failure| Outcome::from(*failure));
            let active = self.remove_run(index, &outcome);
            self.record_run(active, outcome);
        }
    }

    /// Asks all runs in progress to stop: there is no further attempt of them.
    pub(super) fn cancel_runs(&mut self) {
        for index in 0..self.state.active.len() {
            self.state.active[index].is_cancelled = true;
            self.ask_to_stop(index, StopCause::Cancelled);
        }
        self.end_waiting_runs();
    }

    pub(super) fn ask_to_stop(&mut self, index: usize, cause: StopCause) {
        let run = self.state.active[index].run.clone();
        if !run.request_stop(cause) {
            return;
        }
        let reason = match cause {
            StopCause::Timeout => StopReason::Timeout,
            StopCause::Cancelled => StopReason::Cancelled,
            StopCause::Lost => StopReason::Lost,
        };
        let blocked = self.state.active[index].blocked(self.now.tick, LATE);
        self.report(EventKind::StopRequested { run: run.info(), reason, blocked });
        self.effects.push(Effect::HeedStop(run));
    }
}
