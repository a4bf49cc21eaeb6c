//! The state of a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler_expr::Tick;
use scheduler_store::{DueSchedule, Fence, Finish, JobId, SessionId, StoreTime, StoredJob};

use crate::backoff::StoreBackoff;
use crate::claims::Claims;
use crate::clock::StoreClock;
use crate::config::Config;
use crate::peers::PeerLeases;
use crate::request::{Request, RequestId};
use crate::rng::Rng;
use crate::rule::Rules;

/// The greatest number of claims that one request ends.
pub(super) const FINISHES_MAX: usize = 1_000;

/// One process among those that share a store, as a state machine without I/O.
///
/// Its instants are of a clock that also runs while the machine is suspended: they say when to ask the store, and how long a
/// lease is valid.
#[derive(Clone, Debug)]
pub struct Node {
    pub(super) config: Arc<Config>,
    pub(super) rules: Arc<dyn Rules>,
    pub(super) rng: Rng,
    pub(super) clock: StoreClock,
    pub(super) backoff: StoreBackoff,
    pub(super) peers: PeerLeases,
    pub(super) phase: Phase,

    pub(super) session: Option<Session>,
    /// The last session of this process, until a further one was opened.
    pub(super) former: Option<SessionId>,
    /// When the first session was opened, by the store's clock (R15).
    pub(super) first_opened: Option<StoreTime>,
    pub(super) is_registered: bool,
    /// True if another transaction has locked a schedule that is to be registered.
    pub(super) is_register_locked: bool,

    pub(super) claims: Claims,
    /// The ends of claims that the store does not know yet.
    pub(super) finishes: Vec<Finish>,
    /// The greatest number of ends in one request: half as many after each request that failed, which may have been too long.
    pub(super) finish_limit: usize,
    /// Ends of jobs that another transaction has locked. They are sent again a little later.
    pub(super) locked: Vec<Finish>,
    /// The jobs of those ends that may park them.
    pub(super) failing: BTreeMap<(JobId, Fence), Arc<StoredJob>>,
    /// The jobs that were parked as lost, while a run of this process goes on or its end is not stored.
    pub(super) parked_as_lost: BTreeMap<(JobId, Fence), Box<StoredJob>>,
    /// A claim whose answer is unknown may be executed until then (R1).
    pub(super) uncertain_until: Option<StoreTime>,
    /// Schedules that have something to decide.
    pub(super) due: Vec<DueSchedule>,
    /// By schedule: whether the end of a job makes something due.
    pub(super) has_follow_up: BTreeMap<String, bool>,
    /// By schedule: whether its jobs keep each other out, as it was last read.
    pub(super) exclusive: BTreeMap<String, bool>,
    /// By schedule: the rule that was reported as another build's, or as one that cannot be read.
    pub(super) muted_schedules: BTreeMap<String, String>,

    /// By request: when it was last told that the store answers with an error.
    pub(super) refused: BTreeMap<&'static str, Tick>,

    pub(super) store: Option<InFlight>,
    pub(super) lease: Option<InFlight>,
    pub(super) last_request: u64,
    /// True if the last request was [`Request::Finish`], so that others have their turn.
    pub(super) was_finish: bool,
    /// True if [`Request::Fire`] came after the last poll, so that jobs are claimed in between.
    pub(super) was_fire: bool,
    /// True if more jobs may be due than were claimed.
    pub(super) may_have_more: bool,
    /// True if more jobs may be due that begin at once or not at all.
    pub(super) wants_abandon: bool,
    /// True if more jobs may be due that were lost before.
    pub(super) wants_quarantined: bool,
    /// The tasks that may have more due jobs than could be claimed, by their indexes.
    pub(super) saturated_tasks: Vec<usize>,
    /// True if something may have become due since the last poll was sent.
    pub(super) is_nudged: bool,
    /// True if a run has ended whose end may make something due that the store has to be asked for.
    pub(super) is_followed: bool,
    /// When the thread of the store was last seen to make progress (R20).
    pub(super) progress: Tick,
    pub(super) deadlines: Times,
}

/// When something is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Times {
    /// Register the schedules of the program.
    pub(super) register: Tick,
    pub(super) poll: Tick,
    /// The next poll if nothing is known to be due before.
    pub(super) routine: Tick,
    /// When the store has said that something is due.
    pub(super) known: Tick,
    /// See the leases of the others with the next poll.
    pub(super) leases: Tick,
    pub(super) fire: Tick,
    pub(super) reap: Tick,
    pub(super) prune: Tick,
    /// Compare the jobs of the session with those in hand (R1).
    pub(super) compare: Tick,
    /// Give back what has waited for too long.
    pub(super) stale: Tick,
    /// Send again what was locked.
    pub(super) unlock: Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Working,
    Stopping,
    Stopped,
}

/// A session that is open, as far as this process knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Session {
    pub(super) id: SessionId,
    /// The lease counts until then: from before its last acknowledged renewal was sent.
    pub(super) valid_until: Tick,
    pub(super) renew_at: Tick,
}

/// A request that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InFlight {
    pub(super) id: RequestId,
    pub(super) what: Request,
    pub(super) sent: Tick,
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
        let deadlines = Times {
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
            is_registered: config.definitions.is_empty(),
            is_register_locked: false,
            config,
            rules,
            rng,
            clock: StoreClock::new(wall, now),
            backoff: StoreBackoff::default(),
            peers: PeerLeases::default(),
            phase: Phase::Working,
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

    /// The number of runs in progress.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.claims.begun()
    }
}
