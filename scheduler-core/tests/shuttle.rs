//! A whole pool in random interleavings.
//!
//! Four workers, some twenty tasks of every kind, and clients that cancel, renew, ask to stop, resize and shut down, all at
//! once, on a clock that is moved by hand. And four workers that take due tasks one after the other, in their order.
//!
//! Samples the interleavings of a large model; loom explores all of small ones (`tests/loom/`). Two
//! samplers: evenly random ones, and PCT of depth 3, which finds any bug that needs three decisions
//! with a known probability. A failure prints a schedule to replay.
//!
//! `TEST_SCHEDULES` says how many schedules each sampler takes, `SHUTTLE_RANDOM_SEED` which.
//! `ci/shuttle.sh` runs this.
#![cfg(shuttle)]

#[path = "shuttle_pool/mod.rs"]
mod shuttle_pool;
