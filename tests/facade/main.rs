//! The tests of the facade that can share a process.
//!
//! No file annotates a function: every scheduler of the process would run it. A file that does, or that is about a thing
//! that a process has once, is a module of `annotations`.

mod bounded;
mod bounded_messages;
mod changed_while_running;
mod edges;
mod events;
mod examples;
mod faults;
mod many_tasks;
mod options;
mod overdue;
#[path = "../fixtures/panics.rs"]
mod panics;
mod random;
#[path = "../fixtures/said.rs"]
mod said;
mod slow_messages;
mod starved;
mod stopping;
#[cfg(feature = "tokio")]
mod testing_tokio;
#[cfg(feature = "tokio")]
mod tokio_real_clock;
mod told;
mod triggers;
mod triggers_at_the_start;
#[cfg(unix)]
#[path = "../fixtures/watchdog.rs"]
mod watchdog;
