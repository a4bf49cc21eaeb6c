//! The parts of a scheduler that a simulation replaces.

use std::fmt;
use std::sync::Arc;

use scheduler_core::VirtualWorkers;

use crate::observe::Listener;
use crate::run::inject::Call;

/// The worker, the number and the name of a simulated node.
#[derive(Debug)]
#[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "there is no node"))]
pub(crate) struct SimulatedNode {
    /// Its worker, for which `run_until_idle` does not wait.
    pub(crate) workers: VirtualWorkers,
    /// The life of a process to which it belongs. Each draws other numbers.
    pub(crate) life: usize,
    /// The name of its process.
    pub(crate) label: String,
    /// All nodes of the simulation.
    #[cfg(feature = "durable")]
    pub(crate) nodes: Arc<crate::durable::SimulatedNodes>,
}

/// Runs a scheduler on one thread, by a clock of its own.
pub(crate) trait Simulation: fmt::Debug + Send + Sync {
    /// The workers of one more pool.
    fn workers(&self) -> VirtualWorkers;

    /// The worker, the number and the name of the node.
    #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "there is no node"))]
    fn node(&self) -> SimulatedNode;

    /// The size of a pool without a size. It must not depend on the machine.
    fn pool_size(&self) -> usize;

    /// The function to call in place of a task.
    fn wrap_call(&self, task: &Arc<str>, call: Call) -> Call;

    /// A listener that is called in place.
    fn listener(&self) -> Arc<dyn Listener>;

    /// The listener to call in place of one of the program's.
    #[cfg(feature = "testing")]
    fn wrap_listener(&self, listener: Arc<dyn Listener>) -> Arc<dyn Listener>;
}
