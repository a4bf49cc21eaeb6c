//! The tests of the engine, in one program: a folder or file for each subject.
//!
//! # What it must never do
//!
//! Change what a process has once, as its panic hook, or judge what all of it uses, as memory, unless the test goes
//! into a process of its own: `kit::is_in_own_process`.

mod conformance;
mod contract;
mod cron_properties;
mod faked_real_clock;
mod faults;
mod idle_cpu;
mod kit;
mod timers;
mod wall_clock;
mod worker_death;
