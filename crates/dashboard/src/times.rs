//! Instants and durations in the JSON, and what a zone makes of them.

use std::time::Duration;

use scheduler::Zone;
use scheduler::chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

/// `2026-03-30T07:00:00Z`, with as many digits of the second as it has, at most six.
pub(crate) fn instant(at: DateTime<Utc>) -> String {
    let micros = DateTime::from_timestamp_micros(at.timestamp_micros()).unwrap_or(at);
    micros.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// `Mon 2026-03-30 09:00:00 +02:00`
pub(crate) fn local(at: DateTime<Utc>, zone: Zone) -> String {
    zone.local(at).format("%a %Y-%m-%d %H:%M:%S %:z").to_string()
}

/// A duration in milliseconds, exact to the microsecond.
pub(crate) fn millis(length: Duration) -> f64 {
    (length.as_micros() as f64) / 1_000.0
}

/// Fire times with their local times. One that is the first after a change of the clocks has that change.
pub(crate) fn marked(times: &[DateTime<Utc>], from: DateTime<Utc>, zone: Zone) -> Vec<Value> {
    let before = std::iter::once(&from).chain(times);
    let pairs = before.zip(times);
    let marked = pairs.map(|(before, at)| {
        let mut time = json!({ "at": instant(*at), "local": local(*at, zone) });
        if let Some(change) = zone.change_between(*before, *at) {
            time["clockChange"] = json!({
                "at": instant(change.at()),
                "offsetBefore": change.offset_before().to_string(),
                "offsetAfter": change.offset_after().to_string(),
                "isForward": change.is_gap(),
            });
        }
        time
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
        assert_eq!(marked[0]["local"], "Fri 2026-03-27 09:00:00 +01:00");
        assert_eq!(marked[1]["local"], "Mon 2026-03-30 09:00:00 +02:00");
        assert_eq!(marked[1]["clockChange"]["at"], "2026-03-29T01:00:00Z");
        assert_eq!(marked[1]["clockChange"]["offsetAfter"], "+02:00");
        assert_eq!(marked[1]["clockChange"]["isForward"], true);
        assert!(marked[0].get("clockChange").is_none() && marked[2].get("clockChange").is_none());
    }

    #[test]
    fn times_are_short_and_exact() {
        let at: DateTime<Utc> = "2026-03-27T08:00:00.000412Z".parse().unwrap();
        assert_eq!(instant(at), "2026-03-27T08:00:00.000412Z");
        assert_eq!(millis(Duration::from_nanos(1_234_567)), 1.234);
    }
}
