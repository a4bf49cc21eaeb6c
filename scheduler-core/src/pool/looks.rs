//! When the queue is looked at: who has to be there for what is due, and by how much it may wait for others.

use super::core::Core;
use super::ease::Ease;
use super::roster::Looks;
use super::roster::WorkerNumber;
use super::shutdown::RunState;
use super::step::Effects;
use super::step::Item;
use crate::time::Now;
use crate::time::Tick;

impl<I: Item> Core<I> {
    /// Sees to it that somebody looks at the queue when its first task is due.
    pub(super) fn see_to_the_queue(&mut self, now: Now, effects: &mut Effects<I>) {
        self.see_that_somebody_looks(now, effects, |_, look| look);
    }

    /// The same where a worker looks now, and takes what is due.
    pub(super) fn see_to_what_is_left(&mut self, now: Now, effects: &mut Effects<I>) {
        let after = |ease: Ease, look| ease.look_after(now.tick, look);
        self.see_that_somebody_looks(now, effects, after);
    }

    fn see_that_somebody_looks(
        &mut self,
        now: Now,
        effects: &mut Effects<I>,
        at_ease: impl FnOnce(Ease, Tick) -> Tick,
    ) {
        if self.roster.anyone_waiting().is_none() {
            // Whoever is at work looks before it waits.
            return;
        }
        self.agenda.has_come();
        if let Some(look) = self.agenda.next_look(now, self.ease.slack) {
            effects.wake.extend(self.roster.appoint(at_ease(self.ease, look), look));
        }
    }

    /// Whether a worker leaves what is there to the others: it is only what has just come, which whoever is at brief
    /// tasks takes within a wake-up. What it was to come for has been taken meanwhile; or it comes from a run, and others
    /// have made some during that.
    ///
    /// So two workers do not take turns with what one of them does alone in less time.
    pub(super) fn leaves_to_others(
        &mut self,
        worker: WorkerNumber,
        came_for: Option<Tick>,
        now: Now,
    ) -> bool {
        if self.ease.wake_up.is_zero() {
            return false;
        }
        let others_are_brisk = self.roster.others_are_brisk(worker);
        let Some(lone) = self.lone_newcomer(now) else { return false };
        let is_over = came_for.map_or(others_are_brisk, |due| due < lone);
        is_over && self.roster.anyone_else_is_awake()
    }

    /// When the only task that waits is due, where that has come within a wake-up.
    fn lone_newcomer(&self, now: Now) -> Option<Tick> {
        let lone = if self.state == RunState::Running { self.agenda.lone_due(now) } else { None };
        lone.filter(|lone| now.tick < *lone + self.ease.wake_up)
    }

    /// When a worker that parks finds the queue to be looked at.
    pub(super) fn looks(&mut self, now: Now, leaves: bool) -> Looks {
        let ease = self.ease;
        let next = self.agenda.next_look(now, ease.slack);
        let next = if leaves { next.map(|look| look + ease.wake_up) } else { next };
        let next = next.map(|look| ease.wait(now.tick, look));
        let first = [next, self.roster.first_look()].into_iter().flatten().min();
        let second = self.agenda.second_look(now, ease.slack);
        let second = second.map(|look| ease.look_after(first.unwrap_or(look), look));
        Looks { next, second: second.map(|look| ease.wait(now.tick, look)) }
    }
}
