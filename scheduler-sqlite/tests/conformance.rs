//! The store answers as the contract says, and as the model does.

mod common;

scheduler_store::store_conformance!(common::TestSqlite);
