//! The tests of the engine, in one program: a module per subject.
//!
//! A test that changes state of the whole process, such as its panic hook, or that measures it, such as its memory, runs in
//! a process of its own: `kit::is_in_own_process`.

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
