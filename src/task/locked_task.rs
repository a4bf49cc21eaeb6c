//! A transition: lock, settle, decide, arm, unlock, perform effects.

use std::sync::Arc;
use std::task::Waker;

use chrono::{DateTime, Utc};
use scheduler_core::{Due, Failure as EngineFailure, Now, Timer, Trigger, Wake, WallTime};

use crate::base::set_once::SetOnce;
use crate::base::wake_all;
use crate::observe::{Event, EventKind, Failure, Outcome, SkipReason, TaskState, catch};
use crate::run::Run;
use crate::run::inject::Call;
use crate::task::error::{ControlError, ControlErrorKind};
use crate::task::gate::Permits;
use crate::task::planner::Skip;
use crate::task::rule::Rule;
use crate::task::rule::TriggerQuery;
use crate::task::scheduled_task::{Guard, ScheduledTask};
use crate::task::wait::ManualResult;
use crate::task::wait::RunRequest;

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

/// The work after unlocking. Empty for a run that starts on time and has no listener.
#[must_use = "effects are to be performed after unlocking"]
#[derive(Default)]
pub(super) struct Effects {
    list: Vec<Effect>,
    /// True if a run starts so late, or misses so much, that the tasks that held the threads are reported.
    pub(super) is_late: bool,
}

/// One effect. Effects are performed in the order of the variants.
pub(super) enum Effect {
    /// The run was asked to stop: its waits end, and its future is polled.
    HeedStop(Run),
    /// The permits of a run that is over.
    Release(Permits, Outcome),
    DropRule(Rule),
    DropRun(Run),
    /// The function of a task that has ended.
    DropCall(Call),
    /// The task has ended.
    ReportEnd,
    /// The claim of a job is over.
    #[cfg(feature = "durable")]
    EndJob(Arc<crate::run::ClaimedJob>, scheduler_store::End),
    /// The result of a manual run.
    Answer(SetOnce<ManualResult>, ManualResult),
    /// A thread or a future waits for the end of a run.
    Wake(Waker),
}

impl Effects {
    pub(super) fn push(&mut self, effect: Effect) {
        self.list.push(effect);
    }

    pub(super) fn wake(&mut self, wakers: impl Iterator<Item = Waker>) {
        self.list.extend(wakers.map(Effect::Wake));
    }

    /// Delivers events, and performs everything. No lock may be held.
    #[inline]
    pub(super) fn perform(mut self, task: &Arc<Timer<ScheduledTask>>, events: Option<Vec<Event>>) {
        // Before the events: messages about missed runs say why.
        if self.is_late {
            task.report_late();
        }
        if let Some(events) = events {
            task.deliver(events);
        }
        if self.list.len() > 1 {
            self.list.sort_by_key(Effect::rank);
        }
        self.list.into_iter().for_each(|effect| effect.perform(task));
    }
}

impl Effect {
    fn rank(&self) -> u8 {
        match self {
            Self::HeedStop(_) => 0,
            Self::Release(..) => 1,
            Self::DropRule(_) => 2,
            Self::DropRun(_) => 3,
            Self::DropCall(_) => 4,
            Self::ReportEnd => 5,
            #[cfg(feature = "durable")]
            Self::EndJob(..) => 6,
            Self::Answer(..) => 7,
            Self::Wake(_) => 8,
        }
    }

    fn perform(self, task: &Arc<Timer<ScheduledTask>>) {
        match self {
            Self::HeedStop(run) => run.heed_stop(),
            Self::Release(permits, outcome) => {
                permits.release(&outcome).for_each(|failure| task.report_hook("gate", failure));
            }
            Self::DropRule(rule) => task.drop_contained(rule),
            Self::DropRun(run) => drop(run),
            Self::DropCall(call) => task.drop_contained(call),
            Self::ReportEnd => ScheduledTask::report_end(task),
            #[cfg(feature = "durable")]
            Self::EndJob(job, end) => job.end(end),
            Self::Answer(answer, result) => {
                answer.set(result);
            }
            Self::Wake(waker) => wake_all([waker]),
        }
    }
}
