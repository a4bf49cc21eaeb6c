//! [healthchecks]: Healthchecks
//! [sentry]: Sentry
//! [cronitor]: Cronitor
//! [monitor]: Monitor
//! [counts]: Counts
//! [redact]: MonitorsBuilder::redact
#![doc = include_str!("manual.md")]
//
// INVARIANT: nothing is sent on a thread of a task. No message shows the ping URL of a monitor, which is a secret.

mod monitors;
mod pacing;
mod ping;
mod services;
mod worker;

pub use monitors::{Monitors, MonitorsBuilder};
pub use ping::{Monitor, Phase, Ping, Request};
pub use services::{Cronitor, DsnError, Healthchecks, Sentry};
/// The crate `uuid`: the ids of runs are `uuid::Uuid`.
pub use uuid;
pub use worker::Counts;
