// # Of this room
//
// *What it is for*: tests of a program's tasks. It runs the real scheduler, with the same registrar, tasks and pools, on
// workers without threads and a clock of its own.
//
// *What it must never do*: decide anything about a schedule. It moves time from one event to the next and makes the
// workers of the engine take their steps. It reads no clock, and starts no thread. It may panic, because tests call it.
//
// *How a neighbour uses it*: not at all. The runner calls it through its trait `Simulation`.

mod calls;
#[cfg(feature = "durable")]
mod cluster;
mod controls;
#[cfg_attr(not(feature = "durable"), path = "durable_off.rs")]
mod durable;
mod event_text;
mod fire_times;
#[cfg(feature = "durable")]
mod jobs;
mod lengths;
mod lives;
mod moment;
mod outcomes;
mod panics;
mod plan;
mod record;
#[cfg_attr(not(feature = "tokio"), path = "runtime_off.rs")]
mod runtime;
mod sample_events;
mod script;
mod setup;
mod sim;
mod started;
mod world;

pub use crate::assert_outcomes;
#[cfg(feature = "durable")]
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
pub use cluster::Cluster;
pub use fire_times::{FireTimes, ScheduleOf, schedule, schedule_of};
pub use lengths::{days, hours, millis, minutes, secs};
pub use moment::{IntoMoment, Moment, moment};
pub use outcomes::Expected;
#[doc(hidden)]
pub use outcomes::check_outcomes;
pub use plan::{check_wiring, plan};
pub use sample_events::sample_events;
pub use sim::Sim;

/// Returns the value, or panics at the caller's place, which a closure would not have.
#[track_caller]
fn or_panic<T>(result: Result<T, impl std::fmt::Display>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
