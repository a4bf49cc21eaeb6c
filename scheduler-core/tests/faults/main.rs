//! Faults that the engine has to survive, in one program. Beside it, each in a program of its own: what changes the panic
//! hook, ends processes, measures the memory of the process, or needs the real clock.

#[path = "../kit/mod.rs"]
mod kit;

mod cron;
mod executor;
mod panics;
mod queue;
mod shutdown;
mod time;
