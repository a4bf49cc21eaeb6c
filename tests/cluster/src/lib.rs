//! Real processes that share a store, and their journals.
//!
//! Each process is the program `node`, which writes what it runs to a journal of its own. A test starts processes in a
//! [`Lab`], kills, stops and continues them, and reads the journals and the store, never by what a process says of
//! itself. Times in journals are by the clock since boot, which all processes share whatever their wall clocks show.

mod address;
mod journal;
mod lab;
mod process;

pub use address::open;
pub use journal::{
    Journal, Line, Outcome, Run, boot_micros, by_tick, overlapping, second_of, wall_at,
};
pub use lab::{Lab, eventually, is_full, length, pass};
pub use process::{Process, ProcessBuilder, runs};
