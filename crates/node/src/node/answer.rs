//! The reaction of a node to an answer, and to none.

use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{
    ClaimRef, DueSchedule, JobState, Lease, OnLost, Overlap, PauseScope, Poll, Polled, Reaped,
    Refusal, Register, Registered, RegisteredSchedule, SessionId, StoreError, StoreTime, StoredJob,
    TaskRoom, Timing,
};

use super::jobs::LOCKED;
use super::{InFlight, Node, NodePhase};
use crate::claims::Claim;
use crate::effect::{Answer, Effect, LostReason, NodeEvent, Request, RequestId};

/// The time between two events about an error that comes again and again.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// The time after which a renewal is sent again that the store has answered with an error.
const RENEWED_EVERY: Duration = Duration::from_millis(500);

/// The same for a registration or a comparison.
const TRIED_EVERY: Duration = Duration::from_secs(2);

/// Follow-ups are tracked for at most this many schedules.
const FOLLOWED: usize = 10_000;

/// The time until the next poll after one that has found nothing and has not looked at all.
const PARTIAL: Duration = Duration::from_millis(5);

impl Node {
    pub(super) fn answered(
        &mut self,
        request: RequestId,
        result: Result<Answer, StoreError>,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        let Some(flight) = self.take_flight(request, now) else { return };
        match result {
            Ok(answer) => {
                self.store_answers(now, effects);
                self.take_answer(&flight, answer, now, effects);
            }
            Err(StoreError::Refused(refusal)) => {
                self.store_answers(now, effects);
                self.refused(&flight, &refusal, now, effects);
            }
            Err(StoreError::Unavailable(reason) | StoreError::NotExecuted(reason)) => {
                self.unknown(&flight, Some(reason), now, effects);
            }
            Err(StoreError::Failed(reason)) => {
                self.store_answers(now, effects);
                self.failed(&flight, reason, now, effects);
            }
            Err(error) => self.unknown(&flight, Some(error.to_string()), now, effects),
        }
    }

    pub(super) fn not_answered(
        &mut self,
        request: RequestId,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(flight) = self.take_flight(request, now) {
            self.unknown(&flight, None, now, effects);
        }
    }

    /// The request with this number; none for a request that was given up, whose answer is ignored.
    fn take_flight(&mut self, request: RequestId, now: Tick) -> Option<InFlight> {
        let is_this = |flight: &mut InFlight| flight.id == request;
        if let Some(flight) = self.store.take_if(is_this) {
            self.progress = now;
            return Some(flight);
        }
        self.lease.take_if(is_this)
    }

    fn store_answers(&mut self, now: Tick, effects: &mut Vec<Effect>) {
        if let Some(after) = self.backoff.answered(now) {
            effects.push(Effect::Event(NodeEvent::StoreBack { after }));
        }
    }

    fn take_answer(
        &mut self,
        flight: &InFlight,
        answer: Answer,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(shown) = shown(&answer) {
            self.clock.observe(shown, flight.sent, now);
        }
        match (&flight.what, answer) {
            (Request::Open(open), Answer::Open(opened)) => {
                self.opened(open, opened, flight.sent, now, effects);
            }
            (Request::Renew(renew), Answer::Renew(renewed)) => {
                self.renewed(flight, renew, renewed, now, effects);
            }
            (Request::Close(_), Answer::Close) => self.stopped(effects),
            (Request::Register(register), Answer::Register(registered)) => {
                self.registered(register, registered, now, effects);
            }
            (Request::Poll(poll), Answer::Poll(mut polled)) => {
                let leases = poll.with_leases.then(|| std::mem::take(&mut polled.leases));
                self.polled(poll, polled, now, effects);
                self.see_leases(leases, flight.sent, now);
            }
            (Request::Fire(fires), Answer::Fire(fired, error)) => {
                self.fired(fires, fired, now, effects);
                match error {
                    Some(StoreError::Refused(refusal)) => {
                        self.refused(flight, &refusal, now, effects);
                    }
                    Some(StoreError::Failed(reason)) => self.failed(flight, reason, now, effects),
                    Some(error) => self.unknown(flight, Some(error.to_string()), now, effects),
                    None => {}
                }
            }
            (Request::Finish(finishes), Answer::Finish(finished)) => {
                self.finished(finishes, &finished, now, effects);
            }
            (Request::Held(session), Answer::Held(held)) => {
                self.compared(*session, &held, flight.sent, now, effects);
            }
            (Request::Reap(_), Answer::Reap(reaped)) => self.reaped(reaped, now, effects),
            (Request::Prune(prune), Answer::Prune(pruned)) => {
                if pruned >= u64::from(prune.limit) {
                    // There is more: the next slice comes as soon as nothing else is to be asked.
                    self.deadlines.prune = now;
                }
            }
            // An answer to another request counts as none.
            _ => self.unknown(flight, None, now, effects),
        }
    }

    /// It is unknown whether the request was executed, or will be until its `not_after`.
    fn unknown(
        &mut self,
        flight: &InFlight,
        reason: Option<String>,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        if self.backoff.failed(reason.is_some(), now, &mut self.rng) {
            let reason = reason.unwrap_or_else(|| "no answer in time".to_owned());
            effects.push(Effect::Event(NodeEvent::StoreAway { reason }));
        }
        match &flight.what {
            Request::Poll(poll) => self.claims_are_uncertain(poll.not_after, now),
            Request::Fire(fires) => {
                let last = fires.iter().map(|fire| fire.not_after).max();
                self.claims_are_uncertain(last.unwrap_or_default(), now);
            }
            Request::Finish(finishes) => self.finish_limit = (finishes.len() / 2).max(1),
            _ => {}
        }
    }

    fn claims_are_uncertain(&mut self, until: StoreTime, now: Tick) {
        if self.session.is_some() {
            self.uncertain_until = self.uncertain_until.max(Some(until));
            self.deadlines.compare = now;
        }
        self.deadlines.poll = now;
    }

    /// The store has answered with an error, and has not changed.
    fn failed(&mut self, flight: &InFlight, reason: String, now: Tick, effects: &mut Vec<Effect>) {
        self.backoff.refused(now, &mut self.rng);
        let request = flight.what.name();
        let is_told = |told: &Tick| now.since(*told) < TOLD_EVERY;
        if !self.refused.get(request).is_some_and(is_told) {
            self.refused.insert(request, now);
            effects.push(Effect::Event(NodeEvent::Refused { request, reason }));
        }
        match &flight.what {
            // Jobs are claimed meanwhile.
            Request::Register(_) => self.deadlines.register = now + TRIED_EVERY,
            Request::Held(_) => self.deadlines.compare = now + TRIED_EVERY,
            // Answers to other requests end the wait of the backoff.
            Request::Renew(_) => {
                if let Some(session) = self.session.as_mut() {
                    session.renew_at = now + RENEWED_EVERY;
                }
            }
            Request::Fire(_) => self.deadlines.poll = now,
            Request::Finish(finishes) => self.finish_limit = (finishes.len() / 2).max(1),
            _ => {}
        }
    }

    fn refused(
        &mut self,
        flight: &InFlight,
        refusal: &Refusal,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        if *refusal == Refusal::TooLate {
            // The clock of the store was set. A renewal asks for it; nothing else is sent before.
            self.clock.forget();
            if let Some(session) = self.session.as_mut() {
                session.renew_at = now;
            }
            return;
        }
        if *refusal == Refusal::Locked {
            // Jobs are claimed meanwhile.
            self.deadlines.register = now + LOCKED;
            if !std::mem::replace(&mut self.is_register_locked, true) {
                effects.push(Effect::Event(refused(flight, refusal)));
            }
            return;
        }
        // Another refusal comes again: people have to know, and time has to pass.
        self.backoff.refused(now, &mut self.rng);
        if matches!(flight.what, Request::Register(_)) {
            self.is_registered = true;
        }
        effects.push(Effect::Event(refused(flight, refusal)));
    }

    fn registered(
        &mut self,
        register: &Register,
        registered: Registered,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        if !registered.is_alive {
            return self.session_ended(register.session, now, effects);
        }
        (self.is_registered, self.is_register_locked) = (true, false);
        self.deadlines.poll = now;
        for RegisteredSchedule { schedule, outcome } in registered.schedules {
            let schedule = Box::new(schedule);
            effects.push(Effect::Event(NodeEvent::Registered { schedule, outcome }));
        }
    }

    fn polled(&mut self, poll: &Poll, polled: Polled, now: Tick, effects: &mut Vec<Effect>) {
        if !polled.is_alive {
            return self.session_ended(poll.session, now, effects);
        }
        let claimed = |is_meant: fn(&StoredJob) -> bool| {
            let count = polled.jobs.iter().filter(|job| is_meant(job)).count();
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        let found = claimed(|_| true);
        self.may_have_more = found >= poll.limit || polled.is_partial && found > 0;
        self.is_full = polled.is_full;
        self.wants_abandon = claimed(|job| job.on_lost == OnLost::Abandon) >= poll.abandon_limit;
        self.wants_quarantined = claimed(StoredJob::is_quarantined) >= poll.lost_limit;
        let rooms = poll.tasks.iter().enumerate();
        let short = rooms.filter(|(_, room)| is_exhausted(room, &polled.jobs));
        self.saturated_tasks = short.map(|(index, _)| index).collect();
        let mut jobs = polled.jobs;
        // Stable: what must begin at once comes first, the rest in the store's order.
        jobs.sort_by_key(|job| job.on_lost != OnLost::Abandon);
        for job in jobs {
            self.claimed(poll.session, job, now, effects);
        }
        self.give_back_paused(&polled.paused, now, effects);
        self.see_pause(polled.is_paused, now, effects);
        let wait = self.rng.about(self.config.poll_every);
        // Another process may have locked the lanes that were passed over.
        let wait = if polled.is_partial && found == 0 { self.rng.about(PARTIAL) } else { wait };
        (self.deadlines.routine, self.deadlines.known) = (now + wait, Tick::MAX);
        self.deadlines.poll = if self.is_nudged { now } else { self.deadlines.routine };
        for held in polled.cancels {
            self.cancel(held, now, effects);
        }
        let damaged = polled.damaged.into_iter();
        effects.extend(damaged.map(|damage| Effect::Event(NodeEvent::Damaged(damage))));
        let expired = polled.expired.into_iter();
        effects
            .extend(expired.map(|(task, count)| Effect::Event(NodeEvent::Expired { task, count })));
        // A process that stops has nothing more to decide.
        if self.phase != NodePhase::Working {
            return;
        }
        self.poll_no_later_than(polled.next_job);
        self.poll_at_tick(polled.next_tick);
        if self.session() == Some(poll.session) && !self.is_paused {
            self.have_to_decide(polled.due, now, effects);
        }
    }

    /// Jobs that were paused after they were claimed, and have not begun (R22).
    fn give_back_paused(&mut self, paused: &[PauseScope], now: Tick, effects: &mut Vec<Effect>) {
        if !paused.is_empty() {
            let is_paused =
                |job: &Claim| paused.iter().any(|scope| scope.has(&job.job.task, &job.job.queue));
            let waiting = self.claims.waiting(is_paused);
            self.withdraw(&waiting, now, effects);
        }
    }

    /// A process that is paused begins no job and fires no tick.
    fn see_pause(&mut self, is_paused: bool, now: Tick, effects: &mut Vec<Effect>) {
        if is_paused {
            self.due.clear();
            let waiting = self.claims.waiting(|_| true);
            self.withdraw(&waiting, now, effects);
        }
        if std::mem::replace(&mut self.is_paused, is_paused) != is_paused {
            effects.push(Effect::Event(NodeEvent::NodePaused { is_paused }));
        }
    }

    /// Polls again when a session may be dead by then; takes over what dead ones held.
    fn see_leases(&mut self, leases: Option<Vec<Lease>>, sent: Tick, now: Tick) {
        if let Some(leases) = leases {
            self.peers.observe(&leases, sent, now);
            self.deadlines.leases = sent + self.config.poll_every / 2;
            if !self.peers.dead(self.config.lease).is_empty() {
                self.deadlines.reap = now;
            }
        }
        if let Some(at) = self.peers.look_at(self.config.lease) {
            self.deadlines.leases = self.deadlines.leases.min(at);
            self.deadlines.poll = self.deadlines.poll.min(at.max(now));
        }
    }

    fn have_to_decide(&mut self, due: Vec<DueSchedule>, now: Tick, effects: &mut Vec<Effect>) {
        let waits_until = (!self.due.is_empty()).then_some(self.deadlines.fire);
        self.due.clear();
        if self.has_follow_up.len() > FOLLOWED {
            // Schedules come and go. The follow-ups of an unknown one are asked for.
            self.has_follow_up.clear();
            self.exclusive.clear();
        }
        for each in due {
            let schedule = &each.schedule;
            let is_delay = matches!(schedule.rule().timing, Timing::Delay { .. });
            let is_queued = schedule.definition.overlap == Overlap::QueueOne;
            self.has_follow_up.insert(schedule.definition.name.clone(), is_delay || is_queued);
            self.exclusive.insert(schedule.definition.name.clone(), schedule.is_exclusive());
            if self.may_fire(schedule, effects) {
                self.due.push(each);
            }
        }
        let is_busy = self.claims.free(&self.config) == 0;
        let at = if is_busy { now + self.config.yield_for } else { now };
        // Another poll does not put off what waits already.
        self.deadlines.fire = waits_until.map_or(at, |until| until.min(at));
    }

    /// Polls again at an instant of the store's clock.
    pub(super) fn poll_no_later_than(&mut self, at: Option<StoreTime>) {
        if let Some(at) = at.and_then(|at| self.clock.tick_of(at)) {
            self.deadlines.known = self.deadlines.known.min(at);
            self.deadlines.poll = self.deadlines.poll.min(at);
        }
    }

    /// Polls again when a tick comes. Of several processes one is usually first, and the others then find that it has
    /// fired; those without a free worker leave it to the others.
    pub(super) fn poll_at_tick(&mut self, at: Option<StoreTime>) {
        let order = u64::try_from(self.config.yield_for.as_nanos()).unwrap_or(u64::MAX);
        let wait = match (self.peers.is_empty(), self.claims.free(&self.config)) {
            (true, _) => Duration::ZERO,
            (false, 0) => self.config.yield_for,
            (false, _) => Duration::from_nanos(self.rng.below(order.max(1))),
        };
        self.poll_no_later_than(at.map(|at| at.after(wait)));
    }

    fn reaped(&mut self, reaped: Reaped, now: Tick, effects: &mut Vec<Effect>) {
        self.peers.forget(&reaped.sessions);
        if !reaped.sessions.is_empty() {
            let sessions = reaped.sessions;
            effects.push(Effect::Event(NodeEvent::TookOver { sessions }));
        }
        if !reaped.jobs.is_empty() {
            // An answer carries so much and no more.
            self.deadlines.reap = now;
        }
        let jobs = reaped.jobs.into_iter().map(Box::new);
        for job in jobs {
            self.poll_no_later_than(Some(job.run_at));
            if job.state == JobState::Parked && self.has_or_ends(job.held()) {
                // Its run may still end well (R4).
                self.parked_as_lost.insert((job.id, job.fence), job);
            } else {
                effects.push(Effect::Event(NodeEvent::JobLost(job)));
            }
        }
    }

    /// Returns true if a job is in hand, or its end is to be stored.
    fn has_or_ends(&self, held: ClaimRef) -> bool {
        let mut ending = self.finishes.iter().chain(&self.locked);
        self.claims.contains(held) || ending.any(|finish| finish.held == held)
    }

    /// The store says that a session has ended.
    pub(super) fn session_ended(
        &mut self,
        session: SessionId,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        if self.session() == Some(session) {
            self.lose(LostReason::Ended, now, effects);
        }
    }
}

fn refused(flight: &InFlight, refusal: &Refusal) -> NodeEvent {
    NodeEvent::Refused { request: flight.what.name(), reason: refusal.to_string() }
}

/// As many jobs of a task were claimed as there was room for.
fn is_exhausted(room: &TaskRoom, claimed: &[StoredJob]) -> bool {
    let count = || claimed.iter().filter(|job| job.task == *room.task).count();
    room.room != u32::MAX && count() >= room.room as usize
}

/// The store's clock, if an answer shows it.
fn shown(answer: &Answer) -> Option<StoreTime> {
    match answer {
        Answer::Open(opened) => Some(opened.now),
        Answer::Renew(renewed) => Some(renewed.now),
        Answer::Register(registered) => Some(registered.now),
        Answer::Poll(polled) => Some(polled.now),
        _ => None,
    }
}
