//! How late a look at the queue may be, so that tasks share wake-ups.

use std::time::Duration;

use crate::time::{Tick, is_brief};

/// How much later than a due time a worker may look at the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness {
    pub(crate) slack: Duration,
    /// What a wake-up takes.
    pub(crate) wake_up: Duration,
}

impl Lateness {
    /// When to look for what is due at a time.
    pub(crate) fn look(self, due: Tick) -> Tick {
        due + self.slack
    }

    /// When to look where another worker looks at this time, which has a head start: if its tasks are short it takes
    /// what is due then, too, and a worker that looks soon after it wakes up in vain.
    pub(crate) fn look_after(self, other: Tick, look: Tick) -> Tick {
        let head_start = self.wake_up.max(self.slack);
        look.max(other + head_start).min(look + head_start)
    }

    /// When a worker that begins to wait now looks, if it is to do so at this time: no wait is shorter than a wake-up,
    /// but for one that is so brief that it is spun.
    ///
    /// So the others know when it is back, and do not look at the same time.
    pub(crate) fn wait(self, now: Tick, look: Tick) -> Tick {
        if is_brief(look.since(now), self.wake_up) { look } else { look.max(now + self.wake_up) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_look_has_a_head_start_of_a_wake_up_or_of_the_slack() {
        let micros = Duration::from_micros;
        let at = |micros: u64| Tick::from_nanos(1_000 * micros);
        let lateness = Lateness { slack: Duration::ZERO, wake_up: micros(40) };
        assert_eq!(lateness.look_after(at(100), at(104)), at(140));
        assert_eq!(lateness.look_after(at(100), at(300)), at(300));
        let slack = Lateness { slack: micros(1_000), ..lateness };
        assert_eq!(slack.look_after(at(100), at(104)), at(1_100));
    }
}
