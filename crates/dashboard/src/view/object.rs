//! JSON objects whose values may be absent.

use serde_json::{Map, Value};

/// Adds a value if there is one.
pub(super) fn put(object: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value.into());
    }
}
