//! The contract of the engine, row by row; `decorated` repeats some rows.

mod alarm;
mod ask_to_stop;
mod bodies;
mod cancel;
mod churn;
mod counts;
mod decorated;
mod decoration;
mod dropping;
mod firings;
mod handles;
mod interrupts;
mod invoke;
mod line;
mod names;
mod once;
mod periodic;
mod real_clock;
mod rejection;
mod renewal;
mod shutdown;
mod slack;
mod stats;
mod stress;
mod threads;
mod timeout;
mod timer;
mod timer_threads;
mod timing;
mod traces;
mod two_pools;
mod wakes;
mod workers;

use crate::kit;
