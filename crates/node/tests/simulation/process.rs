//! A simulated process: its clock, its node, its workers.

use std::sync::Arc;
use std::time::Duration;

use crate::pool::Pool;
use crate::setup::Setup;
use scheduler_node::Channel;
use scheduler_node::Config;
use scheduler_node::Node;
use scheduler_node::Rng;
use scheduler_node::Tick;

/// A process that a supervisor starts again when it has died.
#[derive(Debug)]
pub(crate) struct Process {
    /// The number of starts.
    pub(crate) life: u64,
    /// None while it is down.
    pub(crate) node: Option<Node>,
    pub(crate) config: Arc<Config>,
    pub(crate) pool: Pool,
    /// When each thread looks again, by true time.
    pub(crate) wakes: [Option<u64>; 2],
    pub(crate) frozen_until: u64,
    /// True if the thread of the store hangs.
    pub(crate) is_hung: bool,
    pub(crate) is_other_build: bool,
    /// The drift of its clock, in millionths more than true time.
    drift: i64,
    offset: u64,
}

impl Process {
    pub(crate) fn new(index: usize, setup: &Setup, rng: &mut Rng) -> Self {
        let drift = i64::try_from(rng.below(801)).unwrap_or(0) - 400;
        Self {
            life: 0,
            node: None,
            config: Arc::new(setup.config(index, false, rng)),
            pool: Pool::default(),
            wakes: [None; 2],
            frozen_until: 0,
            is_hung: false,
            is_other_build: false,
            drift,
            offset: rng.below(1 << 40),
        }
    }

    /// It starts with one of two builds, or with the newer one because the deploy is complete.
    pub(crate) fn start(
        &mut self,
        index: usize,
        setup: &Setup,
        is_deployed: bool,
        now: u64,
        rng: &mut Rng,
    ) {
        self.life += 1;
        // A deploy, or a rollback.
        self.is_other_build = setup.builds && (is_deployed || rng.below(2) == 0);
        self.config = Arc::new(setup.config(index, self.is_other_build, rng));
        let seed = (u128::from(rng.number()) << 64) | u128::from(rng.number());
        let rules = Arc::clone(&setup.rules);
        let now = self.tick(now);
        self.node = Some(Node::new(
            Arc::clone(&self.config),
            rules,
            Rng::new(seed),
            now,
            scheduler_store::StoreTime::default(),
        ));
        self.pool = Pool::default();
        (self.wakes, self.frozen_until, self.is_hung) = ([None; 2], 0, false);
    }

    pub(crate) fn die(&mut self) {
        (self.node, self.pool, self.wakes) = (None, Pool::default(), [None; 2]);
        self.frozen_until = 0;
    }

    /// Its clock, at an instant of true time.
    pub(crate) fn tick(&self, now: u64) -> Tick {
        let drifted = i128::from(now) * i128::from(1_000_000 + self.drift) / 1_000_000;
        Tick::from_nanos(self.offset + u64::try_from(drifted).unwrap_or(0))
    }

    /// The first instant of true time at which its clock shows that tick.
    pub(crate) fn true_time(&self, tick: Tick) -> u64 {
        let since = i128::from(tick.as_nanos()) - i128::from(self.offset);
        let true_time = since * 1_000_000 / i128::from(1_000_000 + self.drift);
        u64::try_from(true_time).unwrap_or(0).saturating_add(2)
    }

    pub(crate) fn is_frozen(&self, now: u64) -> bool {
        now < self.frozen_until
    }

    pub(crate) fn lease(&self) -> Duration {
        self.config.lease
    }

    pub(crate) fn index_of(channel: Channel) -> usize {
        match channel {
            Channel::Store => 0,
            Channel::Lease => 1,
        }
    }
}
