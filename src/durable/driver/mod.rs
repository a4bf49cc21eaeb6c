//! The threads and the clock of this process's node, and its runs.
//!
//! The [node](scheduler_node::Node) decides; a [`NodeDriver`] does. It passes inputs to the node, sends the node's requests to the
//! store, starts claimed jobs as runs of tasks, and reports events.
//!
//! ```text
//! scheduler-node    steps the node when its time has come
//! scheduler-store   asks the store for everything but renewals
//! scheduler-lease   renews the lease, so that a slow claim never delays that
//! scheduler-watch   waits for changes by other processes, if the store can report them
//! ```
//!
//! It decides nothing about jobs, and performs no effect under the lock of the node: a run that begins asks the node under
//! the lock of its task, so the lock of the node is always the last one.
//!
//! A request that is not answered at its deadline is given up, and the node takes it for one whose answer is lost: another
//! thread asks on, and the one that hangs ends with its call.
//!
//! It works until [`NodeDriver::stop`]; then the node gives back what never began, waits for its runs, and ends its session.

mod channel;
mod events;
#[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "only a simulated node rests"))]
mod node_driver;
mod rest;
#[cfg(test)]
mod tests;

pub(super) use events::Reports;
pub(crate) use node_driver::SimulatedNodes;
pub(super) use node_driver::{DriverParts, NodeDriver};
pub(super) use rest::Rest;
