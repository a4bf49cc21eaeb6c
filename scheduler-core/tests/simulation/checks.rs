//! The invariants that are looked at after each operation.

use super::corners::Corner;
use super::plant::Plant;
use super::timer::from_engine;
use super::verdict::{Invariant, Verdict};
use super::words::{Due, Now, Place, Rhythm, Task};
use super::world::{Limits, Mode, World};
use scheduler_core::{RunState, TaskHandle, TaskState};

/// The longest wait for the wall clock that the engine promises.
const WALL_CHECK: u64 = 500_000_000;

impl World {
    /// Everything that holds after each operation.
    pub(crate) fn check(&mut self) -> Verdict {
        let is_refused = self.was_refused && self.hires > 0 && self.workers.is_empty();
        if is_refused && self.model.state == RunState::ShuttingDown {
            self.model.abandon();
        } else if is_refused {
            if self.model.tasks.iter().any(|task| task.is_timer() && task.armed_for().is_some()) {
                self.reach(Corner::TimerDroppedForWantOfWorkers);
            }
            self.model.drop_timers();
        }
        let reads = self.stage.clock.take_reads();
        let allowed = self.reads_max + self.spare_reads;
        Invariant::ClockReads.holds(reads <= allowed, || {
            format!("{reads} reads of the clock, where {allowed} are enough")
        })?;
        self.spare_reads -= reads.saturating_sub(self.reads_max);
        self.check_hires()?;
        self.check_counts()?;
        for (task, state) in self.states() {
            self.check_task(task, state)?;
        }
        self.check_timers()?;
        let is_open = |task: &Task| task.end.is_none() || task.place != Place::Gone;
        self.open.retain(|task| is_open(&self.model.tasks[*task]));
        self.check_liveness()
    }

    /// The states, by their handles, of the tasks that are still to be checked.
    fn states(&self) -> Vec<(usize, Option<TaskState>)> {
        let props = self.stage.props();
        let state = |task: usize| props.handles[task].as_ref().map(TaskHandle::state);
        self.open.iter().map(|task| (*task, state(*task))).collect()
    }

    /// Each timer is armed for the time that the model says, and heard as often that it was dropped.
    fn check_timers(&self) -> Verdict {
        for timer in &self.stage.props().timers {
            let (known, tally) = (self.model.tasks[timer.task], &self.tallies[timer.task]);
            let found = (timer.due().map(from_engine), tally.timer_drops);
            Invariant::Timers.holds(found == (known.armed_for(), known.calls.dropped), || {
                format!("timer {}, {known:?}, is {found:?}", timer.task)
            })?;
        }
        Ok(())
    }

    fn check_counts(&mut self) -> Verdict {
        let Some(pool) = self.stage.pool() else { return Ok(()) };
        let (stats, state) = (pool.stats(), pool.run_state());
        self.stage.clock.take_reads();
        if state == RunState::Terminated && self.model.state != RunState::Terminated {
            let is_over = self.model.state > RunState::Running
                && self.is_exhausted()
                && self.workers.is_empty();
            Invariant::NothingLeft.holds(is_over && self.terminated == 1, || {
                format!("terminated with {stats:?}, {} calls of the hook", self.terminated)
            })?;
            self.model.state = state;
        }
        Invariant::StateForward.holds(state == self.model.state, || {
            format!("the pool is {state:?} instead of {:?}", self.model.state)
        })?;
        let queued = self.model.count(&[Place::Queue, Place::Resumed]);
        Invariant::Memory.holds(stats.queued <= queued, || {
            format!("{} tasks are kept in the queue instead of {queued}", stats.queued)
        })?;
        let is_busy = |mode: &Mode| matches!(mode, Mode::Busy { .. });
        let busy = self.workers.iter().filter(|worker| is_busy(&worker.mode)).count();
        let suspended = self.model.count(&[Place::Suspended]);
        let completed = self.model.completed;
        let counted = (stats.queued, stats.suspended, stats.active, stats.completed);
        Invariant::Counts.holds(counted == (queued, suspended, busy, completed), || {
            format!("{stats:?} instead of {:?}", (queued, suspended, busy, completed))
        })?;
        let tasks = completed + (queued + suspended + busy) as u64;
        let is_right = stats.tasks == tasks && stats.core_size == self.limits.core_size;
        let pool_size = if state == RunState::Terminated { 0 } else { self.workers.len() };
        Invariant::Counts.holds(is_right && stats.pool_size == pool_size, || {
            format!("{stats:?} with {pool_size} workers")
        })
    }

    /// Checks that a task's handle, events, callback and body agree with the model.
    fn check_task(&mut self, task: usize, state: Option<TaskState>) -> Verdict {
        let known = self.model.tasks[task];
        let is_on_worker = known.place == Place::Worker;
        let has_ended = known.end.is_some();
        let expected = match (known.end, known.place) {
            (Some(end), _) => end,
            (None, Place::Queue | Place::Held) => TaskState::Scheduled,
            (None, _) => TaskState::Running,
        };
        let forgets = self.stage.is_planted(Plant::ForgetfulHandle) && task % 4 == 3;
        let state = state.unwrap_or(expected);
        let tally = &mut self.tallies[task];
        let last = std::mem::replace(&mut tally.state, state);
        let state = if forgets && is_final(last) { TaskState::Scheduled } else { state };
        Invariant::StateForward.holds(!is_final(last) || state == last, || {
            format!("task {task} was {last:?} and is {state:?}")
        })?;
        Invariant::OneEnd.holds(state == expected, || {
            format!("task {task} is {state:?} instead of {expected:?}")
        })?;
        // The end of a task that was cancelled during its run is reported when the run has ended.
        let is_reported = tally.ends == u64::from(has_ended) && tally.end == known.end
            || is_on_worker && tally.ends == 0;
        let is_told = !tally.has_handle
            || tally.told == u64::from(has_ended) && tally.told_state == known.end;
        Invariant::Events
            .holds(is_reported && is_told && tally.run_starts == tally.starts, || {
                format!("task {task}, {known:?}, but heard was {tally:?}")
            })?;
        let is_dropped = match (has_ended, is_on_worker) {
            (true, false) => tally.dropped == 1,
            (false, false) => tally.dropped == 0,
            (_, true) => tally.dropped <= 1,
        };
        Invariant::NothingLeft.holds(is_dropped, || {
            format!("the body of task {task}, {known:?}, was dropped {} times", tally.dropped)
        })
    }

    /// The worker that has to act next is notified, or waits for the right time.
    fn check_liveness(&self) -> Verdict {
        if self.model.state >= RunState::Stopping {
            return Ok(());
        }
        let live = self.model.tasks.iter().filter(|task| task.is_queued() && task.end.is_none());
        let dues: Vec<Due> = live.map(|task| task.due).collect();
        let now = self.now();
        Invariant::Liveness
            .holds(dues.is_empty() || !self.workers.is_empty() || self.was_refused, || {
                "tasks wait, and there is no worker".to_owned()
            })?;
        let is_parked = |mode: &Mode| matches!(mode, Mode::Parked(_));
        let rests = self.workers.iter().any(|worker| is_parked(&worker.mode))
            && !self.workers.iter().any(|worker| self.is_ready(worker, now));
        let untils = self.workers.iter().filter_map(|worker| match worker.mode {
            Mode::Parked(until) => until,
            _ => None,
        });
        let first_look = untils.min().unwrap_or(u64::MAX);
        // A worker that is awake may have looked, and been given something long.
        let is_busy = self.workers.iter().any(|worker| matches!(worker.mode, Mode::Busy { .. }));
        let Limits { slack, wake_latency, .. } = self.limits;
        let (shortest_wait, head_start) = (wake_latency * 16 / 5, (wake_latency * 4).max(slack));
        let others = shortest_wait.saturating_add(if is_busy { head_start } else { 0 });
        let latest = |due: &Due| match due {
            Due::Tick(tick) => tick.saturating_add(slack).saturating_add(others),
            // The clock may be set meanwhile.
            Due::Wall(_) => now.tick.saturating_add(WALL_CHECK).saturating_add(others),
        };
        let is_forgotten = |due: &&Due| rests && first_look > latest(due);
        Invariant::Liveness.holds(dues.iter().find(is_forgotten).is_none(), || {
            format!("at {now:?} all who rest do so until {first_look}; waiting are {dues:?}")
        })
    }

    /// Returns true if a worker that has been idle for long enough leaves.
    pub(crate) fn may_time_out(&self) -> bool {
        let limits = self.limits;
        let is_timed = limits.core_may_time_out || self.workers.len() > limits.core_size;
        is_timed && (self.workers.len() > 1 || self.is_exhausted())
    }

    pub(crate) fn has_timed_out(&self, index: usize, now: Now) -> bool {
        let keep_alive = self.limits.keep_alive;
        let since = self.idle_since(index).unwrap_or(now.tick);
        self.may_time_out() && now.tick - since >= keep_alive
    }

    /// Workers are started up to the core size, and by each submission as long as they are fewer.
    fn check_hires(&self) -> Verdict {
        let (least, most) = self.core_sizes;
        let is_allowed = self.hires == 0 || self.workers.len() <= most.max(1);
        let is_missing = self.has_accepted && self.hires == 0 && self.workers.len() < least.max(1);
        Invariant::Counts.holds(is_allowed && !is_missing, || {
            format!("{} workers after {} hires, {:?}", self.workers.len(), self.hires, self.limits)
        })
    }

    /// Returns true if nothing waits to be run, now or later.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.model.count(&[Place::Queue, Place::Resumed, Place::Suspended]) == 0
    }

    /// No worker has a reason to act.
    pub(crate) fn check_settled(&self) -> Verdict {
        let is_busy = self.workers.iter().any(|worker| matches!(worker.mode, Mode::Busy { .. }));
        let is_over = match self.model.state {
            RunState::Running | RunState::Terminated => false,
            RunState::ShuttingDown => self.is_exhausted() && !is_busy,
            _ => !is_busy,
        };
        Invariant::NothingLeft.holds(!is_over || self.stage.pool().is_none(), || {
            format!("nothing is left to do, but the pool is {:?}", self.model.state)
        })?;
        let now = self.now();
        let may_time_out = self.may_time_out();
        let keep_alive = self.limits.keep_alive;
        let lingers = |index: &usize| match (&self.workers[*index].mode, self.idle_since(*index)) {
            (Mode::Parked(until), Some(since)) => {
                may_time_out && until.is_none_or(|until| until > since.saturating_add(keep_alive))
            }
            _ => false,
        };
        let lingering = (0..self.workers.len()).find(lingers);
        Invariant::Liveness.holds(lingering.is_none(), || {
            format!("at {now:?} worker {lingering:?} has no time to leave, {:?}", self.limits)
        })
    }

    /// Everything that holds when the pool has come to its end.
    pub(crate) fn check_end(&mut self) -> Verdict {
        self.check()?;
        Invariant::NothingLeft
            .holds(self.open.is_empty(), || format!("tasks {:?} have not ended", self.open))?;
        if self.stage.pool().is_some() {
            let is_over = self.model.state == RunState::Terminated && self.workers.is_empty();
            Invariant::NothingLeft.holds(is_over && self.terminated == 1, || {
                format!("at the end the pool is {:?}", self.model.state)
            })?;
        }
        self.check_timers_at_the_end()?;
        for (task, tally) in self.tallies.iter().enumerate() {
            let known = self.model.tasks[task];
            if known.is_timer() {
                continue;
            }
            let state = self.stage.handle(task).map(|handle| handle.state());
            Invariant::StateForward
                .holds(state.is_none_or(|state| Some(state) == known.end), || {
                    format!("task {task} has ended as {:?} and is {state:?}", known.end)
                })?;
            let is_once = matches!(known.rhythm, Rhythm::Once);
            let ran = known.end != Some(TaskState::Cancelled);
            let ends_once = !is_once || tally.starts <= 1 && (!ran || tally.starts == 1);
            Invariant::OneEnd.holds(ends_once && tally.ends == 1, || {
                format!("task {task}, {known:?}, has {tally:?}")
            })?;
            Invariant::NothingLeft.holds(tally.dropped == 1, || {
                format!("the body of task {task} was dropped {} times", tally.dropped)
            })?;
        }
        Ok(())
    }
}

impl World {
    /// No timer is armed, each firing was finished, and nothing keeps a timer.
    fn check_timers_at_the_end(&mut self) -> Verdict {
        let timers = std::mem::take(&mut self.stage.props().timers);
        let numbers: Vec<usize> = timers.iter().map(|timer| timer.task).collect();
        let is_armed = timers.iter().any(|timer| timer.due().is_some());
        drop(timers);
        self.absorb()?;
        let is_over = |task: &usize| {
            let tally = &self.tallies[*task];
            tally.to_finish.is_empty() && tally.dropped == 1
        };
        Invariant::NothingLeft.holds(!is_armed && numbers.iter().all(is_over), || {
            format!("of the timers {numbers:?} something is left: {:?}", self.tallies)
        })
    }
}

fn is_final(state: TaskState) -> bool {
    matches!(state, TaskState::Completed | TaskState::Failed | TaskState::Cancelled)
}
