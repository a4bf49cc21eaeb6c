//! The session of a node: opened, renewed, lost, closed.

use scheduler_expr::Tick;
use scheduler_store::{Close, Open, Opened, Renew, Renewed, SessionId, SessionTask, StoreTime};

use super::state::{InFlight, Node, Phase, Session};
use crate::effect::{Effect, LostReason, NodeEvent};
use crate::request::{Channel, Request};

impl Node {
    /// A lease that was not renewed in time has ended, whatever the store will say.
    pub(super) fn check_lease(&mut self, now: Tick, effects: &mut Vec<Effect>) {
        if self.session.is_some_and(|session| session.valid_until <= now) {
            self.lose(LostReason::NotRenewed, now, effects);
        }
    }

    /// The session has ended for ever. Jobs that have not begun are given back, and runs are asked to stop that others may begin
    /// again. Those that run at most once learn it and go on, and their ends are stored later (R4).
    pub(super) fn lose(&mut self, reason: LostReason, now: Tick, effects: &mut Vec<Effect>) {
        let Some(session) = self.session.take() else { return };
        self.former = Some(session.id);
        self.due.clear();
        self.uncertain_until = None;
        let waiting = self.claims.waiting(|job| job.session == session.id);
        self.withdraw(&waiting, now, effects);
        let begun: Vec<_> = self
            .claims
            .iter()
            .filter(|(_, job)| job.session == session.id && !job.is_lost)
            .map(|(held, job)| (held, job.is_abandon))
            .collect();
        let lost = begun.iter().filter(|(_, goes_on)| !goes_on).count();
        let runs = u32::try_from(lost).unwrap_or(u32::MAX);
        for (held, goes_on) in begun {
            match goes_on {
                false => self.tell_lost(held, effects),
                true if self.claims.outlive(held) => effects.push(Effect::Outlived(held)),
                true => {}
            }
        }
        let event = NodeEvent::SessionLost { session: session.id, reason, runs };
        effects.push(Effect::Event(event));
    }

    pub(super) fn tell_lost(&mut self, held: scheduler_store::ClaimRef, effects: &mut Vec<Effect>) {
        if let Some(job) = self.claims.get_mut(held).filter(|job| !job.is_lost) {
            job.is_lost = true;
            self.claims.outlive(held);
            effects.push(Effect::Lost(held));
        }
    }

    pub(super) fn open_request(&mut self, now: Tick) -> Request {
        // People sort sessions by their identities.
        let about = self.clock.about(now);
        Request::Open(Open {
            id: SessionId::from_uuid(self.rng.id(about)),
            // Those ends may still be stored, until that session is taken for dead.
            replaces: self.former.filter(|_| self.locked.is_empty()),
            label: self.config.label.clone(),
            build: self.config.build.clone(),
            application: self.config.application.clone(),
            tasks: self.config.tasks.iter().map(SessionTask::from).collect(),
            lease: self.config.lease,
            // A session that is opened too late would not be renewed.
            not_after: self.not_after(now).unwrap_or(StoreTime::MAX),
        })
    }

    pub(super) fn opened(
        &mut self,
        open: &Open,
        opened: Opened,
        sent: Tick,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        let valid_until = sent + self.config.valid_for();
        self.former = Some(open.id);
        if valid_until <= now {
            return;
        }
        let is_first = self.first_opened.is_none();
        if is_first {
            self.first_opened = Some(opened.now);
        }
        let renew_at = sent + self.config.renew_every();
        self.session = Some(Session { id: open.id, valid_until, renew_at });
        self.deadlines.poll = now;
        let event = NodeEvent::Opened { session: open.id, replaces: open.replaces };
        effects.push(Effect::Event(event));
        if let Some(other_application) = opened.other_application.filter(|_| is_first) {
            effects.push(Effect::Event(NodeEvent::OtherApplication(other_application)));
        }
    }

    /// Returns true if the thread of the store was seen at work within the last lease (R20).
    pub(super) fn is_making_progress(&self, now: Tick) -> bool {
        now.since(self.progress) <= self.config.lease
    }

    pub(super) fn ask_for_lease(&mut self, now: Tick, effects: &mut Vec<Effect>) {
        let Some(session) = self.session.filter(|_| self.lease.is_none()) else { return };
        if now < session.renew_at.max(self.backoff.next()) {
            return;
        }
        if !self.is_making_progress(now) {
            // A thread that hangs must not keep the lease; should it go on, there may be time left.
            if let Some(session) = self.session.as_mut() {
                session.renew_at = now + self.config.lease / 20;
            }
            return;
        }
        // While the store's clock is not known, a renewal asks for it; one that is late does no harm.
        let latest = self.clock.latest(now);
        let not_after = latest.map_or(StoreTime::MAX, |latest| latest.after(self.config.lease));
        let renew = Renew { session: session.id, lease: self.config.lease, not_after };
        let limit = self.config.answer_limit.min(self.config.renew_every());
        self.send(Channel::Lease, Request::Renew(renew), limit, now, effects);
    }

    pub(super) fn renewed(
        &mut self,
        flight: &InFlight,
        renew: &Renew,
        renewed: Renewed,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        let Some(session) = self.session.as_mut().filter(|session| session.id == renew.session)
        else {
            return;
        };
        if !renewed.is_alive {
            self.lose(LostReason::Ended, now, effects);
            return;
        }
        let valid_until = flight.sent + self.config.valid_for();
        session.valid_until = session.valid_until.max(valid_until);
        session.renew_at = flight.sent + self.config.renew_every();
    }

    pub(super) fn stop(&mut self, now: Tick, effects: &mut Vec<Effect>) {
        if self.phase != Phase::Working {
            return;
        }
        self.phase = Phase::Stopping;
        self.deadlines.poll = now;
        self.due.clear();
        let waiting = self.claims.waiting(|_| true);
        self.withdraw(&waiting, now, effects);
    }

    /// The session ends when each of its runs has its outcome; then the node has stopped.
    pub(super) fn close_request(&self, session: SessionId, now: Tick) -> Option<Request> {
        let is_over = self.claims.is_empty()
            && self.finishes.is_empty()
            && self.locked.is_empty()
            && self.uncertain_until.is_none();
        let not_after = self.not_after(now).filter(|_| is_over)?;
        Some(Request::Close(Close { session, not_after }))
    }

    pub(super) fn stopped(&mut self, effects: &mut Vec<Effect>) {
        if self.phase != Phase::Stopped {
            (self.phase, self.session) = (Phase::Stopped, None);
            effects.push(Effect::Stopped);
        }
    }
}
