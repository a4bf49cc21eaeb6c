//! The rest of a simulated node while nothing can happen in its store.

use std::time::Duration;

use scheduler_node::{Request, Tick};
use scheduler_store::{Model, SessionId};

use crate::base::sync::{Mutex, MutexGuard};

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
        self.state.lock()
    }
}
