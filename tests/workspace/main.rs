//! Rules for the source files of all crates.
//!
//! Rules that are not checked drift.

mod budget;
mod columns;
mod contract;
mod errors;
mod examples;
mod features;
mod guides;
mod imports;
mod layers;
mod paths;
mod reference;
mod security;
mod sources;
mod targets;
mod tidy;
mod tree;
