//! Reports the runs of scheduled tasks to a monitor, so that it raises an alarm when a run fails, takes too long, or
//! never comes: what no process can say of itself.
//!
//! ```no_run
//! use scheduler::Scheduler;
//! use scheduler_monitors::{Healthchecks, Monitors};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let monitors = Monitors::builder()
//!         .task("daily_report", Healthchecks::check(std::env::var("HC_REPORT_URL")?))
//!         .start()?;
//!     Scheduler::builder().listener(monitors).start()?;
//!     Ok(())
//! }
//! ```
//!
//! | service | adapter | what is sent about the schedule |
//! |---|---|---|
//! | Healthchecks, hosted or one's own | [`Healthchecks`] | nothing |
//! | Sentry Crons | [`Sentry`] | expression, zone or period, with each ping |
//! | Cronitor | [`Cronitor`] | nothing |
//! | another | your own [`Monitor`] | |
//!
//! # How often
//!
//! Of each task at most one report begins in 30 seconds: the start of a run with its end, or an end alone. A success
//! that comes earlier is held back until then, and a newer one takes its place. **Failures are sent always**, and at
//! once. A task that runs every second therefore sends one ping in 30 seconds, one that runs every hour two for each
//! run.
//!
//! # When a service is down
//!
//! No run waits for a ping, or fails because of one: a thread of its own sends, each request for 10 seconds at most. A
//! ping that is not taken is tried again after 5 seconds and after a minute. Up to 1,024 pings wait; a quarter of the
//! room is kept for failures. What does not fit, and what could not be sent, is counted in [`Counts`] and said in a
//! message, once a minute at most.
//!
//! What is sent of a failure is its text with causes and place, 10,000 bytes at most:
//! [`redact`](MonitorsBuilder::redact) takes out what others must not see.
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
