//! Lets a simulation skip time in which a node asks for nothing new.

use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::SessionId;

use super::state::{Node, Phase};

impl Node {
    /// The end of the time in which this node only sends polls, renewals and searches that find nothing, if nothing changes the store
    /// meanwhile. None if it has something to do.
    #[doc(hidden)]
    #[must_use]
    pub fn rests_until(&self, now: Tick) -> Option<Tick> {
        let deadlines = &self.deadlines;
        let is_open = self.phase == Phase::Working
            && self.is_registered
            && self.session.is_some_and(|session| now < session.valid_until)
            && self.clock.earliest(now).is_some()
            && !self.backoff.is_away();
        let asks_nothing = self.store.is_none()
            && self.lease.is_none()
            && self.finishes.is_empty()
            && self.locked.is_empty()
            && self.uncertain_until.is_none()
            && self.due.is_empty()
            && !self.may_claim_more();
        let is_routine = now < deadlines.poll
            && now < deadlines.prune
            && deadlines.poll == deadlines.routine.min(deadlines.known)
            && self.claims.oldest_waiting().is_none()
            && self.peers.look_at(self.config.lease).is_none();
        (is_open && asks_nothing && is_routine).then_some(deadlines.known)
    }

    /// Takes what this node would have sent while it [rests](Self::rests_until) as sent, and answered with nothing new. Old
    /// jobs are still to be deleted. Returns the session, if its lease would have been renewed, and when that was last.
    #[doc(hidden)]
    pub fn skip_to(&mut self, now: Tick) -> Option<(SessionId, Tick)> {
        let config = &self.config;
        let deadlines = &mut self.deadlines;
        deadlines.routine = after(deadlines.routine, config.poll_every, now);
        deadlines.poll = deadlines.routine.min(deadlines.known);
        deadlines.reap = after(deadlines.reap, config.reap_every, now);
        deadlines.compare = after(deadlines.compare, config.compare_every, now);
        self.progress = now;
        let renew_every = config.renew_every();
        let session = self.session.as_mut().filter(|session| session.renew_at <= now)?;
        session.renew_at = after(session.renew_at, renew_every, now);
        let renewed = session.renew_at - renew_every;
        session.valid_until = renewed + config.valid_for();
        Some((session.id, renewed))
    }
}

/// The first of the deadlines after an instant that come one period after the other.
fn after(deadline: Tick, period: Duration, now: Tick) -> Tick {
    if now < deadline {
        return deadline;
    }
    let periods = now.since(deadline).as_nanos() / period.as_nanos().max(1) + 1;
    deadline + period.saturating_mul(u32::try_from(periods).unwrap_or(u32::MAX))
}
