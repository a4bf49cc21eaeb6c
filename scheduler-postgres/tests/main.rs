//! The store against a server of its own.

mod contract;
mod support;
