//! Durable jobs.
pub(crate) mod shell;
