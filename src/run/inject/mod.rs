//! Gives a scheduled function its arguments.
//!
//! # What this room is for
//!
//! The builder keeps managed values by their type ([`States`]). A function takes them as `&T`, and by value any type that
//! implements [`Extract`]. Its entry resolves all parameters in a [`Resolver`], and returns a [`Call`]. [`TaskReturn`] is
//! what a task may return.
//!
//! # What it must never do
//!
//! Look anything up during a run. All parameters are resolved once, before the start, and all missing ones are reported
//! together.
//!
//! # How a neighbour uses it
//!
//! The registrar makes a [`Resolver`] for each entry and calls the entry's wire function; each attempt calls the [`Call`].

mod call;
mod extract;
mod resolver;
mod state;
mod task_return;

pub(crate) use state::States;
#[cfg(feature = "testing")]
pub(crate) use state::shown;
pub(crate) use task_return::settle;

pub use call::Call;
pub use extract::{Extract, State};
pub use resolver::Resolver;
pub use state::Managed;
pub use task_return::TaskReturn;
