//! The JSON of the dashboard's `/api/v1` as types.
//!
//! The dashboard writes them, the command line reads them.
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

mod jobs;
mod limits;
mod tasks;

pub use jobs::{
    ChangedJobs, Depth, EditRequest, EndedNode, Job, JobAttempt, JobError, JobErrors, JobFilter,
    JobProgress, Jobs, JobsRequest, Node, NodeJob, Nodes, PausedPartition, Payload, Queue,
    QueueTask, Queues, UnknownTask,
};
pub use limits::{
    Limit, LimitByHand, LimitRequest, LimitValue, Limits, Partition, PartitionRequest, TaskLimits,
    Wait,
};
pub use tasks::{
    Changed, ClockChange, Counters, Durations, FailedAttempt, FireTime, LastRun, Minutes,
    NextQuery, NextTimes, Pause, PauseRequest, Preview, QueueMinutes, Recent, RuleRequest, Run,
    RunError, Runs, RunsQuery, Schedule, Skipped, SkippedTicks, Task, TaskTimeline, Tasks,
    Throughput, Tick, Timeline,
};

json! {
    /// `GET /info`.
    struct Info {
        application: String,
        version: String,
        sections: Vec<String>,
        now: String,
        zone: String,
        started_at: String,
        visitor: Visitor,
        is_read_only: bool,
        history: History,
        counts: Counts,
        /// Critical tasks that are down.
        down: Vec<String>,
        pools: Vec<Pool>,
        streams: Streams,
    } optional {
        /// By how much the clock of this process is ahead of the store's, if that is more than two seconds.
        clock_offset_ms: f64,
        /// Why the store is not up for this process: its lease was not renewed when that was last due.
        store_failure: String,
        store_down_since: String,
        /// True while the process has just started, and its store was not up yet: that is no failure.
        store_is_opening: bool,
    }

    /// The visitor who asks.
    struct Visitor {
        name: String,
        role: String,
        may_act: bool,
    }

    /// The history that the dashboard keeps.
    struct History {
        runs_per_task: u64,
        /// Events that came too fast to be kept.
        lost_events: u64,
    }

    /// Numbers of tasks.
    struct Counts {
        tasks: u64,
        running: u64,
        paused: u64,
        failing: u64,
    }

    /// A thread pool.
    struct Pool {
        name: String,
        core_size: u64,
        threads: u64,
        active: u64,
        queued: u64,
        completed: u64,
    }

    /// Live streams.
    struct Streams {
        open: u64,
        /// Streams that were closed because their client did not read.
        dropped: u64,
    }

    /// The query of `GET /actions`.
    #[serde(deny_unknown_fields)]
    struct ActionsQuery {
    } optional {
        /// This task, schedule or queue, or jobs of this task.
        task: String,
        /// This person.
        by: String,
        /// At this instant or later.
        since: String,
        /// In place of it: no earlier than so long ago, by the clock of the store.
        within_ms: u64,
        /// The actions after this one: the next page.
        after: String,
        limit: u64,
    }

    /// `GET /actions`, the latest first: of all processes if there is a store, else of this one since its start.
    struct Actions {
        actions: Vec<Action>,
        /// There are older ones.
        has_more: bool,
    } optional {
        /// The store does not answer: these are of this process, since its start.
        is_partial: bool,
    }

    /// A change by hand.
    struct Action {
        id: String,
        at: String,
        who: String,
        action: String,
        /// `*` if it is about no task, or about several.
        task: String,
        /// The number of jobs, tasks or queues that were changed.
        count: u64,
    } optional {
        queue: String,
        partition: String,
        schedule: String,
        job: String,
        /// The jobs or the tasks, in words, if several were meant.
        matching: String,
        /// The process that was paused or resumed.
        process: String,
        note: String,
        /// The rule before; the length of the payload before.
        before: String,
        /// The rule after; the length of the payload after.
        after: String,
        /// The address, for operators.
        from: String,
        /// The process at which it was made; none of a change in SQL.
        node: String,
        /// The role of the database, of a change in SQL.
        role: String,
    }

    /// A refused request: `application/problem+json` (RFC 9457).
    struct ProblemDetails {
        #[serde(rename = "type")]
        kind: String,
        title: String,
        status: u16,
        /// The change that cures it.
        detail: String,
    }
}

/// A type that a description of the API has.
pub trait Described {
    /// Its form in JSON.
    const TYPE: Type;
}

/// The form of a value in JSON.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "clear by their names")]
pub enum Type {
    Text,
    /// A number of things, which is never negative.
    Count,
    Number,
    Flag,
    List(&'static Type),
    Struct(&'static Description),
}

/// A struct.
#[derive(Debug)]
pub struct Description {
    /// Its name.
    pub name: &'static str,
    /// Its documentation.
    pub text: &'static str,
    /// Its attributes for serde.
    pub serde: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// Its name in Rust.
    pub name: &'static str,
    /// Its documentation.
    pub text: &'static str,
    /// Its attributes for serde.
    pub serde: &'static str,
    /// Its type.
    pub of: Type,
    /// True if it may be missing.
    pub is_optional: bool,
}

impl Description {
    /// Returns true if a reader refuses fields that it does not know, as all readers of requests do.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.serde.contains("deny_unknown_fields")
    }
}

impl Field {
    /// Returns true if its own fields stand in its place.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        self.serde == "flatten"
    }

    /// Its name in JSON.
    #[must_use]
    pub fn json_name(&self) -> String {
        if let Some(name) = self.serde.strip_prefix("rename = ") {
            return name.trim_matches('"').to_owned();
        }
        json_name(self.name)
    }
}

/// The name in JSON of a field in Rust: in camel case.
#[doc(hidden)]
#[must_use]
pub fn json_name(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        name + &first.into_iter().chain(letters).collect::<String>()
    })
}

impl Described for String {
    const TYPE: Type = Type::Text;
}

impl Described for f64 {
    const TYPE: Type = Type::Number;
}

impl Described for bool {
    const TYPE: Type = Type::Flag;
}

impl<T: Described> Described for Vec<T> {
    const TYPE: Type = Type::List(&T::TYPE);
}

macro_rules! counts {
    ($($type:ty),*) => {$(
        impl Described for $type {
            const TYPE: Type = Type::Count;
        }
    )*};
}
counts!(u16, u32, u64);
