//! The order of the house: what the source files of all crates keep to. Rules that are not checked
//! drift.

mod contract;
mod examples;
mod features;
mod imports;
mod layers;
mod paths;
mod security;
mod sources;
mod targets;
mod tidy;
mod tree;
