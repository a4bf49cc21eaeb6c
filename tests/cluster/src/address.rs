//! Addresses of stores, as the program `node` takes them.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use scheduler::store::{Postgres, Sqlite, Wakeup};
use scheduler_store::Store;

/// Opens the store at an address: `sqlite:PATH`, or `postgres:SCHEMA:URL`. A schema may be followed by options:
/// `,deadline=MILLISECONDS`, and `,poll` for what is behind a pool of connections.
///
/// # Errors
///
/// It cannot be opened.
///
/// # Panics
///
/// If it is no address.
pub fn open(address: &str) -> Result<Arc<dyn Store>, Box<dyn Error>> {
    if let Some(path) = address.strip_prefix("sqlite:") {
        return Ok(Arc::new(Sqlite::open(path)?));
    }
    let rest = address.strip_prefix("postgres:").expect("sqlite:PATH or postgres:SCHEMA:URL");
    let (schema, url) = rest.split_once(':').expect("a schema and a URL");
    let mut words = schema.split(',');
    let mut builder = Postgres::builder(url).schema(words.next().unwrap_or_default());
    for word in words {
        builder = match word.split_once('=') {
            Some(("deadline", millis)) => {
                builder.deadline(Duration::from_millis(millis.parse().expect("milliseconds")))
            }
            _ if word == "poll" => builder.wakeup(Wakeup::Poll),
            _ => panic!("no option of a store: {word}"),
        };
    }
    Ok(Arc::new(builder.connect()?))
}
