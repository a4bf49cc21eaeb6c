//! Rests simulated nodes while nothing can happen in their store.

use std::fmt;
use std::sync::{PoisonError, Weak};
use std::time::Duration;

use scheduler_node::{Request, Tick};
use scheduler_store::{Model, SessionId};

use crate::sync::{Mutex, MutexGuard};

/// The nodes of a simulation. While nothing changes the store, their polls and renewals find and change nothing: a node that
/// rests sends none, and time may go on to the next instant at which something is due.
#[derive(Default)]
pub(crate) struct SimulatedNodes(Mutex<Vec<SimulatedNode>>);

#[derive(Clone)]
struct SimulatedNode {
    life: usize,
    driver: Weak<dyn Resting>,
}

/// A driver whose node may rest.
pub(crate) trait Resting: Send + Sync {
    /// Ends the rest.
    fn work_on(&self);

    /// Takes the requests as sent that the node has skipped while it rested.
    fn catch_up(&self);

    /// The session of the node, if it reaches the store and so keeps its lease.
    fn kept_session(&self) -> Option<SessionId>;

    /// Rests if the node has nothing to do, and these are all sessions.
    fn settle(&self, may_rest: bool, sessions: &[SessionId]);

    /// The node has to ask the store before it may rest again.
    fn disturb(&self);
}

/// The rest of a node on the store of its simulation.
pub(crate) struct Rest {
    store: Model,
    lease: Duration,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// The changes of the store that the last poll has seen; none if something else has changed since.
    seen: Option<u64>,
    /// The end of the node's rest.
    until: Option<Tick>,
}

impl SimulatedNodes {
    pub(crate) fn add(&self, life: usize, driver: Weak<dyn Resting>) {
        self.lock().push(SimulatedNode { life, driver });
    }

    /// Has nodes rest that have nothing to do, unless `may_rest` is false, and the others work. To be called before time
    /// moves, and after it has moved before anything else happens.
    pub(crate) fn settle(&self, may_rest: bool, is_awake: impl Fn(usize) -> bool) {
        let nodes = self.lock().clone();
        let nodes = nodes.iter().filter_map(|node| Some((node.life, node.driver.upgrade()?)));
        let (awake, frozen): (Vec<_>, Vec<_>) = nodes.partition(|(life, _)| is_awake(*life));
        frozen.iter().for_each(|(_, driver)| driver.work_on());
        awake.iter().for_each(|(_, driver)| driver.catch_up());
        let sessions: Vec<SessionId> =
            awake.iter().filter_map(|(_, driver)| driver.kept_session()).collect();
        awake.iter().for_each(|(_, driver)| driver.settle(may_rest, &sessions));
    }

    /// The clock of the store was set: all nodes have to ask for it.
    pub(crate) fn clock_was_set(&self) {
        let nodes = self.lock().clone();
        nodes.iter().filter_map(|node| node.driver.upgrade()).for_each(|driver| driver.disturb());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SimulatedNode>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rest {
    pub(crate) fn new(store: Model, lease: Duration) -> Self {
        Self { store, lease, state: Mutex::default() }
    }

    /// Takes note of what a poll that is sent now sees.
    pub(super) fn asks(&self, what: &Request) {
        if matches!(what, Request::Poll(_)) {
            self.lock().seen = Some(self.store.changes());
        }
    }

    /// The end of the node's rest, if it rests.
    pub(super) fn until(&self) -> Option<Tick> {
        self.lock().until
    }

    /// Sets until when the node rests. Returns true if that is another instant than before.
    pub(super) fn set_until(&self, until: Option<Tick>) -> bool {
        std::mem::replace(&mut self.lock().until, until) != until
    }

    /// The node has to ask the store before it may rest again.
    pub(super) fn disturb(&self) {
        self.lock().seen = None;
    }

    pub(super) fn reaches_store(&self) -> bool {
        !self.store.is_cut()
    }

    /// The lease was renewed that long ago.
    pub(super) fn was_renewed(&self, session: SessionId, ago: Duration) {
        self.store.was_renewed(session, self.lease, self.store.now().before(ago));
    }

    /// Returns true if nothing has changed the store since the last poll, and these are all sessions.
    pub(super) fn is_unchanged(&self, sessions: &[SessionId]) -> bool {
        self.lock().seen == Some(self.store.changes()) && self.store.has_only(sessions)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SimulatedNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimulatedNodes").field(&self.lock().len()).finish()
    }
}
