//! The node: one process among those that share a store.
//!
//! [`Node`] decides what this process asks the store, which jobs it starts, and when it must stop believing in its own
//! session. It is a state machine: [`Node::step`] takes an input and an instant, and leaves effects in a list. It reads
//! no clock, waits for nothing, takes no lock, sends nothing itself, and draws random numbers from its seed only.
//!
//! ```text
//! session:  none -> opening -> open -> lost -> opening …     (each open has a new identity)
//! job:      claimed -> begun -> ended -> finished            (claimed -> withdrawn -> given back)
//! node:     working -> stopping -> stopped
//! ```
//!
//! A *channel* is a thread with a connection: one for renewals, one for everything else, each with one request in flight at
//! most. A request that was given up may still be executed, until its `not_after`; its answer is never used.

mod answer;
mod ask;
mod ended;
mod fire;
mod rest;
mod session;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use state::Node;
