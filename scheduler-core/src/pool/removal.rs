//! How tasks leave the queue without having been run.

use super::core::Core;
use super::shutdown::RunState;
use super::staging::Place;
use super::step::{Effects, Item};
use crate::time::Now;

impl<I: Item> Core<I> {
    /// Forgets tasks that were cancelled.
    pub(super) fn withdraw_all(&mut self, withdrawals: &[Place], effects: &mut Effects<I>) {
        // What all of them wait for in memory comes at the same time if nothing else is done in between.
        withdrawals.iter().for_each(|place| self.queues.prefetch(*place));
        for place in withdrawals {
            let is_internal = || self.queues.find(*place, |entry| entry.kind.is_internal());
            if self.remove_on_cancel || is_internal() == Some(true) {
                let removed = self.queues.remove(*place);
                effects.release.extend(removed.map(|entry| self.taken(entry)));
            }
            if !self.suspended.is_empty() {
                effects.release.extend(self.suspended.remove(&place.key.sequence));
            }
        }
        self.after_removal(effects);
    }

    /// Takes a task out of the queue, if it waits there.
    pub(crate) fn remove(&mut self, item: &I, effects: &mut Effects<I>) -> Option<I> {
        let place = item.place();
        let is_internal = self.queues.find(place, |entry| entry.kind.is_internal()) == Some(true);
        let removed = if is_internal { None } else { self.queues.remove(place) };
        self.after_removal(effects);
        removed.map(|entry| entry.item)
    }

    /// Drops every ended task from the queue.
    pub(crate) fn purge(&mut self, now: Now, effects: &mut Effects<I>) {
        let ended = self.queues.extract(now, &mut |_, entry| entry.item.is_ended());
        effects.release.extend(ended.into_iter().map(|entry| self.taken(entry)));
        self.after_removal(effects);
    }

    /// Lets workers leave for whom there is nothing more to do.
    pub(super) fn after_removal(&mut self, effects: &mut Effects<I>) {
        if self.state == RunState::ShuttingDown && self.is_exhausted() {
            effects.wake.extend(self.workers.everyone_waiting());
            self.try_terminate(effects);
        } else if self.state != RunState::ShuttingDown && self.is_empty() {
            self.reconsider_idle(effects);
        }
    }
}
