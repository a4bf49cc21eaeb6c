//! Fire times as people read them, and changes of the clock.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use scheduler_core::trigger::{CronTrigger, Zone, ZoneChange};
use scheduler_expr::CronExpression;

use crate::error::{CliError, named};

/// The fire times of one or more expressions in a zone.
#[derive(Debug)]
pub(crate) struct Times {
    triggers: Vec<CronTrigger>,
    zone: Zone,
}

/// A fire time, and what a change of the clock has to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FireTime {
    pub(crate) at: DateTime<Utc>,
    pub(crate) remark: Option<String>,
}

/// The greatest distance from a clock change at which a local time can come twice.
const A_DAY: TimeDelta = TimeDelta::days(1);

/// The time ahead in which clock changes are searched.
pub(crate) const A_YEAR: TimeDelta = TimeDelta::days(366);

impl Times {
    pub(crate) fn new(expressions: &[CronExpression], zone: Zone) -> Self {
        let triggers = expressions.iter().map(|cron| CronTrigger::new(cron.clone(), zone));
        Self { triggers: triggers.collect(), zone }
    }

    pub(crate) fn zone(&self) -> Zone {
        self.zone
    }

    /// The effect of the clock changes after an instant on them.
    pub(crate) fn touched_after(&self, instant: DateTime<Utc>) -> Touched {
        let changes = Changes::after(self.zone, instant);
        let touched = self.triggers.iter().map(|trigger| changes.touch(trigger));
        touched.fold(Touched::default(), Touched::or)
    }

    /// Why there is no fire time after an instant, if that is so.
    pub(crate) fn silent_after(&self, instant: DateTime<Utc>) -> Option<CliError> {
        self.next_after(instant).is_none().then(|| silent(self.zone))
    }

    /// The first fire time after an instant.
    fn next_after(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.triggers.iter().filter_map(|trigger| trigger.next_after(instant)).min()
    }

    /// The fire times after an instant, each with its remark.
    pub(crate) fn after(&self, instant: DateTime<Utc>) -> impl Iterator<Item = FireTime> + '_ {
        let mut last = instant;
        std::iter::from_fn(move || {
            let at = self.next_after(last)?;
            let remark = self.remark(last, at);
            last = at;
            Some(FireTime { at, remark })
        })
    }

    /// The clock change between the last fire time and this one, or at this one.
    fn remark(&self, last: DateTime<Utc>, at: DateTime<Utc>) -> Option<String> {
        let skipped = self.triggers.iter().find_map(|trigger| {
            let change = trigger.clash_between(last, at).filter(ZoneChange::is_gap)?;
            left_out(trigger, change)
        });
        skipped.or_else(|| self.twice(at)).or_else(|| self.changed(last, at))
    }

    /// True if the local time of a fire time comes twice.
    fn twice(&self, at: DateTime<Utc>) -> Option<String> {
        let from = at.checked_sub_signed(A_DAY)?;
        let change = self.zone.change_between(from, at.checked_add_signed(A_DAY)?)?;
        let (first, end) = change.local_times();
        let local = self.zone.local(at).naive_local();
        let is_twice = !change.is_gap() && (first..end).contains(&local);
        is_twice.then(|| {
            let which = if at < change.at() { "the first" } else { "the second" };
            format!("{which} of two: clocks go back at {}", hour_of(end))
        })
    }

    /// True if the offset is another one than at the last fire time.
    fn changed(&self, last: DateTime<Utc>, at: DateTime<Utc>) -> Option<String> {
        if self.zone.offset_at(last) == self.zone.offset_at(at) {
            return None;
        }
        let mut change = self.zone.change_between(last, at)?;
        while let Some(later) = self.zone.change_between(change.at(), at) {
            change = later;
        }
        let way = if change.is_gap() { "forward" } else { "back" };
        Some(format!("clocks go {way} on {}", day_of(change)))
    }
}

/// The fault of an expression that has times of day and falls only into gaps of its zone.
pub(crate) fn silent(zone: Zone) -> CliError {
    let what = format!("it never fires in {zone}: clocks go forward over each of its times");
    CliError::no(what).help("to run right after them instead, write dst_gap = \"run_after\"")
}

/// The local times that a trigger loses in a gap.
fn left_out(trigger: &CronTrigger, gap: ZoneChange) -> Option<String> {
    let as_if_utc = CronTrigger::new(trigger.expression().clone(), Zone::UTC);
    let (first, end) = gap.local_times();
    let before = first.and_utc().checked_sub_signed(TimeDelta::seconds(1))?;
    let mut times = as_if_utc.upcoming(before).take_while(|time| time.naive_utc() < end);
    let time = times.next()?.naive_utc();
    let more = if times.next().is_some() { " and more" } else { "" };
    Some(format!("{}{more} on {} does not exist: left out", clock_time(time), day_of(gap)))
}

/// The day of a change, by the clock before it: `Sun 2026-03-29`.
pub(crate) fn day_of(change: ZoneChange) -> String {
    let local = change.at().with_timezone(&change.offset_before());
    local.format("%a %Y-%m-%d").to_string()
}

fn hour_of(time: NaiveDateTime) -> String {
    time.format("%H:%M").to_string()
}

/// A time of day; with its seconds, where there are some.
fn clock_time(time: NaiveDateTime) -> String {
    time.format(if has_seconds(time) { "%H:%M:%S" } else { "%H:%M" }).to_string()
}

fn has_seconds(time: NaiveDateTime) -> bool {
    time.and_utc().timestamp() % 60 != 0
}

/// An instant as a local time with its offset: `Mon 2026-03-30 09:00 +02:00`.
pub(crate) fn local(at: DateTime<Utc>, zone: Zone) -> String {
    local_to(at, zone, has_seconds(zone.local(at).naive_local()))
}

/// The same, with or without its seconds.
pub(crate) fn local_to(at: DateTime<Utc>, zone: Zone, seconds: bool) -> String {
    let form = if seconds { "%a %Y-%m-%d %H:%M:%S %:z" } else { "%a %Y-%m-%d %H:%M %:z" };
    zone.local(at).format(form).to_string()
}

/// The same for programs: `2026-03-30T09:00:00+02:00`.
pub(crate) fn rfc3339(at: DateTime<Utc>, zone: Zone) -> String {
    zone.local(at).to_rfc3339_opts(chrono::SecondsFormat::AutoSi, false)
}

/// The time until an instant, in its two greatest units: `2d 20h`.
pub(crate) fn ahead(now: DateTime<Utc>, at: DateTime<Utc>) -> String {
    let seconds = (at - now).num_seconds().max(0).unsigned_abs();
    format!("in {}", length(seconds))
}

/// A number of seconds by its two greatest units.
pub(crate) fn length(seconds: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let first = UNITS.iter().position(|(unit, _)| seconds >= *unit).unwrap_or(UNITS.len() - 1);
    let (unit, name) = UNITS[first];
    let mut text = format!("{}{name}", seconds / unit);
    if let Some((next, name)) = UNITS.get(first + 1) {
        let rest = seconds % unit / next;
        if rest > 0 {
            text.push_str(&format!(" {rest}{name}"));
        }
    }
    text
}

const FORMS: &str = "write `2026-03-27`, `2026-03-27T09:00`, `2026-03-27T08:00:00Z` or `now`";

/// Reads an instant: with its offset, as a local time of the zone, as the beginning of a day, or `now`.
pub(crate) fn instant(
    text: &str,
    zone: Zone,
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>, CliError> {
    if text == "now" {
        return Ok(now);
    }
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Ok(at.with_timezone(&Utc));
    }
    let separated = text.replacen(' ', "T", 1);
    let forms = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"];
    let time = forms.iter().find_map(|form| NaiveDateTime::parse_from_str(&separated, form).ok());
    let day = || NaiveDateTime::parse_from_str(&format!("{text}T00:00"), forms[1]).ok();
    let Some(local) = time.or_else(day) else {
        return Err(CliError::unable(format!("{} is no instant", named(text))).help(FORMS));
    };
    let mut found = around(local, zone);
    match (found.pop(), found.pop()) {
        (Some(at), None) => Ok(at),
        (Some(second), Some(first)) => Err(CliError::unable(format!(
            "{} comes twice in {zone}",
            named(text)
        ))
        .help(format!("write `{}` or `{}`", rfc3339(first, zone), rfc3339(second, zone)))),
        _ => Err(CliError::unable(format!(
            "{} does not exist in {zone}: clocks go forward over it",
            named(text)
        ))
        .help("write the time with its offset from UTC")),
    }
}

/// The instants at which a zone shows a local time, in order.
fn around(local: NaiveDateTime, zone: Zone) -> Vec<DateTime<Utc>> {
    let near = |hours: i64| local.and_utc().checked_add_signed(TimeDelta::hours(hours));
    let offsets = [-16, 16].into_iter().filter_map(near).map(|at| zone.offset_at(at));
    let instants = offsets.filter_map(|offset| local.and_local_timezone(offset).single());
    let instants = instants.map(|at| at.with_timezone(&Utc));
    let mut found: Vec<_> = instants.filter(|at| zone.local(*at).naive_local() == local).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The end of the zone data, 2100-01-01. A hundred years have all days on which a yearly rule can change the clock.
const DATA_END: i64 = 4_102_444_800;

/// The changes of a zone's clock.
#[derive(Clone, Debug)]
pub(crate) struct Changes(Vec<ZoneChange>);

/// The effect of clock changes on the fire times of an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Clocks that go forward leave some out.
    pub(crate) by_gap: bool,
    /// Clocks that go back repeat some.
    pub(crate) by_overlap: bool,
}

impl Changes {
    /// The changes of the past and of the rules to come.
    pub(crate) fn all(zone: Zone) -> Self {
        Self::after(zone, DateTime::<Utc>::MIN_UTC)
    }

    /// Those after an instant.
    pub(crate) fn after(zone: Zone, instant: DateTime<Utc>) -> Self {
        let end = DateTime::from_timestamp(DATA_END, 0).unwrap_or(DateTime::<Utc>::MAX_UTC);
        let next = |from: DateTime<Utc>| zone.change_between(from, end);
        Self(std::iter::successors(next(instant), |change| next(change.at())).collect())
    }

    /// Their effect on the fire times of an expression in their zone.
    pub(crate) fn touch(&self, trigger: &CronTrigger) -> Touched {
        let mut touched = Touched::default();
        // The latest first: they are those of the rules to come.
        for change in self.0.iter().rev() {
            let is_known = if change.is_gap() { touched.by_gap } else { touched.by_overlap };
            let before = change.at() - chrono::TimeDelta::seconds(1);
            if is_known || trigger.clash_between(before, change.at()).is_none() {
                continue;
            }
            match change.is_gap() {
                true => touched.by_gap = true,
                false => touched.by_overlap = true,
            }
            if touched.by_gap && touched.by_overlap {
                break;
            }
        }
        touched
    }
}

impl Touched {
    /// Returns true if any change touches them.
    pub(crate) fn is_any(self) -> bool {
        self.by_gap || self.by_overlap
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            by_gap: self.by_gap || other.by_gap,
            by_overlap: self.by_overlap || other.by_overlap,
        }
    }
}
