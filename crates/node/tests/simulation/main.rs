//! Nodes on a model store and a simulated network, from a seed.
//!
//! [`live`](life::live) lets a few processes share a [`Model`](scheduler_store::Model) for a minute or so of virtual time. The
//! network delays, drops, repeats and reorders messages. Processes crash, freeze, hang, restart and stop. Clocks drift and are
//! set. Jobs fail or kill their process, and people pause, reschedule, cancel and retry. A checker that knows only the contract
//! judges each statement and each run. Then the faults end, and each accepted job has to have an outcome.
//!
//! The simulation never looks into a node, and uses no clock, no thread, and no random number that does not follow from the seed.
//!
//! ```text
//! life:     faults -> calm -> judged
//! process:  down -> up -> frozen | hung | stopping -> down
//! ```

mod body;
mod checker;
mod dispatch;
mod life;
mod lives;
mod pool;
mod process;
mod rules;
mod setup;
mod small;
mod wire;
mod world;
