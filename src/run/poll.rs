//! Durations of polls: a long poll blocks its thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use scheduler_core::Tick;

/// The least duration of a poll that is remembered.
const BLOCKS: Duration = Duration::from_millis(100);

/// One poll of a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Poll {
    pub(crate) from: Tick,
    pub(crate) took: Duration,
}

/// The polls of one attempt, in nanoseconds.
// ORDERING: all relaxed; another thread looks only for a message.
#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// When the present one began, plus one; zero if there is none.
    since: AtomicU64,
    longest_from: AtomicU64,
    longest: AtomicU64,
}

impl Polls {
    pub(super) fn begin(&self, now: Tick) {
        self.since.store(now.as_nanos().saturating_add(1), Ordering::Relaxed);
    }

    pub(super) fn end(&self, now: Tick) {
        let from = self.since.swap(0, Ordering::Relaxed).saturating_sub(1);
        let took = now.as_nanos().saturating_sub(from);
        if took > self.longest.load(Ordering::Relaxed) {
            self.longest_from.store(from, Ordering::Relaxed);
            self.longest.store(took, Ordering::Relaxed);
        }
    }

    pub(super) fn longest(&self, now: Tick) -> Option<Poll> {
        let since = self.since.load(Ordering::Relaxed);
        let from = Tick::from_nanos(since.saturating_sub(1));
        let present =
            Poll { from, took: if since == 0 { Duration::ZERO } else { now.since(from) } };
        let past = Poll {
            from: Tick::from_nanos(self.longest_from.load(Ordering::Relaxed)),
            took: Duration::from_nanos(self.longest.load(Ordering::Relaxed)),
        };
        let longest = if present.took > past.took { present } else { past };
        (longest.took >= BLOCKS).then_some(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Tick {
        Tick::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_longest_poll_is_known_while_it_lasts_and_afterwards() {
        let polls = Polls::default();
        assert_eq!(polls.longest(at(0)), None);
        polls.begin(at(10));
        polls.end(at(20));
        assert_eq!(polls.longest(at(500)), None, "it was short");
        polls.begin(at(1_000));
        let took = Duration::from_millis(250);
        assert_eq!(polls.longest(at(1_250)), Some(Poll { from: at(1_000), took }));
        polls.end(at(1_300));
        let took = Duration::from_millis(300);
        assert_eq!(polls.longest(at(9_000)), Some(Poll { from: at(1_000), took }));
    }
}
