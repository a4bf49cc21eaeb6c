//! The commands of a task: each is one transition.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::{RunState, ScheduledThreadPool, Timer};

use super::error::{ControlError, ControlErrorKind as Kind};
use super::locked_task::Effect;
use super::locked_task::LockedTask;
use super::planner::Refusal;
use super::policy::Policy;
use super::policy::TaskSpec;
use super::rule::Rule;
use super::scheduled_task::Phase;
use super::scheduled_task::{ScheduledTask, TaskEnv};
use super::wait::ManualRun;
use crate::observe::{
    Event, EventKind, LATE, Longest, SharedTotals, StopReason, TaskFacts, TaskState,
};
use crate::run::Pause;

/// A task, to be looked at and controlled. Clones are the same task.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub(super) task: Arc<Timer<ScheduledTask>>,
}

/// Why a task could not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// Its pool takes no tasks any more.
    Stopping,
    /// Its pool has no thread, and none can be started.
    NoThread,
}

impl fmt::Display for NotBegun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stopping => "its pool takes no tasks any more",
            Self::NoThread => "its pool has no thread, and none can be started",
        })
    }
}

impl Control {
    /// Makes a task that has not [begun](Self::begin).
    pub(crate) fn make(spec: TaskSpec, env: Arc<TaskEnv>, pool: &Arc<ScheduledThreadPool>) -> Self {
        Self { task: ScheduledTask::make(spec, env, pool) }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        self.task.name()
    }

    /// Returns a weak reference. A run in progress keeps the task alive.
    pub(crate) fn downgrade(&self) -> Weak<Timer<ScheduledTask>> {
        Arc::downgrade(&self.task)
    }

    pub(crate) fn upgrade(weak: &Weak<Timer<ScheduledTask>>) -> Option<Self> {
        weak.upgrade().map(|task| Self { task })
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.task, &other.task)
    }

    /// Adds the totals of the task, now and later, to a sum.
    pub(crate) fn count_in(&self, sum: &SharedTotals) {
        self.task.lock().history.count_in(sum);
    }

    /// Returns the facts of the task.
    pub(crate) fn facts(&self) -> Arc<TaskFacts> {
        Arc::clone(&self.task.lock().facts)
    }

    /// Returns true if the task's trigger could not say the next fire time, and is asked again.
    pub(crate) fn has_trigger_failed(&self) -> bool {
        self.task.lock().trigger_failure.is_some()
    }

    /// Asks a custom trigger for the first fire time, before anything is started.
    pub(crate) fn ask_trigger(&self) {
        let mut locked = self.lock();
        if matches!(locked.state.planner.rule(), Rule::Custom(_)) {
            let now = locked.now;
            locked.state.planner.begin(now);
            while locked.state.planner.has_query() {
                locked = locked.query_trigger();
            }
            locked.report_news();
        }
        locked.unlock(None);
    }

    /// Returns when the task starts first if it begins now.
    pub(crate) fn first_start(&self) -> Option<DateTime<Utc>> {
        let (now, mut planner) = (self.task.now(), self.task.lock().planner.clone());
        planner.begin(now);
        let first = planner.next_start(now).map(|at| at.as_wall(now).to_utc());
        self.task.drop_contained(planner);
        first
    }

    /// Begins: the first fire time counts from now.
    ///
    /// # Errors
    ///
    /// The pool has been shut down, or can start no thread. The task has ended then.
    pub(crate) fn begin(&self, pool: &ScheduledThreadPool) -> Result<(), NotBegun> {
        let mut locked = self.lock();
        if pool.run_state() != RunState::Running {
            locked.end(TaskState::Cancelled);
            locked.commit();
            return Err(NotBegun::Stopping);
        }
        if locked.state.end.is_some() {
            // Another thread has already cancelled it.
            locked.commit();
            return Ok(());
        }
        let now = locked.now;
        locked.state.planner.begin(now);
        locked.commit();
        let is_refused = self.task.lock().end == Some(TaskState::Cancelled);
        match is_refused {
            // RACE: the scheduler may have stopped while the trigger was asked.
            true if pool.run_state() != RunState::Running => Err(NotBegun::Stopping),
            true if pool.stats().pool_size == 0 => Err(NotBegun::NoThread),
            _ => Ok(()),
        }
    }

    /// Counts the fire times that have come during a run in progress. A custom trigger is not asked.
    pub(crate) fn settle(&self) {
        let mut locked = self.lock();
        let is_custom = matches!(locked.state.planner.rule(), Rule::Custom(_));
        if locked.state.active.is_empty() || is_custom {
            return locked.unlock(None);
        }
        let now = locked.now;
        locked.state.planner.look(now);
        locked.commit();
    }

    /// Reports that a run still waits for a thread.
    pub(crate) fn report_starved(&self, late: Duration, busy: usize, longest: Longest) {
        let (at, facts) = (self.task.now().wall.to_utc(), self.facts());
        let pool = Arc::clone(&facts.pool);
        let kind = EventKind::Starved { pool, late, is_waiting: true, busy, longest };
        self.task.env.bus.emit(Event::of(at, &facts, kind));
    }

    /// Returns true if no further run of the task starts; one may be in progress.
    pub(crate) fn has_ended(&self) -> bool {
        self.task.lock().has_ended()
    }

    /// Returns true if the task has ended in failure: by itself, or with its last run.
    pub(crate) fn has_failed(&self) -> bool {
        let state = self.task.lock();
        match state.end {
            Some(TaskState::Failed) => true,
            Some(TaskState::Completed) => state.history.streak() > 0,
            _ => false,
        }
    }

    /// Runs the task now, beside its schedule, which does not move; also while it is paused.
    ///
    /// While a run is in progress `overlap` decides: `skip` refuses, `queue_one` lets the run follow, `allow` starts it
    /// beside.
    ///
    /// # Errors
    ///
    /// The task has ended, is running, or is about to be run; or the scheduler is stopping.
    pub(crate) fn run_now(&self) -> Result<ManualRun, ControlError> {
        let stopping = || self.error(Kind::Stopping);
        let pool = self.task.env.pool.upgrade().ok_or_else(stopping)?;
        if pool.run_state() != RunState::Running {
            return Err(stopping());
        }
        let mut locked = self.living()?;
        let now = locked.now;
        let (run, answer) =
            ManualRun::new(Arc::clone(self.name()), Arc::clone(&self.task.env.clock));
        let asked = locked.state.planner.run_now(answer, now);
        let refused = asked.map_err(|refusal| match (refusal, locked.state.active.first()) {
            (Refusal::Running, Some(active)) => {
                self.error(Kind::Running(now.tick.since(active.began.tick)))
            }
            _ => self.error(Kind::AlreadyAsked),
        });
        locked.commit();
        refused.map(|()| run)
    }

    /// Starts no run of the schedule until the task is resumed; a run in progress goes on. A task that is paused already
    /// takes the new reason, name and end.
    ///
    /// # Errors
    ///
    /// The task has ended.
    pub(crate) fn pause(&self, pause: &Pause) -> Result<(), ControlError> {
        let mut locked = self.living()?;
        let now = locked.now;
        locked.state.planner.look(now);
        locked.report_news();
        let pause = pause.beginning_at(now.wall.to_utc());
        locked.state.planner.pause(&pause, now);
        let (by, reason) = (pause.by.clone(), pause.reason.clone());
        let (until, next) = (pause.until, locked.next_start());
        locked.report(EventKind::Paused { by, reason, until, next });
        locked.commit();
        Ok(())
    }

    /// Lets a paused task go on. Fire times that have come meanwhile are skipped.
    ///
    /// # Errors
    ///
    /// The task has ended, or is not paused.
    pub(crate) fn resume(&self) -> Result<(), ControlError> {
        let mut locked = self.living()?;
        let now = locked.now;
        let was_paused = locked.state.planner.paused().is_some();
        let is_resumed = locked.state.planner.resume(now);
        if is_resumed {
            while locked.state.planner.has_query() {
                locked = locked.query_trigger();
            }
            let next = locked.next_start();
            locked.report(EventKind::Resumed { next });
        }
        locked.commit();
        // One whose pause was over by itself was resumed just now.
        if was_paused { Ok(()) } else { Err(self.error(Kind::NotPaused)) }
    }

    /// Replaces the rule; a rate or delay without an initial delay begins after one period. A run in
    /// progress goes on. A disabled task stays so, and has the rule when it is enabled.
    ///
    /// # Errors
    ///
    /// The task has ended, or its jitter is not shorter than the new rate.
    pub(crate) fn reschedule(&self, rule: Rule) -> Result<(), ControlError> {
        let text = rule.to_string();
        let mut locked = self.lock();
        if let Some(end) = locked.state.end.filter(|end| end.is_ended()) {
            locked.effects.push(Effect::DropRule(rule));
            locked.commit();
            return Err(self.error(Kind::Ended(end)));
        }
        if let Err(error) = self.check_jitter(&rule, locked.state.planner.policy()) {
            locked.commit();
            return Err(error);
        }
        if matches!(locked.state.planner.rule(), Rule::Job) {
            locked.effects.push(Effect::DropRule(rule));
            locked.commit();
            return Err(self.kept_in_store());
        }
        let is_disabled = locked.state.end.is_some();
        let rule = if is_disabled { rule } else { rule.taking_over() };
        locked.set_rule(rule, text);
        while !is_disabled && locked.state.planner.has_query() {
            locked = locked.query_trigger();
        }
        locked.report_news();
        let (rule, next) = (Arc::clone(&locked.state.facts.rule), locked.next_start());
        locked.report(EventKind::Rescheduled { rule, next });
        if is_disabled {
            locked.unlock(None);
        } else {
            locked.commit();
        }
        Ok(())
    }

    /// Returns the next fire times, at most `count`, that the task would have after [`reschedule`](Self::reschedule).
    ///
    /// # Errors
    ///
    /// As there, except for durable tasks.
    pub(crate) fn fire_times_of(
        &self,
        rule: Rule,
        count: usize,
    ) -> Result<Vec<DateTime<Utc>>, ControlError> {
        let now = self.task.now();
        let (mut planner, end) = {
            let state = self.task.lock();
            (state.planner.clone(), state.end)
        };
        if let Some(end) = end.filter(|end| end.is_ended()) {
            return Err(self.error(Kind::Ended(end)));
        }
        self.check_jitter(&rule, planner.policy())?;
        let rule = if end.is_some() { rule } else { rule.taking_over() };
        let old = planner.reschedule(rule, now);
        let times = planner.fire_times(now, count).into_iter();
        let times = times.map(|at| at.as_wall(now).to_utc()).collect();
        self.task.drop_contained((planner, old));
        Ok(times)
    }

    fn check_jitter(&self, rule: &Rule, policy: &Policy) -> Result<(), ControlError> {
        let jitter = policy.jitter;
        match *rule {
            Rule::FixedRate { period, .. } if jitter >= period => {
                Err(ControlError::too_much_jitter(self.name(), jitter, period))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if the task is durable: it is controlled in the store, for all processes.
    pub(crate) fn check_in_memory(&self) -> Result<(), ControlError> {
        match self.task.lock().planner.rule() {
            Rule::Job => Err(self.kept_in_store()),
            _ => Ok(()),
        }
    }

    /// Ends the task, and asks runs in progress to stop.
    ///
    /// # Errors
    ///
    /// The task has ended before, or is durable.
    pub(crate) fn cancel(&self) -> Result<(), ControlError> {
        self.check_in_memory()?;
        let mut locked = self.lock();
        if let Some(end) = locked.state.end.filter(|end| end.is_ended()) {
            locked.commit();
            return Err(self.error(Kind::Ended(end)));
        }
        locked.state.end = Some(TaskState::Cancelled);
        locked.state.planner.stop(locked.now);
        locked.cancel_runs();
        locked.commit();
        Ok(())
    }

    /// Ends the task because the scheduler stops: runs in progress go on, but there is no further attempt.
    pub(crate) fn shut_down(&self) {
        let mut locked = self.lock();
        if !locked.state.has_ended() {
            locked.state.end = None;
            locked.end(TaskState::Cancelled);
        } else {
            locked.end_waiting_runs();
        }
        locked.commit();
    }

    pub(crate) fn is_disabled(&self) -> bool {
        self.task.lock().end == Some(TaskState::Disabled)
    }

    /// Enables the task if it is disabled: it begins as at the start of the scheduler.
    ///
    /// # Errors
    ///
    /// The task has ended, its attributes are faulty, it has no rule or is durable; or the scheduler is stopping.
    pub(crate) fn enable(&self) -> Result<(), ControlError> {
        let (task, stopping) = (&self.task, || self.error(Kind::Stopping));
        let pool = task.env.pool.upgrade().ok_or_else(stopping)?;
        let mut state = task.lock();
        match state.end {
            Some(TaskState::Disabled) => {}
            Some(end) => return Err(self.error(Kind::Ended(end))),
            None => return Ok(()),
        }
        if !task.faults.is_empty() {
            return Err(ControlError::faulty(task.name(), &task.faults));
        }
        match state.planner.rule() {
            Rule::None => return Err(ControlError::without_rule(task.name())),
            // Its schedule was not registered.
            Rule::Job => {
                let why = "it is durable, and enabled when the process starts: by `enabled = true` in its settings";
                return Err(ControlError::refused(task.name(), why));
            }
            _ => {}
        }
        state.end = None;
        drop(state);
        self.ask_trigger();
        let next = self.first_start();
        let mut locked = self.lock();
        locked.report(EventKind::Enabled { next });
        locked.unlock(None);
        self.begin(&pool).map_err(|_| stopping())
    }

    /// Asks the runs in progress to stop; the task goes on.
    ///
    /// # Errors
    ///
    /// No run is in progress.
    pub(crate) fn cancel_run(&self) -> Result<(), ControlError> {
        let mut locked = self.lock();
        let is_running = !locked.state.active.is_empty();
        locked.cancel_runs();
        locked.commit();
        if is_running { Ok(()) } else { Err(self.error(Kind::NotRunning)) }
    }

    /// Reports that the end of the pool asks the runs in progress to stop.
    pub(crate) fn report_shutdown(&self) {
        let mut locked = self.lock();
        let now = locked.now.tick;
        for index in 0..locked.state.active.len() {
            let active = &locked.state.active[index];
            if !matches!(active.phase, Phase::Wait(_)) && active.run.stop_cause().is_none() {
                let run = active.run.info();
                let (reason, blocked) = (StopReason::Shutdown, active.blocked(now, LATE));
                locked.report(EventKind::StopRequested { run, reason, blocked });
            }
        }
        locked.commit();
    }

    pub(super) fn lock(&self) -> LockedTask<'_> {
        LockedTask::lock(&self.task, self.task.now())
    }

    /// Returns true if a store keeps its runs.
    pub(crate) fn is_durable(&self) -> bool {
        matches!(self.task.lock().planner.rule(), Rule::Job)
    }

    /// Returns an error if the task has ended or is disabled.
    #[cfg(feature = "durable")]
    pub(crate) fn check_living(&self) -> Result<(), ControlError> {
        match self.task.lock().end {
            Some(TaskState::Disabled) => Err(self.error(Kind::Disabled)),
            Some(end) => Err(self.error(Kind::Ended(end))),
            None => Ok(()),
        }
    }

    fn living(&self) -> Result<LockedTask<'_>, ControlError> {
        let locked = self.lock();
        match locked.state.end {
            Some(TaskState::Disabled) => Err(self.error(Kind::Disabled)),
            Some(end) => Err(self.error(Kind::Ended(end))),
            None if matches!(locked.state.planner.rule(), Rule::Job) => {
                locked.unlock(None);
                Err(self.kept_in_store())
            }
            None => Ok(locked),
        }
    }

    fn error(&self, kind: Kind) -> ControlError {
        ControlError::new(self.name(), kind)
    }

    /// The task is controlled in the store, for all processes.
    fn kept_in_store(&self) -> ControlError {
        let why = "it is durable, and its runs are jobs in the store: see `Schedules::run_now` and `remove`, and `Jobs::cancel`";
        ControlError::refused(self.name(), why)
    }
}

impl LockedTask<'_> {
    /// Shows another rule.
    fn set_rule(&mut self, rule: Rule, text: String) {
        let facts = TaskFacts {
            kind: rule.kind(),
            rule: text.into(),
            period: rule.period(),
            zone: rule.zone().unwrap_or(self.state.facts.zone),
            ..TaskFacts::clone(&self.state.facts)
        };
        self.state.facts = Arc::new(facts);
        self.state.trigger_failure = None;
        let now = self.now;
        let old = self.state.planner.reschedule(rule, now);
        self.effects.push(Effect::DropRule(old));
    }
}
