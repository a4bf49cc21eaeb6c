//! Every policy, alone and where two meet, on a virtual clock.
//!
//! `docs/policies.md` describes the policies; each line of it has a case here. `specification` checks random histories of one
//! task exactly, `simulation` the random lives of several.
//!
//! # How to read a log
//!
//! A log reads `start 1.5 (1)`: a run started 1.5 s after the beginning, for the fire time of second 1.
//! `overlap 3 x2`: two fire times were skipped, the later one for second 3. Lines are in the order of the events.

mod attempts;
mod clocks;
mod contained;
mod dropped;
mod ends;
mod gates;
#[cfg(feature = "durable")]
mod jobs;
mod limits;
mod manual_runs;
mod many_missed;
mod operations;
mod overlap_misfire;
mod pauses;
mod random;
mod reported_next;
mod reports;
mod rescheduled;
mod shown;
mod simulation;
mod specification;
mod stage;
mod started;
mod stops;
mod watchers;
