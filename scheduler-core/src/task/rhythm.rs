//! When a task fires again: once only, on a grid, after a pause, when its trigger or its pace says.

use std::fmt;
use std::time::Duration;

use super::pace::Asked;
use super::pace::Occasion;
use super::pace::Pace;
use crate::error::Failure;
use crate::time::Due;
use crate::time::Now;
use crate::time::WallTime;
use crate::trigger::FireTimes;
use crate::trigger::MisfirePolicy;
use crate::unwind::catch;

/// The rule by which a task fires again.
pub(crate) enum Rhythm {
    Once,
    FixedRate { period: Duration, misfire: MisfirePolicy },
    FixedDelay { delay: Duration },
    Trigger(Box<FireTimes>),
    Paced(Box<dyn Pace>),
}

/// The run after which the next fire time is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastRun {
    pub(crate) due: Due,
    pub(crate) started: Now,
}

impl LastRun {
    /// The instant the run was meant to start at, as the wall clock told it when it started.
    pub(crate) fn scheduled(&self) -> WallTime {
        self.due.as_wall(self.started)
    }
}

impl Rhythm {
    /// Tells the pace of the task that it has ended.
    #[inline]
    pub(crate) fn ended(&self) {
        if let Self::Paced(pace) = self {
            drop(catch(|| pace.ended()));
        }
    }

    /// Whether the task is meant to run more than once.
    pub(crate) fn is_recurring(&self) -> bool {
        !matches!(self, Self::Once)
    }

    /// Whether a waiting task may ask anew when it is due.
    pub(crate) fn is_renewable(&self) -> bool {
        matches!(self, Self::Trigger(_) | Self::Paced(_))
    }

    /// Whether it decides by itself what becomes of a task whose run has failed.
    pub(crate) fn decides_on_failure(&self) -> bool {
        matches!(self, Self::Paced(_))
    }

    /// The first due time, or none when there is none.
    pub(crate) fn first(&self, delay: Duration, now: Now) -> Result<Option<Due>, Failure> {
        match self {
            Self::Trigger(times) => Ok(times.first(now.wall)?.map(Due::Wall)),
            Self::Paced(pace) => ask(&**pace, Occasion::First, now),
            Self::Once | Self::FixedRate { .. } | Self::FixedDelay { .. } => {
                Ok(Some(Due::Tick(now.tick + delay)))
            }
        }
    }

    /// The due time after a run that has just ended, or none when the task is over.
    pub(crate) fn next(
        &self,
        last: LastRun,
        outcome: &Result<(), Failure>,
        now: Now,
    ) -> Result<Option<Due>, Failure> {
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
            Self::Paced(pace) => {
                let LastRun { due, started } = last;
                ask(&**pace, Occasion::RunEnded { due, started, outcome }, now)
            }
        }
    }

    /// The due time of a waiting task that is asked anew, or none when the task is over.
    ///
    /// A trigger that has no answer, or fails, leaves the task as it is.
    pub(crate) fn renew(&self, due: Due, now: Now) -> Result<Option<Due>, Failure> {
        match self {
            Self::Trigger(times) => {
                let renewed = times.renew(now.wall).ok().flatten();
                Ok(Some(renewed.map_or(due, Due::Wall)))
            }
            Self::Paced(pace) => ask(&**pace, Occasion::Renewed, now),
            Self::Once | Self::FixedRate { .. } | Self::FixedDelay { .. } => Ok(Some(due)),
        }
    }
}

/// Asks a pace, which is user code.
fn ask(pace: &dyn Pace, occasion: Occasion<'_>, now: Now) -> Result<Option<Due>, Failure> {
    let question = Question { pace, asked: Asked { occasion, now } };
    catch(|| question.put())
}

/// A question and who is asked, in one place: what a door is entered with is moved.
struct Question<'a> {
    pace: &'a dyn Pace,
    asked: Asked<'a>,
}

impl Question<'_> {
    #[inline]
    fn put(&self) -> Option<Due> {
        self.pace.next(&self.asked)
    }
}

impl fmt::Debug for Rhythm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once => f.write_str("Once"),
            Self::FixedRate { period, .. } => write!(f, "FixedRate({period:?})"),
            Self::FixedDelay { delay } => write!(f, "FixedDelay({delay:?})"),
            Self::Trigger(_) => f.write_str("Trigger"),
            Self::Paced(_) => f.write_str("Paced"),
        }
    }
}
