//! Judges a life by what was asked, answered and run.
//!
//! [`Checker`] hears all requests, answers and runs of a life, and says which promise was broken. It knows the contract
//! of a store and the promises to users, but not the way in which a node keeps them.

mod facts;
mod finale;
mod firing;
mod guards;
mod keys;
mod limits;
mod losses;
mod pauses;
mod progress;
mod runs;
mod statements;
mod traffic;
mod waits;

pub(super) use facts::Checker;
