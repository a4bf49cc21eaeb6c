//! [healthchecks]: Healthchecks
//! [sentry]: Sentry
//! [cronitor]: Cronitor
//! [monitor]: Monitor
//! [counts]: Counts
//! [redact]: MonitorsBuilder::redact
#![doc = include_str!("manual.md")]
//
// # What it must never do
//
// Send on a thread of a task, or hold anything that a run could wait for. Show the address of a monitor in a message:
// it is a secret. Read a clock other than the one it is given.
//
// The rooms, each using only those before it: `ping`, `monitor`, `schedule`, the services, `pacing`, `inbox`, `sender`,
// `worker`, `monitors`.

mod cronitor;
mod healthchecks;
mod inbox;
mod monitor;
mod monitors;
mod pacing;
mod ping;
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
/// The crate `uuid`, whose type names runs.
pub use uuid;
