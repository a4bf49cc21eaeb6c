//! Judges a life by what was asked, answered and run.
//!
//! # What this room is for
//!
//! [`Checker`] hears all requests, answers and runs of a life, and says which promise was broken.
//!
//! # What it must never do
//!
//! Know how a node keeps the promises: it knows the contract of a store, and what users are promised.

mod facts;
mod finale;
mod firing;
mod runs;
mod statements;
mod traffic;

pub(super) use facts::Checker;
