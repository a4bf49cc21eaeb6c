//! The contract of durable jobs with real processes.
//!
//! It is one program, so that its tests, which wait most of the time, wait together: `--test-threads=8`.
#![allow(clippy::disallowed_methods, reason = "processes run in real time")]

mod locks;
mod real_clock_chaos;
mod real_clock_deploys;
mod real_clock_jobs;
mod real_clock_limits;
mod real_clock_outages;
mod real_clock_partitions;
mod real_clock_pauses;
mod real_clock_pools;
mod real_clock_schedules;
mod real_clock_store_later;
mod support;

/// The program that is started.
const NODE: &str = env!("CARGO_BIN_EXE_node");
