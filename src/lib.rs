//! Spring's `@Scheduled` for Rust.
