//! What becomes of an attempt that is over: another one, or the end of its run.

use std::sync::Arc;

use scheduler_core::Due;
use scheduler_core::Now;
use scheduler_core::TaskHandle;

use super::chance::Draw;
use super::conductor::Conductor;
use super::conductor::Guard;
use super::judge::Ended;
use super::state::Course;
use super::state::Present;
use super::state::Seat;
use super::state::State;
use super::tale::Tale;
use crate::observe::Event;
use crate::observe::EventKind;
use crate::observe::Failure;
use crate::observe::Outcome;
use crate::observe::TaskFacts;
use crate::observe::TaskState;
use crate::run::Cause;
use crate::run::Run;
use crate::run::StopCause;
use scheduler_expr::OnError;

impl Conductor {
    /// Takes note of a run of which nobody is to be told, and after which nothing is to be decided: it
    /// went well as the one before did, in time, and nobody listens or has a wish. Says when the next is
    /// due; none, and nothing is done, where the full way has to be gone, which comes to the same.
    #[inline]
    pub(super) fn end_plainly(&self, state: &mut State, now: &Now) -> Option<Due> {
        if self.bus.is_heard() || state.has_wish() || !state.watchers.is_empty() {
            return None;
        }
        if !state.history.expects_success() {
            return None;
        }
        let course = state.course(Seat::Lead)?;
        let is_plain = course.failure.is_none()
            && course.deadline.is_none()
            && course.run.cause() == Cause::Schedule
            && course.run.stop_cause().is_none();
        if !is_plain {
            return None;
        }
        let due = match state.judge.as_mut()?.ended_on_grid(now) {
            Some(due) => due,
            None => {
                let began = state.lead()?.began;
                state.judge.as_mut()?.ended_in_time(&began, now)?
            }
        };
        state.record(Seat::Lead, &Outcome::Success, now);
        drop(state.close(Seat::Lead, false));
        Some(due)
    }

    /// The engine's task of this task has been run: takes note of what that was.
    pub(super) fn step_over<'a>(
        &'a self,
        mut state: Guard<'a>,
        tale: &mut Tale,
        now: Now,
    ) -> Guard<'a> {
        let (cause, began) = match state.present {
            Present::Nothing => return state,
            Present::Started(at) => {
                state.present = Present::Nothing;
                let started = Ended { began: at, at, resumed: Vec::new() };
                return self.judged(state, tale, now, |judge| judge.ended(&started));
            }
            Present::Run => match state.lead() {
                // RACE: a pause came when a worker had been given the next attempt, which did not begin.
                Some(course) if course.again_at.is_some() => return state,
                Some(course) => (course.run.cause(), course.began),
                None => return state,
            },
        };
        if self.attempt_over(&mut state, Seat::Lead, tale, now) {
            return self.after_run(state, tale, (cause, began), now);
        }
        state
    }

    /// Ends a run that waits for its next attempt, or whose future was dropped.
    pub(super) fn give_up<'a>(
        &'a self,
        mut state: Guard<'a>,
        seat: Seat,
        tale: &mut Tale,
        now: Now,
    ) -> Guard<'a> {
        let Some(course) = state.course(seat) else { return state };
        tale.drop_alarm_later(course.alarm.take());
        let (began, cause) = (course.began, course.run.cause());
        let failure = course.failure.take().filter(|_| !course.is_called_off);
        let outcome = failure.map_or(Outcome::Cancelled, |failure| Outcome::from(*failure));
        self.finish(&mut state, seat, &outcome, (tale, now));
        match seat {
            Seat::Lead => self.after_run(state, tale, (cause, began), now),
            Seat::Beside(_) => state,
        }
    }

    /// Takes note of the end of an attempt, and says whether it was the last of its run.
    pub(super) fn attempt_over(
        &self,
        state: &mut State,
        seat: Seat,
        tale: &mut Tale,
        now: Now,
    ) -> bool {
        let (is_ending, facts) = (state.end.is_some(), Arc::clone(&state.facts));
        let Some(course) = state.course(seat) else { return true };
        tale.drop_alarm_later(course.alarm.take());
        if course.deadline.is_some_and(|deadline| now.tick >= deadline) {
            // All workers were busy, and the alarm has not come.
            course.run.request_stop(StopCause::Timeout);
        }
        if course.failure.is_none() && course.run.stop_cause().is_none() {
            self.finish(state, seat, &Outcome::Success, (tale, now));
            return true;
        }
        let outcome = self.outcome_of(course);
        let attempt = course.run.attempt();
        let may_go_on = attempt <= self.policy.retry.max && !course.is_called_off && !is_ending;
        let Some(failure) = outcome.failure().filter(|_| may_go_on) else {
            self.finish(state, seat, &outcome, (tale, now));
            return true;
        };
        let failure = failure.clone();
        self.try_again(course, failure, (tale, &facts), now);
        false
    }

    /// Has a run wait for its next attempt.
    #[cold]
    fn try_again(
        &self,
        course: &mut Course,
        failure: Failure,
        (tale, facts): (&mut Tale, &Arc<TaskFacts>),
        now: Now,
    ) {
        let (run, attempt) = (course.run.info(), course.run.attempt());
        let longest = self.policy.retry.longest_wait_after(attempt);
        let next_attempt_in = self.chance.part_of(longest, Draw::Retry(run.number, attempt));
        course.again_at = Some(now.tick + next_attempt_in);
        course.failure = Some(Box::new(failure.clone()));
        let kind = EventKind::AttemptFailed { run, failure, next_attempt_in };
        tale.tell(Event::of(now.wall.to_utc(), facts, kind));
    }

    /// What came of an attempt. A run that was asked to stop has stopped, whatever it returned.
    #[cold]
    fn outcome_of(&self, course: &mut Course) -> Outcome {
        let failure = course.failure.take();
        match (course.run.stop_cause(), failure) {
            (Some(StopCause::Cancelled), _) => Outcome::Cancelled,
            (Some(StopCause::Timeout), _) => {
                Failure::from_timeout(self.policy.timeout.unwrap_or_default()).into()
            }
            (None, Some(_)) if course.run.is_stopped_by_pool() => Outcome::Cancelled,
            (None, Some(failure)) => (*failure).into(),
            (None, None) => Outcome::Success,
        }
    }

    /// Records a run that is over.
    fn finish(
        &self,
        state: &mut State,
        seat: Seat,
        outcome: &Outcome,
        (tale, now): (&mut Tale, Now),
    ) {
        if outcome.is_failure() && self.policy.on_error == OnError::Stop {
            state.end.get_or_insert(TaskState::Failed);
        }
        tale.wake(state);
        let Some((took, recorded)) = state.record(seat, outcome, &now) else { return };
        let is_told = recorded.is_news || self.bus.is_heard();
        match state.close(seat, is_told) {
            Some(run) if is_told => tale.finish(run, outcome.clone(), took, recorded.streak),
            Some(run) => tale.drop_run_later(run),
            None => {}
        }
    }

    /// Judges the fire times that have come while a run was in progress in the engine's task.
    fn after_run<'a>(
        &'a self,
        mut state: Guard<'a>,
        tale: &mut Tale,
        (cause, began): (Cause, Now),
        now: Now,
    ) -> Guard<'a> {
        self.lift_pause(&mut state, tale, now);
        if state.end.is_some() {
            return state;
        }
        let replaced = state.wishes.rule.as_ref().map(|new| new.replaced.at);
        if replaced.is_some()
            && state
                .judge
                .as_mut()
                .is_some_and(|judge| judge.ends_unasked(cause == Cause::Schedule))
        {
            return state;
        }
        // To a rule that was replaced meanwhile, the run has ended then.
        let at = replaced.map_or(now, |at| if at.tick < began.tick { began } else { at });
        let resumed = state.wishes.take_resumed();
        if cause == Cause::Schedule
            && resumed.is_empty()
            && state.judge.as_mut().and_then(|judge| judge.ended_in_time(&began, &at)).is_some()
        {
            return state;
        }
        let run = Ended { began, at, resumed };
        self.judged(state, tale, now, |judge| match cause {
            Cause::Schedule => judge.ended(&run),
            Cause::Manual => judge.ended_beside(&run),
        })
    }

    /// The future of a run was dropped by the pool.
    pub(super) fn abandoned(self: &Arc<Self>, seat: Seat, run: &Run) {
        let (now, mut tale) = (Now::read(&*self.clock), Tale::default());
        let mut state = self.lock();
        if state.course(seat).is_some_and(|course| course.is_attempt(run)) {
            state = self.give_up(state, seat, &mut tale, now);
            if let Seat::Beside(number) = seat {
                let (beside, lead) = (state.take_beside(number), state.lead_to_end());
                drop(state);
                drop(beside);
                lead.iter().for_each(TaskHandle::renew);
            } else {
                drop(state);
            }
        } else {
            drop(state);
        }
        tale.out(self, None, now);
    }
}

impl Course {
    /// Whether this is the attempt that is in progress.
    pub(super) fn is_attempt(&self, run: &Run) -> bool {
        self.again_at.is_none() && self.run.is_same_attempt(run)
    }
}
