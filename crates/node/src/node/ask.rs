//! The next request of a node to the store.

use std::sync::Arc;
use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{
    FINISHED_SCHEDULE_RETENTION, Poll, Prune, Reap, Register, SessionId, StoreTime,
};

use super::state::{InFlight, Node, Phase, Session};
use crate::effect::Effect;
use crate::request::{Channel, Request, RequestId};

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
        if self.phase == Phase::Stopping
            && self.session.is_none()
            // An open that is under way may still bring a session, which is to be closed.
            && self.store.is_none()
            && self.claims.is_empty()
            && self.finishes.is_empty()
            && self.locked.is_empty()
        {
            self.stopped(effects);
        }
        if self.store.is_some() || self.phase == Phase::Stopped || now < self.backoff.next() {
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
            None if self.phase == Phase::Working => Some(self.open_request(now)),
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
        if self.phase != Phase::Working {
            return self.request_of_the_stop(session.id, expiry, now);
        }
        if !self.is_registered && self.deadlines.register <= now {
            return Some(Request::Register(Arc::new(Register {
                session: session.id,
                first_opened: self.first_opened?,
                definitions: self.config.definitions.clone(),
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
            limit: 1_000,
            not_after,
        })
    }
}
