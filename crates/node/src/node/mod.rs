//! The node: one process among those that share a store.
//!
//! [`Node`] decides what this process asks the store, which jobs it starts, and when it must stop believing in its own
//! session. It is a state machine: [`Node::step`] takes an input and an instant, and leaves effects in a list. It reads
//! no clock, waits for nothing, takes no lock, sends nothing itself, and draws random numbers from its seed only.
//!
//! ```text
//! session:  none -> opening -> open -> lost -> opening …     (each open has a new identity)
//! job:      claimed -> begun -> ended -> finished            (claimed -> withdrawn -> given back)
//! node:     working -> stopping -> stopped
//! ```
//!
//! A *channel* is a thread with a connection: one for renewals, one for everything else, each with one request in flight at
//! most. A request that was given up may still be executed, until its `not_after`; its answer is never used.

mod answer;
mod fire;
mod jobs;
mod session;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{
    CLOCK_OFF, ClaimRef, DueSchedule, Fence, Finish, JobId, JobProgress, SessionId, StoreTime,
    StoredJob, micros,
};

use crate::claims::Claims;
use crate::config::{Config, Rules};
use crate::effect::{Channel, Effect, Input, NodeEvent, Request, RequestId};
use crate::observed::{PeerLeases, StoreBackoff, StoreClock};
use crate::rng::Rng;

/// The greatest number of claims that one request ends.
const FINISHES_MAX: usize = 1_000;

/// One process among those that share a store, as a state machine without I/O.
///
/// Its instants are of a clock that also runs while the machine is suspended: they say when to ask the store, and how long a
/// lease is valid.
#[derive(Clone, Debug)]
pub struct Node {
    config: Arc<Config>,
    rules: Arc<dyn Rules>,
    rng: Rng,
    clock: StoreClock,
    backoff: StoreBackoff,
    peers: PeerLeases,
    phase: NodePhase,
    /// True if people have paused this process.
    is_paused: bool,
    /// By how many microseconds the clock of this process is ahead of the store's.
    clock_offset: Option<i64>,
    /// True from the report that it is too much until it is not.
    is_clock_off: bool,

    session: Option<Session>,
    /// The last session of this process, until a further one was opened.
    former: Option<SessionId>,
    /// When the first session was opened, by the store's clock (R15).
    first_opened: Option<StoreTime>,
    is_registered: bool,
    /// True if another transaction has locked a schedule that is to be registered.
    is_register_locked: bool,

    claims: Claims,
    /// The ends of claims that the store does not know yet.
    finishes: Vec<Finish>,
    /// The greatest number of ends in one request: half as many after each request that failed, which may have been too long.
    finish_limit: usize,
    /// Ends of jobs that another transaction has locked. They are sent again a little later.
    locked: Vec<Finish>,
    /// The jobs of those ends that may park them.
    failing: BTreeMap<(JobId, Fence), Arc<StoredJob>>,
    /// The jobs that were parked as lost, while a run of this process goes on or its end is not stored.
    parked_as_lost: BTreeMap<(JobId, Fence), Box<StoredJob>>,
    /// A claim whose answer is unknown may be executed until then (R1).
    uncertain_until: Option<StoreTime>,
    /// Schedules that have something to decide.
    due: Vec<DueSchedule>,
    /// By schedule: whether the end of a job makes something due.
    has_follow_up: BTreeMap<String, bool>,
    /// By schedule: whether its jobs keep each other out, as it was last read.
    exclusive: BTreeMap<String, bool>,
    /// By schedule: the rule that was reported as another build's, or as one that cannot be read.
    muted_schedules: BTreeMap<String, String>,

    /// By request: when it was last told that the store answers with an error.
    refused: BTreeMap<&'static str, Tick>,

    store: Option<InFlight>,
    lease: Option<InFlight>,
    last_request: u64,
    /// True if the last request was [`Request::Finish`], so that others have their turn.
    was_finish: bool,
    /// True if [`Request::Fire`] came after the last poll, so that jobs are claimed in between.
    was_fire: bool,
    /// True if more jobs may be due than were claimed.
    may_have_more: bool,
    /// True if as many jobs of a task or a partition run as may: the end of one makes room for another.
    is_full: bool,
    /// True if more jobs may be due that run at most once (`on_lost = abandon`).
    wants_abandon: bool,
    /// True if more jobs may be due that were lost before.
    wants_quarantined: bool,
    /// The tasks that may have more due jobs than could be claimed, by their indexes.
    saturated_tasks: Vec<usize>,
    /// True if something may have become due since the last poll was sent.
    is_nudged: bool,
    /// True if a run has ended whose end may make something due that the store has to be asked for.
    is_followed: bool,
    /// When the thread of the store was last seen to make progress (R20).
    progress: Tick,
    deadlines: Deadlines,
}

/// When something is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Deadlines {
    /// Register the schedules of the program.
    register: Tick,
    poll: Tick,
    /// The next poll if nothing is known to be due before.
    routine: Tick,
    /// When the store has said that something is due.
    known: Tick,
    /// See the leases of the others with the next poll.
    leases: Tick,
    fire: Tick,
    reap: Tick,
    prune: Tick,
    /// Compare the jobs of the session with those in hand (R1).
    compare: Tick,
    /// Give back what has waited for too long.
    stale: Tick,
    /// Send again what was locked.
    unlock: Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NodePhase {
    Working,
    Stopping,
    Stopped,
}

/// A session that is open, as far as this process knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Session {
    id: SessionId,
    /// The lease counts until then: from before its last acknowledged renewal was sent.
    valid_until: Tick,
    renew_at: Tick,
}

/// A request that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InFlight {
    id: RequestId,
    what: Request,
    sent: Tick,
}

impl Node {
    /// A node that has asked nothing yet. The seed of the rng has to differ from process to process. `wall` is what the process's
    /// clock shows now, by which only its first session is named.
    #[must_use]
    pub fn new(
        config: Arc<Config>,
        rules: Arc<dyn Rules>,
        rng: Rng,
        now: Tick,
        wall: StoreTime,
    ) -> Self {
        let deadlines = Deadlines {
            register: now,
            poll: now,
            routine: now,
            known: Tick::MAX,
            leases: now,
            fire: Tick::MAX,
            reap: now + config.reap_every,
            prune: now + config.prune_every,
            compare: now + config.compare_every,
            stale: Tick::MAX,
            unlock: Tick::MAX,
        };
        Self {
            is_registered: config.definitions.is_empty() && config.limits.is_empty(),
            is_register_locked: false,
            config,
            rules,
            rng,
            clock: StoreClock::new(wall, now),
            backoff: StoreBackoff::default(),
            peers: PeerLeases::default(),
            phase: NodePhase::Working,
            is_paused: false,
            clock_offset: None,
            is_clock_off: false,
            session: None,
            former: None,
            first_opened: None,
            claims: Claims::default(),
            finishes: Vec::new(),
            finish_limit: FINISHES_MAX,
            locked: Vec::new(),
            failing: BTreeMap::new(),
            parked_as_lost: BTreeMap::new(),
            uncertain_until: None,
            due: Vec::new(),
            has_follow_up: BTreeMap::new(),
            exclusive: BTreeMap::new(),
            muted_schedules: BTreeMap::new(),
            refused: BTreeMap::new(),
            store: None,
            lease: None,
            last_request: 0,
            was_finish: false,
            was_fire: false,
            may_have_more: false,
            is_full: false,
            wants_abandon: false,
            wants_quarantined: false,
            saturated_tasks: Vec::new(),
            is_nudged: false,
            is_followed: false,
            progress: now,
            deadlines,
        }
    }

    /// The session that is open, as far as this process knows.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.session.map(|session| session.id)
    }

    /// The instant until which the lease of the session counts, unless it is renewed; none without a session.
    #[must_use]
    pub fn lease_until(&self) -> Option<Tick> {
        self.session.map(|session| session.valid_until)
    }

    /// The store's clock now, as far as it is known: not later than it really is.
    #[must_use]
    pub fn store_time(&self, now: Tick) -> Option<StoreTime> {
        self.clock.earliest(now)
    }

    /// The latest instant at which the store may execute a request that is sent now; for what the program itself asks, such as an
    /// enqueue. None while the store's clock is not known.
    #[must_use]
    pub fn not_after(&self, now: Tick) -> Option<StoreTime> {
        self.clock.latest(now).map(|latest| latest.after(self.config.answer_limit))
    }

    /// By how many microseconds the clock of this process is ahead of the store's; none while that is not known.
    #[must_use]
    pub fn clock_offset(&self) -> Option<i64> {
        self.clock_offset
    }

    /// Compares the clock of this process, which shows this, with the store's.
    pub fn observe_wall(&mut self, wall: StoreTime, now: Tick, effects: &mut Vec<Effect>) {
        self.clock_offset = self.clock.offset_of(wall, now);
        let offset = self.clock_offset.unwrap_or_default().unsigned_abs();
        let limit = if self.is_clock_off { CLOCK_OFF / 2 } else { CLOCK_OFF };
        let is_off = offset > micros(limit).unsigned_abs();
        if is_off && !self.is_clock_off {
            let offset = self.clock_offset.unwrap_or_default();
            effects.push(Effect::Event(NodeEvent::ClockOff { offset }));
        }
        self.is_clock_off = is_off;
    }

    /// The number of runs in progress.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.claims.begun()
    }
}

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
        self.claims.forget_starved(now);
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

    /// A run reports how far it has come. The next renewal of the lease has it, and so has the end of the run.
    pub fn report_progress(&mut self, held: ClaimRef, progress: JobProgress) {
        if let Some(claim) = self.claims.get_mut(held) {
            claim.progress = Some(progress);
        }
    }

    /// Renews the lease with the next step.
    #[doc(hidden)]
    pub fn renew_soon(&mut self, now: Tick) {
        if let Some(session) = &mut self.session {
            session.renew_at = session.renew_at.min(now);
        }
    }

    /// When a thread has to look again, by [`Input::Timer`], if nothing happens before; none while it waits for an answer.
    #[must_use]
    pub fn wake(&self, channel: Channel) -> Option<Tick> {
        if self.phase == NodePhase::Stopped {
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
            (None, NodePhase::Working) => ready,
            (None, _) => heartbeat,
            // A renewal asks for the store's clock first.
            (Some(_), _) if self.not_after(self.progress).is_none() => heartbeat,
            (Some(_), NodePhase::Working) => {
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
    fn withdraw(&mut self, jobs: &[ClaimRef], now: Tick, effects: &mut Vec<Effect>) {
        for held in jobs {
            // INVARIANT: what is given back is not in hand, so that it cannot begin (R20).
            let Some(job) = self.claims.remove(*held, now) else { continue };
            effects.push(Effect::Withdraw(*held));
            let end = scheduler_store::End::GiveBack;
            self.finishes.push(Finish::new(job.session, *held, end));
        }
    }

    fn give_back_stale(&mut self, now: Tick, effects: &mut Vec<Effect>) {
        let limit = self.config.lease / 2;
        let mut stale = self.claims.waiting(|job| now.since(job.claimed) >= limit);
        stale.extend(self.claims.find_starved(&self.config, now));
        self.withdraw(&stale, now, effects);
        let oldest = self.claims.oldest_waiting().map(|claimed| claimed + limit);
        let next = oldest.into_iter().chain(self.claims.next_starved(now));
        self.deadlines.stale = next.min().unwrap_or(Tick::MAX);
    }
}

impl Node {
    /// The end of the time in which this node only sends polls, renewals and searches that find nothing, if nothing changes the store
    /// meanwhile. None if it has something to do.
    #[doc(hidden)]
    #[must_use]
    pub fn rests_until(&self, now: Tick) -> Option<Tick> {
        let deadlines = &self.deadlines;
        let is_open = self.phase == NodePhase::Working
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
