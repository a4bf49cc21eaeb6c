//! Tasks and runs as JSON: the shapes of `/api/v1`, which are documented in the essay of the crate.
//!
//! Values that are absent are left out, and never `null`. Instants are RFC 3339 in UTC, each beside its text in the zone
//! of the task; durations are milliseconds with `Ms` in their names.
//!
//! It must never show the text of a failure, of a note or of a pause that the program's `redact` has not seen.
//!
//! | file | what |
//! |---|---|
//! | `task` | a row of the list; a task with its next fire times |
//! | `runs` | the history of a task, of both sources |

mod runs;
mod task;

pub(crate) use self::runs::{Page, runs};
pub(crate) use self::task::{detail, next, row};

use serde_json::{Map, Value};

/// Adds a value if there is one.
fn put(object: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value.into());
    }
}
