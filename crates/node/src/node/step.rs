//! One step: an input, and what follows from it.

use scheduler_expr::Tick;
use scheduler_store::{ClaimRef, Finish};

use super::state::{Node, Phase};
use crate::effect::{Effect, Input};
use crate::request::Channel;

impl Node {
    /// Takes an input, and adds what follows from it to the effects, in the order in which it is to be done.
    pub fn step(&mut self, input: Input, now: Tick, effects: &mut Vec<Effect>) {
        // First of all, so that an answer which comes too late revives nothing.
        self.check_lease(now, effects);
        match input {
            Input::Answer { request, result } => self.answered(request, result, now, effects),
            Input::NoAnswer { request } => self.not_answered(request, now, effects),
            Input::Ended { held, end } => self.run_ended(held, end, now, effects),
            Input::Nudge => {
                // RACE: a poll that is under way may have missed it.
                (self.is_nudged, self.deadlines.poll) = (true, now);
            }
            Input::Timer(Channel::Store) => self.progress = now,
            Input::Timer(Channel::Lease) => {}
            Input::Stop => self.stop(now, effects),
        }
        if self.deadlines.stale <= now {
            self.give_back_stale(now, effects);
        }
        if self.deadlines.unlock <= now {
            self.deadlines.unlock = Tick::MAX;
            self.finishes.append(&mut self.locked);
        }
        self.ask_for_lease(now, effects);
        self.ask_for_store(now, effects);
    }

    /// Returns true if a started job may begin now. To be asked just before its run begins, on the worker.
    #[must_use]
    pub fn begin(&mut self, held: ClaimRef, now: Tick) -> bool {
        let Some(session) = self.session.filter(|session| now < session.valid_until) else {
            return false;
        };
        let may_begin = self
            .claims
            .get_mut(held)
            .is_some_and(|job| job.session == session.id && !job.is_lost && job.begun.is_none());
        if may_begin {
            self.claims.begin(held, now);
        }
        may_begin
    }

    /// When a thread has to look again, by [`Input::Timer`], if nothing happens before; none while it waits for an answer.
    #[must_use]
    pub fn wake(&self, channel: Channel) -> Option<Tick> {
        if self.phase == Phase::Stopped {
            return None;
        }
        match channel {
            Channel::Store => self.wake_store(),
            Channel::Lease => self.wake_lease(),
        }
    }

    fn wake_store(&self) -> Option<Tick> {
        if self.store.is_some() {
            return None;
        }
        let heartbeat = self.progress + self.config.lease / 3;
        let ready = self.backoff.next();
        let work = match (self.session, self.phase) {
            _ if !self.finishes.is_empty() => ready,
            (None, Phase::Working) => ready,
            (None, _) => heartbeat,
            // A renewal asks for the store's clock first.
            (Some(_), _) if self.not_after(self.progress).is_none() => heartbeat,
            (Some(_), Phase::Working) => {
                let deadlines = &self.deadlines;
                let fire = if self.due.is_empty() { Tick::MAX } else { deadlines.fire };
                let register = if self.is_registered { Tick::MAX } else { deadlines.register };
                let first = deadlines
                    .poll
                    .min(fire)
                    .min(register)
                    .min(deadlines.reap)
                    .min(deadlines.prune)
                    .min(deadlines.compare);
                first.max(ready).min(deadlines.stale)
            }
            (Some(_), _) if self.claims.is_empty() && self.uncertain_until.is_none() => ready,
            (Some(_), _) if self.claims.is_empty() => self.deadlines.compare.max(ready),
            (Some(_), _) => {
                self.deadlines.compare.min(self.deadlines.poll).max(ready).min(heartbeat)
            }
        };
        Some(work.min(self.deadlines.unlock.max(ready)).min(heartbeat))
    }

    fn wake_lease(&self) -> Option<Tick> {
        let session = self.session?;
        if self.lease.is_some() {
            return Some(session.valid_until);
        }
        Some(session.renew_at.max(self.backoff.next()).min(session.valid_until))
    }

    /// Tells the driver to forget jobs that have not begun, and gives them back.
    pub(super) fn withdraw(&mut self, jobs: &[ClaimRef], now: Tick, effects: &mut Vec<Effect>) {
        for held in jobs {
            // INVARIANT: what is given back is not in hand, so that it cannot begin (R20).
            let Some(job) = self.claims.remove(*held, now) else { continue };
            effects.push(Effect::Withdraw(*held));
            let end = scheduler_store::End::GiveBack;
            self.finishes.push(Finish { session: job.session, held: *held, end });
        }
    }

    fn give_back_stale(&mut self, now: Tick, effects: &mut Vec<Effect>) {
        let limit = self.config.lease / 2;
        let stale = self.claims.waiting(|job| now.since(job.claimed) >= limit);
        self.withdraw(&stale, now, effects);
        self.deadlines.stale =
            self.claims.oldest_waiting().map_or(Tick::MAX, |claimed| claimed + limit);
    }
}
