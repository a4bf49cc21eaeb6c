//! When the queue is looked at: who has to be there for what is due, and by how much it may wait for others.

use super::core::Core;
use super::roster::Looks;
use super::step::Effects;
use super::step::Item;
use crate::time::Now;
use crate::time::Tick;

impl<I: Item> Core<I> {
    /// Sees to it that somebody looks at the queue when its first task is due.
    pub(super) fn see_to_the_queue(&mut self, now: Now, effects: &mut Effects<I>) {
        self.see_to_what_is_left(Tick::ZERO, now, effects);
    }

    /// The same where a worker has looked at this time, and takes what is due.
    pub(super) fn see_to_what_is_left(&mut self, look: Tick, now: Now, effects: &mut Effects<I>) {
        if self.roster.anyone_waiting().is_none() {
            // Whoever is at work looks before it waits.
            return;
        }
        if let Some(due) = self.agenda.next_look(now) {
            effects.wake.extend(self.roster.appoint(self.at_ease_after(look, due)));
        }
    }

    /// When a worker that parks finds the queue to be looked at.
    pub(super) fn looks(&mut self, now: Now) -> Looks {
        let next = self.agenda.next_look(now).map(|due| self.at_ease(due));
        let first = [next, self.roster.first_look()].into_iter().flatten().min();
        let second = self.agenda.second_look(now);
        Looks { next, second: second.map(|due| self.at_ease_after(first.unwrap_or(due), due)) }
    }

    /// When to look for what is due at a time.
    pub(super) fn at_ease(&self, due: Tick) -> Tick {
        due + self.slack
    }

    /// When to look for what is due at a time, where another worker looks before: if its tasks are short, it takes
    /// that, too, and who looks soon after it is awake in vain. No later than by twice the slack.
    fn at_ease_after(&self, look: Tick, due: Tick) -> Tick {
        self.at_ease(due) + look.since(due).min(self.slack)
    }
}
