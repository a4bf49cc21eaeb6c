//! When the queue is looked at: who has to be there for what is due, and by how much it may wait for others.

use std::time::Duration;

use super::core::Core;
use super::roster::Looks;
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

/// How many tasks one worker has run alone of late, from one wait to the next. What is relayed is not counted:
/// nobody waits then who could look too early.
///
/// Where they are many they are brief, and it has run them before another is awake. So they are left to it for
/// longer: two would have what the tasks are made of go from the cache of one core to that of the other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Crowd {
    /// Since the last wait.
    taken: u32,
    /// Four times the moving average of the tasks from one wait to the next.
    level: u32,
}

impl Crowd {
    /// So many tasks between two waits are a crowd.
    const MANY: u32 = 4;

    /// More than this are not told apart, so that a burst is forgotten soon.
    const MOST: u32 = 64;

    /// Takes note of a task that a worker takes, beside others that are at theirs or alone.
    pub(super) fn note_task(&mut self, is_beside_others: bool) {
        if is_beside_others {
            // Now and then it is the one that was to look next. Where it is one after the other, tasks are long.
            self.level /= 2;
        } else {
            self.taken = self.taken.saturating_add(1);
        }
    }

    fn note_wait(&mut self) {
        self.level = self.level - self.level / 4 + self.taken.min(Self::MOST);
        self.taken = 0;
    }

    fn is_large(self) -> bool {
        self.level >= 4 * Self::MANY
    }
}

impl Ease {
    /// When to look for what is due at a time.
    pub(super) fn look(self, due: Tick) -> Tick {
        due + self.slack
    }

    /// When to look where another worker looks at this time, which has a head start: if its tasks are short it takes
    /// what is due then, too, and whoever looks soon after it is awake in vain.
    fn look_after(self, other: Tick, look: Tick, crowd: Crowd) -> Tick {
        let wake_ups = if crowd.is_large() { 4 } else { 1 };
        let head_start = self.wake_up.saturating_mul(wake_ups).max(self.slack);
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
        let crowd = self.crowd;
        let after = |ease: Ease, look| ease.look_after(now.tick, look, crowd);
        self.see_that_somebody_looks(now, effects, after);
    }

    fn see_that_somebody_looks(
        &mut self,
        now: Now,
        effects: &mut Effects<I>,
        at_ease: impl FnOnce(Ease, Tick) -> Tick,
    ) {
        if self.roster.anyone_waiting().is_none() {
            // Whoever is at work looks before it waits, and whoever rests looks when the rest is over.
            return;
        }
        if let Some(look) = self.agenda.next_look(now, self.ease.slack) {
            effects.wake.extend(self.roster.appoint(at_ease(self.ease, look)));
        }
    }

    /// When a worker that parks finds the queue to be looked at.
    pub(super) fn looks(&mut self, now: Now) -> Looks {
        self.crowd.note_wait();
        let (ease, crowd) = (self.ease, self.crowd);
        let next = self.agenda.next_look(now, ease.slack).map(|look| ease.wait(now.tick, look));
        let first = [next, self.roster.first_look()].into_iter().flatten().min();
        let second = self.agenda.second_look(now, ease.slack);
        let second = second.map(|look| ease.look_after(first.unwrap_or(look), look, crowd));
        Looks { next, second: second.map(|look| ease.wait(now.tick, look)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(waits: u32, tasks: u32) -> Crowd {
        let mut crowd = Crowd::default();
        for _ in 0..waits {
            (0..tasks).for_each(|_| crowd.note_task(false));
            crowd.note_wait();
        }
        crowd
    }

    #[test]
    fn four_tasks_a_look_are_a_crowd_and_three_are_not() {
        assert!(!after(1_000, 3).is_large());
        assert!(after(1_000, 4).is_large());
        assert!(!after(3, 4).is_large(), "so it was now and then");
        assert!(after(2, 10).is_large());
    }

    #[test]
    fn a_crowd_is_forgotten_after_some_looks_in_vain_however_large_it_was() {
        let mut crowd = after(1_000, 1_000);
        (0..9).for_each(|_| crowd.note_wait());
        assert!(crowd.is_large());
        (0..3).for_each(|_| crowd.note_wait());
        assert!(!crowd.is_large());
    }

    #[test]
    fn a_crowd_of_which_some_are_taken_beside_others_is_none() {
        let mut crowd = after(100, 10);
        crowd.note_task(true);
        assert!(crowd.is_large(), "once is by chance");
        crowd.note_task(true);
        assert!(!crowd.is_large());
    }

    #[test]
    fn who_looks_first_has_four_times_the_head_start_in_a_crowd_and_a_slack_in_any_case() {
        let micros = Duration::from_micros;
        let at = |micros: u64| Tick::from_nanos(1_000 * micros);
        let ease = Ease { slack: Duration::ZERO, wake_up: micros(40) };
        let (few, many) = (Crowd::default(), after(10, 10));
        assert_eq!(ease.look_after(at(100), at(104), few), at(140));
        assert_eq!(ease.look_after(at(100), at(104), many), at(260));
        assert_eq!(ease.look_after(at(100), at(300), many), at(300));
        let slack = Ease { slack: micros(1_000), ..ease };
        assert_eq!(slack.look_after(at(100), at(104), few), at(1_100));
        assert_eq!(slack.look_after(at(100), at(104), many), at(1_100));
    }
}
