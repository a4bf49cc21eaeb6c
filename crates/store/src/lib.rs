//! The contract of a store of durable jobs.
//!
//! Internal to [`scheduler-rs`](https://docs.rs/scheduler-rs/latest/scheduler/): any release may change anything here. You want
//! that crate with the feature `sqlite` or `postgres`. A store of your own implements [`Store`] of exactly this version.
//!
//! # The contract
//!
//! A [`Store`] keeps *jobs*, *schedules* and *sessions* for all processes that use it. A **session** is the life of one
//! process; it lives as long as its **lease** is renewed, and is dead for ever once that has run out. A **schedule** is a
//! cursor over its **ticks**; a tick that fires becomes a **job** in the transaction that moves the cursor. A job is
//! **claimed** by a session, with a **fence** that grows each time work changes hands, run, and **finished**. Every write of
//! a run names its session and fence, so that a process that has lost its session changes nothing.
//!
//! [`Model`] is the contract as a program, in memory. Each store answers as it does: the tests in `tests/store-conformance` compare them.
//!
//! This crate reads no clock, starts no thread, and knows neither SQL nor the facade. A payload is bytes here.
//!
//! # States
//!
//! ```text
//! job:      ready -> running -> done | parked | cancelled     (running -> ready: failed, given back, lost)
//! session:  open -> ended                                    (closed, replaced, or reaped after its lease)
//! ```
//!
//! # The rules
//!
//! `R1` to `R24` in comments are the rules of `docs/durable-rules.md`: each was found by a model or a race, and taking one
//! away brings the fault back.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod action;
mod check;
mod column;
mod command;
mod decide;
mod error;
mod id;
mod job;
mod known;
mod lane;
mod limit;
mod model;
mod progress;
mod request;
mod schedule;
mod schedule_columns;
mod session;
mod skips;
mod store;
mod wait;

pub use action::{ACTION_COLUMNS, Action, ActionFilter, ActionScope, Signature, TargetKind};
pub use check::{NAME_MAX, PAYLOAD_MAX, TEXT_MAX, check_name, identifier, storable};
pub use column::{
    Column, ColumnKind, ColumnValue, EndedColumn, JOB_COLUMNS, JobRow, NEW_JOB_COLUMNS, NewColumn,
    statement_json,
};
pub use command::{
    BulkOutcome, Command, CommandAll, CommandOutcome, JobAction, JobPause, Pause, PauseScope,
    PauseSpan,
};
pub use decide::{EndedNodes, LineKind};
pub use error::{DecodeError, Refusal, StoreError};
pub use id::{ActionId, Fence, JobId, SessionId, StoreTime, micros};
pub use job::{
    ATTEMPT_TEXT_MAX, ATTEMPTS_MAX, AttemptOutcome, ClaimRef, DEFAULT_QUEUE, EXPIRED, EXPIRED_MAX,
    Enqueued, Expiry, JobAttempt, JobState, Key, KeyUntil, NewJob, OnConflict, OnLost, Origin,
    Payload, Priority, StoredJob, When, attempts_of_text, attempts_to_text,
};
pub use known::Known;
pub use lane::{LANES_MAX, LaneClaim, LaneGroup, Lanes, LimitsUsed, Turns, partition_depth};
pub use limit::{
    Arrival, LIMIT_COLUMNS, Limit, LimitOverride, LimitScope, LimitSpec, Rate, StoredLimit,
    StoredLimits, TaskLimits, empty_limit, refuse_full,
};
pub use model::{Model, ModelState};
pub use progress::{JobProgress, PROGRESS_TEXT_MAX};
pub use request::{
    CLAIM_BYTES_MAX, Close, DueSchedule, End, Enqueue, Failing, Finish, Finished, Fire, Fired,
    JobFilter, Lease, OnBusy, Open, Opened, OtherApplication, Poll, Polled, Prune, QueueDepth,
    Reap, Reaped, Register, Registered, RegisteredSchedule, Registration, Renew, Renewed,
    SessionTask, TaskRoom, UnreadableRow, VersionDepth, reap_count, reap_wait,
};
pub use schedule::{
    FINISHED_SCHEDULE_RETENTION, FireStep, Next, Overlap, Override, Rule, RunEnd, ScheduleSpec,
    StoredSchedule, TickJob, Timing,
};
pub use schedule_columns::{SCHEDULE_COLUMNS, damage_of, empty_schedule};
pub use scheduler_expr::OnPark;
pub use session::{CLOCK_OFF, ENDED_SESSION_RETENTION, SessionEnd, SessionInfo};
pub use skips::{JobBefore, Skips};
pub use store::{Store, Watch, is_dry_run};
pub use uuid::Uuid;
pub use wait::{
    JobWait, LimitDepth, PartitionDepth, PartitionOrder, Room, Runners, WaitReason, limit_depths,
};
