//! Observed: the store's clock and silence, the leases of others.

use std::collections::BTreeMap;
use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{Lease, SessionId, StoreTime};

use crate::rng::Rng;

/// The store's clock, estimated from the last answers: when an answer shows an instant, that instant lay between the sending
/// of its request and its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StoreClock {
    sample: Option<ClockSample>,
    /// The process's clock at its start, until an answer has shown the store's.
    wall: StoreTime,
    started: Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ClockSample {
    shown: StoreTime,
    sent: Tick,
    arrived: Tick,
}

/// The part by which two clocks may drift apart: a thousandth.
const DRIFT: u32 = 1_000;

impl StoreClock {
    pub(crate) fn new(wall: StoreTime, started: Tick) -> Self {
        Self { sample: None, wall, started }
    }

    /// An answer shows an instant.
    pub(crate) fn observe(&mut self, shown: StoreTime, sent: Tick, arrived: Tick) {
        let new = ClockSample { shown, sent, arrived };
        let is_better = self.sample.is_none_or(|old| {
            let doubt = arrived.since(old.arrived) / DRIFT;
            let is_narrower = arrived.since(sent) <= old.arrived.since(old.sent) + doubt;
            // A clock that was set contradicts the old sample, and only the new one counts.
            let is_consistent = new.at(arrived, sent) >= old.at(arrived, old.arrived).before(doubt)
                && shown <= old.at(arrived, old.sent).after(doubt);
            is_narrower || !is_consistent
        });
        if is_better {
            self.sample = Some(new);
        }
    }

    /// The store has refused a request as too late: its clock was set.
    pub(crate) fn forget(&mut self) {
        self.sample = None;
    }

    /// The latest instant that it may show now.
    pub(crate) fn latest(&self, now: Tick) -> Option<StoreTime> {
        self.sample.map(|sample| sample.at(now, sample.sent))
    }

    /// As [`latest`](Self::latest), or what the process's clock shows: to name things by, never to decide.
    pub(crate) fn about(&self, now: Tick) -> StoreTime {
        self.latest(now).unwrap_or_else(|| self.wall.after(now.since(self.started)))
    }

    /// The earliest instant that it may show now.
    pub(crate) fn earliest(&self, now: Tick) -> Option<StoreTime> {
        self.sample.map(|sample| sample.at(now, sample.arrived))
    }

    /// By how many microseconds a clock that shows this is ahead; 0 if the two may show the same.
    pub(crate) fn offset_of(&self, wall: StoreTime, now: Tick) -> Option<i64> {
        let (earliest, latest) = (self.earliest(now)?, self.latest(now)?);
        let nearest = wall.clamp(earliest, latest);
        Some(wall.as_micros().saturating_sub(nearest.as_micros()))
    }

    /// When it shows an instant, probably.
    pub(crate) fn tick_of(&self, shown: StoreTime) -> Option<Tick> {
        let sample = self.sample?;
        let middle = sample.sent + sample.arrived.since(sample.sent) / 2;
        Some(middle + shown.since(sample.shown))
    }
}

impl ClockSample {
    fn at(&self, now: Tick, shown_at: Tick) -> StoreTime {
        self.shown.after(now.since(shown_at))
    }
}

/// A length by the store's clock, as one by this process's clock, whatever their drift.
pub(crate) fn with_drift_margin(length: Duration) -> Duration {
    length + length / DRIFT
}

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

/// The leases of other sessions, as they were last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PeerLeases {
    seen: BTreeMap<SessionId, SeenLease>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SeenLease {
    lease: Lease,
    /// When this mark was first seen, at the latest.
    since: Tick,
    /// When it was last seen, at the earliest.
    until: Tick,
}

impl PeerLeases {
    /// A poll that was sent and answered at these instants has shown all leases.
    pub(crate) fn observe(&mut self, leases: &[Lease], sent: Tick, arrived: Tick) {
        let former = std::mem::take(&mut self.seen);
        self.seen.extend(leases.iter().map(|lease| {
            let same = former.get(&lease.session).filter(|seen| seen.lease.mark == lease.mark);
            let since = same.map_or(arrived, |seen| seen.since);
            (lease.session, SeenLease { lease: *lease, since, until: sent })
        }));
    }

    /// The sessions that are dead: each has not been renewed for a whole lease by the clock of this process, and has
    /// run out by the store's clock. One of the two clocks may have been set (R8).
    pub(crate) fn dead(&self, lease: Duration) -> Vec<Lease> {
        let is_dead =
            |seen: &&SeenLease| seen.lease.has_run_out && seen.until.since(seen.since) >= lease;
        self.seen.values().filter(is_dead).map(|seen| seen.lease).collect()
    }

    /// When to look again: a session that was not renewed for half a lease may be dead by then.
    pub(crate) fn look_at(&self, lease: Duration) -> Option<Tick> {
        let is_doubtful = |seen: &&SeenLease| seen.until.since(seen.since) >= lease / 2;
        let ends = self.seen.values().filter(is_doubtful).map(|seen| (seen, seen.since + lease));
        ends.filter(|(seen, end)| seen.until < *end).map(|(_, end)| end).min()
    }

    /// Returns true if no other session is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Sessions have ended.
    pub(crate) fn forget(&mut self, sessions: &[SessionId]) {
        for session in sessions {
            self.seen.remove(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scheduler_store::Uuid;

    const LEASE: Duration = Duration::from_secs(10);

    #[test]
    fn a_session_is_dead_when_its_mark_stood_still_for_a_lease_and_it_has_run_out() {
        let at = |seconds: u64| Tick::from_nanos(seconds * 1_000_000_000);
        let session = SessionId::from_uuid(Uuid::from_u128(1));
        let lease = |mark, has_run_out| [Lease { session, mark, has_run_out }];
        let mut others = PeerLeases::default();
        others.observe(&lease(1, true), at(0), at(1));
        others.observe(&lease(1, true), at(10), at(11));
        assert_eq!(others.dead(LEASE), [], "seen for 9 s only");
        assert_eq!(others.look_at(LEASE), Some(at(11)));
        others.observe(&lease(1, false), at(11), at(12));
        assert_eq!(others.dead(LEASE), [], "the store's clock says no");
        others.observe(&lease(1, true), at(12), at(13));
        assert_eq!(others.dead(LEASE), lease(1, true));
        assert_eq!(others.look_at(LEASE), None);
        others.observe(&lease(2, true), at(14), at(15));
        assert_eq!(others.dead(LEASE), [], "it was renewed");
    }
}
