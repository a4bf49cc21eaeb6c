//! The present time, and instants and durations as texts and numbers of the JSON.

use std::time::Duration;

use scheduler::chrono::{DateTime, SecondsFormat, Utc};
use scheduler::{Clock, SystemClock, Zone};
use scheduler_api::{ClockChange, FireTime};

/// The present time, by the engine's clock, which alone reads the system's.
pub(crate) fn now() -> DateTime<Utc> {
    SystemClock::new().wall()
}

/// `2026-03-30T07:00:00Z`, with as many digits of the second as it has, at most six.
pub(crate) fn instant(at: impl Into<DateTime<Utc>>) -> String {
    let at = at.into();
    let micros = DateTime::from_timestamp_micros(at.timestamp_micros()).unwrap_or(at);
    micros.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// A duration in milliseconds, exact to the microsecond.
pub(crate) fn millis(length: Duration) -> f64 {
    (length.as_micros() as f64) / 1_000.0
}

/// Fire times. The first one after a change of the clocks has that change, unless another has undone it: those of each year in summer
/// have none.
pub(crate) fn marked(times: &[DateTime<Utc>], from: DateTime<Utc>, zone: Zone) -> Vec<FireTime> {
    let before = std::iter::once(&from).chain(times);
    let change = |before: &DateTime<Utc>, at: &DateTime<Utc>| {
        let differ = zone.offset_at(*before) != zone.offset_at(*at);
        zone.change_between(*before, *at).filter(|_| differ)
    };
    let marked = before.zip(times).map(|(before, at)| FireTime {
        at: instant(*at),
        clock_change: change(before, at).map(|change| ClockChange {
            at: instant(change.at()),
            offset_before: change.offset_before().to_string(),
            offset_after: change.offset_after().to_string(),
            is_forward: change.is_gap(),
        }),
    });
    marked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_clocks_is_marked_once() {
        let zone: Zone = "Europe/Berlin".parse().unwrap();
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        let times =
            [at("2026-03-27T08:00:00Z"), at("2026-03-30T07:00:00Z"), at("2026-03-31T07:00:00Z")];
        let marked = marked(&times, at("2026-03-26T12:00:00Z"), zone);
        let change = marked[1].clock_change.as_ref().unwrap();
        assert_eq!(change.at, "2026-03-29T01:00:00Z");
        assert_eq!((&*change.offset_after, change.is_forward), ("+02:00", true));
        assert!(marked[0].clock_change.is_none() && marked[2].clock_change.is_none());
    }

    #[test]
    fn yearly_times_with_one_offset_are_not_marked() {
        let zone: Zone = "Europe/Berlin".parse().unwrap();
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        let times = ["2027", "2028", "2029"].map(|year| at(&format!("{year}-01-01T03:30:00Z")));
        for (from, changes) in [("2026-11-30T00:00:00Z", 0), ("2026-07-01T00:00:00Z", 1)] {
            let marked = marked(&times, at(from), zone);
            let of = |time: &&FireTime| time.clock_change.is_some();
            assert_eq!(marked.iter().filter(of).count(), changes, "{marked:?}");
            assert_eq!(marked[0].clock_change.is_some(), changes == 1);
        }
    }

    #[test]
    fn times_are_short_and_exact() {
        let at: DateTime<Utc> = "2026-03-27T08:00:00.000412Z".parse().unwrap();
        assert_eq!(instant(at), "2026-03-27T08:00:00.000412Z");
        assert_eq!(millis(Duration::from_nanos(1_234_567)), 1.234);
    }
}
