//! wip
//!
//!
//!
//!
mod chance;
mod policy;
mod rule;
pub use policy::{Misfire, OnError, Overlap, Retry};
pub(crate) use policy::Policy;
pub(crate) use rule::Rule;
