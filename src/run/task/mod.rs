//! One scheduled task: when it runs, what becomes of runs that overlap, and its commands.
//!
//! # What this room is for
//!
//! A [`ScheduledTask`] is a timer of the engine that re-arms itself before it starts a run, so that a run that hangs
//! does not hold back its schedule. A *run* has one or more *attempts*; an attempt is one call of the function, by the
//! same code for every kind of task.
//!
//! ```text
//! timer fires -> settle -> decide -> arm the timer -> unlock -> gates -> attempt
//! attempt over -> settle -> next attempt, or end of the run -> arm the timer -> unlock -> events
//! ```
//!
//! | layer | files | knows | never |
//! |---|---|---|---|
//! | plain data | `rule`, `policy`, `jitter`, `fire_times`, `fired_intervals`, `trigger_query`, `pause`, `planner`, `request` | fire times, policies | a clock, a lock, the user's code |
//! | shell | `gate`, `inner`, `scheduled_task`, `effects`, `locked_task`, `runs`, `attempt`, `fire`, `jobs` | the lock, the timer, runs, events | decides about fire times |
//! | commands | `control`, `manual`, `wait`, `snapshot`, `error` | the commands and questions a task answers | starts a run by itself |
//!
//! # What it must never do
//!
//! Run code of the user's while a task is locked: a trigger, a body, a gate, a listener, a destructor. Let anything that may be
//! slow run between the start of a run and its body. Skip a fire time without an event and a count.
//!
//! # States
//!
//! A task is disabled, or begins and waits, until it has ended. A run in progress is at its gates, in an attempt, or waits
//! for its next attempt. A fire time is next, waits, follows a run, or is decided; see [`planner`].
//!
//! # How a neighbour uses it
//!
//! The runner makes a [`Control`] of each [`TaskSpec`], and has it [begin](Control::begin).

mod attempt;
#[cfg(feature = "__bench")]
mod bench;
mod control;
mod effects;
mod error;
mod fire;
mod fire_times;
mod fired_intervals;
mod gate;
mod inner;
mod jitter;
mod jobs;
mod lazy_box;
mod locked_task;
mod manual;
mod pause;
mod planner;
mod policy;
mod request;
mod rule;
mod runs;
mod scheduled_task;
mod snapshot;
mod spec;
#[cfg(test)]
mod tests;
mod trigger_query;
#[cfg(feature = "testing")]
mod upcoming;
mod wait;

#[cfg(feature = "__bench")]
pub use bench::BenchTask;
pub(crate) use control::{Control, NotBegun};
pub use error::ControlError;
pub(crate) use gate::Gates;
pub use gate::{Admission, AsyncGate, Gate, GateContext, GateError, GateFuture, Permit};
pub use manual::ManualRun;
pub(crate) use policy::{Policy, Retry};
pub(crate) use rule::Rule;
pub(crate) use scheduled_task::{OnEnd, ScheduledTask, TaskEnv};
pub(crate) use spec::{DurableOptions, TaskSpec};
#[cfg(feature = "testing")]
pub(crate) use upcoming::upcoming;
pub use wait::Until;
