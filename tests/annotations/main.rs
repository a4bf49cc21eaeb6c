//! Tests with annotated functions, or of things that a process has once.
//!
//! # What it must never do
//!
//! Start a scheduler that is given no list of tasks: it would run the functions of all files. That is what `running.rs`
//! is about, which is a target of its own in `Cargo.toml`.
//!
//! Set a logger, a subscriber, a recorder or a panic hook, or judge what the process uses, outside a process of its own
//! (`own_process.rs`).

mod a_day;
#[cfg(feature = "tokio")]
mod alongside_tokio;
mod applications;
mod configured;
mod controlled;
mod disabled;
mod dry_run;
mod durable;
mod faults_real_clock;
#[path = "../../src/define/settings/tests/hostile_names.rs"]
mod hostile_names;
mod hostile_names_told;
mod injected;
mod into_log;
mod into_log_late;
mod into_tracing;
mod into_tracing_scoped;
mod job_aliases;
mod job_identity;
mod job_log_real_clock;
mod listening;
#[path = "../fixtures/logger.rs"]
mod logger;
#[cfg(feature = "sqlite")]
mod outbox;
mod own_process;
#[path = "../fixtures/panics.rs"]
mod panics;
mod payloads_in_errors;
mod rolling_upgrades;
mod signed;
mod simulated_cluster;
mod simulated_jobs;
mod simulated_limits;
mod simulated_nodes;
mod simulated_outages;
mod simulated_pauses;
mod simulated_progress;
mod starting;
mod store_later_real_clock;
mod testing;
mod testing_panics;
mod traces;
mod web_and_worker;
