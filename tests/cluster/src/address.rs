//! Addresses of stores, as the program `node` takes them.

use std::sync::Arc;

use scheduler::store::{Postgres, Sqlite};
use scheduler_store::Store;

/// Opens the store at an address: `sqlite:PATH`, or `postgres:SCHEMA:URL`.
///
/// # Panics
///
/// If it cannot be opened: a test cannot go on then.
#[must_use]
pub fn open(address: &str) -> Arc<dyn Store> {
    if let Some(path) = address.strip_prefix("sqlite:") {
        return Arc::new(Sqlite::open(path).expect("the file opens"));
    }
    let rest = address.strip_prefix("postgres:").expect("sqlite:PATH or postgres:SCHEMA:URL");
    let (schema, url) = rest.split_once(':').expect("a schema and a URL");
    Arc::new(Postgres::builder(url).schema(schema).connect().expect("the server answers"))
}
