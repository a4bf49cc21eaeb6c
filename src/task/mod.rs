//! One scheduled task: its schedule, its runs and its commands.
//!
//! A [`ScheduledTask`] is a timer of the engine that re-arms itself before it starts a run, so that a run that hangs
//! does not hold back its schedule. A *run* has one or more *attempts*. An attempt is one call of the function, by the
//! same code for every kind of task.
//!
//! To *settle* is to sort the fire times that came since the last look; to *decide* is to choose the one that starts. A
//! *rule* says when fire times come, a *policy* which of them start, and the *planner* applies both. *Gates* are checks of the
//! program that may refuse a run.
//!
//! ```text
//! timer fires -> settle -> decide -> arm the timer -> unlock -> gates -> attempt
//! attempt over -> settle -> next attempt, or end of the run -> arm the timer -> unlock -> events
//! ```
//!
//! | layer | files | knows | never |
//! |---|---|---|---|
//! | plain data | `rule`, `policy`, `fire_times`, `fired_intervals`, `planner`, `upcoming` | fire times, policies | a clock, a lock, user code |
//! | task | `gate`, `scheduled_task`, `locked_task`, `runs`, `attempt`, `jobs` | the lock, the timer, runs, events | decides about fire times |
//! | commands | `control`, `wait`, `snapshot`, `error`, `bench` | the commands and questions that a task answers | starts a run by itself |
//!
//! No user code runs while a task is locked: no trigger, body, gate, listener or destructor. Nothing slow runs between the
//! start of a run and its body. Each skipped fire time has an event and a count.
//!
//! The start makes a [`Control`] of each [`TaskSpec`], and has it [begin](Control::begin).

mod attempt;
#[cfg(feature = "__bench")]
mod bench;
mod control;
mod error;
mod fire_times;
mod fired_intervals;
mod gate;
mod jobs;
mod locked_task;
mod planner;
mod policy;
mod rule;
mod runs;
mod scheduled_task;
mod snapshot;
#[cfg(test)]
mod tests;
#[cfg(feature = "testing")]
mod upcoming;
mod wait;

#[cfg(feature = "__bench")]
pub use bench::BenchTask;
pub(crate) use control::{Control, NotBegun};
pub use error::ControlError;
pub(crate) use error::ControlErrorKind;
pub(crate) use gate::Gates;
pub use gate::{Admission, AsyncGate, Gate, GateContext, GateError, GateFuture, Permit};
pub(crate) use policy::{DurableOptions, Policy, Retry, TaskSpec};
pub(crate) use rule::Rule;
pub(crate) use scheduled_task::{OnEnd, ScheduledTask, TaskEnv};
#[cfg(feature = "testing")]
pub(crate) use upcoming::upcoming;
pub use wait::{ManualRun, Until};
