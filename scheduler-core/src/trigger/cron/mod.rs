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
//! The next matching local time is searched in the `CronCalendar` as if the offset of now
//! held for ever, and then placed on the time line. If the clock changes in between, the search
//! starts again right at the change, with the new offset. A zone changes at most once in four days,
//! which makes this exact.

use std::fmt;
use std::fmt::Write;
use std::str::FromStr;
use std::sync::OnceLock;

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use cron::Schedule;
use scheduler_expr::{CalendarDays, CronExpression, CronField, DstGap, DstOverlap};

use super::zone::{CALM, MAX_OFFSET, Zone, ZoneChange};
use super::{NextFireTime, Trigger, TriggerContext};

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
    calendar: CronCalendar,
    /// A second after which nothing fires any more, once a search has found that out.
    silence: OnceLock<i64>,
}

impl CronTrigger {
    /// A trigger for an expression in a zone, which treats changes of the clock as Spring does.
    #[must_use]
    pub fn new(expression: CronExpression, zone: Zone) -> Self {
        let calendar = CronCalendar::new(&expression);
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

/// The distance within which a change can make local times come twice: no change has ever been
/// wider than a day.
const NEAR: i64 = 26 * 3_600;

/// After how many gaps without a fire time between them it is asked whether anything fires at all.
const PATIENCE: u32 = 3;

/// The second from which on zones follow yearly rules only: 2100-01-01.
const RULES_BEGIN: i64 = 4_102_444_800;

/// After so many seconds the Gregorian calendar, and with it every rule, repeats itself: 400 years.
const CYCLE: i64 = 146_097 * 86_400;

// The windows below must not hold more than one change of the clock.
const _: () = assert!(NEAR <= CALM && 2 * MAX_OFFSET <= CALM);

/// Where a local time lies, seen from an earlier instant.
enum Place {
    /// At this instant.
    At(i64),
    /// Beyond a change of the clock that must be looked at first.
    Beyond(ZoneChange),
}

impl CronTrigger {
    /// The first fire time after a second.
    fn search(&self, after: i64) -> Option<i64> {
        if self.silence.get().is_some_and(|silence| after >= *silence) {
            return None;
        }
        let mut gaps = 0;
        self.search_while(after, |at| {
            gaps += 1;
            let goes_on = gaps != PATIENCE || self.fires_again(at);
            if !goes_on {
                // Another thread may have been first; its value is the same.
                let _ = self.silence.set(after);
            }
            goes_on
        })
    }

    /// The first fire time after a second. Asks at each gap that swallows a match whether to go on.
    fn search_while(&self, after: i64, mut goes_on: impl FnMut(i64) -> bool) -> Option<i64> {
        let mut from = after;
        let mut offset = self.zone.offset(from);
        let mut local = from + offset;
        loop {
            local = self.calendar.next_after(local)?;
            let at = match place(self.zone, local, from, offset) {
                Place::At(at) => at,
                Place::Beyond(change) => {
                    let is_swallowed = local < change.at + change.after;
                    if is_swallowed && self.gap == DstGap::RunAfter {
                        return Some(change.at);
                    }
                    if is_swallowed && !goes_on(change.at) {
                        return None;
                    }
                    (from, offset) = (change.at, change.after);
                    local = from + offset - 1;
                    continue;
                }
            };
            let Some(end) = self.end_of_unwanted_pass(at) else { return Some(at) };
            (from, offset) = (end, self.zone.offset(end));
            local = from + offset - 1;
        }
    }

    /// If `at` lies in a pass of an overlap that shall not fire: the first second after that pass.
    fn end_of_unwanted_pass(&self, at: i64) -> Option<i64> {
        let is_back = |change: &ZoneChange| !change.is_gap();
        match self.overlap {
            DstOverlap::Both => None,
            DstOverlap::First => {
                let change = self.zone.change_within(at - NEAR, at).filter(is_back)?;
                Some(change.at + change.width()).filter(|end| at < *end)
            }
            DstOverlap::Last => {
                let change = self.zone.change_within(at, at + NEAR).filter(is_back)?;
                Some(change.at).filter(|end| at >= end - change.width())
            }
        }
    }

    /// Returns true if anything fires after a second, however far away.
    ///
    /// An expression may match only inside gaps, year after year: `0 30 2 ? 3 SUNL` in Berlin. If
    /// nothing fires in a whole cycle of the calendar under the final rules, nothing ever will.
    fn fires_again(&self, after: i64) -> bool {
        let end = after.max(RULES_BEGIN) + CYCLE;
        self.search_while(after, |at| at < end).is_some()
    }

    /// Returns true if local times that match are missing or come twice at a change.
    fn is_touched_by(&self, change: ZoneChange) -> bool {
        let (first, end) = (change.at + change.before, change.at + change.after);
        let (first, end) = (first.min(end), first.max(end));
        self.calendar.next_after(first - 1).is_some_and(|local| local < end)
    }
}

/// Places a local time that is the first match as seen from an instant at which `offset` holds.
fn place(zone: Zone, local: i64, from: i64, offset: i64) -> Place {
    let at = local - offset;
    let horizon = at.min(from + NEAR);
    // A change before the match moves it; one that lies near may repeat times that are earlier
    // still.
    if let Some(change) = zone.change_from(from, offset, horizon) {
        return Place::Beyond(change);
    }
    if horizon == at {
        return Place::At(at);
    }
    // No offset is far from UTC, so the local time comes within these bounds or not at all.
    let Some(change) = zone.change_within(local - MAX_OFFSET, local + MAX_OFFSET) else {
        return Place::At(local - zone.offset(local));
    };
    if local - change.before < change.at {
        Place::At(local - change.before)
    } else if local - change.after >= change.at {
        Place::At(local - change.after)
    } else {
        Place::Beyond(change)
    }
}

/// Seconds in a day of a wall clock that is never changed.
const DAY: i64 = 86_400;

/// The days that the `cron` crate can search, counted from 1970-01-01: up to the end of 2099.
const SEARCHABLE_DAYS: std::ops::Range<i64> = 0..47_482;

/// A year for every shape that a year can have: common years and leap years, by the weekday of
/// their first day, Monday first.
const MODEL_YEARS: [[i32; 7]; 2] =
    [[2001, 2002, 2003, 2009, 2010, 2005, 2006], [2024, 2008, 2020, 2004, 2016, 2000, 2012]];

/// The wall-clock times at which an expression matches, without zones, as seconds since 1970-01-01T00:00 of that clock.
///
/// Only this type knows the `cron` crate. The crate gets not the user's text but a
/// normalised one, with every number listed and weekdays counted its way, and wall-clock times
/// dressed as UTC, so that its own treatment of zones never runs. Features that it lacks are added
/// here: the days of `L`, `W` and `#`, and years before 1970 and from 2100 on. Those are searched in
/// a year of the same shape, with the same leap day and the same weekdays.
#[derive(Clone, Debug)]
struct CronCalendar {
    schedule: Schedule,
    days: CalendarDays,
    is_empty: bool,
    /// True if the crate finds the day by itself, and fast.
    is_direct: bool,
    /// The last matching second of a matching day.
    last_second: i64,
}

impl CronCalendar {
    fn new(expression: &CronExpression) -> Self {
        let days = expression.days();
        let text = normalized(expression);
        // INVARIANT: lists of numbers in range always parse; a test tries every field at its
        // limits.
        let schedule = Schedule::from_str(&text)
            .unwrap_or_else(|error| unreachable!("`{text}` is normalised: {error}"));
        let has_free_days =
            expression.is_any(CronField::DayOfMonth) || expression.is_any(CronField::DayOfWeek);
        Self {
            schedule,
            is_empty: days.is_empty(),
            days,
            is_direct: expression.has_plain_days() && has_free_days,
            last_second: last_second(expression),
        }
    }

    /// The first matching time after `local`; none when no time ever matches, or none that chrono
    /// can express.
    fn next_after(&self, local: i64) -> Option<i64> {
        if self.is_empty {
            return None;
        }
        let day = local.div_euclid(DAY);
        if self.is_direct && SEARCHABLE_DAYS.contains(&day) {
            let found = self.search(local);
            if found.is_some() {
                return found;
            }
        }
        let second = local.rem_euclid(DAY);
        if second < self.last_second && self.days.contains(day) {
            return self.search_day(day, second);
        }
        let day = self.days.next_from(day + 1)?;
        self.search_day(day, -1)
    }

    /// The first matching time of a matching day that lies after a second of that day.
    fn search_day(&self, day: i64, second: i64) -> Option<i64> {
        let model = model_of(day)?;
        let found = self.search(model * DAY + second)?;
        (found.div_euclid(DAY) == model).then(|| found + (day - model) * DAY)
    }

    fn search(&self, local: i64) -> Option<i64> {
        let local = DateTime::from_timestamp(local, 0)?;
        let found = self.schedule.after(&local).next();
        found.map(|found| found.timestamp())
    }
}

/// The last second of a day whose hour, minute and second match.
fn last_second(expression: &CronExpression) -> i64 {
    let last = |field| expression.values(field).last().map_or(0, i64::from);
    last(CronField::Hour) * 3_600 + last(CronField::Minute) * 60 + last(CronField::Second)
}

/// A day that can be searched in place of `day`: itself, or the same date in a year of the same
/// shape.
fn model_of(day: i64) -> Option<i64> {
    if SEARCHABLE_DAYS.contains(&day) {
        return Some(day);
    }
    let date = NaiveDate::from_epoch_days(i32::try_from(day).ok()?)?;
    let new_year = date.with_ordinal(1)?.weekday().num_days_from_monday();
    let year = MODEL_YEARS[usize::from(date.leap_year())][new_year as usize];
    Some(date.with_year(year)?.to_epoch_days().into())
}

/// The expression in the words of the `cron` crate. `L`, `W` and `#` are left out.
fn normalized(expression: &CronExpression) -> String {
    let mut text = String::new();
    for field in CronField::ALL {
        let is_day = matches!(field, CronField::DayOfMonth | CronField::DayOfWeek);
        let mut values: Vec<u8> = expression.values(field).collect();
        let is_left_out = is_day && (values.is_empty() || !expression.has_plain_days());
        if is_left_out || expression.is_any(field) {
            text.push_str("* ");
            continue;
        }
        if field == CronField::DayOfWeek {
            // The crate counts from 1 = Sunday.
            values.iter_mut().for_each(|day| *day = *day % 7 + 1);
            values.sort_unstable();
        }
        for value in values {
            let _ = write!(text, "{value},");
        }
        text.pop();
        text.push(' ');
    }
    text
}

#[cfg(test)]
mod tests;
