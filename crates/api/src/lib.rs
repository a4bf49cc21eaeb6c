//! The JSON of the dashboard's `/api/v1` as types. The dashboard writes them, the command line reads them.
//!
//! The documentation of `scheduler-dashboard` has the requests. Names are in camel case. Instants are RFC 3339 in UTC, and a
//! reader shows them in the zone of the task or of [`Info`]. Lengths are milliseconds and end with `_ms`.
//!
//! A reader takes a missing field for its default and ignores fields that it does not know.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Makes structs of the API, with their descriptions. Fields after `optional` are `Option`s, and are left out of the JSON
/// when they are `None`.
macro_rules! json {
    ($(
        $(#[doc = $doc:literal])*
        $(#[serde($($serde:tt)*)])?
        struct $name:ident {
            $(
                $(#[doc = $field_doc:literal])*
                $(#[serde($($field_serde:tt)*)])?
                $field:ident: $type:ty,
            )*
        }
        $(optional {
            $($(#[doc = $optional_doc:literal])* $optional:ident: $optional_type:ty,)*
        })?
    )*) => {$(
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
        #[serde(rename_all = "camelCase", default)]
        #[allow(missing_docs, reason = "most fields are clear by their names")]
        $(#[doc = $doc])*
        $(#[serde($($serde)*)])?
        pub struct $name {
            $(
                $(#[doc = $field_doc])*
                $(#[serde($($field_serde)*)])?
                pub $field: $type,
            )*
            $($(
                $(#[doc = $optional_doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $optional: Option<$optional_type>,
            )*)?
        }

        impl $crate::Described for $name {
            const TYPE: $crate::Type = $crate::Type::Struct(&$crate::Description {
                name: stringify!($name),
                text: concat!($($doc,)*),
                serde: concat!($(stringify!($($serde)*))?),
                fields: &[
                    $($crate::Field {
                        name: stringify!($field),
                        text: concat!($($field_doc,)*),
                        serde: concat!($(stringify!($($field_serde)*))?),
                        of: <$type as $crate::Described>::TYPE,
                        is_optional: false,
                    },)*
                    $($($crate::Field {
                        name: stringify!($optional),
                        text: concat!($($optional_doc,)*),
                        serde: "",
                        of: <$optional_type as $crate::Described>::TYPE,
                        is_optional: true,
                    },)*)?
                ],
            });
        }
    )*};
}

mod described;
mod info;
mod jobs;
mod runs;
mod tasks;

pub use described::{Described, Description, Field, Type, json_name};
pub use info::{
    Action, Actions, ActionsQuery, Counts, History, Info, Pool, ProblemDetails, Streams, Visitor,
};
pub use jobs::{
    ChangedJobs, Depth, EditRequest, GoneNode, Job, JobAttempt, JobError, JobErrors, JobFilter,
    Jobs, JobsRequest, Node, NodeJob, Nodes, Payload, Queue, QueueTask, Queues, UnknownTask,
};
pub use runs::{FailedAttempt, Minutes, QueueMinutes, Run, RunError, Runs, RunsQuery, Throughput};
pub use tasks::{
    Changed, ClockChange, Counters, Durations, FireTime, LastRun, NextQuery, NextTimes, Pause,
    PauseRequest, Preview, Recent, RuleRequest, Schedule, Skipped, SkippedTicks, Task,
    TaskTimeline, Tasks, Tick, Timeline,
};
