//! A whole pool in random interleavings: four workers, some twenty tasks of every kind, and clients
//! that cancel, renew, ask to stop, resize and shut down, all at once, on a clock that is moved by hand.
//!
//! And a pool of four workers that take what is due one after the other: in its order.
//!
//! What loom explores completely for small models (`tests/loom/`), this samples for a large one. Two
//! samplers: evenly random ones, and PCT of depth 3, which finds any bug that needs three decisions
//! with a known probability. A failure prints a schedule to replay.
//!
//! `TEST_SCHEDULES` says how many schedules each sampler takes, `SHUTTLE_RANDOM_SEED` which.
//! `ci/shuttle.sh` runs this.
#![cfg(shuttle)]

#[path = "shuttle_pool/mod.rs"]
mod shuttle_pool;
