//! Durable jobs in PostgreSQL: the store of a cluster.
//!
//! You want [`scheduler-rs`](https://docs.rs/scheduler-rs/latest/scheduler/) with the feature `postgres`, which has this store as
//! `scheduler::store::Postgres`.
//!
//! # The store
//!
//! [`Postgres`] implements [`Store`](scheduler_store::Store), the contract of `scheduler-store`. All processes that name the
//! same database and schema are one cluster; there is no leader, and nothing between them but rows. Any other client
//! enqueues with a function of the schema, in its own transaction:
//!
//! ```sql
//! select scheduler.enqueue('send_invoice', '{"invoice": 17}', run_at => now() + interval '1 hour', key => 'inv-17');
//! ```
//!
//! It needs PostgreSQL 13 or later.
//!
//! # Requests
//!
//! Each is one transaction; most are one call of a function of the schema, that is one round trip. The statements in those
//! functions see what was committed before each of them began (`READ COMMITTED`, for which each transaction asks), and lock what
//! they then look at; a function says why that suffices. A unique index forbids the actions that two processes must not both do.
//!
//! There are separate connections for claims and outcomes, for leases (a slow claim never delays a renewal), for what callers
//! enqueue, and for notifications. Each has a thread of its own, which reconnects.
//
// This process decides nothing that another process could decide at the same time: every decision is made by a statement
// that states its conditions. No text of a user is joined into a statement. The clock of this machine does not decide what is
// due.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod blocking_connection;
mod builder;
mod columns;
mod connect;
mod connection_thread;
mod error;
mod finish;
mod job;
mod limits;
mod migrate;
mod poll;
mod schedules;
mod sessions;
mod sql;
mod store;
#[cfg(feature = "tls")]
mod tls;

pub use builder::{Builder, Wakeup};
pub use error::ConnectError;
pub use postgres;
pub use store::Postgres;
pub use tokio_postgres;
