//! What the reporter says, word for word, to what happens.
//!
//! # What this room is for
//!
//! `outcomes` is about the ends of runs, `happenings` about everything else, `hostile_names` about names
//! that pretend to be more, `printing` about the way to the sink. `desk` is a reporter that knows one task,
//! and what it has said.

mod desk;
mod happenings;
mod hostile_names;
mod outcomes;
mod printing;
