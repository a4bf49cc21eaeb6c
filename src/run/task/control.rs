//! The commands of a task. Each is a transition on the caller's thread.

use std::fmt;
use std::sync::{Arc, Weak};

use chrono::{DateTime, Utc};
use scheduler_core::{RunState, ScheduledThreadPool, Timer};

use super::error::ControlError;
use super::manual::ManualRun;
use super::planner::Refusal;
use super::rule::Rule;
use super::state::Phase;
use super::ticker::{Parts, Ticker};
use super::transition::Transition;
use crate::observe::{EventKind, LATE, SharedTotals, StopReason, TaskFacts, TaskState};

/// A task, to be looked at and controlled. Clones are the same task.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub(super) ticker: Arc<Timer<Ticker>>,
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
    pub(crate) fn make(parts: Parts) -> Self {
        Self { ticker: Ticker::make(parts) }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.ticker.name
    }

    /// Returns a weak reference. A run in progress keeps the task alive.
    pub(crate) fn downgrade(&self) -> Weak<Timer<Ticker>> {
        Arc::downgrade(&self.ticker)
    }

    pub(crate) fn upgrade(weak: &Weak<Timer<Ticker>>) -> Option<Self> {
        weak.upgrade().map(|ticker| Self { ticker })
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ticker, &other.ticker)
    }

    /// Adds the totals of the task, now and later, to a sum.
    pub(crate) fn count_in(&self, sum: &SharedTotals) {
        self.ticker.lock().history.count_in(sum);
    }

    /// Returns what is known of the task.
    pub(crate) fn facts(&self) -> Arc<TaskFacts> {
        Arc::clone(&self.ticker.lock().facts)
    }

    /// Returns true if the task's trigger could not say the next fire time, and is asked again.
    pub(crate) fn has_trigger_failed(&self) -> bool {
        self.ticker.lock().trigger_failure.is_some()
    }

    /// Asks a custom trigger for the first fire time, before anything is started.
    pub(crate) fn ask_trigger(&self) {
        let mut transition = self.transition();
        if matches!(transition.state.rule, Rule::Custom(_)) {
            let now = transition.now;
            transition.state.planner.begin(now);
            while transition.state.planner.has_question() {
                transition = transition.ask();
            }
            transition.report_news();
        }
        transition.leave(None);
    }

    /// Returns when the task starts first if it begins now.
    pub(crate) fn first_start(&self) -> Option<DateTime<Utc>> {
        let (now, mut planner) = (self.ticker.now(), self.ticker.lock().planner.clone());
        planner.begin(now);
        Some(planner.next_start(now)?.as_wall(now).to_utc())
    }

    /// Begins: the first fire time counts from now.
    ///
    /// # Errors
    ///
    /// The pool has been shut down, or can start no thread. The task has ended then.
    pub(crate) fn begin(&self, pool: &ScheduledThreadPool) -> Result<(), NotBegun> {
        let mut transition = self.transition();
        if pool.run_state() != RunState::Running {
            transition.end(TaskState::Cancelled);
            transition.commit();
            return Err(NotBegun::Stopping);
        }
        if transition.state.end.is_some() {
            // Another thread has already cancelled it.
            transition.commit();
            return Ok(());
        }
        let now = transition.now;
        transition.state.planner.begin(now);
        transition.commit();
        let is_refused = self.ticker.lock().end == Some(TaskState::Cancelled);
        match is_refused {
            // RACE: the scheduler may have stopped while the trigger was asked.
            true if pool.run_state() != RunState::Running => Err(NotBegun::Stopping),
            true if pool.stats().pool_size == 0 => Err(NotBegun::NoThread),
            _ => Ok(()),
        }
    }

    /// Returns true if no further run of the task starts; one may be in progress.
    pub(crate) fn has_ended(&self) -> bool {
        self.ticker.lock().has_ended()
    }

    /// Returns true if the task has ended in failure: by itself, or with its last run.
    pub(crate) fn has_failed(&self) -> bool {
        let state = self.ticker.lock();
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
        let stopping = || ControlError::stopping(self.name());
        let pool = self.ticker.pool.upgrade().ok_or_else(stopping)?;
        if pool.run_state() != RunState::Running {
            return Err(stopping());
        }
        let mut transition = self.living()?;
        let now = transition.now;
        let asked = transition.state.planner.run_now(now);
        let refused = asked.map_err(|refusal| match (refusal, transition.state.active.first()) {
            (Refusal::Running, Some(active)) => {
                ControlError::running(self.name(), now.tick.since(active.began.tick))
            }
            _ => ControlError::already_asked(self.name()),
        });
        let run = refused.map(|()| {
            let (run, promise) =
                ManualRun::new(Arc::clone(self.name()), Arc::clone(&self.ticker.clock));
            transition.state.promises.push_back(promise);
            run
        });
        transition.commit();
        run
    }

    /// As [`pause_by`](Self::pause_by), without a name.
    #[cfg(test)]
    pub(crate) fn pause(
        &self,
        note: Option<&str>,
        until: Option<DateTime<Utc>>,
    ) -> Result<(), ControlError> {
        self.pause_by(note, None, until)
    }

    /// Starts no run of the schedule until the task is resumed; a run in progress goes on. A task that is paused already
    /// takes the new note, name and end.
    ///
    /// # Errors
    ///
    /// The task has ended.
    pub(crate) fn pause_by(
        &self,
        note: Option<&str>,
        by: Option<&str>,
        until: Option<DateTime<Utc>>,
    ) -> Result<(), ControlError> {
        let mut transition = self.living()?;
        let (now, note) = (transition.now, note.map(Arc::from));
        transition.state.planner.look(now);
        transition.report_news();
        transition.state.planner.pause(Option::clone(&note), until, now);
        transition.state.planner.set_paused_by(by.map(Arc::from));
        let next = transition.next_start();
        transition.report(EventKind::Paused { note, until, next });
        transition.commit();
        Ok(())
    }

    /// Lets a paused task go on. Fire times that have come meanwhile are skipped.
    ///
    /// # Errors
    ///
    /// The task has ended, or is not paused.
    pub(crate) fn resume(&self) -> Result<(), ControlError> {
        let mut transition = self.living()?;
        let now = transition.now;
        let was_paused = transition.state.planner.paused().is_some();
        let is_resumed = transition.state.planner.resume(now);
        if is_resumed {
            while transition.state.planner.has_question() {
                transition = transition.ask();
            }
            let next = transition.next_start();
            transition.report(EventKind::Resumed { next });
        }
        transition.commit();
        // One whose pause was over by itself was resumed just now.
        if was_paused { Ok(()) } else { Err(ControlError::not_paused(self.name())) }
    }

    /// Replaces the rule; a rate or delay without an initial delay begins after one period. A run in
    /// progress goes on. A disabled task stays so, and has the rule when it is enabled.
    ///
    /// # Errors
    ///
    /// The task has ended, or its jitter is not shorter than the new rate.
    pub(crate) fn reschedule(&self, rule: Rule) -> Result<(), ControlError> {
        let text = rule.to_string();
        let mut transition = self.transition();
        if let Some(end) = transition.state.end.filter(|end| end.is_ended()) {
            transition.effects.rare().rules.push(rule);
            transition.commit();
            return Err(ControlError::ended(self.name(), end));
        }
        if let Err(error) = self.check_jitter(&rule) {
            transition.commit();
            return Err(error);
        }
        if matches!(transition.state.rule, Rule::Job) {
            transition.effects.rare().rules.push(rule);
            transition.commit();
            return Err(self.kept_in_store());
        }
        let is_disabled = transition.state.end.is_some();
        let rule = if is_disabled { rule } else { rule.taking_over() };
        let (now, chance) = (transition.now, self.ticker.chance);
        transition.state.planner.reschedule(&rule, chance, now);
        transition.set_rule(rule, text);
        while !is_disabled && transition.state.planner.has_question() {
            transition = transition.ask();
        }
        transition.report_news();
        let (rule, next) = (Arc::clone(&transition.state.facts.rule), transition.next_start());
        transition.report(EventKind::Rescheduled { rule, next });
        if is_disabled {
            transition.leave(None);
        } else {
            transition.commit();
        }
        Ok(())
    }

    /// Returns the next fire times, at most `count`, that the task would have after [`reschedule`](Self::reschedule).
    ///
    /// # Errors
    ///
    /// As there, but that of a durable task.
    pub(crate) fn fire_times_of(
        &self,
        rule: Rule,
        count: usize,
    ) -> Result<Vec<DateTime<Utc>>, ControlError> {
        self.check_jitter(&rule)?;
        let (now, chance) = (self.ticker.now(), self.ticker.chance);
        let (mut planner, end) = {
            let state = self.ticker.lock();
            (state.planner.clone(), state.end)
        };
        if let Some(end) = end.filter(|end| end.is_ended()) {
            return Err(ControlError::ended(self.name(), end));
        }
        let rule = if end.is_some() { rule } else { rule.taking_over() };
        planner.reschedule(&rule, chance, now);
        let times = planner.fire_times(now, count).into_iter();
        Ok(times.map(|at| at.as_wall(now).to_utc()).collect())
    }

    fn check_jitter(&self, rule: &Rule) -> Result<(), ControlError> {
        let jitter = self.ticker.policy.jitter;
        match *rule {
            Rule::FixedRate { period, .. } if jitter >= period => {
                Err(ControlError::too_much_jitter(self.name(), jitter, period))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if the task is durable: it is controlled in the store, for all processes.
    pub(crate) fn check_in_memory(&self) -> Result<(), ControlError> {
        match self.ticker.lock().rule {
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
        let mut transition = self.transition();
        if let Some(end) = transition.state.end.filter(|end| end.is_ended()) {
            transition.commit();
            return Err(ControlError::ended(self.name(), end));
        }
        transition.state.end = Some(TaskState::Cancelled);
        transition.state.planner.stop(transition.now);
        transition.cancel_runs();
        transition.commit();
        Ok(())
    }

    /// Ends the task because the scheduler stops: runs in progress go on, but there is no further attempt.
    pub(crate) fn shut_down(&self) {
        let mut transition = self.transition();
        if !transition.state.has_ended() {
            transition.state.end = None;
            transition.end(TaskState::Cancelled);
        } else {
            transition.end_waiting_runs();
        }
        transition.commit();
    }

    pub(crate) fn is_disabled(&self) -> bool {
        self.ticker.lock().end == Some(TaskState::Disabled)
    }

    /// Enables the task if it is disabled: it begins as at the start of the scheduler.
    ///
    /// # Errors
    ///
    /// The task has ended, its attributes are faulty, it has no rule or is durable; or the scheduler is stopping.
    pub(crate) fn enable(&self) -> Result<(), ControlError> {
        let (ticker, stopping) = (&self.ticker, || ControlError::stopping(self.name()));
        let pool = ticker.pool.upgrade().ok_or_else(stopping)?;
        let mut state = ticker.lock();
        match state.end {
            Some(TaskState::Disabled) => {}
            Some(end) => return Err(ControlError::ended(&ticker.name, end)),
            None => return Ok(()),
        }
        if !ticker.faults.is_empty() {
            return Err(ControlError::faulty(&ticker.name, &ticker.faults));
        }
        match state.rule {
            Rule::None => return Err(ControlError::without_rule(&ticker.name)),
            // Its schedule was not registered.
            Rule::Job => {
                let why = "it is durable, and enabled when the process starts: by `enabled = true` in its settings";
                return Err(ControlError::refused(&ticker.name, why));
            }
            _ => {}
        }
        state.end = None;
        drop(state);
        self.ask_trigger();
        let next = self.first_start();
        let mut transition = self.transition();
        transition.report(EventKind::Enabled { next });
        transition.leave(None);
        self.begin(&pool).map_err(|_| stopping())
    }

    /// Asks the runs in progress to stop; the task goes on.
    ///
    /// # Errors
    ///
    /// No run is in progress.
    pub(crate) fn cancel_run(&self) -> Result<(), ControlError> {
        let mut transition = self.transition();
        let is_running = !transition.state.active.is_empty();
        transition.cancel_runs();
        transition.commit();
        if is_running { Ok(()) } else { Err(ControlError::not_running(self.name())) }
    }

    /// Reports that the end of the pool asks the runs in progress to stop.
    pub(crate) fn report_shutdown(&self) {
        let mut transition = self.transition();
        let now = transition.now.tick;
        for index in 0..transition.state.active.len() {
            let active = &transition.state.active[index];
            if !matches!(active.phase, Phase::Wait(_)) && active.run.stop_cause().is_none() {
                let run = active.run.info();
                let (reason, blocked) = (StopReason::Shutdown, active.blocked(now, LATE));
                transition.report(EventKind::StopAsked { run, reason, blocked });
            }
        }
        transition.commit();
    }

    pub(super) fn transition(&self) -> Transition<'_> {
        Transition::begin(&self.ticker, self.ticker.now())
    }

    fn living(&self) -> Result<Transition<'_>, ControlError> {
        let transition = self.transition();
        match transition.state.end {
            Some(TaskState::Disabled) => Err(ControlError::disabled(self.name())),
            Some(end) => Err(ControlError::ended(self.name(), end)),
            None if matches!(transition.state.rule, Rule::Job) => {
                transition.leave(None);
                Err(self.kept_in_store())
            }
            None => Ok(transition),
        }
    }

    /// The task is controlled in the store, for all processes.
    fn kept_in_store(&self) -> ControlError {
        let why = "it is durable, and controlled in the store, for all processes: see `Jobs`";
        ControlError::refused(self.name(), why)
    }
}

impl Transition<'_> {
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
        let old = std::mem::replace(&mut self.state.rule, rule);
        self.effects.rare().rules.push(old);
    }
}
