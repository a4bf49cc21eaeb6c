//! wip
//!
//!
//!
//!
mod chance;
mod policy;
mod rule;
pub(crate) use policy::Policy;
pub use policy::{Misfire, OnError, Overlap, Retry};
pub(crate) use rule::Rule;
