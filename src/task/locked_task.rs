//! A transition: lock, settle, decide, arm, unlock, perform effects.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use scheduler_core::{Due, Failure as EngineFailure, Now, Timer, Trigger, Wake, WallTime};

use super::effects::{Effect, Effects};
use super::error::{ControlError, ControlErrorKind};
use super::planner::Skip;
use super::request::RunRequest;
use super::rule::Rule;
use super::scheduled_task::{Guard, ScheduledTask};
use super::trigger_query::TriggerQuery;
use crate::observe::{Event, EventKind, Failure, SkipReason, TaskState, catch};

/// A task while its lock is held.
#[must_use = "a locked task has to be committed"]
pub(super) struct LockedTask<'a> {
    pub(super) task: &'a Arc<Timer<ScheduledTask>>,
    pub(super) state: Guard<'a>,
    pub(super) effects: Effects,
    pub(super) now: Now,
}

impl<'a> LockedTask<'a> {
    #[inline]
    pub(super) fn lock(task: &'a Arc<Timer<ScheduledTask>>, now: Now) -> Self {
        Self { task, state: task.lock(), effects: Effects::default(), now }
    }

    /// Arms the timer, unlocks, and performs the effects.
    #[inline]
    pub(super) fn commit(mut self) {
        while self.state.planner.has_query() {
            self = self.query_trigger();
        }
        self.finish_if_done();
        let wake = self.arm();
        self.unlock(wake);
    }

    /// Unlocks and performs the effects. The timer stays as it is unless it was armed.
    #[inline]
    pub(super) fn unlock(self, wake: Option<Wake>) {
        let Self { task, mut state, effects, .. } = self;
        let events = state.events_to_deliver();
        drop(state);
        drop(wake);
        effects.perform(task, events);
    }

    /// Reports the planner's decisions, and ends the task if nothing is left to do.
    #[inline]
    fn finish_if_done(&mut self) {
        if self.state.planner.has_news() {
            self.report_news();
        }
        if self.state.end.is_none() && self.state.planner.is_finished() {
            self.state.end = Some(TaskState::Completed);
        }
        if self.state.end.is_some() {
            self.finish_task();
        }
    }

    /// INVARIANT: at unlock the timer is armed for `TaskInner::wake`.
    #[inline]
    fn arm(&mut self) -> Option<Wake> {
        let wake = self.state.wake(self.now).filter(|due| *due != Due::NEVER);
        if wake == self.state.armed {
            return None;
        }
        let armed = match wake {
            Some(due) => self.task.arm(due, self.now),
            None => self.task.disarm(),
        };
        self.state.armed = wake;
        if armed.is_refused() {
            self.refused();
        }
        Some(armed)
    }

    /// The pool has stopped.
    #[cold]
    fn refused(&mut self) {
        self.state.armed = None;
        self.end(TaskState::Cancelled);
        self.finish_if_done();
    }

    /// Counts and reports skips, and the end of a pause.
    #[cold]
    pub(super) fn report_news(&mut self) {
        if self.state.planner.take_resumed() {
            let next = self.next_start();
            self.report(EventKind::Resumed { next });
        }
        for Skip { reason, first, last, count, at_least } in self.state.planner.take_skips() {
            self.state.history.skip(reason, count, at_least);
            let blocked = match reason {
                SkipReason::Overlap => self.state.blocked_since(first.as_tick(self.now), self.now),
                _ => None,
            };
            let (first, last) = (first.as_wall(self.now).to_utc(), last.as_wall(self.now).to_utc());
            self.report(EventKind::Skipped { reason, first, last, count, at_least, blocked });
        }
    }

    pub(super) fn report(&mut self, kind: EventKind) {
        let event = Event::of(self.now.wall.to_utc(), &self.state.facts, kind);
        self.state.outbox.push(event);
    }

    /// Returns when the next run starts, as far as that is known.
    pub(super) fn next_start(&self) -> Option<DateTime<Utc>> {
        if self.state.end.is_some() {
            return None;
        }
        let next = self.state.planner.next_start(self.now)?;
        Some(next.as_wall(self.now).to_utc())
    }

    /// Starts no further run. Those that wait for their next attempt are over; others go on.
    pub(super) fn end(&mut self, end: TaskState) {
        self.start_no_more(end);
        self.end_waiting_runs();
    }

    /// Starts no further run, nor attempt.
    pub(super) fn start_no_more(&mut self, end: TaskState) {
        self.state.end.get_or_insert(end);
        self.state.planner.stop(self.now);
    }

    /// Reports the end of the task, once, when its last run is over.
    #[cold]
    fn finish_task(&mut self) {
        let Some(end) = self.state.end.filter(|end| end.is_ended()) else { return };
        for request in self.state.planner.take_requests() {
            match request {
                RunRequest::Manual { answer, .. } => {
                    let error = ControlError::new(self.task.name(), ControlErrorKind::Ended(end));
                    self.effects.push(Effect::Answer(answer, Err(error)));
                }
                RunRequest::Job { job, .. } => self.give_back(&job),
            }
        }
        if self.state.is_end_reported || !self.state.active.is_empty() {
            return;
        }
        self.state.is_end_reported = true;
        let call = self.state.call.take();
        let watchers = self.state.take_watchers();
        self.report(EventKind::TaskEnded { state: end });
        self.effects.wake(watchers);
        call.into_iter().for_each(|call| self.effects.push(Effect::DropCall(call)));
        self.effects.push(Effect::ReportEnd);
    }

    /// Asks a custom trigger, outside the lock.
    pub(super) fn query_trigger(mut self) -> Self {
        let Rule::Custom(trigger) = self.state.planner.rule() else { return self };
        let trigger = Arc::clone(trigger);
        let Some((query, generation)) = self.state.planner.take_query() else { return self };
        let Self { task, state, effects, now } = self;
        drop(state);
        let answer = ask_once(&query, &*trigger, now);
        task.drop_contained(trigger);
        let mut this = Self { task, state: task.lock(), effects, now };
        match answer {
            Ok(next) => {
                this.state.planner.answer(generation, next);
                this.state.trigger_failure = None;
            }
            Err(failure) => this.unanswered(generation, query, failure),
        }
        this
    }

    fn unanswered(&mut self, generation: u32, query: TriggerQuery, failure: Failure) {
        let Some(asked_again_in) = self.state.planner.unanswered(generation, query, self.now)
        else {
            return;
        };
        self.state.trigger_failure = Some(Box::new(failure.clone()));
        self.report(EventKind::TriggerFailed { failure, asked_again_in });
    }
}

/// Asks a trigger once. An answer too far ahead for any clock means that it fires no more.
fn ask_once(
    query: &TriggerQuery,
    trigger: &dyn Trigger,
    now: Now,
) -> Result<Option<WallTime>, Failure> {
    let context = query.context(now.wall.to_utc());
    let answer = catch(|| trigger.next_fire_time(&context).map_err(|error| text(&*error)))?;
    let next = answer.map_err(|text| failure(&text))?.map(WallTime::from);
    let next = next.filter(|next| *next != WallTime::MAX);
    if let (Some(floor), Some(next)) = (query.floor, next)
        && next <= floor
    {
        return Err(failure(&format!(
            "the trigger did not advance: after {floor:?} it gave {next:?}"
        )));
    }
    Ok(next)
}

fn failure(text: &str) -> Failure {
    Failure::from_engine(&EngineFailure::from_error(text))
}

/// The number of causes of an error that are named.
const CAUSES_MAX: usize = 32;

fn text(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.take(CAUSES_MAX).fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
