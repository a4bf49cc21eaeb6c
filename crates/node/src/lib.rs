//! One process among those that share a store of durable jobs.
//!
//! Internal to [`scheduler-rs`](https://docs.rs/scheduler-rs/latest/scheduler/): any release may change anything here. You want
//! that crate with the feature `durable`.
//!
//! # The node
//!
//! A *node* opens a session and renews its lease, claims jobs, fires the ticks of schedules, stores how runs ended, takes over
//! the jobs of processes that died, and stops in order. [`Node`] is that as a state machine without I/O: the driver around it
//! owns the clock, the threads and the connections.
//!
//! ```text
//! driver: a thread for each channel, the pools        node: plain data
//!   an answer, a run that ended, a timer   ── step ─>
//!   <── ask the store, start a job, stop a run, report
//!   a worker is about to run a job         ── begin ─> may it?
//! ```
//!
//! # The driver
//!
//! * One node under one lock. A thread for each [`Channel`]: it waits until [`Node::wake`] or until another thread has left
//!   it an [`Effect::Ask`]; then it steps with [`Input::Timer`], or executes the request without the lock, and steps with
//!   [`Input::Answer`], at the deadline at the latest with [`Input::NoAnswer`] and a new connection.
//! * [`Effect::Start`] goes to the pool. On the worker, just before the body: [`Node::begin`]. If it says no, the job is
//!   dropped without a word. A job that began ends with [`Input::Ended`], once, also if it is lost.
//! * An instant is read under the lock, so that it does not run back from step to step.
//! * After [`Effect::Stopped`] no thread is needed any more. Before it, the driver decides how long runs are waited for.
//!
//! This crate knows neither SQL nor the facade, reads no clock, starts no thread, takes no lock, and never waits. A node does
//! not believe in a lease that it cannot prove.
//!
//! # The rules
//!
//! `R1` to `R24` in comments are the rules of `docs/durable-rules.md`. `ci/twins/node.twins` takes one away after the other
//! from a copy, and the tests in `tests/simulation` see the fault.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod claims;
mod config;
mod effect;
mod firing;
mod node;
mod observed;
mod rng;

pub use config::{Config, LATE, Misfire, Policy, Rules, TaskConfig};
pub use effect::{Answer, Channel, Effect, Input, LostReason, NodeEvent, Request, RequestId};
pub use firing::COUNTED_MAX;
pub use node::Node;
pub use rng::Rng;
pub use scheduler_expr::Tick;
