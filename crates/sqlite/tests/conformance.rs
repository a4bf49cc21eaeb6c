//! The store answers as the contract says, and as the model does.

store_conformance::store_conformance!(crate::common::TestSqlite);
