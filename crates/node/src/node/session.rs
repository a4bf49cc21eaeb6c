//! The session of a node, and the requests in it.

use std::sync::Arc;
use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{
    Close, FINISHED_SCHEDULE_RETENTION, Open, Opened, Poll, Prune, Reap, Register, Renew, Renewed,
    SessionId, SessionTask, StoreTime,
};

use crate::effect::{Channel, Effect, LostReason, NodeEvent, Request, RequestId};
use crate::node::{InFlight, Node, NodePhase, Session};

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
            queues: self.config.queues.clone(),
            concurrency: self.config.workers,
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
        let (lease, clock_offset) = (self.config.lease, self.clock_offset);
        let progress = self.claims.changed_progress(session.id);
        let renew = Renew { session: session.id, lease, clock_offset, progress, not_after };
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
        for (held, progress) in renew.progress.iter().filter(|_| renewed.is_complete) {
            if let Some(claim) = self.claims.get_mut(*held) {
                claim.kept_progress = Some(progress.clone());
            }
        }
    }

    pub(super) fn stop(&mut self, now: Tick, effects: &mut Vec<Effect>) {
        if self.phase != NodePhase::Working {
            return;
        }
        self.phase = NodePhase::Stopping;
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
        if self.phase != NodePhase::Stopped {
            (self.phase, self.session) = (NodePhase::Stopped, None);
            effects.push(Effect::Stopped);
        }
    }
}

impl Node {
    pub(super) fn send(
        &mut self,
        channel: Channel,
        what: Request,
        limit: Duration,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        self.last_request += 1;
        let id = RequestId(self.last_request);
        self.backoff.asked(now, &mut self.rng);
        let flight = InFlight { id, what: what.clone(), sent: now };
        match channel {
            Channel::Store => self.store = Some(flight),
            Channel::Lease => self.lease = Some(flight),
        }
        effects.push(Effect::Ask { channel, request: id, what, deadline: now + limit });
    }

    pub(super) fn ask_for_store(&mut self, now: Tick, effects: &mut Vec<Effect>) {
        if self.phase == NodePhase::Stopping
            && self.session.is_none()
            // An open that is under way may still bring a session, which is to be closed.
            && self.store.is_none()
            && self.claims.is_empty()
            && self.finishes.is_empty()
            && self.locked.is_empty()
        {
            self.stopped(effects);
        }
        if self.store.is_some() || self.phase == NodePhase::Stopped || now < self.backoff.next() {
            return;
        }
        let what = match self.session {
            None => self.without_session(now),
            Some(session) => self.with_session(session, now),
        };
        if let Some(what) = what {
            self.was_finish = matches!(what, Request::Finish(_));
            self.send(Channel::Store, what, self.config.answer_limit, now, effects);
        }
    }

    /// The ends of the last session's claims come first: an open ends that session, and with it all that was not stored (R4).
    fn without_session(&mut self, now: Tick) -> Option<Request> {
        match self.finish_request() {
            Some(finish) => Some(finish),
            None if self.phase == NodePhase::Working => Some(self.open_request(now)),
            None => None,
        }
    }

    fn with_session(&mut self, session: Session, now: Tick) -> Option<Request> {
        if !self.was_finish
            && let Some(finish) = self.finish_request()
        {
            return Some(finish);
        }
        let other = match self.not_after(now) {
            Some(not_after) => self.other_request(session, not_after, now),
            None => None,
        };
        other.or_else(|| self.finish_request())
    }

    fn other_request(&mut self, session: Session, expiry: StoreTime, now: Tick) -> Option<Request> {
        if self.deadlines.compare <= now {
            return Some(Request::Held(session.id));
        }
        if self.phase != NodePhase::Working {
            return self.request_of_the_stop(session.id, expiry, now);
        }
        if !self.is_registered && self.deadlines.register <= now {
            return Some(Request::Register(Arc::new(Register {
                session: session.id,
                first_opened: self.first_opened?,
                definitions: self.config.definitions.clone(),
                limits: self.config.limits.clone(),
                not_after: expiry,
            })));
        }
        let wants_poll = self.deadlines.poll <= now || self.may_claim_more();
        if self.deadlines.fire <= now
            && !(self.was_fire && wants_poll)
            && let Some(fire) = self.fire_request(session.id, expiry, now)
        {
            return Some(fire);
        }
        if wants_poll {
            return Some(self.poll_request(
                session.id,
                expiry,
                self.claims.room(&self.config),
                now,
            ));
        }
        if self.deadlines.reap <= now {
            self.deadlines.reap = now + self.rng.about(self.config.reap_every);
            return Some(self.reap_request(expiry));
        }
        if self.deadlines.prune <= now {
            self.deadlines.prune = now + self.rng.about(self.config.prune_every);
            return Some(self.prune_request(expiry));
        }
        None
    }

    /// A run may still be cancelled, which a poll reports. It claims nothing.
    fn request_of_the_stop(
        &mut self,
        session: SessionId,
        not_after: StoreTime,
        now: Tick,
    ) -> Option<Request> {
        if !self.claims.is_empty() && self.deadlines.poll <= now {
            return Some(self.poll_request(session, not_after, 0, now));
        }
        self.close_request(session, now)
    }

    fn finish_request(&self) -> Option<Request> {
        let some = &self.finishes[..self.finishes.len().min(self.finish_limit)];
        (!some.is_empty()).then(|| Request::Finish(some.into()))
    }

    /// More jobs are due than were claimed, and by now there is room: a free worker, or half of what may be claimed; a
    /// free worker for a job that must not wait for one; no job of the quarantine in hand; or a thread for a task that had none.
    pub(super) fn may_claim_more(&self) -> bool {
        let room = self.claims.room(&self.config);
        let all = self.config.workers.saturating_add(self.claims.prefetch(&self.config));
        let has_worker = self.claims.free(&self.config) > 0;
        let is_free = has_worker || room >= all / 2;
        let has_thread = |index: &usize| {
            let task = self.config.tasks.get(*index);
            task.is_some_and(|task| self.claims.has_room_again(task, &self.config))
        };
        room > 0
            && !self.is_paused
            && (self.may_have_more && is_free
                || self.wants_abandon && has_worker
                || self.wants_quarantined && !self.claims.has_quarantined()
                || self.saturated_tasks.iter().any(has_thread))
    }

    fn poll_request(
        &mut self,
        session: SessionId,
        not_after: StoreTime,
        limit: u32,
        now: Tick,
    ) -> Request {
        (self.is_nudged, self.was_fire) = (false, false);
        Request::Poll(Poll {
            session,
            tasks: self.claims.rooms(&self.config),
            queues: self.config.queues.clone(),
            limit,
            // R14
            abandon_limit: self.claims.free(&self.config),
            lost_limit: u32::from(!self.claims.has_quarantined()),
            with_leases: self.deadlines.leases <= now,
            not_after,
        })
    }

    fn reap_request(&mut self, not_after: StoreTime) -> Request {
        Request::Reap(Reap {
            dead: self.peers.dead(self.config.lease),
            found_by: self.config.label.clone(),
            max_lost: self.config.max_lost,
            spread: self.config.lost_spread,
            draw: self.rng.number(),
            not_after,
        })
    }

    fn prune_request(&self, not_after: StoreTime) -> Request {
        // A request that is sent again must find the job that it made before (R2).
        let least = (self.config.answer_limit * 2).max(self.config.keep_least);
        Request::Prune(Prune {
            keep_done: self.config.keep_done.max(least),
            keep_parked: self.config.keep_parked.max(least),
            keep_over: FINISHED_SCHEDULE_RETENTION,
            keep_actions: self.config.keep_actions,
            limit: 1_000,
            not_after,
        })
    }
}
