//! When a task fires again: once only, on a grid, after a pause, when its trigger says.

use std::fmt;
use std::time::Duration;

use crate::error::Failure;
use crate::time::{Due, Now, WallTime};
use crate::trigger::{FireTimes, MisfirePolicy};

/// The rule by which a task fires again.
pub(crate) enum Rhythm {
    Once,
    FixedRate { period: Duration, misfire: MisfirePolicy },
    FixedDelay { delay: Duration },
    Trigger(Box<FireTimes>),
}

/// The run after which the next fire time is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastRun {
    pub(crate) due: Due,
    pub(crate) started: Now,
}

impl LastRun {
    /// The instant the run was meant to start at, as the wall clock showed it when it started.
    pub(crate) fn scheduled(&self) -> WallTime {
        self.due.as_wall(self.started)
    }
}

impl Rhythm {
    /// Returns true if the task is meant to run more than once.
    pub(crate) fn is_recurring(&self) -> bool {
        !matches!(self, Self::Once)
    }

    /// The first due time, or none when there is none.
    pub(crate) fn first(&self, delay: Duration, now: Now) -> Result<Option<Due>, Failure> {
        match self {
            Self::Trigger(times) => Ok(times.first(now.wall)?.map(Due::Wall)),
            Self::Once | Self::FixedRate { .. } | Self::FixedDelay { .. } => {
                Ok(Some(Due::Tick(now.tick + delay)))
            }
        }
    }

    /// The due time after a run that has just ended, or none when the task is over.
    pub(crate) fn next(&self, last: LastRun, now: Now) -> Result<Option<Due>, Failure> {
        match self {
            Self::Once => Ok(None),
            Self::FixedRate { period, misfire } => {
                let due = last.due.as_tick(now);
                Ok(Some(Due::Tick(misfire.next_at_fixed_rate(due, *period, now.tick))))
            }
            Self::FixedDelay { delay } => Ok(Some(Due::Tick(now.tick + *delay))),
            Self::Trigger(times) => {
                let next = times.after_run(last.scheduled(), last.started.wall, now.wall)?;
                Ok(next.map(Due::Wall))
            }
        }
    }

    /// The due time of a waiting task that is asked anew, because the wall clock was set back.
    ///
    /// A trigger that has no answer, or fails, leaves the task as it is.
    pub(crate) fn renew(&self, due: Due, now: Now) -> Due {
        match self {
            Self::Trigger(times) => times.renew(now.wall).ok().flatten().map_or(due, Due::Wall),
            Self::Once | Self::FixedRate { .. } | Self::FixedDelay { .. } => due,
        }
    }
}

impl fmt::Debug for Rhythm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once => f.write_str("Once"),
            Self::FixedRate { period, .. } => write!(f, "FixedRate({period:?})"),
            Self::FixedDelay { delay } => write!(f, "FixedDelay({delay:?})"),
            Self::Trigger(_) => f.write_str("Trigger"),
        }
    }
}
