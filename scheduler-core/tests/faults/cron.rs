//! Faults of fire times (F-CR2): expressions that hardly fire, unknown zones.

use chrono::{DateTime, Datelike, TimeZone, Utc};
use scheduler_core::trigger::{CronTrigger, Zone};

fn years() -> [DateTime<Utc>; 4] {
    [1, 2026, 2096, 9999].map(|year| Utc.with_ymd_and_hms(year, 1, 1, 0, 0, 0).unwrap())
}

fn trigger(expression: &str, zone: Zone) -> CronTrigger {
    CronTrigger::new(expression.parse().expect(expression), zone)
}

#[test]
fn f_cr2_what_never_fires_has_no_next_time_from_any_year() {
    let berlin: Zone = "Europe/Berlin".parse().unwrap();
    for zone in [Zone::UTC, berlin] {
        for from in years().into_iter().chain([DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC])
        {
            for never in ["0 0 0 30 2 *", "0 0 0 31 4,6,9,11 *", "0 0 0 ? * MON#6"] {
                assert_eq!(trigger(never, zone).next_after(from), None, "{never} from {from}");
            }
        }
    }
}

#[test]
fn f_cr2_what_fires_every_28_years_is_found_from_any_year() {
    // A leap day that is a Monday is the fifth one of its February.
    let rarely = trigger("0 0 0 29 2 MON#5", Zone::UTC);
    for (from, expected) in years().into_iter().zip([Some(16), Some(2044), Some(2112), None]) {
        let next = rarely.next_after(from);
        if let Some(expected) = expected {
            let next = next.expect("there is a next one");
            assert_eq!((next.year(), next.month(), next.day()), (expected, 2, 29), "from {from}");
            assert_eq!(next.weekday(), chrono::Weekday::Mon);
        } else {
            assert!(next.is_none_or(|next| next > from && next.month() == 2), "{next:?}");
        }
    }
    for from in [DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC] {
        assert!(rarely.next_after(from).is_none_or(|next| next > from));
    }
}

#[test]
fn f_cr2_a_zone_that_is_none_is_refused_with_a_remedy() {
    let long = "A".repeat(10 << 10);
    for name in [
        "",
        "../../etc/passwd",
        "Europe/Berlin\0",
        "europe/berlin",
        "UTC+25",
        "/etc/localtime",
        &long,
    ] {
        let error = name.parse::<Zone>().expect_err(name);
        let message = error.to_string();
        assert!(message.chars().count() <= 200, "{message}");
        assert!(!message.chars().any(char::is_control), "{message:?}");
        assert!(error.help().is_some_and(|help| help.chars().count() <= 200), "{error:?}");
    }
}
