// A simulation runs the real scheduler, with the same registrar, tasks and pools, on workers without threads and a clock of
// its own. It moves time from one event to the next and lets the workers of the engine take their steps; it decides nothing
// about schedules, reads no clock and starts no thread. It may panic, because tests call it. The folder `start` calls it
// through its trait `Simulation`, because it knows no folder after it.

#[cfg(feature = "durable")]
mod cluster;
mod fire_times;
#[cfg(feature = "durable")]
mod jobs;
mod moment;
mod record;
#[cfg(feature = "tokio")]
mod runtime;
mod sample_events;
mod script;
mod setup;
mod sim;
mod world;

pub use crate::assert_outcomes;
#[cfg(feature = "durable")]
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
pub use cluster::Cluster;
pub use fire_times::{FireTimes, ScheduleOf, check_wiring, plan, schedule, schedule_of};
pub use moment::{IntoMoment, Moment, days, hours, millis, minutes, moment, secs};
pub use record::Expected;
#[doc(hidden)]
pub use record::check_outcomes;
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
