//! The store against a server of its own.
#![allow(clippy::disallowed_methods, reason = "these tests race threads and servers of their own, in real time")]

mod contract;
mod migrations;
mod races;
mod support;
