//! When workers look at the queue, and which of them.

use super::core::Core;
use super::lateness::Lateness;
use super::step::{Effects, Item};
use super::workers::WakeUps;
use crate::time::{Now, Tick};

impl<I: Item> Core<I> {
    /// Ensures that a worker looks at the queue when its first task is due.
    pub(super) fn ensure_wake_up(&mut self, now: Now, effects: &mut Effects<I>) {
        self.ensure_wake_up_by(now, effects, |_, look| look);
    }

    /// The same when a worker looks now, and takes what is due.
    pub(super) fn ensure_wake_up_after(&mut self, now: Now, effects: &mut Effects<I>) {
        let after = |lateness: Lateness, look| lateness.look_after(now.tick, look);
        self.ensure_wake_up_by(now, effects, after);
    }

    fn ensure_wake_up_by(
        &mut self,
        now: Now,
        effects: &mut Effects<I>,
        latest: impl FnOnce(Lateness, Tick) -> Tick,
    ) {
        if self.workers.anyone_waiting().is_none() {
            // A busy worker looks before it waits.
            return;
        }
        self.queues.has_come();
        if let Some(look) = self.queues.next_wake_up(now, self.lateness.slack) {
            effects.wake.extend(self.workers.appoint(latest(self.lateness, look)));
        }
    }

    /// When a worker that parks finds the queue to be looked at.
    pub(super) fn wake_ups(&mut self, now: Now) -> WakeUps {
        let lateness = self.lateness;
        let next = self.queues.next_wake_up(now, lateness.slack);
        let next = next.map(|look| lateness.wait(now.tick, look));
        let first = [next, self.workers.first_wake_up()].into_iter().flatten().min();
        let second = self.queues.second_wake_up(now, lateness.slack);
        let second = second.map(|look| lateness.look_after(first.unwrap_or(look), look));
        WakeUps { next, second: second.map(|look| lateness.wait(now.tick, look)) }
    }
}
