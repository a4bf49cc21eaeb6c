//! Judges a life by what was asked, answered and run.
//!
//! It knows the contract of a store and what is promised to users, and nothing of how a node keeps it.

mod facts;
mod finale;
mod firing;
mod runs;
mod statements;
mod traffic;

pub(super) use facts::Checker;
