//! When a task fires again: once only, on a grid, after a pause, or when its trigger says.

use std::fmt;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;

use super::history::FireHistory;
use super::unwind::catch;
use crate::error::Failure;
use crate::time::Due;
use crate::time::Now;
use crate::time::Tick;
use crate::trigger::MisfirePolicy;
use crate::trigger::Trigger;
use crate::trigger::TriggerContext;

/// The rule by which a task fires again.
pub(crate) enum Rhythm {
    Once,
    FixedRate { period: Duration, misfire: MisfirePolicy },
    FixedDelay { delay: Duration },
    Trigger(Box<dyn Trigger>),
}

/// The run after which the next fire time is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastRun {
    pub(crate) due: Due,
    pub(crate) scheduled: DateTime<Utc>,
    pub(crate) started: DateTime<Utc>,
    pub(crate) started_tick: Tick,
}

impl Rhythm {
    /// Whether the task is meant to run more than once.
    pub(crate) fn is_recurring(&self) -> bool {
        !matches!(self, Self::Once)
    }

    /// The first fire time of a trigger; triggers are user code.
    pub(crate) fn first(trigger: &dyn Trigger, now: Now) -> Result<Option<Due>, Failure> {
        let context = TriggerContext::first(now.wall);
        let next = catch(|| trigger.next_fire_time(&context))?;
        Ok(next.map(Due::Wall))
    }

    /// The fire time after a run that has just ended, or none when the task is over.
    pub(crate) fn next(
        &self,
        last: LastRun,
        history: &FireHistory,
        now: Now,
    ) -> Result<Option<Due>, Failure> {
        match self {
            Self::Once => Ok(None),
            Self::FixedRate { period, misfire } => {
                let due = last.due.as_tick(now);
                Ok(Some(Due::Tick(misfire.next_at_fixed_rate(due, *period, now.tick))))
            }
            Self::FixedDelay { delay } => Ok(Some(Due::Tick(now.tick + *delay))),
            Self::Trigger(trigger) if now.wall < last.scheduled => {
                ask_anew(trigger.as_ref(), history, now)
            }
            Self::Trigger(trigger) => {
                let context =
                    TriggerContext::after_run(now.wall, last.scheduled, last.started, now.wall);
                ask(trigger.as_ref(), context, last.scheduled, history)
            }
        }
    }

    /// The fire time of a waiting task after the wall clock was set back; none to leave it as it is.
    ///
    /// The trigger is asked as if the task were new, so that the task is not silent until the clock
    /// has come again to where it was. What has fired does not fire again.
    pub(crate) fn renew(&self, history: &FireHistory, now: Now) -> Option<Due> {
        match self {
            Self::Trigger(trigger) => ask_anew(trigger.as_ref(), history, now).ok().flatten(),
            _ => None,
        }
    }
}

fn ask_anew(
    trigger: &dyn Trigger,
    history: &FireHistory,
    now: Now,
) -> Result<Option<Due>, Failure> {
    let nano = chrono::TimeDelta::nanoseconds(1);
    let before = now.wall.checked_sub_signed(nano).unwrap_or(DateTime::<Utc>::MIN_UTC);
    ask(trigger, TriggerContext::first(now.wall), before, history)
}

/// Asks the trigger, and again from the end of each stretch that has been served already.
fn ask(
    trigger: &dyn Trigger,
    mut context: TriggerContext,
    mut floor: DateTime<Utc>,
    history: &FireHistory,
) -> Result<Option<Due>, Failure> {
    loop {
        let Some(next) = catch(|| trigger.next_fire_time(&context))? else { return Ok(None) };
        if next <= floor {
            return Err(Failure::from_error(&format!(
                "the trigger did not advance: after {floor} it gave {next}"
            )));
        }
        match history.end_of_served(next) {
            None => return Ok(Some(Due::Wall(next))),
            Some(served) => {
                context = TriggerContext::after_run(served, served, served, served);
                floor = served;
            }
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
