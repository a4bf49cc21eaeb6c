//! The states of a pool: its sizes, its shutdown, its end.

use std::sync::Arc;

use super::core::{CoreEffects, PoolCore};
use super::entry::{Entry, Item, due_of, kind_of, on_monotonic_clock};
use super::inbox::SubmitState;
use crate::observe::PoolStats;
use crate::task::{AnyTask, Interruptible};
use crate::time::{Due, Now, Tick};

/// The state of a pool; it only moves forward.
///
/// ```
/// use scheduler_core::{RunState, ScheduledThreadPool};
///
/// let pool = ScheduledThreadPool::new(1);
/// assert_eq!(pool.run_state(), RunState::Running);
/// pool.close()?;
/// assert_eq!(pool.run_state(), RunState::Terminated);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunState {
    /// Takes tasks and runs them.
    Running,
    /// Takes no tasks; runs those that the [`ShutdownPolicy`] lets run.
    ShuttingDown,
    /// Takes no tasks and starts no runs; waits for those in progress.
    Stopping,
    /// Nothing runs any more.
    Terminated,
}

impl RunState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::ShuttingDown => "shutting down",
            Self::Stopping => "stopping",
            Self::Terminated => "terminated",
        }
    }
}

/// The waiting tasks that still run after [`shutdown`](crate::ScheduledThreadPool::shutdown).
///
/// A one-shot that is due already runs in any case, a recurring task only where recurring ones go on; and a run in
/// progress goes on to its end.
///
/// ```
/// use scheduler_core::{ScheduledThreadPool, ShutdownPolicy};
/// use std::time::Duration;
///
/// let policy = ShutdownPolicy { execute_delayed: false, ..ShutdownPolicy::default() };
/// let pool = ScheduledThreadPool::builder().shutdown_policy(policy).build()?;
/// let later = pool.schedule(Duration::from_secs(3_600), || ())?;
/// pool.shutdown();
/// assert!(later.is_cancelled());
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownPolicy {
    /// True if recurring tasks go on; `false` by default.
    ///
    /// As in the JDK.
    #[doc(alias = "setContinueExistingPeriodicTasksAfterShutdownPolicy")]
    pub continue_recurring: bool,
    /// True if one-shot tasks that are not due yet still run at their time; `true` by default.
    #[doc(alias = "setExecuteExistingDelayedTasksAfterShutdownPolicy")]
    pub execute_delayed: bool,
}

impl Default for ShutdownPolicy {
    fn default() -> Self {
        Self { continue_recurring: false, execute_delayed: true }
    }
}

/// The kind of an entry of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A one-shot without options: nothing but its closure.
    Plain,
    /// Any other one-shot.
    OneShot,
    Recurring,
    /// A run in progress that wants to be polled on, or that goes on as a future.
    Resumed,
    /// A call of an [`Alarm`](super::Alarm). The pool does not wait for it when it ends.
    Alarm,
    /// A timer that is armed. The pool waits for it when it ends.
    Timer,
    /// A timer that is armed for a time on the wall clock.
    WallTimer,
}

impl EntryKind {
    /// Returns true if the pool made the item, so that it never is in the hands of a user.
    pub(crate) fn is_internal(self) -> bool {
        self.is_timer() || matches!(self, Self::Resumed | Self::Alarm)
    }

    fn is_timer(self) -> bool {
        matches!(self, Self::Timer | Self::WallTimer)
    }
}

/// Returns true if an item may stay in the queue, or enter it, or leave it to be run.
pub(crate) fn may_run(
    state: RunState,
    kind: EntryKind,
    is_due: bool,
    policy: ShutdownPolicy,
) -> bool {
    match (state, kind) {
        (RunState::Running, _) => true,
        (RunState::ShuttingDown, kind) if kind.is_internal() => true,
        (RunState::ShuttingDown, EntryKind::Recurring) => policy.continue_recurring,
        (RunState::ShuttingDown, _) => is_due || policy.execute_delayed,
        (RunState::Stopping | RunState::Terminated, _) => false,
    }
}

/// Fewer dead entries are not swept out while workers are busy.
const SWEEP_MIN: i64 = 64;
/// A worker sweeps a queue of at most this length before it sleeps.
const FEW: usize = 64;

/// The number of entries that are known to be dead. The count is less than zero where one has left before its death is announced.
fn known_dead(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

impl PoolCore {
    /// Changes what may still run.
    pub(super) fn set_policy(
        &mut self,
        policy: ShutdownPolicy,
        now: Now,
        effects: &mut CoreEffects,
    ) {
        self.policy = policy;
        if self.state == RunState::ShuttingDown {
            self.drop_what_may_not_run(now, effects);
            self.after_removal(effects);
        }
    }

    /// Takes no more tasks, and drops those that shall not run any more.
    pub(super) fn shutdown(&mut self, now: Now, effects: &mut CoreEffects) {
        if self.state != RunState::Running {
            return;
        }
        self.state = RunState::ShuttingDown;
        self.drop_what_may_not_run(now, effects);
        if self.workers.live() == 0 && self.queued() > 0 {
            self.start_worker(effects);
        }
        self.sleepers.wake_all(&mut effects.wake);
        self.try_terminate(effects);
    }

    /// Takes no more tasks, starts no more runs, and hands out the tasks that wait, the next first.
    pub(super) fn shutdown_now(
        &mut self,
        now: Now,
        effects: &mut CoreEffects,
    ) -> Vec<Arc<dyn AnyTask>> {
        if self.state >= RunState::Stopping {
            return Vec::new();
        }
        self.state = RunState::Stopping;
        effects.stop = true;
        let mut drained = Vec::new();
        for entry in self.take_all(now) {
            let is_internal = kind_of(entry.key).is_internal();
            match self.withdraw(entry) {
                Ok(task) if is_internal => self.cancel(task, effects),
                Ok(task) => drained.extend(task.into_task()),
                Err(item) => effects.release.push(item),
            }
        }
        for task in std::mem::take(&mut self.suspended).into_values() {
            self.cancel(task, effects);
        }
        self.sleepers.wake_all(&mut effects.wake);
        self.try_terminate(effects);
        drained
    }

    /// Takes all entries, the next first.
    fn take_all(&mut self, now: Now) -> Vec<Entry> {
        let mut all = Vec::new();
        self.queue.extract(|_| true, |entry| all.push(entry));
        self.wall_queue.extract(|_| true, |entry| all.push(entry));
        all.sort_by_key(|entry| match kind_of(entry.key) {
            EntryKind::WallTimer => on_monotonic_clock(entry.key, now),
            _ => entry.key,
        });
        all
    }

    /// Drops what may not run any more, and entries that are dead.
    fn drop_what_may_not_run(&mut self, now: Now, effects: &mut CoreEffects) {
        let (state, policy) = (self.state, self.policy);
        self.remove_where(effects, |entry| {
            !may_run(state, kind_of(entry.key), due_of(entry.key).is_reached(now), policy)
                || is_ended(entry)
        });
    }

    /// Drops every task from the queue that has ended.
    pub(super) fn purge(&mut self, effects: &mut CoreEffects) {
        self.remove_where(effects, is_ended);
        self.after_removal(effects);
    }

    /// Cancels what waits when the last worker has gone: all of it if no submission can start a worker any more, and
    /// timers in any case, because they are not submitted again.
    pub(super) fn abandon_what_waits(&mut self, effects: &mut CoreEffects) {
        if self.state == RunState::ShuttingDown {
            self.remove_where(effects, |_| true);
            for task in std::mem::take(&mut self.suspended).into_values() {
                self.cancel(task, effects);
            }
        } else {
            self.remove_where(effects, |entry| kind_of(entry.key).is_timer());
        }
    }

    /// Wakes idle workers that may leave.
    pub(super) fn after_removal(&mut self, effects: &mut CoreEffects) {
        if self.state == RunState::ShuttingDown && self.is_exhausted() {
            self.sleepers.wake_all(&mut effects.wake);
            self.try_terminate(effects);
        } else if self.state == RunState::Running && self.is_empty() {
            self.reconsider_idle(effects);
        }
    }

    /// Declares the end if nothing is left to run, and no worker.
    pub(super) fn try_terminate(&mut self, effects: &mut CoreEffects) {
        let is_over = match self.state {
            RunState::Running | RunState::Terminated => false,
            RunState::ShuttingDown => self.is_exhausted(),
            RunState::Stopping => true,
        };
        // Calls that this step asks for are made before the end is declared.
        let is_over = is_over && self.calls <= effects.calls() && self.workers.live() == 0;
        if is_over && !self.is_terminating {
            self.is_terminating = true;
            self.remove_where(effects, |_| true);
            effects.terminate = true;
        }
    }

    /// Declares the pool terminated.
    pub(super) fn terminated(&mut self) {
        self.state = RunState::Terminated;
    }

    /// All waiting tasks with their due times.
    pub(super) fn view(&self) -> Vec<(Due, Arc<dyn AnyTask>)> {
        let mut view = Vec::new();
        self.for_each_waiting(|due, item| {
            view.extend(Arc::clone(item).into_task().map(|task| (due, task)));
        });
        view
    }

    pub(super) fn count_dead(&mut self, kind: EntryKind, more: i64) {
        match kind {
            EntryKind::Alarm => self.dead_alarms += more,
            _ => self.dead_others += more,
        }
    }

    /// Counts entries that were announced as dead, and sweeps them out where they are many.
    pub(super) fn note_dead(&mut self, (alarms, others): (i64, i64), effects: &mut CoreEffects) {
        self.dead_alarms += alarms;
        self.dead_others += others;
        let dead = self.dead_alarms + self.dead_others;
        if dead > SWEEP_MIN
            && dead * 2 > (self.queue.len() + self.wall_queue.len()).cast_signed() as i64
        {
            self.sweep(effects);
        }
        self.after_removal(effects);
    }

    /// Drops dead entries where few entries are to be looked at, so that no worker wakes up for them.
    pub(super) fn sweep_before_sleep(&mut self, effects: &mut CoreEffects) {
        self.sweep_if_any(FEW, effects);
    }

    /// Drops entries that are dead if there are any, and no more entries than this.
    fn sweep_if_any(&mut self, most: usize, effects: &mut CoreEffects) {
        if self.dead_alarms + self.dead_others > 0
            && self.queue.len() + self.wall_queue.len() <= most
        {
            self.sweep(effects);
        }
    }

    /// Drops entries that are dead.
    fn sweep(&mut self, effects: &mut CoreEffects) {
        effects.release.reserve((self.dead_alarms + self.dead_others).unsigned_abs() as usize);
        let (mut alarms, before) = (0, effects.release.len());
        let mut drop_entry = |entry: Entry| {
            alarms += usize::from(kind_of(entry.key) == EntryKind::Alarm);
            effects.release.push(entry.item);
        };
        self.sweeps += 1;
        let sweep = self.sweeps;
        // A sweep looks at very many entries: those of this queue have one clock.
        let tick_of = |entry: &Entry| Due::Tick(Tick::from_nanos(entry.key.due));
        self.queue.extract(|entry| !entry.item.stands_once(tick_of(entry), sweep), &mut drop_entry);
        let is_dead = |entry: &Entry| !entry.item.stands_once(due_of(entry.key), sweep);
        self.wall_queue.extract(is_dead, &mut drop_entry);
        let others = effects.release.len() - before - alarms;
        self.alarms -= alarms;
        self.dead_alarms -= alarms as i64;
        self.dead_others -= others as i64;
    }

    /// Drops entries for which `leaves` returns true; their tasks are cancelled.
    pub(super) fn remove_where(
        &mut self,
        effects: &mut CoreEffects,
        leaves: impl Fn(&Entry) -> bool,
    ) {
        let mut removed = Vec::new();
        self.queue.extract(&leaves, |entry| removed.push(entry));
        self.wall_queue.extract(&leaves, |entry| removed.push(entry));
        for entry in removed {
            match self.withdraw(entry) {
                Ok(task) => self.cancel(task, effects),
                Err(item) => effects.release.push(item),
            }
        }
    }

    /// Returns the task or timer of an entry that has left the queue.
    ///
    /// # Errors
    ///
    /// The entry was a dead one, or its task has ended: the item is to be dropped after unlocking.
    pub(super) fn withdraw(
        &mut self,
        Entry { key, item }: Entry,
    ) -> Result<Arc<dyn Interruptible>, Item> {
        let kind = kind_of(key);
        self.alarms -= usize::from(kind == EntryKind::Alarm);
        let Some(taken_out) = Arc::clone(&item).take_out(due_of(key)) else {
            self.count_dead(kind, -1);
            return Err(item);
        };
        // INVARIANT: neither share that is dropped here, under the lock, is the last: the task that was taken out is the item, and
        // a timer keeps its ticket.
        if item.is_over() { Err(item) } else { Ok(taken_out) }
    }

    /// The number of tasks and timers that wait in the queue, without alarms.
    pub(super) fn queued(&self) -> usize {
        let others = self.queue.len() + self.wall_queue.len() - self.alarms;
        others.saturating_sub(known_dead(self.dead_others))
    }

    fn waiting_alarms(&self) -> usize {
        self.alarms.saturating_sub(known_dead(self.dead_alarms))
    }

    /// Returns true if nothing waits at all.
    pub(super) fn is_empty(&self) -> bool {
        self.queued() == 0
            && self.waiting_alarms() == 0
            && self.suspended.is_empty()
            && self.calls == 0
    }

    /// Returns true if there is nothing to wait for any more: no task, and no alarm that could be for a run in
    /// progress.
    pub(super) fn is_exhausted(&self) -> bool {
        let has_tasks = self.queued() > 0 || !self.suspended.is_empty();
        !has_tasks && (self.waiting_alarms() == 0 || !self.workers.is_any_busy())
    }

    /// Visits all tasks that wait, without alarms and timers.
    fn for_each_waiting(&self, mut visit: impl FnMut(Due, &Item)) {
        for entry in self.queue.iter() {
            let (kind, due) = (kind_of(entry.key), due_of(entry.key));
            if kind != EntryKind::Alarm && !kind.is_timer() && entry.item.stands_at(due) {
                visit(due, &entry.item);
            }
        }
    }

    /// When the first of what waits is due, as both clocks go now.
    pub(super) fn first_due(&mut self, now: Now, effects: &mut CoreEffects) -> Option<Tick> {
        self.sweep_if_any(usize::MAX, effects);
        let tick = Tick::from_nanos(self.queue.first_two()[0].min(self.wall_queue.first_tick(now)));
        Some(tick).filter(|tick| *tick != Tick::MAX)
    }

    pub(super) fn stats(&self) -> PoolStats {
        let live = if self.is_terminating { 0 } else { self.workers.live() };
        let (queued, suspended) = (self.queued(), self.suspended.len());
        let (active, completed) = self.workers.counts();
        PoolStats {
            core_size: self.workers.core_size,
            pool_size: live,
            largest_pool_size: self.workers.largest(),
            active,
            queued,
            suspended,
            completed,
            tasks: completed + (active + queued + suspended) as u64,
        }
    }

    /// The state for submitters.
    pub(super) fn submit_state(&self) -> SubmitState {
        SubmitState {
            wake_before: self.sleepers.wake_before(),
            is_open: self.state == RunState::Running,
            takes_calls: self.state <= RunState::ShuttingDown && !self.is_terminating,
            is_short: self.wants_worker(),
        }
    }

    /// Returns true if the pool wants to hear of each entry that dies: a thread may wait for the last one.
    pub(super) fn wants_death_notices(&self) -> bool {
        self.state != RunState::Running || self.workers.is_timed()
    }
}

/// Returns true if the task has ended, or stands elsewhere in the queue.
fn is_ended(entry: &Entry) -> bool {
    entry.item.is_over() || !entry.item.stands_at(due_of(entry.key))
}

#[cfg(test)]
mod tests {
    use super::EntryKind::{Alarm, OneShot, Plain, Recurring, Resumed, Timer, WallTimer};
    use super::RunState::{Running, ShuttingDown, Stopping, Terminated};
    use super::*;

    /// Every row: state, kind, due, continue_recurring, execute_delayed, and what follows.
    #[test]
    fn the_table_of_what_may_run() {
        for bits in 0..8u8 {
            let (is_due, continue_recurring, execute_delayed) =
                (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
            let policy = ShutdownPolicy { continue_recurring, execute_delayed };
            for kind in [Plain, OneShot, Recurring, Resumed, Alarm, Timer, WallTimer] {
                assert!(may_run(Running, kind, is_due, policy));
                assert!(!may_run(Stopping, kind, is_due, policy));
                assert!(!may_run(Terminated, kind, is_due, policy));
            }
            for kind in [Plain, OneShot] {
                assert_eq!(may_run(ShuttingDown, kind, is_due, policy), is_due || execute_delayed);
            }
            assert_eq!(may_run(ShuttingDown, Recurring, is_due, policy), continue_recurring);
            for kind in [Resumed, Alarm, Timer, WallTimer] {
                assert!(may_run(ShuttingDown, kind, is_due, policy));
            }
        }
    }
}
