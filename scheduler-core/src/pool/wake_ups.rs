//! When workers look at the queue, and which of them.

use super::core::Core;
use super::lateness::Lateness;
use super::shutdown::RunState;
use super::step::{Effects, Item};
use super::workers::{WakeUps, WorkerNumber};
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
            effects.wake.extend(self.workers.appoint(latest(self.lateness, look), look));
        }
    }

    /// Returns true if a worker leaves the only task that is due to the others: it has just come, and a worker that
    /// makes brief runs takes it within a wake-up. The task for which this worker woke up was taken meanwhile; or it
    /// comes from a run, during which others have made some.
    ///
    /// So two workers do not take turns with what one of them does alone in less time.
    pub(super) fn leaves_to_others(
        &mut self,
        worker: WorkerNumber,
        came_for: Option<Tick>,
        now: Now,
    ) -> bool {
        if self.lateness.wake_up.is_zero() {
            return false;
        }
        let others_are_brisk = self.workers.others_are_brisk(worker);
        let Some(lone) = self.lone_newcomer(now) else { return false };
        let is_over = came_for.map_or(others_are_brisk, |due| due < lone);
        is_over && self.workers.anyone_else_is_awake()
    }

    /// When the only task that waits is due, where that has come within a wake-up.
    fn lone_newcomer(&self, now: Now) -> Option<Tick> {
        let lone = if self.state == RunState::Running { self.queues.lone_due(now) } else { None };
        lone.filter(|lone| now.tick < *lone + self.lateness.wake_up)
    }

    /// When a worker that parks finds the queue to be looked at.
    pub(super) fn wake_ups(&mut self, now: Now, leaves: bool) -> WakeUps {
        let lateness = self.lateness;
        let next = self.queues.next_wake_up(now, lateness.slack);
        let next = if leaves { next.map(|look| look + lateness.wake_up) } else { next };
        let next = next.map(|look| lateness.wait(now.tick, look));
        let first = [next, self.workers.first_wake_up()].into_iter().flatten().min();
        let second = self.queues.second_wake_up(now, lateness.slack);
        let second = second.map(|look| lateness.look_after(first.unwrap_or(look), look));
        WakeUps { next, second: second.map(|look| lateness.wait(now.tick, look)) }
    }
}
