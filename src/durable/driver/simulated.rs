//! A simulated node: it is stepped by a timer, and rests while nothing can happen.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use scheduler_core::{
    Clock, Due, Error, Fire, Fired, Now, Run, ScheduledThreadPool, Timer, VirtualWorkers,
};
use scheduler_node::{Request, Tick};
use scheduler_store::{Model, SessionId};

use super::NodeDriver;
use crate::base::sync::{Mutex, MutexGuard};

/// The nodes of a simulation. While nothing changes the store, their polls and renewals find and change nothing: a node that
/// rests sends none, and time may go on to the next instant at which something is due.
#[derive(Default)]
pub(crate) struct SimulatedNodes(Mutex<Vec<RunningNode>>);

#[derive(Clone)]
struct RunningNode {
    life: usize,
    driver: Weak<NodeDriver>,
}

impl SimulatedNodes {
    pub(crate) fn add(&self, life: usize, driver: Weak<NodeDriver>) {
        self.lock().push(RunningNode { life, driver });
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

    fn lock(&self) -> MutexGuard<'_, Vec<RunningNode>> {
        self.0.lock()
    }
}

impl fmt::Debug for SimulatedNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimulatedNodes").field(&self.lock().len()).finish()
    }
}

/// A simulated node rests, and goes on.
impl NodeDriver {
    fn work_on(&self) {
        if self.rest.as_ref().is_some_and(|rest| rest.set_until(None)) {
            self.rearm();
        }
    }

    fn catch_up(&self) {
        let Some(rest) = self.rest.as_ref().filter(|rest| rest.until().is_some()) else { return };
        let now = self.now();
        let renewed = self.node().skip_to(now);
        if let Some((session, at)) = renewed {
            rest.was_renewed(session, now.since(at));
        }
    }

    fn kept_session(&self) -> Option<SessionId> {
        self.rest.as_ref().filter(|rest| rest.reaches_store())?;
        self.node().session()
    }

    fn settle(&self, may_rest: bool, sessions: &[SessionId]) {
        let Some(rest) = &self.rest else { return };
        let may_rest = may_rest && rest.reaches_store() && rest.is_unchanged(sessions);
        let until = may_rest.then(|| self.node().rests_until(self.now())).flatten();
        if rest.set_until(until) {
            self.rearm();
        }
    }

    fn disturb(&self) {
        if let Some(rest) = &self.rest {
            rest.disturb();
        }
    }
}

/// Steps the node whenever its time has come, on a virtual worker of its own.
pub(super) struct NodeTimer {
    /// Keeps the timer's pool.
    _pool: Arc<ScheduledThreadPool>,
    timer: Arc<Timer<Step>>,
}

struct Step(Weak<NodeDriver>);

impl NodeTimer {
    pub(super) fn new(
        driver: Weak<NodeDriver>,
        clock: &Arc<dyn Clock>,
        workers: &VirtualWorkers,
    ) -> Result<Self, Error> {
        let pool = ScheduledThreadPool::builder().core_size(1).clock(Arc::clone(clock));
        let pool = Arc::new(pool.virtual_workers(workers).build()?);
        let timer = pool.timer("scheduler-node", Step(driver));
        Ok(Self { _pool: pool, timer })
    }

    /// Arms the timer.
    pub(super) fn arm(&self, at: Tick, now: Now) {
        self.timer.arm(Due::Tick(at), now).perform();
    }

    /// Disarms the timer.
    pub(super) fn disarm(&self) {
        self.timer.disarm().perform();
    }
}

impl Fire for Step {
    fn fire(timer: &Arc<Timer<Self>>, _run: &Run) -> Fired {
        if let Some(driver) = timer.0.upgrade() {
            driver.step_node();
        }
        Fired::NothingToFinish
    }
}

/// The rest of a node on the store of its simulation.
pub(crate) struct Rest {
    store: Model,
    lease: Duration,
    state: Mutex<RestState>,
}

#[derive(Clone, Copy, Default)]
struct RestState {
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
    fn disturb(&self) {
        self.lock().seen = None;
    }

    fn reaches_store(&self) -> bool {
        !self.store.is_cut()
    }

    /// The lease was renewed that long ago.
    fn was_renewed(&self, session: SessionId, ago: Duration) {
        self.store.was_renewed(session, self.lease, self.store.now().before(ago));
    }

    /// Returns true if nothing has changed the store since the last poll, and these are all sessions.
    fn is_unchanged(&self, sessions: &[SessionId]) -> bool {
        self.lock().seen == Some(self.store.changes()) && self.store.has_only(sessions)
    }

    fn lock(&self) -> MutexGuard<'_, RestState> {
        self.state.lock()
    }
}
