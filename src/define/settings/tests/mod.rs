//! Settings as a whole: many places, one answer, all faults.
//!
//! Each file tests one idea: the precedence of places, the keys, placeholders, bad values, the dry run. `places` has the
//! tasks and the places of all of them.

mod defaults;
mod dry_run;
pub(crate) mod hostile_names;
mod keys;
mod misplaced;
mod placeholders;
mod places;
mod precedence;
mod secrets;
mod values;
