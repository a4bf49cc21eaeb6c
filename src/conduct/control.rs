//! What a task can be told while it lives: to run now, to pause, to go by another rule, to end.

use std::sync::Arc;
use std::sync::Weak;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Now;
use scheduler_core::RunState;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::TaskHandle;
use scheduler_core::WallTime;

use super::beside::Passing;
use super::conductor::Conductor;
use super::conductor::Guard;
use super::conductor::rescheduled;
use super::control_error::ControlError;
use super::judge::Judge;
use super::outlook::Outlook;
use super::rule::Rule;
use super::state::Course;
use super::state::Pause;
use super::state::State;
use super::tale::Tale;
use super::timetable::FireTime;
use super::timetable::Timetable;
use crate::observe::Event;
use crate::observe::EventKind;
use crate::observe::SharedTotals;
use crate::observe::StopReason;
use crate::observe::TaskFacts;
use crate::observe::TaskState;
use crate::observe::catch;
use crate::run::Cause;
use crate::run::Run;
use crate::run::StopCause;
use scheduler_expr::Overlap;

/// The end of a task by which it is looked at and told what to do; clones are ends of the same task.
///
/// A wish is noted under the task's lock; then the engine is asked to renew the task, which sees to the
/// wish on this thread where the task waits, and otherwise at the end of its run.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub(super) conductor: Arc<Conductor>,
}

impl Control {
    pub(super) fn new(conductor: Arc<Conductor>) -> Self {
        Self { conductor }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.conductor.name
    }

    /// What does not keep the task; a run in progress does.
    pub(crate) fn downgrade(&self) -> Weak<Conductor> {
        Arc::downgrade(&self.conductor)
    }

    /// An end of a task that somebody keeps still.
    pub(crate) fn upgrade(weak: &Weak<Conductor>) -> Option<Self> {
        weak.upgrade().map(Self::new)
    }

    /// Adds what the task's runs have come to, and all they come to from now on, to a sum.
    pub(crate) fn count_in(&self, totals: &SharedTotals) {
        self.conductor.lock().history.count_in(totals);
    }

    /// Drops this end of the task. If it is the last one, that drops what its function has; a panic of a
    /// destructor is told of.
    pub(crate) fn let_go(self) {
        let (task, bus) = (self.facts(), Arc::clone(&self.conductor.bus));
        let clock = Arc::clone(&self.conductor.clock);
        if let Err(failure) = catch(|| drop(self)) {
            bus.emit(Event::of(clock.wall(), &task, EventKind::DropPanicked { failure }));
        }
    }

    /// Whether both are ends of the same task.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.conductor, &other.conductor)
    }

    /// Asks the task's trigger when it fires first, if it is one of the user's: before anything is started.
    /// It is not asked for that again, unless it could not answer.
    pub(crate) fn ask_trigger(&self) {
        let (now, mut tale) = (self.now(), Tale::default());
        let state = self.conductor.lock();
        let ask = |judge: &mut Judge| judge.ask_first(now).map(|()| Vec::new());
        let state = self.conductor.judged(state, &mut tale, now, ask);
        drop(state);
        tale.out(&self.conductor, None, now);
    }

    /// What people are told of the task.
    pub(crate) fn facts(&self) -> Arc<TaskFacts> {
        Arc::clone(&self.conductor.lock().facts)
    }

    /// Whether the task's trigger could not say the next fire time, and is asked again.
    pub(crate) fn has_trigger_failed(&self) -> bool {
        self.conductor.lock().trigger_failure.is_some()
    }

    /// When the task starts first if it is submitted now; a trigger of the user's has been
    /// [asked](Self::ask_trigger).
    pub(crate) fn first_start(&self) -> Option<DateTime<Utc>> {
        let (now, state) = (self.now(), self.conductor.lock());
        let pending = state.judge.as_ref().and_then(|judge| judge.pending());
        let first = match (pending, &state.rule) {
            (Some(_), _) | (None, Rule::Custom(_)) => pending,
            (None, rule) => {
                let (jitter, chance) = (self.conductor.policy.jitter, self.conductor.chance);
                Timetable::new(rule, jitter, chance).first(now).ok().flatten()
            }
        };
        Some(first?.due.as_wall(now).to_utc())
    }

    /// Submits the task to its pool; it may be running when this returns, or have ended. To be called once.
    ///
    /// # Errors
    ///
    /// As [`ScheduledThreadPool::submit_task`]: the pool is shut down. The task has ended then.
    pub(crate) fn submit(&self, pool: &ScheduledThreadPool) -> Result<(), scheduler_core::Error> {
        let planned = Arc::clone(&self.conductor.lock().facts);
        let error = match pool.submit_task(self.conductor.task()) {
            Ok(handle) => {
                self.conductor.attach(&handle);
                return Ok(());
            }
            Err(error) => error,
        };
        let mut state = self.conductor.lock();
        // RACE: others have found it already, and one of them may have cancelled it, or given it a rule that
        // ends it. (New facts come with a new rule only.) Or its trigger never fires.
        let is_over = matches!(state.end, Some(TaskState::Cancelled | TaskState::Completed))
            || !Arc::ptr_eq(&planned, &state.facts);
        if state.is_end_told && is_over {
            return Ok(());
        }
        let mut tale = Tale::default();
        // Others have been told that it was added.
        let end = *state.end.get_or_insert(TaskState::Cancelled);
        tale.end(&mut state, end);
        drop(state);
        tale.out(&self.conductor, None, self.now());
        Err(error)
    }

    /// Returns true if no further run of the task starts; one may be in progress.
    pub(crate) fn has_ended(&self) -> bool {
        self.conductor.lock().end.is_some_and(TaskState::is_ended)
    }

    /// Returns true if the task has ended in failure: by itself, or with its last run.
    pub(crate) fn has_failed(&self) -> bool {
        let state = self.conductor.lock();
        match state.end {
            Some(TaskState::Failed) => true,
            Some(TaskState::Completed) => state.history.streak() > 0,
            _ => false,
        }
    }

    /// Runs the task now, beside its schedule, which does not move; also while it is paused.
    ///
    /// While a run is in progress the task's `overlap` decides: `skip` refuses, `queue_one` lets the run
    /// follow, `allow` starts it beside.
    ///
    /// # Errors
    ///
    /// The task has ended, is running, or is about to be run; or the scheduler is stopping.
    pub(crate) fn run_now(&self) -> Result<(), ControlError> {
        let conductor = &self.conductor;
        let stopping = || ControlError::stopping(&conductor.name);
        let pool = conductor.pool.upgrade().ok_or_else(stopping)?;
        if pool.run_state() != RunState::Running {
            return Err(stopping());
        }
        let now = self.now();
        let mut state = self.lock_living()?;
        if conductor.policy.overlap == Overlap::Allow {
            let number = state.hand_over(FireTime::manual(now), Cause::Manual, now);
            drop(state);
            return conductor.start_beside(number).map_err(|_| stopping());
        }
        if state.wishes.manual_run {
            return Err(ControlError::already_asked(&conductor.name));
        }
        if let Some(course) = state.lead()
            && conductor.policy.overlap == Overlap::Skip
        {
            let running_for = now.tick.since(course.began.tick);
            return Err(ControlError::running(&conductor.name, running_for));
        }
        state.wishes.manual_run = true;
        renew(state);
        Ok(())
    }

    /// Starts no run of the schedule until the task is resumed; a run in progress goes on. A task that
    /// is paused already takes the new note and end.
    ///
    /// # Errors
    ///
    /// The task has ended.
    pub(crate) fn pause(
        &self,
        note: Option<&str>,
        until: Option<DateTime<Utc>>,
    ) -> Result<(), ControlError> {
        let (note, now, mut tale) = (note.map(Arc::from), self.now(), Tale::default());
        let mut state = self.lock_living()?;
        self.conductor.lift_pause(&mut state, &mut tale, now);
        let since = state.wishes.pause.as_ref().map_or(now.wall.to_utc(), |pause| pause.since);
        let pause = Pause { note: Option::clone(&note), since, until, said: now };
        state.wishes.pause = Some(Box::new(pause));
        let handles = state.handles();
        let outlook = Outlook::of(&self.conductor, &state, now);
        drop(state);
        let next = outlook.next(now).map(WallTime::to_utc);
        let kind = EventKind::Paused { note, until, next };
        tale.tell(Event::of(now.wall.to_utc(), &self.facts(), kind));
        tale.out(&self.conductor, None, now);
        handles.iter().for_each(TaskHandle::renew);
        Ok(())
    }

    /// Lets a paused task go on. Fire times that have come meanwhile are skipped.
    ///
    /// # Errors
    ///
    /// The task has ended, or is not paused.
    pub(crate) fn resume(&self) -> Result<(), ControlError> {
        let (now, mut tale) = (self.now(), Tale::default());
        let mut state = self.lock_living()?;
        if !self.conductor.lift_pause(&mut state, &mut tale, now) {
            if state.wishes.pause.take().is_none() {
                return Err(ControlError::not_paused(&self.conductor.name));
            }
            state.wishes.resume(now);
            tale.resume(Outlook::of(&self.conductor, &state, now));
            state.pass_over_beside(Passing::Resumed(now), &mut tale, now);
        }
        let handles = state.handles();
        drop(state);
        tale.out(&self.conductor, None, now);
        handles.iter().for_each(TaskHandle::renew);
        Ok(())
    }

    /// Goes by another rule from now on; a rate or delay without an initial delay begins after one
    /// period. A run in progress goes on. A disabled task stays so, and goes by the rule when it is enabled.
    ///
    /// # Errors
    ///
    /// The task has ended, or its jitter is not shorter than the new rate.
    pub(crate) fn reschedule(&self, rule: Rule) -> Result<(), ControlError> {
        let (now, mut tale) = (self.now(), Tale::default());
        let text = rule.to_string();
        let mut state = self.conductor.lock();
        if let Some(end) = state.end.filter(|end| end.is_ended()) {
            drop(state);
            self.conductor.let_go(rule, now);
            return Err(ControlError::ended(&self.conductor.name, end));
        }
        let jitter = self.conductor.policy.jitter;
        if let Rule::FixedRate { period, .. } = rule
            && jitter >= period
        {
            return Err(ControlError::too_much_jitter(self.name(), jitter, period));
        }
        if state.end.is_some() {
            let judge = self.conductor.judge_of(&rule, now);
            state.set_rule(rule, text, judge, &mut tale);
            tale.tell(rescheduled(&state.facts, None, now));
            drop(state);
            tale.out(&self.conductor, None, now);
            return Ok(());
        }
        self.conductor.lift_pause(&mut state, &mut tale, now);
        state.pass_over_beside(Passing::Replaced, &mut tale, now);
        let old = state.wishes.replace_rule((rule.taking_over(), text), now);
        let handles = state.handles();
        drop(state);
        tale.out(&self.conductor, None, now);
        handles.iter().for_each(TaskHandle::renew);
        self.conductor.let_go(old, now);
        Ok(())
    }

    /// Ends the task, and asks runs in progress to stop.
    ///
    /// # Errors
    ///
    /// The task has ended before.
    pub(crate) fn cancel(&self) -> Result<(), ControlError> {
        let mut state = self.conductor.lock();
        if let Some(end) = state.end.filter(|end| end.is_ended()) {
            return Err(ControlError::ended(&self.conductor.name, end));
        }
        if state.end.replace(TaskState::Cancelled).is_none() {
            self.stop_runs(state);
            return Ok(());
        }
        // A disabled task has no engine's task that ends.
        let mut tale = Tale::default();
        tale.end(&mut state, TaskState::Cancelled);
        drop(state);
        tale.out(&self.conductor, None, self.now());
        Ok(())
    }

    /// Whether the task is disabled.
    pub(crate) fn is_disabled(&self) -> bool {
        self.conductor.lock().end == Some(TaskState::Disabled)
    }

    /// Enables the task if it is disabled: it begins as at the start of the scheduler.
    ///
    /// # Errors
    ///
    /// The task has ended, its attributes are faulty, or it has no rule; or the scheduler is stopping.
    pub(crate) fn enable(&self) -> Result<(), ControlError> {
        let (conductor, stopping) = (&self.conductor, || ControlError::stopping(self.name()));
        let pool = conductor.pool.upgrade().ok_or_else(stopping)?;
        let mut state = conductor.lock();
        match state.end {
            Some(TaskState::Disabled) => {}
            Some(end) => return Err(ControlError::ended(&conductor.name, end)),
            None => return Ok(()),
        }
        if !conductor.faults.is_empty() {
            return Err(ControlError::faulty(&conductor.name, &conductor.faults));
        }
        if matches!(state.rule, Rule::None) {
            return Err(ControlError::without_rule(&conductor.name));
        }
        state.end = None;
        drop(state);
        self.ask_trigger();
        let kind = EventKind::Enabled { next: self.first_start() };
        conductor.bus.emit(Event::of(conductor.clock.wall(), &self.facts(), kind));
        self.submit(&pool).map_err(|_| stopping())
    }

    /// Asks the runs in progress to stop; the task goes on.
    ///
    /// # Errors
    ///
    /// No run is in progress.
    pub(crate) fn cancel_run(&self) -> Result<(), ControlError> {
        let state = self.conductor.lock();
        if state.courses().next().is_none() {
            return Err(ControlError::not_running(&self.conductor.name));
        }
        self.stop_runs(state);
        Ok(())
    }

    /// Tells of the runs in progress that the end of their pool asks to stop.
    pub(crate) fn tell_shutdown(&self) {
        let (state, at) = (self.conductor.lock(), self.now().wall.to_utc());
        let is_unasked = |it: &&Course| it.again_at.is_none() && it.run.stop_cause().is_none();
        let courses = state.courses().filter(is_unasked);
        let runs: Vec<Run> = courses.map(|course| course.run.clone()).collect();
        drop(state);
        for run in runs {
            let kind = EventKind::StopAsked { run: run.info(), reason: StopReason::Shutdown };
            self.conductor.bus.emit(Event::of(at, &self.facts(), kind));
        }
    }

    fn stop_runs(&self, mut state: Guard<'_>) {
        let mut runs: Vec<Run> = Vec::new();
        for course in state.courses_mut() {
            course.is_called_off = true;
            if course.run.request_stop(StopCause::Cancelled) {
                runs.push(course.run.clone());
            }
        }
        let handles = state.handles();
        drop(state);
        let at = self.now().wall.to_utc();
        for run in runs {
            run.heed_stop();
            let kind = EventKind::StopAsked { run: run.info(), reason: StopReason::Cancelled };
            self.conductor.bus.emit(Event::of(at, &self.facts(), kind));
        }
        handles.iter().for_each(TaskHandle::renew);
    }

    fn lock_living(&self) -> Result<Guard<'_>, ControlError> {
        let state = self.conductor.lock();
        match state.end {
            Some(TaskState::Disabled) => Err(ControlError::disabled(&self.conductor.name)),
            Some(end) => Err(ControlError::ended(&self.conductor.name, end)),
            None => Ok(state),
        }
    }

    pub(super) fn now(&self) -> Now {
        Now::read(&*self.conductor.clock)
    }
}

/// Has a wish seen to. There is no end of a task by which to wish before the task has been submitted.
fn renew(state: Guard<'_>) {
    let handles = State::handles(&state);
    drop(state);
    handles.iter().for_each(TaskHandle::renew);
}
