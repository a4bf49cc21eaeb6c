//! The order of the house: what the source files of all crates keep to. Rules that are not checked
//! drift.

mod contract;
mod imports;
mod layers;
mod paths;
mod sources;
mod tidy;
