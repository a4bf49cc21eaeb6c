//! Sections whose tests run a second time, with a kit that decorates every task of their pools (EC-L1).
#![expect(clippy::duplicate_mod, reason = "these have a kit of their own: see `kit::dressed`")]

#[path = "cancel.rs"]
mod cancel;
#[path = "handles.rs"]
mod handles;
#[path = "../kit/mod.rs"]
mod kit;
#[path = "periodic.rs"]
mod periodic;
#[path = "shutdown.rs"]
mod shutdown;
#[path = "stats.rs"]
mod stats;
#[path = "timing.rs"]
mod timing;
