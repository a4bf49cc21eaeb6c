//! The store answers as the contract says, and as the model does.

scheduler_store::store_conformance!(crate::common::TestSqlite);
