//! A task at one moment, as others see it; its pause.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use scheduler_core::{Due, Now, Tick, WallTime};

use crate::observe::{Held, TaskFacts, TaskSnapshot, TaskState, ThreadUse, Totals};
use crate::run::Pause;
use crate::task::control::Control;
use crate::task::rule::{Rule, text_of};
use crate::task::scheduled_task::{Phase, TaskInner};

impl Control {
    /// Returns the task at this moment. A custom trigger is asked to describe itself.
    pub(crate) fn snapshot(&self) -> TaskSnapshot {
        let mut snapshot = self.snapshot_without_asking();
        let rule = self.task.lock().planner.rule().clone();
        if let Rule::Custom(trigger) = &rule {
            let text = text_of(&**trigger);
            if text != *snapshot.facts.rule {
                let facts = TaskFacts::clone(&snapshot.facts);
                snapshot.facts = Arc::new(TaskFacts { rule: text.into(), ..facts });
            }
        }
        self.task.drop_contained(rule);
        snapshot
    }

    /// Returns the task at this moment, with its rule as it was described when the task was given it.
    fn snapshot_without_asking(&self) -> TaskSnapshot {
        let now = self.task.now();
        let state = self.task.lock();
        let pause = state.planner.paused().filter(|_| state.end.is_none());
        let as_wall = |due: Option<Due>| due.map(|due| due.as_wall(now).to_utc());
        let planner = Some(&state.planner).filter(|_| state.end.is_none());
        let is_paused = pause.is_some_and(|pause| !pause.end().is_reached(now));
        let next = retry(&state, now).or_else(|| planner?.next_start(now));
        let resumed = || {
            let attempt = waits_until(&state).map(|until| Due::Tick(until.max(now.tick)));
            attempt.or_else(|| planner?.next_start_if_resumed(now))
        };
        let delays = planner.map(|planner| planner.delays(now)).unwrap_or_default();
        let would_run_at = if is_paused { resumed() } else { None };
        TaskSnapshot {
            facts: Arc::clone(&state.facts),
            expression: state.planner.rule().expression(),
            initial_delay: state.planner.rule().initial_delay(),
            state: shown(&state),
            is_paused: pause.is_some(),
            paused_by: pause.and_then(|pause| pause.pause.by.clone()),
            pause_reason: pause.and_then(|pause| pause.pause.reason.clone()),
            paused_since: pause.map(|pause| pause.since),
            paused_until: pause.and_then(ActivePause::until),
            next: as_wall(next),
            trigger_failure: state.trigger_failure.as_deref().cloned(),
            would_run_at: as_wall(would_run_at),
            late_since: as_wall(delays.late_since),
            stuck_since: as_wall(delays.stuck_since),
            running: state.active.len(),
            running_since: running_since(&state),
            last_runs: state.history.runs().collect(),
            streak: state.history.streak(),
            failing_since: state.history.failing_since(),
            first_failure: state.history.first_failure().cloned(),
            last_success: state.history.last_success(),
            counters: state.history.counters(),
        }
    }

    /// Returns the next fire times of the rule, at most `count`.
    pub(crate) fn next_fire_times(&self, count: usize) -> Vec<DateTime<Utc>> {
        let now = self.task.now();
        let mut planner = {
            let state = self.task.lock();
            if state.end.is_some() {
                return Vec::new();
            }
            state.planner.clone()
        };
        let times = planner.fire_times(now, count).into_iter();
        let times = times.map(|at| at.as_wall(now).to_utc()).collect();
        self.task.drop_contained(planner);
        times
    }

    /// Returns since when a run waits for a thread, and the present time.
    pub(crate) fn late_since(&self) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let now = self.task.now();
        let state = self.task.lock();
        let planner = Some(&state.planner).filter(|_| state.end.is_none())?;
        Some((planner.delays(now).late_since?.as_wall(now).to_utc(), now.wall.to_utc()))
    }

    /// Returns when the oldest run in progress began.
    pub(crate) fn running_since(&self) -> Option<DateTime<Utc>> {
        running_since(&self.task.lock())
    }

    /// Returns the threads that the task has held at an instant or later, if any.
    pub(crate) fn threads_since(&self, instant: DateTime<Utc>) -> Option<ThreadUse> {
        let now = self.task.now();
        let state = self.task.lock();
        let task = Arc::clone(&state.facts);
        let was_busy = state.history.last_end().is_some_and(|end| end >= instant);
        if !was_busy && state.active.is_empty() {
            return None;
        }
        let held = if task.is_async { polls(&state, now) } else { calls(&state, now) };
        Some(ThreadUse { task, held })
    }

    /// Returns the totals of the runs.
    pub(crate) fn totals(&self) -> Totals {
        Totals::from(&self.task.lock().history.counters())
    }
}

/// Returns when the next attempt is due of a run that holds up the schedule.
fn waits_until(state: &TaskInner) -> Option<Tick> {
    if state.end.is_some() || !state.planner.is_full() {
        return None;
    }
    let waits = state.active.iter().filter_map(|run| match run.phase {
        Phase::Wait(until) => Some(until),
        Phase::Gate | Phase::Attempt => None,
    });
    waits.min()
}

/// Returns when that attempt starts, as far as a pause lets it.
fn retry(state: &TaskInner, now: Now) -> Option<Due> {
    let until = waits_until(state)?;
    match state.planner.paused() {
        None => Some(Due::Tick(until.max(now.tick))),
        Some(pause) => pause.until().map(|end| {
            let end = Due::Wall(WallTime::from(end));
            if end.as_tick(now) > until { end } else { Due::Tick(until.max(now.tick)) }
        }),
    }
}

/// The calls of a plain function, those in progress until now.
fn calls(state: &TaskInner, now: Now) -> Vec<Held> {
    let to = now.wall.to_utc();
    let active = state.active.iter().filter(|run| !run.is_waiting());
    let active = active.map(|run| Held { from: run.run.started_at(), to });
    let ended = state.history.runs();
    let ended = ended.map(|run| Held { from: run.started_at, to: run.started_at + run.took });
    active.chain(ended).collect()
}

/// The longest poll of each run in progress, and of the last one that blocked its thread.
fn polls(state: &TaskInner, now: Now) -> Vec<Held> {
    let active = state.active.iter().filter_map(|run| run.run.longest_poll(now.tick));
    let polls = active.chain(state.longest_poll.as_deref().copied());
    let held = polls.map(|poll| {
        let from = (now.wall - now.tick.since(poll.from)).to_utc();
        Held { from, to: from + poll.took }
    });
    held.collect()
}

fn running_since(state: &TaskInner) -> Option<DateTime<Utc>> {
    state.active.iter().map(|run| run.began.wall).min().map(WallTime::to_utc)
}

fn shown(state: &TaskInner) -> TaskState {
    if !state.active.is_empty() {
        let is_retrying = state.active.iter().all(|run| run.is_waiting());
        return if is_retrying { TaskState::Retrying } else { TaskState::Running };
    }
    match state.end {
        Some(end) => end,
        None if state.planner.paused().is_some() => TaskState::Paused,
        None => TaskState::Waiting,
    }
}

/// The pause of a task that is paused.
#[derive(Clone, Debug)]
pub(super) struct ActivePause {
    pub(super) pause: Pause,
    pub(super) since: DateTime<Utc>,
    /// When its end was set.
    pub(super) set_at: Now,
}

impl ActivePause {
    pub(super) fn until(&self) -> Option<DateTime<Utc>> {
        self.pause.until
    }

    pub(super) fn end(&self) -> Due {
        self.until().map_or(Due::NEVER, |until| Due::Wall(until.into()))
    }

    /// Returns the reading of both clocks at the end of the pause; `None` while it goes on, as it did at the last look.
    ///
    /// The wall clock may have been set meanwhile, or the machine suspended: then this is the later of the two instants
    /// that the monotonic clock allows. Fire times in a pause are never replayed.
    pub(super) fn over_at(&self, last: Now, now: Now) -> Option<Now> {
        let until = self.until().filter(|_| self.end().is_reached(now))?;
        // One that is over when it begins is a pause nevertheless.
        let wall = WallTime::from(until).max(self.set_at.wall);
        let from_set = self.set_at.tick + wall.since(self.set_at.wall);
        let since = u64::try_from(now.wall.since(wall).as_nanos()).unwrap_or(u64::MAX);
        let until_now = Tick::from_nanos(now.tick.as_nanos().saturating_sub(since));
        Some(Now {
            tick: from_set.max(until_now).max(last.tick).min(now.tick),
            wall: wall.min(now.wall),
        })
    }
}
