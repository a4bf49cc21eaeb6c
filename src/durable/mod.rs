//! Durable schedules and jobs, between the program and its node.
//!
//! Code makes [`Job`]s and hands them to [`Jobs`], which enqueues them, and asks and controls the store. The node gets
//! [`NodeInput`]: the store behind the [`Client`], the tasks that run jobs, and the durable schedules with what computes
//! their ticks. A claimed job is given to its task by [`Control::start_job`](crate::task::Control::start_job), and is run by
//! the same code as every other run.
//!
//! | files | what |
//! |---|---|
//! | `job`, `payload`, `partition` | a job as code makes it; its argument as JSON; the partition as a text |
//! | `client`, `jobs_async` | the one way to the store, with an estimate of its clock; threads that ask for async code |
//! | `jobs`, `outbox`, `schedules`, `pauses`, `limits`, `error` | the handle: enqueue, also in a transaction of the program; ask; control |
//! | `rule` | from a planned task to the rule in the store, and from the rule to its ticks |
//! | `node`, `node_options`, `driver` | the node of this process: its parts, its options, its threads |
//!
//! The store decides when a job runs. The only clock is the scheduler's, and the only way to enqueue is [`Jobs`].
//!
//! A job is made, and is then accepted, kept out by its key, not accepted, or of unknown fate: then it is the same job, with
//! the same identity, that is sent again (R3). No job is reported as not accepted when its fate is unknown.
//!
//! The start makes the handle before arguments are resolved, gives it the planned tasks, and hands the parts to the node.

mod actions;
mod client;
mod driver;
mod error;
mod job;
mod jobs;
mod jobs_async;
mod limits;
mod node;
mod node_options;
mod outbox;
mod partition;
mod pauses;
mod payload;
mod rule;
mod schedules;
#[cfg(test)]
mod tests;

pub(crate) use actions::OnAction;
pub use actions::new_action;
pub(crate) use client::{Client, StoreCell};
pub(crate) use driver::SimulatedNodes;
pub use error::{EnqueueError, JobsError, UnknownTask, Unsent};
pub use job::Job;
#[cfg(feature = "testing")]
pub(crate) use job::identities_from;
pub use jobs::Jobs;
pub(crate) use jobs::KnownTask;
pub use limits::Limit;
pub(crate) use node::{DurableSchedule, JobTask, Node, NodeInput, NodeSetup, Simulated, process};
pub(crate) use node_options::JobKinds;
pub use node_options::NodeOptions;
pub use outbox::{EnqueueIn, EnqueueInAsync};
pub use partition::Partition;
pub(crate) use pauses::OnPause;
pub use payload::Payload;
pub(crate) use payload::{decode, decoded, stringify_error};
pub(crate) use rule::{faults, options_of};
pub use schedules::Schedules;
