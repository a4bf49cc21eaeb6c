//! The changes of a zone's clock that touch an expression.

use chrono::{DateTime, Utc};
use scheduler_core::trigger::{CronTrigger, Zone, ZoneChange};

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
