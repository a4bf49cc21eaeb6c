//! wip
//!
//!
//!
//!
mod beside;
mod chance;
mod conductor;
mod control;
mod control_error;
mod finish;
mod future;
mod judge;
mod policy;
mod rule;
mod snapshot;
mod start;
mod state;
mod tale;
#[cfg(test)]
mod tests;
mod timetable;

pub(crate) use conductor::Conductor;
pub(crate) use conductor::Parts;
pub(crate) use control::Control;
pub use control_error::ControlError;
pub use policy::Misfire;
pub use policy::OnError;
pub use policy::Overlap;
pub(crate) use policy::Policy;
pub use policy::Retry;
pub(crate) use rule::Rule;
