//! The tests of the store in SQLite, a file for each subject.

mod common;
mod conformance;
mod differential;
mod faults;
mod in_transaction;
mod plans;
mod processes_real_clock;
mod speed_real_clock;
