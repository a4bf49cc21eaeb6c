//! The store against a server of its own.

mod store;
mod support;
