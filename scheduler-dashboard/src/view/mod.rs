//! Tasks and runs as JSON: the shapes of `/api/v1`, which are documented in the essay of the crate.
//!
//! Values that are absent are left out, and never `null`. Instants are RFC 3339 in UTC, each beside its text in the zone
//! of the task; durations are milliseconds with `Ms` in their names.
//!
//! It must never show the text of a failure, of a note or of a pause that the program's `redact` has not seen.
//!
//! | file | what |
//! |---|---|
//! | `object` | values that may be absent |
//! | `task` | a row of the list; a task with its next fire times |
//! | `runs` | the history of a task, of both sources |

mod object;
mod runs;
mod task;

pub(crate) use self::runs::{Page, runs};
pub(crate) use self::task::{detail, next, row};
