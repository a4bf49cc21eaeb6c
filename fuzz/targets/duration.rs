//! Reads any text as a duration: no panic, a brief error, and a text that reads back as the same
//! length.

use scheduler_expr::{DurationUnit, parse_delay, parse_duration, parse_period};

pub fn check(text: &str) {
    let unit = DurationUnit::ALL.get(text.len() % 8).copied();
    match parse_duration(text, unit) {
        Ok(duration) => {
            assert_eq!(duration.to_string().parse(), Ok(duration));
            assert_eq!(parse_delay(text, unit).is_ok(), !duration.is_negative());
            let is_positive = !duration.is_negative() && !duration.is_zero();
            assert_eq!(parse_period(text, unit).is_ok(), is_positive);
        }
        Err(error) => {
            assert!(text.get(error.span()).is_some());
            assert_eq!(error.caret().lines().count(), 2);
            let message = error.to_string();
            assert!(message.chars().count() <= 300 && !message.chars().any(char::is_control));
        }
    }
}
