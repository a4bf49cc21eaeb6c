//! When the queue is looked at: who has to be there for what is due, and by how much it may wait for others.

use std::time::Duration;

use super::core::Core;
use super::roster::Looks;
use super::roster::WorkerNumber;
use super::shutdown::RunState;
use super::step::Effects;
use super::step::Item;
use crate::time::Now;
use crate::time::Tick;
use crate::time::is_brief;

/// By how much looks at the queue may come after due times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ease {
    pub(super) slack: Duration,
    /// What a wake-up takes.
    pub(super) wake_up: Duration,
}

impl Ease {
    /// When to look for what is due at a time.
    pub(super) fn look(self, due: Tick) -> Tick {
        due + self.slack
    }

    /// When to look where another worker looks at this time, which has a head start: if its tasks are short it takes
    /// what is due then, too, and whoever looks soon after it is awake in vain.
    fn look_after(self, other: Tick, look: Tick) -> Tick {
        let head_start = self.wake_up.max(self.slack);
        look.max(other + head_start).min(look + head_start)
    }

    /// When a worker that begins to wait now looks, if it is to do so at this time: no wait is shorter than a wake-up,
    /// but for one that is so brief that it is spun.
    ///
    /// So the others know when it is there, and do not look together with it.
    fn wait(self, now: Tick, look: Tick) -> Tick {
        if is_brief(look.since(now), self.wake_up) { look } else { look.max(now + self.wake_up) }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_first_has_a_head_start_of_a_wake_up_or_of_the_slack() {
        let micros = Duration::from_micros;
        let at = |micros: u64| Tick::from_nanos(1_000 * micros);
        let ease = Ease { slack: Duration::ZERO, wake_up: micros(40) };
        assert_eq!(ease.look_after(at(100), at(104)), at(140));
        assert_eq!(ease.look_after(at(100), at(300)), at(300));
        let slack = Ease { slack: micros(1_000), ..ease };
        assert_eq!(slack.look_after(at(100), at(104)), at(1_100));
    }
}
