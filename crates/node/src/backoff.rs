//! The pace of requests to a store that does not answer.

use std::time::Duration;

use scheduler_expr::Tick;

use crate::rng::Rng;

/// A store that does not answer, over both connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StoreBackoff {
    since: Option<Tick>,
    failures: u32,
    next: Tick,
    is_reported: bool,
}

/// The shortest time between two attempts: at most two a second.
const SHORTEST: Duration = Duration::from_millis(500);
/// The longest: what is due when the store is back begins within a few seconds.
const LONGEST: Duration = Duration::from_millis(1_500);

impl StoreBackoff {
    /// A request was not answered. Returns true if that is to be reported.
    pub(crate) fn failed(&mut self, is_certain: bool, now: Tick, rng: &mut Rng) -> bool {
        self.since.get_or_insert(now);
        self.failures = self.failures.saturating_add(1);
        self.wait(now, rng);
        let is_news = !self.is_reported && (is_certain || self.failures > 1);
        self.is_reported |= is_news;
        is_news
    }

    /// A request was answered with an error, which comes again: the next one waits.
    pub(crate) fn refused(&mut self, now: Tick, rng: &mut Rng) {
        self.wait(now, rng);
    }

    /// A request was answered. Returns for how long none was, if that was reported.
    pub(crate) fn answered(&mut self, now: Tick) -> Option<Duration> {
        let former = std::mem::take(self);
        former.since.filter(|_| former.is_reported).map(|since| now.since(since))
    }

    /// A request is sent: while the store is away, the next one waits.
    pub(crate) fn asked(&mut self, now: Tick, rng: &mut Rng) {
        if self.failures > 0 {
            self.wait(now, rng);
        }
    }

    /// Returns true if the last request was not answered.
    pub(crate) fn is_away(&self) -> bool {
        self.failures > 0
    }

    /// When the store may be asked.
    pub(crate) fn next(&self) -> Tick {
        self.next
    }

    fn wait(&mut self, now: Tick, rng: &mut Rng) {
        let wait = (SHORTEST * self.failures.clamp(1, 3)).min(LONGEST);
        let jitter = Duration::from_nanos(rng.below(wait.as_nanos() as u64 / 5 + 1));
        self.next = self.next.max(now + wait + jitter);
    }
}
