//! Durable jobs in a SQLite file, for the processes of one host.
//!
//! You want [`scheduler-rs`](https://docs.rs/scheduler-rs/latest/scheduler/) with the feature `sqlite`, which has this store as
//! `scheduler::store::Sqlite`.
//!
//! # The store
//!
//! [`Sqlite`] is a [`Store`](scheduler_store::Store): it answers as [`Model`](scheduler_store::Model) does, and what it has
//! accepted survives the process and, unless configured otherwise, a loss of power.
//!
//! # Transactions
//!
//! Each request is one transaction. SQLite lets one connection write at a time; a process has one that writes, for which
//! its threads queue, and some that read a snapshot meanwhile. Requests of other processes are waited for until the
//! request expires, so "database is locked" is never an answer.
//!
//! A decision is made by reading rows, changing them as plain data by the same code that the model uses, and writing
//! them back, all under the write lock. Two indexes guard what must never be: two unfinished jobs with one key, and two of a
//! schedule whose jobs keep each other out.
//!
//! A long transaction of the program on the same file stops all of this, renewals of leases included. Keep them short.
//!
//! # Files
//!
//! Besides `jobs.db` there are `jobs.db-wal` and `jobs.db-shm`, which belong to it: copy a store with SQLite's own
//! backup, or while no process has it open. Network file systems are refused.
//
// No text is joined into a statement, except for the prefix of the tables. No answer comes from memory that another process
// may have made stale. A damaged row stops nothing.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod commands;
mod connection;
mod done;
mod enqueue;
mod error;
mod fields;
mod finish;
mod host;
mod lanes;
mod poll;
mod read;
mod rows;
mod schema;
mod sessions;
mod store;
mod tx;

pub use error::OpenError;
pub use host::SqliteClock;
pub use rusqlite;
pub use store::{Builder, Sqlite, Synchronous};
