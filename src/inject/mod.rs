//! Gives a scheduled function its arguments.
//!
//! # What this room is for
//!
//! A function that the scheduler calls still needs a database, a configuration, a
//! clock. The builder keeps such values by their type ([`States`]); a function asks for them by its
//! parameters: `&T` for a managed value, and by value whatever implements [`Extract`]. The function's
//! entry knows how to look all of them up in a [`Wiring`], and then is a [`Call`].
//!
//! # What it must never do
//!
//! Look anything up during a run. All parameters are resolved once, at the start, and those that are
//! missing are collected, and reported together before anything has run.
//!
//! # How a neighbour uses it
//!
//! The registrar makes a [`Wiring`] for each entry and calls the entry's wire function; the conductor
//! calls the [`Call`] it gets.

mod call;
mod extract;
mod state;
mod wiring;

pub(crate) use state::States;

pub use call::{Call, TaskOutput};
pub use extract::{Extract, State};
pub use state::Managed;
pub use wiring::Wiring;
