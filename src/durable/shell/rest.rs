//! Rests simulated nodes while nothing can happen in their store.

use std::fmt;
use std::sync::{PoisonError, Weak};
use std::time::Duration;

use scheduler_node::{Request, Tick};
use scheduler_store::{Model, SessionId};

use super::effects::Shell;
use crate::sync::{Mutex, MutexGuard};

/// The nodes of a simulation. While nobody changes the store, their polls and renewals find and change nothing: a node that
/// rests sends none, and time may go on to the next instant at which something is due.
#[derive(Default)]
pub(crate) struct SimulatedNodes(Mutex<Vec<SimulatedNode>>);

#[derive(Clone)]
struct SimulatedNode {
    life: usize,
    shell: Weak<Shell>,
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
    /// Until when the node rests.
    until: Option<Tick>,
}

impl SimulatedNodes {
    pub(crate) fn add(&self, life: usize, shell: Weak<Shell>) {
        self.lock().push(SimulatedNode { life, shell });
    }

    /// Has nodes rest that have nothing to do, unless `may_rest` is false, and the others work. To be called before time
    /// moves, and after it has moved before anything else happens.
    pub(crate) fn settle(&self, may_rest: bool, is_awake: impl Fn(usize) -> bool) {
        let nodes = self.lock().clone();
        let nodes = nodes.iter().filter_map(|node| Some((node.life, node.shell.upgrade()?)));
        let nodes: Vec<_> = nodes.filter(|(_, shell)| shell.rest.is_some()).collect();
        let (awake, frozen): (Vec<_>, Vec<_>) =
            nodes.into_iter().partition(|(life, _)| is_awake(*life));
        frozen.iter().for_each(|(_, shell)| shell.rest_until(None));
        awake.iter().for_each(|(_, shell)| shell.catch_up());
        let reached = awake.iter().filter(|(_, shell)| shell.reaches_store());
        let sessions: Vec<SessionId> = reached.filter_map(|(_, shell)| shell.session()).collect();
        awake.iter().for_each(|(_, shell)| shell.settle(may_rest, &sessions));
    }

    /// The clock of the store was set: all nodes have to ask for it.
    pub(crate) fn clock_was_set(&self) {
        let nodes = self.lock().clone();
        for shell in nodes.iter().filter_map(|node| node.shell.upgrade()) {
            if let Some(rest) = &shell.rest {
                rest.lock().seen = None;
            }
        }
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

    /// Until when the node rests, if it does.
    pub(super) fn until(&self) -> Option<Tick> {
        self.lock().until
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shell {
    /// Ends the rest. The timer is still to be armed.
    pub(super) fn work(&self) {
        if let Some(rest) = &self.rest {
            rest.lock().until = None;
        }
    }

    fn session(&self) -> Option<SessionId> {
        self.node().session()
    }

    fn reaches_store(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| !rest.store.is_cut())
    }

    /// Takes the requests as sent that the node has skipped while it rested.
    fn catch_up(&self) {
        let Some(rest) = self.rest.as_ref().filter(|rest| rest.until().is_some()) else { return };
        let now = self.now();
        let renewed = self.node().skip_to(now);
        if let Some((session, at)) = renewed {
            let at = rest.store.now().before(now.since(at));
            rest.store.was_renewed(session, rest.lease, at);
        }
    }

    /// Rests if the node has nothing to do, and all sessions are those of living nodes.
    fn settle(&self, may_rest: bool, sessions: &[SessionId]) {
        let Some(rest) = &self.rest else { return };
        let is_current = rest.lock().seen == Some(rest.store.changes());
        let may_rest = may_rest && is_current && self.reaches_store();
        let until = may_rest.then(|| self.node().rests_until(self.now())).flatten();
        let until = until.filter(|_| rest.store.has_only(sessions));
        self.rest_until(until);
    }

    fn rest_until(&self, until: Option<Tick>) {
        let Some(rest) = &self.rest else { return };
        let before = std::mem::replace(&mut rest.lock().until, until);
        if before != until {
            self.rearm();
        }
    }
}

impl fmt::Debug for SimulatedNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimulatedNodes").field(&self.lock().len()).finish()
    }
}
