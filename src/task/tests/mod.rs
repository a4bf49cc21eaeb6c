//! Every policy, alone and where two meet, on a virtual clock: the table of the documentation.
//!
//! # What this room is for
//!
//! The table in the essay of `conduct` and the page `docs/policies.md` say what happens; each line of
//! theirs is held by a case here. `histories` checks what must hold whatever happens to one task,
//! `simulation` whatever happens to several, for years.
//!
//! # How to read a log
//!
//! A log reads `start 1.5 (1)`: a run started 1.5 s after the beginning, for the fire time of second 1.
//! `overlap 3 x2`: two fire times were skipped, the later of them that of second 3.

mod attempts;
mod clocks;
mod contained;
mod histories;
mod letting_go;
mod limits;
mod many_missed;
mod operations;
mod overlap_misfire;
mod pauses;
mod random;
mod replaced;
mod shown;
mod simulation;
mod specification;
mod stage;
mod started;
mod told_next;
mod waiting_beside;
mod watchers;
