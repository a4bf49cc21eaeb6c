//! The contract of the engine, row by row, in one program. Beside it, each in a program of its own: what measures the memory
//! of the process, what needs the real clock, and the rows that hold for decorated tasks, too.

#[path = "../kit/mod.rs"]
mod kit;
#[path = "../timers/mod.rs"]
mod timers;

mod alarm;
mod ask_to_stop;
mod bodies;
mod churn;
mod counts;
mod dropping;
mod firings;
mod interrupts;
mod invoke;
mod line;
mod names;
mod once;
mod rejection;
mod renewal;
mod slack;
mod threads;
mod timeout;
mod timer;
mod timer_threads;
mod traces;
mod two_pools;
mod wakes;
mod workers;
