//! When the queue is looked at: who has to be there for what is due, and by how much it may wait for others.

use std::time::Duration;

use super::core::Core;
use super::roster::Looks;
use super::step::Effects;
use super::step::Item;
use crate::time::Now;
use crate::time::Tick;

/// By how much looks at the queue may come after due times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ease {
    slack: Duration,
    /// What a worker that looks has for itself: if its tasks are short it takes what is due then, too, and whoever
    /// looks soon after it is awake in vain.
    ///
    /// INVARIANT: not less than the slack.
    head_start: Duration,
}

impl Ease {
    pub(crate) fn new(slack: Duration, head_start: Duration) -> Self {
        Self { slack, head_start: head_start.max(slack) }
    }

    /// When to look for what is due at a time.
    pub(super) fn look(self, due: Tick) -> Tick {
        due + self.slack
    }

    /// The same where another worker looks at this time.
    fn look_after(self, other: Tick, due: Tick) -> Tick {
        let look = self.look(due);
        look.max(other + self.head_start).min(look + self.head_start)
    }
}

impl<I: Item> Core<I> {
    /// Sees to it that somebody looks at the queue when its first task is due.
    pub(super) fn see_to_the_queue(&mut self, now: Now, effects: &mut Effects<I>) {
        self.see_that_somebody_looks(now, effects, Ease::look);
    }

    /// The same where a worker looks now, and takes what is due.
    pub(super) fn see_to_what_is_left(&mut self, now: Now, effects: &mut Effects<I>) {
        self.see_that_somebody_looks(now, effects, |ease, due| ease.look_after(now.tick, due));
    }

    fn see_that_somebody_looks(
        &mut self,
        now: Now,
        effects: &mut Effects<I>,
        look: impl FnOnce(Ease, Tick) -> Tick,
    ) {
        if self.roster.anyone_waiting().is_none() {
            // Whoever is at work looks before it waits.
            return;
        }
        if let Some(due) = self.agenda.next_look(now) {
            effects.wake.extend(self.roster.appoint(look(self.ease, due)));
        }
    }

    /// When a worker that parks finds the queue to be looked at.
    pub(super) fn looks(&mut self, now: Now) -> Looks {
        let next = self.agenda.next_look(now).map(|due| self.ease.look(due));
        let first = [next, self.roster.first_look()].into_iter().flatten().min();
        let second = self.agenda.second_look(now);
        Looks { next, second: second.map(|due| self.ease.look_after(first.unwrap_or(due), due)) }
    }
}
