//! The JSON of the dashboard's `/api/v1` as types. The dashboard writes them, the command line reads them.
//!
//! The documentation of `scheduler-dashboard` has the requests. Names are in camel case. Instants are RFC 3339 in UTC, and a
//! field that ends with `_local` is the same instant in the zone of the task. Lengths are milliseconds and end with `_ms`.
//!
//! A reader takes a missing field for its default and ignores fields that it does not know, so that a command line and a
//! dashboard of different versions understand each other.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Makes structs of the API. Fields after `optional` are `Option`s, and are left out of the JSON when they are `None`.
macro_rules! json {
    ($(
        $(#[$meta:meta])*
        struct $name:ident {
            $($(#[$field_meta:meta])* $field:ident: $type:ty,)*
        }
        $(optional {
            $($(#[$optional_meta:meta])* $optional:ident: $optional_type:ty,)*
        })?
    )*) => {$(
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
        #[serde(rename_all = "camelCase", default)]
        #[allow(missing_docs, reason = "most fields are clear by their names")]
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
            $($(
                $(#[$optional_meta])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $optional: Option<$optional_type>,
            )*)?
        }
    )*};
}

mod info;
mod jobs;
mod runs;
mod tasks;

pub use info::{Action, Actions, Counts, History, Info, Pool, ProblemDetails, Streams, Visitor};
pub use jobs::{
    ChangedJobs, Depth, GoneNode, Job, JobError, JobErrors, JobFilter, Jobs, JobsRequest, Node,
    NodeJob, Nodes, Payload, Queue, QueueTask, Queues,
};
pub use runs::{FailedAttempt, Run, RunError, Runs};
pub use tasks::{
    Changed, ClockChange, Counters, Durations, FireTime, LastRun, NextTimes, Pause, PauseRequest,
    Preview, Recent, RuleRequest, Schedule, Skipped, SkippedTicks, Task, TaskTimeline, Tasks, Tick,
    Timeline,
};
