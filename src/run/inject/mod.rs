//! Gives a scheduled function its arguments.
//!
//! The builder keeps managed values by their type ([`States`]). A function takes them as `&T`, and by value any type that
//! implements [`Extract`]. The registrar makes a [`Resolver`] for each entry; its function `resolve` resolves all parameters
//! with it and returns a [`Call`], which each attempt calls. [`TaskReturn`] lists the return types of tasks.
//!
//! All parameters are resolved once, before the start, and all missing ones are reported together; a run looks nothing up.

mod call;
mod resolver;
mod state;

pub(crate) use call::into_task_result;
pub(crate) use state::States;
#[cfg(feature = "testing")]
pub(crate) use state::shown;

pub use call::{Call, TaskReturn};
pub(crate) use resolver::handle;
pub use resolver::{Extract, Resolver, State};
pub use state::Managed;
