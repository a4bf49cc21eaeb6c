//! Reads any text as a duration: no panic, a brief error, and a text that reads back as the same
//! length.
#![cfg_attr(fuzzing, no_main)]

use std::time::Duration;

use scheduler_expr::{DurationUnit, parse_delay, parse_duration, parse_period};

const HUNDRED_YEARS: Duration = Duration::from_secs(36_525 * 24 * 60 * 60);

pub fn check(text: &str) {
    let unit = DurationUnit::ALL.get(text.len() % 8).copied();
    match parse_duration(text, unit) {
        Ok(duration) => {
            assert_eq!(duration.to_string().parse(), Ok(duration));
            let is_delay = duration.to_std().is_some_and(|length| length <= HUNDRED_YEARS);
            assert_eq!(parse_delay(text, unit).is_ok(), is_delay);
            assert_eq!(parse_period(text, unit).is_ok(), is_delay && !duration.is_zero());
        }
        Err(error) => {
            assert!(text.get(error.span()).is_some());
            assert_eq!(error.caret().lines().count(), 2);
            let message = error.to_string();
            assert!(message.chars().count() <= 300 && !message.chars().any(char::is_control));
        }
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|text: &str| check(text));
