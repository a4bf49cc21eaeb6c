//! Faults that the engine has to survive.

mod cron;
mod executor;
mod futures;
mod panic_hook;
mod panics;
mod process;
mod queue;
mod real_clock;
mod shutdown;
mod time;
