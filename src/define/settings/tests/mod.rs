//! Settings as a whole: many places, one answer, all faults.
//!
//! # What this room is for
//!
//! Each file holds one idea of the room: which place counts, which keys there are and where, what stands in place of
//! a placeholder, which values are bad, what the dry run shows. `places` has the tasks and the places that
//! all of them are about.

mod defaults;
mod dry_run;
mod keys;
mod misplaced;
mod placeholders;
mod places;
mod precedence;
mod secrets;
mod values;
