//! Tasks and runs as JSON: the shapes of `/api/v1`, which are documented in the essay of the crate.
//!
//! Values that are absent are left out, and never `null`. Instants are RFC 3339 in UTC, each beside its text in the zone
//! of the task; durations are milliseconds with `Ms` in their names.
//!
//! It must never show the text of a failure, of a note, of a pause or of a payload that the program's `redact` has not seen.
//!
//! | file | what |
//! |---|---|
//! | `object`, `words` | values that may be absent; cron rules in words |
//! | `task` | a row of the list; a task with its next fire times; a rule that it might get |
//! | `durable` | what of a durable task only the store knows |
//! | `runs` | the history of a task, of both sources |
//! | `jobs` | jobs, queues and processes |

mod durable;
mod jobs;
mod object;
mod runs;
mod task;
mod words;

pub(crate) use self::jobs::{job, job_detail, nodes, queues, state_of};
pub(crate) use self::runs::{Page, runs};
pub(crate) use self::task::{detail, next, preview, row};
