//! Decides *when* a task fires next.
//!
//! A [`Trigger`] is a pure rule: given what happened so far (a [`TriggerContext`]) it names the
//! next fire time, none, or why it cannot say. It is Spring's `Trigger`, and the only way in which wall-clock time
//! enters the engine: fixed rates and fixed delays live on the monotonic clock and need no trigger.
//!
//! Nothing in the engine asks a trigger: a scheduler above it does, and arms a [`Timer`](crate::Timer) for the answer.
//
// A rule reads no clock and knows no task or pool: everything that it needs is in the context.

mod cron;
mod zone;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};

pub use cron::CronTrigger;
pub use scheduler_expr::{DstGap, DstOverlap};
pub use zone::{SystemZoneError, Zone, ZoneChange};

/// A rule that gives the next fire time of a task from its past runs.
///
/// Modelled on Spring's `org.springframework.scheduling.Trigger`, which cannot return an error.
///
/// ```
/// use chrono::{DateTime, TimeDelta, Utc};
/// use scheduler_core::trigger::{NextFireTime, Trigger, TriggerContext};
///
/// /// As many seconds after the end of the last run as a file says, at first at once.
/// struct FromFile;
///
/// impl Trigger for FromFile {
///     fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
///         let Some(last) = context.last_completed() else { return Ok(Some(context.now())) };
///         let seconds: i64 = std::fs::read_to_string("seconds.txt")?.trim().parse()?;
///         Ok(Some(last + TimeDelta::seconds(seconds)))
///     }
///
///     fn describe(&self) -> String {
///         "as seconds.txt says".to_owned()
///     }
/// }
/// ```
#[doc(alias = "nextExecution")]
pub trait Trigger: Send + Sync {
    /// Returns the next fire time, or `None` when the task shall never fire again.
    ///
    /// # Errors
    ///
    /// When the next fire time cannot be determined now, by any error of yours: `?` converts it. A task of the
    /// `scheduler-rs` crate reports it and asks again after 1 s, 2 s, 4 s and so on, at most a minute.
    ///
    /// A panic counts as an error, and so does an answer that does not lie after
    /// [`TriggerContext::last_scheduled`].
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime;

    /// Describes the rule for people, such as `every working day at nine`.
    ///
    /// It stands in banners, snapshots and events, so it must hold no secrets. It is asked when a task gets the
    /// trigger and for each snapshot, so it should be quick.
    fn describe(&self) -> String {
        "custom trigger".to_owned()
    }
}

/// The answer of a [`Trigger`]: the next fire time, none when it never fires again, or an error.
pub type NextFireTime = Result<Option<DateTime<Utc>>, Box<dyn Error + Send + Sync>>;

impl<T: Trigger + ?Sized> Trigger for Arc<T> {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        (**self).next_fire_time(context)
    }

    fn describe(&self) -> String {
        (**self).describe()
    }
}

/// Shows the type only: what a trigger holds may be secret.
impl fmt::Debug for dyn Trigger + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trigger").finish_non_exhaustive()
    }
}

/// The input of a [`Trigger`]: the wall clock and the previous run.
///
/// All but [`now`](Self::now) are absent before the first run. After Spring's `TriggerContext`.
///
/// ```
/// use chrono::{DateTime, Utc};
/// use scheduler_core::trigger::{CronTrigger, Trigger, TriggerContext, Zone};
///
/// let trigger = CronTrigger::new("0 0 9 * * *".parse()?, Zone::UTC);
/// let now: DateTime<Utc> = "2026-03-27T08:00:00Z".parse()?;
/// let next = trigger.next_fire_time(&TriggerContext::first(now))?.unwrap();
/// assert_eq!(next.to_rfc3339(), "2026-03-27T09:00:00+00:00");
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggerContext {
    now: DateTime<Utc>,
    last_scheduled: Option<DateTime<Utc>>,
    last_started: Option<DateTime<Utc>>,
    last_completed: Option<DateTime<Utc>>,
}

impl TriggerContext {
    /// The context of a task that has not run yet, at wall-clock time `now`.
    #[must_use]
    pub fn first(now: DateTime<Utc>) -> Self {
        Self { now, last_scheduled: None, last_started: None, last_completed: None }
    }

    /// The context after a run that was scheduled for, started at and completed at these instants.
    #[must_use]
    pub fn after_run(
        now: DateTime<Utc>,
        scheduled: DateTime<Utc>,
        started: DateTime<Utc>,
        completed: DateTime<Utc>,
    ) -> Self {
        Self {
            now,
            last_scheduled: Some(scheduled),
            last_started: Some(started),
            last_completed: Some(completed),
        }
    }

    /// The wall clock's time when the trigger is asked.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// The fire time the trigger gave for the previous run.
    #[must_use]
    #[doc(alias = "lastScheduledExecution")]
    pub fn last_scheduled(&self) -> Option<DateTime<Utc>> {
        self.last_scheduled
    }

    /// When the previous run started.
    #[must_use]
    #[doc(alias = "lastActualExecution")]
    pub fn last_started(&self) -> Option<DateTime<Utc>> {
        self.last_started
    }

    /// When the previous run ended.
    #[must_use]
    #[doc(alias = "lastCompletion")]
    pub fn last_completed(&self) -> Option<DateTime<Utc>> {
        self.last_completed
    }
}
