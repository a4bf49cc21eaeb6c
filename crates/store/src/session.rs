//! Sessions as people see them.

use std::time::Duration;

use crate::check::storable;
use crate::command::Pause;
use crate::id::{SessionId, StoreTime};
use crate::request::SessionTask;

/// By how much the clock of a process may differ from the store's: time servers keep clocks within some milliseconds.
pub const CLOCK_OFF: Duration = Duration::from_secs(2);

/// The time for which a store keeps the cause of the end of a session.
pub const ENDED_SESSION_RETENTION: Duration = Duration::from_secs(60 * 60);

/// A session, for people.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Its identity.
    pub id: SessionId,
    /// The name of the process for people.
    pub label: String,
    /// The build of the process.
    pub build: String,
    /// The name of the application.
    pub application: String,
    /// The tasks that the process runs.
    pub tasks: Vec<SessionTask>,
    /// When it was opened.
    pub opened_at: StoreTime,
    /// The queues that the process serves; none for all.
    pub queues: Option<Vec<String>>,
    /// The greatest number of jobs that it runs at once.
    pub concurrency: u32,
    /// True if its lease has run out.
    pub has_run_out: bool,
    /// By how many microseconds the clock of the process was ahead of the store's at the last renewal, if that was known.
    pub clock_offset: Option<i64>,
    /// The pause that holds: the process takes no jobs and fires no ticks.
    pub pause: Option<Pause>,
    /// The end, of a session that has ended within the last hour.
    pub ended: Option<SessionEnd>,
}

/// The end of a session.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct SessionEnd {
    /// When it ended.
    pub at: StoreTime,
    /// False if the process has closed it; true if its lease had run out.
    pub is_lost: bool,
    /// The name of the process that has found it lost, which may be its own.
    pub found_by: String,
    /// The number of jobs that it held then, and that others take over.
    pub jobs: u32,
}

impl SessionEnd {
    /// The end of a session that was found lost by a process of this name, or that was closed.
    #[must_use]
    pub fn new(at: StoreTime, found_by: Option<&str>, jobs: u32) -> Self {
        let by = found_by.map(storable).unwrap_or_default();
        Self { at, is_lost: found_by.is_some(), found_by: by, jobs }
    }
}

impl SessionInfo {
    /// A session without a name, whose lease has not run out.
    #[must_use]
    pub fn new(id: SessionId, opened_at: StoreTime) -> Self {
        Self {
            id,
            label: String::new(),
            build: String::new(),
            application: String::new(),
            tasks: Vec::new(),
            opened_at,
            queues: None,
            concurrency: 0,
            has_run_out: false,
            clock_offset: None,
            pause: None,
            ended: None,
        }
    }

    /// Returns true if it has neither ended nor run out.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.ended.is_none() && !self.has_run_out
    }

    /// Returns true if the clock of its process differs from the store's by more than [`CLOCK_OFF`].
    #[must_use]
    pub fn is_clock_off(&self) -> bool {
        self.clock_offset
            .is_some_and(|offset| CLOCK_OFF < Duration::from_micros(offset.unsigned_abs()))
    }

    /// Returns true if its process takes jobs of this queue, now or when it is no longer paused.
    #[must_use]
    pub fn serves(&self, queue: &str) -> bool {
        self.queues.as_ref().is_none_or(|queues| queues.iter().any(|each| each == queue))
    }
}
