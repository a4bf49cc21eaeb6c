//! The seeded simulation of the engine.

#[path = "simulation/mod.rs"]
mod simulated;
