//! How waiting tasks ask anew when they are due, because the wall clock was set back: they leave the queue, ask, and
//! come back.
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
    /// Takes a task back in that has asked for a new due time.
    pub(crate) fn enter_again(&mut self, item: I, due: Due, now: Now, effects: &mut Effects<I>) {
        self.in_transit -= 1;
        if may_run(self.state, Kind::Recurring, due.is_reached(now), self.policy) {
            self.hire_if_deserted(effects);
            self.put(item, Kind::Recurring, due.not_overtaking(now), now, effects);
            self.see_to_the_queue(now, effects);
        } else {
            self.cancel(effects, item);
            self.after_removal(effects);
            self.try_terminate(effects);
        }
    }

    /// Takes note that a timer was told of the clock, and is not armed by the queue.
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
    pub(super) fn renew_if_set_back(&mut self, now: Now, effects: &mut Effects<I>) {
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
