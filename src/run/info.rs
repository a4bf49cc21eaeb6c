//! A run as plain data.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::cause::Cause;

/// A run and its attempt, as plain data: it keeps nothing alive.
///
/// ```
/// use scheduler::{Event, EventKind};
///
/// fn listen(event: &Event) {
///     if let EventKind::RunStarted { run, .. } = &event.kind {
///         println!("run {}, attempt {}, for {}", run.number, run.attempt, run.fire_time);
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct RunInfo {
    /// The number of the run within its task, from 1.
    pub number: u64,
    /// The number of the attempt within the run, from 1.
    pub attempt: u32,
    /// Why the run happens.
    pub cause: Cause,
    /// The instant that the task's rule asked for, without jitter; of a manual run, when it started.
    pub fire_time: DateTime<Utc>,
    /// When this attempt was due: the fire time plus jitter, or the end of the wait after the attempt before.
    pub due: DateTime<Utc>,
    /// When this attempt started, by the wall clock.
    pub started_at: DateTime<Utc>,
}

impl RunInfo {
    /// The time from the due time of this attempt to its start.
    #[must_use]
    pub fn lateness(&self) -> Duration {
        (self.started_at - self.due).to_std().unwrap_or_default()
    }
}
