//! [healthchecks]: Healthchecks
//! [sentry]: Sentry
//! [cronitor]: Cronitor
//! [monitor]: Monitor
//! [counts]: Counts
//! [redact]: MonitorsBuilder::redact
#![doc = include_str!("manual.md")]
//
// INVARIANT: nothing is sent on a thread of a task. No message shows the ping URL of a monitor, which is a secret.

mod cronitor;
mod failures;
mod healthchecks;
mod inbox;
mod monitor;
mod monitors;
mod pacing;
mod ping;
mod route;
mod schedule;
mod sender;
mod sentry;
mod worker;

pub use cronitor::Cronitor;
pub use healthchecks::Healthchecks;
pub use monitor::Monitor;
pub use monitors::{Counts, Monitors, MonitorsBuilder};
pub use ping::{Method, Phase, Ping, Request};
pub use sentry::{DsnError, Sentry};
/// The crate `uuid`: the ids of runs are `uuid::Uuid`.
pub use uuid;
