//! The store against a server of its own.
#![allow(
    clippy::disallowed_methods,
    reason = "these tests race threads and servers of their own, in real time"
)]

mod clients;
mod contract;
mod damage;
mod databases;
#[cfg(feature = "tls")]
mod encryption;
mod lists;
mod locked;
mod migrations;

mod plans;
mod planted;
mod races;
mod real_clock_outage;
mod real_clock_reads;
mod refused;
mod rights;
mod snapshots;
mod support;
