//! Nodes on a model store and a simulated network, from a seed.
//!
//! # What this room is for
//!
//! [`live`] lets a few processes share a [`Model`](scheduler_store::Model) for a minute or so of virtual time: a network
//! that delays, drops, repeats and reorders, processes that crash, freeze, hang, restart and stop, clocks that drift and
//! are set, jobs that fail or kill their process, and people who pause, reschedule, cancel and retry. A checker that knows
//! only the contract judges each statement and each run. Then the faults end, and all that was accepted has to have an
//! outcome.
//!
//! # What it must never do
//!
//! Look into a node: what is judged is what any node would have to do. Use a clock, a thread, or a random number that does
//! not follow from the seed.
//!
//! # States
//!
//! ```text
//! life:     faults -> calm -> judged
//! process:  down -> up -> frozen | hung | stopping -> down
//! ```

mod body;
mod checker;
mod dispatch;
mod life;
mod pool;
mod process;
mod rules;
mod setup;
#[cfg(test)]
mod small;
#[cfg(test)]
mod tests;
mod wire;
mod world;

pub use life::{Fault, Figures, live};
