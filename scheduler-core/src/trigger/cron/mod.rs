//! Cron: fires when the wall clock of a zone matches an expression.
//!
//! # The rule
//!
//! The fire times are exactly the instants whose local wall-clock time matches all six fields.
//! Local times that a change of the clock leaves out do not exist and do not fire; local times that
//! come twice fire twice. This is what Spring does wherever it agrees with itself. Per trigger, two
//! other answers can be chosen: [`DstGap`] and [`DstOverlap`].
//!
//! # How the next fire time is found
//!
//! The next matching local time is searched in the calendar (`calendar.rs`) as if the offset of now
//! held for ever, and then placed on the time line. If the clock changes in between, the search
//! starts again right at the change, with the new offset. A zone changes at most once in four days,
//! which makes this exact.

mod calendar;
mod search;

use std::fmt;
use std::sync::OnceLock;

use chrono::{DateTime, Utc};
use scheduler_expr::{CronExpression, DstGap, DstOverlap};

use crate::trigger::zone::{Zone, ZoneChange};
use crate::trigger::{NextFireTime, Trigger, TriggerContext};
use calendar::Calendar;

/// Fires when the wall clock of a zone matches a cron expression.
///
/// ```
/// use chrono::{DateTime, Utc};
/// use scheduler_core::trigger::CronTrigger;
///
/// let trigger = CronTrigger::new("0 0 9 * * MON-FRI".parse()?, "Europe/Berlin".parse()?);
/// let friday: DateTime<Utc> = "2026-03-27T08:00:00Z".parse()?; // 09:00 in Berlin
/// let monday = trigger.next_after(friday).unwrap();
/// assert_eq!(trigger.zone().local(monday).to_rfc3339(), "2026-03-30T09:00:00+02:00");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// As a [`Trigger`] it follows Spring's `CronTrigger`: the next fire time lies after the last
/// completion, or after the last fire time if that is later. Fire times that pass during a run are
/// left out, and none is given twice, even when the clock is set back.
#[derive(Clone, Debug)]
pub struct CronTrigger {
    expression: CronExpression,
    zone: Zone,
    gap: DstGap,
    overlap: DstOverlap,
    calendar: Calendar,
    /// A second after which nothing fires any more, once a search has found that out.
    silence: OnceLock<i64>,
}

impl CronTrigger {
    /// A trigger for an expression in a zone, which treats changes of the clock as Spring does.
    #[must_use]
    pub fn new(expression: CronExpression, zone: Zone) -> Self {
        let calendar = Calendar::new(&expression);
        let (gap, overlap) = (DstGap::Skip, DstOverlap::Both);
        Self { expression, zone, gap, overlap, calendar, silence: OnceLock::new() }
    }

    /// Chooses what happens to fire times that a change of the clock leaves out.
    #[must_use]
    pub fn dst_gap(self, gap: DstGap) -> Self {
        Self { gap, silence: OnceLock::new(), ..self }
    }

    /// Chooses what happens to fire times that come twice.
    #[must_use]
    pub fn dst_overlap(self, overlap: DstOverlap) -> Self {
        Self { overlap, silence: OnceLock::new(), ..self }
    }

    /// The expression.
    #[must_use]
    pub fn expression(&self) -> &CronExpression {
        &self.expression
    }

    /// The zone whose wall clock is meant.
    #[must_use]
    pub fn zone(&self) -> Zone {
        self.zone
    }

    /// The first fire time that lies strictly after an instant; none when there never is one.
    ///
    /// There is no horizon: years after 2100 follow the rules that the zone has by then.
    #[must_use]
    pub fn next_after(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        // Whole seconds, rounded down: fire times are whole seconds, so none is lost.
        let next = self.search(instant.timestamp())?;
        DateTime::from_timestamp(next, 0)
    }

    /// The fire times after an instant, in order.
    ///
    /// ```
    /// use scheduler_core::trigger::{CronTrigger, Zone};
    ///
    /// let trigger = CronTrigger::new("0 0 0 29 2 *".parse()?, Zone::UTC);
    /// let years: Vec<_> = trigger.upcoming("2026-01-01T00:00:00Z".parse()?).take(2).collect();
    /// assert_eq!(years[1].to_rfc3339(), "2032-02-29T00:00:00+00:00");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upcoming(&self, instant: DateTime<Utc>) -> impl Iterator<Item = DateTime<Utc>> + '_ {
        std::iter::successors(self.next_after(instant), |last| self.next_after(*last))
    }

    /// The first change of the clock in `(from, until]` that touches this trigger: local times that
    /// match are missing or come twice.
    #[must_use]
    pub fn clash_between(&self, from: DateTime<Utc>, until: DateTime<Utc>) -> Option<ZoneChange> {
        let mut from = from;
        loop {
            let change = self.zone.change_between(from, until)?;
            if self.is_touched_by(change) {
                return Some(change);
            }
            from = change.at();
        }
    }
}

impl Trigger for CronTrigger {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        let last = context.last_completed().max(context.last_scheduled());
        Ok(self.next_after(last.unwrap_or_else(|| context.now())))
    }

    fn describe(&self) -> String {
        self.to_string()
    }
}

/// Writes the expression and what it means: `0 0 9 * * MON-FRI (09:00, Monday to Friday)`.
impl fmt::Display for CronTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.expression.source(), self.expression.describe())
    }
}

#[cfg(test)]
mod tests;
