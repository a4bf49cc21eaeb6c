//! How waiting tasks ask anew when they are due: they leave the queue, ask, and come back or end.
//!
//! While a task is *in transit* it is in no queue, so that nobody can begin it; the core knows only how
//! many there are, and does not end before they are back.

use super::core::Core;
use super::shutdown::Kind;
use super::shutdown::may_run;
use super::step::Effects;
use super::step::Item;
use crate::time::Due;
use crate::time::Now;

impl<I: Item> Core<I> {
    /// Takes a waiting task out of the queue, to ask it for a new due time.
    ///
    /// RACE: a task that is not in the queue is being run, or is being asked at this moment, perhaps by a
    /// question that began before the change that its owner wants it to see. It is marked. The mark is
    /// taken off when a question begins; one that is found when the task comes back is younger than the
    /// answer it comes with, and the task is asked once more.
    pub(crate) fn renew(&mut self, item: &I, effects: &mut Effects<I>) {
        let ticket = self.ticket_of(item);
        match self.agenda.find(ticket) {
            Some(entry) if entry.item.is_ended() => {}
            Some(entry) if entry.kind == Kind::Recurring => {
                if let Some(entry) = self.agenda.remove(ticket) {
                    self.send_off(entry.item, effects);
                }
            }
            _ => item.note_renewal(),
        }
    }

    /// Takes a task back in that has asked for a new due time, unless it has to ask once more.
    #[must_use]
    pub(crate) fn enter_again(
        &mut self,
        item: &I,
        due: Due,
        now: Now,
        effects: &mut Effects<I>,
    ) -> bool {
        let may_run = may_run(self.state, Kind::Recurring, due.is_reached(now), self.policy);
        if may_run && item.wants_renewal() && !item.is_ended() {
            return false;
        }
        self.in_transit -= 1;
        if may_run {
            self.hire_if_deserted(effects);
            self.put(item.clone(), Kind::Recurring, due.not_overtaking(now), now, effects);
            self.see_to_the_queue(now, effects);
        } else {
            self.cancel(effects, item.clone());
            self.after_removal(effects);
            self.try_terminate(effects);
        }
        true
    }

    /// Takes note that a task has ended that had asked for a new due time, or that a timer was told of the clock.
    pub(crate) fn retire(&mut self, effects: &mut Effects<I>) {
        self.in_transit -= 1;
        self.after_removal(effects);
        self.try_terminate(effects);
    }

    /// Cancels a task whose question has no answer, because who asked it has died.
    pub(crate) fn abandon(&mut self, item: &I, effects: &mut Effects<I>) {
        self.cancel(effects, item.clone());
        self.retire(effects);
    }

    /// Lets those ask anew that wait for a time ahead on a wall clock that was set back.
    #[inline]
    pub(super) fn renew_if_set_back(&mut self, now: Now, effects: &mut Effects<I>) {
        if self.agenda.waits_for_the_wall() {
            self.renew_after_a_step(now, effects);
        }
    }

    fn renew_after_a_step(&mut self, now: Now, effects: &mut Effects<I>) {
        for entry in self.agenda.extract_if_set_back(now) {
            let item = self.taken(entry);
            self.send_off(item, effects);
        }
    }

    /// Lets a task that is in no queue ask anew.
    pub(super) fn send_off(&mut self, item: I, effects: &mut Effects<I>) {
        self.in_transit += 1;
        effects.rare().renew.push(item);
    }

    /// Sees to it that there is somebody at all: a worker may have been refused, or have died, while the
    /// only task that waits was asked for its due time.
    fn hire_if_deserted(&mut self, effects: &mut Effects<I>) {
        if self.roster.live() == 0 {
            self.hire(effects);
        }
    }
}
