//! The engine: a scheduled thread pool.

pub mod trigger;
