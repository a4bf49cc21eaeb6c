//! Tasks, runs and jobs as the answers of `/api/v1`, whose types are those of `scheduler-api`.
//!
//! Texts of failures, notes, pauses and payloads pass the program's `redact` before they are shown.
//!
//! | file | answers |
//! |---|---|
//! | `task` | a row of the list; a task with its next fire times; a rule that it might get |
//! | `durable` | the state of a durable task in the store |
//! | `timeline` | the last and the next hour of all tasks; runs and waits of the last hour |
//! | `runs` | the history of a task, from the scheduler and from the listener |
//! | `jobs` | jobs, queues and processes |

mod durable;
mod jobs;
mod runs;
mod task;
mod timeline;

pub(crate) use self::jobs::{job, job_detail, nodes, queues, sees_payload, state_of};
pub(crate) use self::runs::{Page, runs};
pub(crate) use self::task::{detail, next, preview, row};
pub(crate) use self::timeline::{throughput, timeline};
