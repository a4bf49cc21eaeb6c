//! The lint about changes of the clock: times that do not exist on one day of the year, or come twice.

use chrono::{DateTime, Utc};
use scheduler_core::trigger::{CronTrigger, Zone, ZoneChange};
use scheduler_expr::{CronExpression, CronField};

use super::finding::Finding;
use crate::times::{A_YEAR, day_of};

pub(super) fn check(cron: &CronExpression, zone: Zone, now: DateTime<Utc>) -> Vec<Finding> {
    // What runs in every hour of the day runs in the hours around a change, too.
    if cron.is_any(CronField::Hour) {
        return Vec::new();
    }
    let trigger = CronTrigger::new(cron.clone(), zone);
    let end = now.checked_add_signed(A_YEAR).unwrap_or(DateTime::<Utc>::MAX_UTC);
    let mut changes = Vec::new();
    let mut from = now;
    while let Some(change) = trigger.clash_between(from, end) {
        from = change.at();
        changes.push(change);
    }
    let first = |is_gap: bool| changes.iter().find(|change| change.is_gap() == is_gap);
    [first(true).map(|gap| left_out(*gap, zone)), first(false).map(|change| twice(*change, zone))]
        .into_iter()
        .flatten()
        .collect()
}

/// The local times of a change: `from 02:00 to 03:00 on Sun 2026-03-29`.
fn stretch(change: ZoneChange) -> String {
    let (first, end) = change.local_times();
    let day = day_of(change);
    format!("from {} to {} on {day}", first.format("%H:%M"), end.format("%H:%M"))
}

fn left_out(gap: ZoneChange, zone: Zone) -> Finding {
    let what = format!("{zone} has no time {}: what falls into it does not run", stretch(gap));
    Finding::new("clock-gap", what, "to run right after it instead, write dst_gap = \"run_after\"")
}

fn twice(change: ZoneChange, zone: Zone) -> Finding {
    let what = format!("{zone} has the time {} twice: it runs twice", stretch(change));
    Finding::new("clock-overlap", what, "to run once, write dst_overlap = \"first\"")
}
