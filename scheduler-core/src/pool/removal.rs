//! How tasks leave the queue without having been run.

use std::hint::black_box;

use super::core::Core;
use super::inbox::Withdrawal;
use super::shutdown::Kind;
use super::shutdown::RunState;
use super::step::Effects;
use super::step::Item;
use crate::time::Now;

impl<I: Item> Core<I> {
    /// Forgets tasks that were cancelled.
    pub(super) fn withdraw_all(&mut self, withdrawals: &[Withdrawal], effects: &mut Effects<I>) {
        // What all of them wait for in memory comes at the same time if nothing else is done in between.
        for withdrawal in withdrawals {
            black_box(self.agenda.find(withdrawal.ticket).map(|entry| entry.kind));
        }
        for &Withdrawal { sequence, ticket } in withdrawals {
            let kind = || self.agenda.find(ticket).map(|entry| entry.kind);
            if self.remove_on_cancel || kind().is_some_and(Kind::is_internal) {
                let removed = self.agenda.remove(ticket);
                effects.release.extend(removed.map(|entry| self.taken(entry)));
            }
            if !self.suspended.is_empty() {
                effects.release.extend(self.suspended.remove(&sequence));
            }
        }
        self.after_removal(effects);
    }

    /// Takes a task out of the queue, if it waits there.
    pub(crate) fn remove(&mut self, item: &I, effects: &mut Effects<I>) -> Option<I> {
        let ticket = self.ticket_of(item);
        let is_internal = self.agenda.find(ticket).is_some_and(|entry| entry.kind.is_internal());
        let removed = if is_internal { None } else { self.agenda.remove(ticket) };
        self.after_removal(effects);
        removed.map(|entry| entry.item)
    }

    /// Drops every ended task from the queue.
    pub(crate) fn purge(&mut self, now: Now, effects: &mut Effects<I>) {
        let ended = self.agenda.extract(now, &mut |_, entry| entry.item.is_ended());
        effects.release.extend(ended.into_iter().map(|entry| self.taken(entry)));
        self.after_removal(effects);
    }

    /// Lets workers leave for whom there is nothing more to do.
    pub(super) fn after_removal(&mut self, effects: &mut Effects<I>) {
        if self.state == RunState::ShuttingDown && self.is_exhausted() {
            effects.wake.extend(self.roster.everyone_waiting());
            self.try_terminate(effects);
        } else if self.state != RunState::ShuttingDown && self.is_empty() {
            self.reconsider_idle(effects);
        }
    }
}
