//! Finds fire times the slow way: second by second.
//!
//! The local time of each second is `chrono-tz`'s own answer, so nothing here shares code with the
//! trigger but the zone's data.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, NaiveDate, Offset, TimeZone};
use chrono_tz::Tz;
use scheduler_core::trigger::{DstGap, DstOverlap, Zone};

use super::model::Model;

/// Zones and instants at which their clocks change: whole hours, half hours, quarters, double
/// changes, changes at midnight and a minute after it, a day left out, and a day that came twice.
pub(crate) const STRETCHES: [(&str, &str); 26] = [
    ("Europe/Berlin", "2026-03-29T01:00:00Z"),
    ("Europe/Berlin", "2026-10-25T01:00:00Z"),
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("Australia/Lord_Howe", "2024-04-06T15:00:00Z"),
    ("Australia/Lord_Howe", "2024-10-05T15:30:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("America/Havana", "2027-03-14T05:00:00Z"),
    ("America/Havana", "2027-11-07T05:00:00Z"),
    ("Africa/Cairo", "2024-04-25T22:00:00Z"),
    ("Africa/Cairo", "2024-10-31T21:00:00Z"),
    ("Pacific/Chatham", "2024-04-06T14:00:00Z"),
    ("Pacific/Chatham", "2024-09-28T14:00:00Z"),
    ("America/St_Johns", "2006-04-02T03:31:00Z"),
    ("America/St_Johns", "2006-10-29T02:31:00Z"),
    ("Asia/Beirut", "2026-03-28T22:00:00Z"),
    ("Asia/Beirut", "2026-10-24T21:00:00Z"),
    ("America/Santiago", "2026-09-06T04:00:00Z"),
    ("Atlantic/Azores", "2026-10-25T01:00:00Z"),
    ("Asia/Gaza", "2022-10-28T23:00:00Z"),
    ("Antarctica/Troll", "2026-03-29T01:00:00Z"),
    ("Africa/Casablanca", "2026-02-15T02:00:00Z"),
    ("Asia/Kathmandu", "1985-12-31T18:30:00Z"),
    ("Pacific/Kwajalein", "1993-08-21T12:00:00Z"),
    ("America/Juneau", "1867-10-19T00:31:13Z"),
    ("Europe/Berlin", "2126-10-27T01:00:00Z"),
];

/// The time that is walked before and after a change, beyond the time that is missing or comes twice.
const REACH: i64 = 9 * 3_600;

/// The local time of every second around a change of the clock.
#[derive(Debug)]
pub(crate) struct Stretch {
    pub(crate) zone: Zone,
    pub(crate) start: i64,
    locals: Vec<Local>,
}

/// The local time of one second.
#[derive(Debug)]
struct Local {
    time: i64,
    is_first_pass: bool,
    is_last_pass: bool,
}

impl Stretch {
    /// The stretch around a change; walked once and kept.
    pub(crate) fn of((zone, change): &(&'static str, &'static str)) -> &'static Self {
        static WALKED: Mutex<Option<HashMap<String, &'static Stretch>>> = Mutex::new(None);
        let mut walked = WALKED.lock().unwrap_or_else(PoisonError::into_inner);
        let walked = walked.get_or_insert_default();
        walked.entry(format!("{zone} {change}")).or_insert_with(|| {
            let change: DateTime<chrono::Utc> = change.parse().unwrap();
            Box::leak(Box::new(Self::walk(zone, change.timestamp())))
        })
    }

    fn walk(zone: &str, change: i64) -> Self {
        let tz: Tz = zone.parse().unwrap();
        let offset = |second: i64| {
            let utc = DateTime::from_timestamp(second_of_data(second), 0).unwrap().naive_utc();
            i64::from(tz.offset_from_utc_datetime(&utc).fix().local_minus_utc())
        };
        assert_ne!(offset(change - 1), offset(change), "{zone} does not change at {change}");
        let reach = (offset(change) - offset(change - 1)).abs() + REACH;
        let start = change - reach;
        let times: Vec<i64> =
            (start..change + reach).map(|second| second + offset(second)).collect();
        let mut passes: HashMap<i64, (usize, usize)> = HashMap::new();
        for (index, time) in times.iter().enumerate() {
            passes.entry(*time).and_modify(|(_, last)| *last = index).or_insert((index, index));
        }
        let local = |(index, time): (usize, i64)| {
            let (first, last) = passes[&time];
            Local { time, is_first_pass: index == first, is_last_pass: index == last }
        };
        let locals = times.into_iter().enumerate().map(local).collect();
        Self { zone: zone.parse().unwrap(), start, locals }
    }

    pub(crate) fn length(&self) -> i64 {
        self.locals.len() as i64
    }

    pub(crate) fn end(&self) -> i64 {
        self.start + self.length()
    }

    /// The fire times after `from`, by the definition of the policies.
    pub(crate) fn fire_times(
        &self,
        model: &Model,
        policy: (DstGap, DstOverlap),
        from: i64,
    ) -> impl Iterator<Item = i64> {
        let matches = self.matches(model);
        let first = (from + 1 - self.start) as usize;
        (first..self.locals.len()).filter_map(move |index| {
            let local = &self.locals[index];
            let is_wanted = match policy.1 {
                DstOverlap::Both => true,
                DstOverlap::First => local.is_first_pass,
                DstOverlap::Last => local.is_last_pass,
            };
            let mut missing = self.locals[index - 1].time + 1..local.time;
            let runs_after_gap = policy.0 == DstGap::RunAfter && missing.any(&matches);
            let fires = runs_after_gap || (is_wanted && matches(local.time));
            fires.then_some(self.start + index as i64)
        })
    }

    /// A test of local times, with the days looked up once.
    fn matches(&self, model: &Model) -> impl Fn(i64) -> bool + use<> {
        let seconds: Vec<bool> = (0..86_400).map(|second| model.matches_second(second)).collect();
        let first_day =
            self.locals.iter().map(|local| local.time).min().unwrap().div_euclid(86_400);
        let last_day = self.locals.iter().map(|local| local.time).max().unwrap().div_euclid(86_400);
        let date = |day| NaiveDate::from_epoch_days(i32::try_from(day).unwrap()).unwrap();
        let days: Vec<bool> =
            (first_day..=last_day).map(|day| model.matches_day(date(day))).collect();
        move |local: i64| {
            seconds[local.rem_euclid(86_400) as usize]
                && days[(local.div_euclid(86_400) - first_day) as usize]
        }
    }
}

/// A second at which the data, which end with 2099, have what the rules say for a second of 2126:
/// that year and 2097 have the same calendar.
fn second_of_data(second: i64) -> i64 {
    const DATA_END: i64 = 4_102_444_800;
    const TWENTY_NINE_YEARS: i64 = 10_591 * 86_400;
    if second < DATA_END { second } else { second - TWENTY_NINE_YEARS }
}
