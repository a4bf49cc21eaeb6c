//! The sessions of other processes, and which of them are dead.

use std::collections::BTreeMap;
use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{Lease, SessionId};

/// The leases of other sessions, as they were last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PeerLeases {
    seen: BTreeMap<SessionId, Seen>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Seen {
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
            (lease.session, Seen { lease: *lease, since, until: sent })
        }));
    }

    /// The sessions that are dead: each has not been renewed for a whole lease by the clock of this process, and has
    /// run out by the store's clock. One of the two clocks may have been set (R8).
    pub(crate) fn dead(&self, lease: Duration) -> Vec<Lease> {
        let is_dead =
            |seen: &&Seen| seen.lease.has_run_out && seen.until.since(seen.since) >= lease;
        self.seen.values().filter(is_dead).map(|seen| seen.lease).collect()
    }

    /// When to look again: a session that was not renewed for half a lease may be dead by then.
    pub(crate) fn look_at(&self, lease: Duration) -> Option<Tick> {
        let is_doubtful = |seen: &&Seen| seen.until.since(seen.since) >= lease / 2;
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
