// # Of this room
//
// *What it is for*: what a program writes in its tests of its tasks. It plays the real scheduler — the
// same registrar, conductors and pools — with workers that have no threads, by a clock of its own.
//
// *What it must never do*: know a schedule better than the scheduler. It decides nothing; it moves time
// from one event to the next and lets the workers of the engine take their steps. It reads no clock, and
// starts no thread. It may panic: it is called by tests.
//
// *How a neighbour uses it*: not at all; it is the top of the house. It comes in by the runner's
// `Simulation`.

mod alarm;
mod controls;
mod event_text;
mod lengths;
mod moment;
mod outcomes;
mod outlook;
mod plan;
mod play;
mod record;
#[cfg_attr(not(feature = "tokio"), path = "runtime_off.rs")]
mod runtime;
mod sample_events;
mod script;
mod setup;
mod sim;
mod world;

pub use crate::assert_outcomes;
pub use lengths::days;
pub use lengths::hours;
pub use lengths::millis;
pub use lengths::minutes;
pub use lengths::secs;
pub use moment::IntoMoment;
pub use moment::Moment;
pub use moment::moment;
pub use outcomes::Expected;
#[doc(hidden)]
pub use outcomes::check_outcomes;
pub use outlook::FireTimes;
pub use outlook::ScheduleOf;
pub use outlook::schedule;
pub use outlook::schedule_of;
pub use plan::check_wiring;
pub use plan::plan;
pub use sample_events::sample_events;
pub use sim::Sim;

/// The value, or a panic at the place of the caller: that of a closure would be one of ours.
#[track_caller]
fn or_panic<T>(result: Result<T, impl std::fmt::Display>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
