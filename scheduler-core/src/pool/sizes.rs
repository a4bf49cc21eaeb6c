//! The sizes of a pool, and the dead entries of its queue.

use std::sync::Arc;

use super::core::PoolCore;
use super::effects::Effects;
use super::entry::{Entry, Item, due_of, kind_of};
use super::inbox::SubmitState;
use super::shutdown::{Kind, RunState};
use crate::observe::PoolStats;
use crate::task::Interruptible;
use crate::time::{Due, Now, Tick};

/// Fewer dead entries are not swept out while workers are busy.
const SWEEP_MIN: i64 = 64;
/// A worker sweeps a queue of at most this length before it sleeps.
const FEW: usize = 64;

/// The number of entries that are known to be dead. The count is less than zero where one has left before its death is announced.
fn known_dead(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

impl PoolCore {
    pub(super) fn count_dead(&mut self, kind: Kind, more: i64) {
        match kind {
            Kind::Alarm => self.dead_alarms += more,
            _ => self.dead_others += more,
        }
    }

    /// Counts entries that were announced as dead, and sweeps them out where they are many.
    pub(super) fn note_dead(&mut self, (alarms, others): (i64, i64), effects: &mut Effects) {
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
    pub(super) fn sweep_before_sleep(&mut self, effects: &mut Effects) {
        self.sweep_if_any(FEW, effects);
    }

    /// Drops entries that are dead if there are any, and no more entries than this.
    fn sweep_if_any(&mut self, most: usize, effects: &mut Effects) {
        if self.dead_alarms + self.dead_others > 0
            && self.queue.len() + self.wall_queue.len() <= most
        {
            self.sweep(effects);
        }
    }

    /// Drops entries that are dead.
    fn sweep(&mut self, effects: &mut Effects) {
        effects.release.reserve((self.dead_alarms + self.dead_others).unsigned_abs() as usize);
        let (mut alarms, before) = (0, effects.release.len());
        let mut drop_entry = |entry: Entry| {
            alarms += usize::from(kind_of(entry.key) == Kind::Alarm);
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
    pub(super) fn remove_where(&mut self, effects: &mut Effects, leaves: impl Fn(&Entry) -> bool) {
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
        self.alarms -= usize::from(kind == Kind::Alarm);
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
    pub(super) fn for_each_waiting(&self, mut visit: impl FnMut(Due, &Item)) {
        for entry in self.queue.iter() {
            let (kind, due) = (kind_of(entry.key), due_of(entry.key));
            if kind != Kind::Alarm && !kind.is_timer() && entry.item.stands_at(due) {
                visit(due, &entry.item);
            }
        }
    }

    /// When the first of what waits is due, as both clocks go now.
    pub(super) fn first_due(&mut self, now: Now, effects: &mut Effects) -> Option<Tick> {
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
