//! Reads any text as the name of a zone: the parser of the annotation and the database of the engine
//! agree, an error is brief, and a help that quotes a zone quotes one that exists.
//!
//! Input: eight bytes of seconds, and the name.
#![cfg_attr(fuzzing, no_main)]

use chrono::DateTime;
use scheduler_core::trigger::Zone;
use scheduler_expr::{check_zone_name, zone_names};

fn is_listed(name: &str) -> bool {
    zone_names().any(|listed| listed == name)
}

pub fn check(data: &[u8]) {
    let Some((head, text)) = data.split_first_chunk::<8>() else { return };
    let Ok(name) = std::str::from_utf8(text) else { return };
    let zone = name.parse::<Zone>();
    match check_zone_name(name) {
        Ok(()) => {
            let zone = zone.expect("the engine knows what the annotation accepts");
            assert_eq!(zone.name(), name);
            assert!(is_listed(name));
            let Some(at) = DateTime::from_timestamp(i64::from_le_bytes(*head), 0) else { return };
            let offset = zone.offset_at(at).local_minus_utc();
            assert!(offset.abs() < 86_400);
            if at.checked_add_signed(chrono::TimeDelta::days(1)).is_some()
                && at.checked_sub_signed(chrono::TimeDelta::days(1)).is_some()
            {
                assert_eq!(zone.local(at).to_utc(), at);
            }
        }
        Err(error) => {
            assert!(zone.is_err() && !is_listed(name), "{name:?}");
            assert_eq!(error.caret().lines().count(), 2);
            let message = error.to_string();
            assert!(message.chars().count() <= 300 && !message.chars().any(char::is_control));
            let help = error.help().unwrap_or_default();
            assert!(help.chars().count() <= 300 && !help.chars().any(char::is_control));
            // A text between backticks that looks like a zone can be pasted.
            let quoted = help.split('`').skip(1).step_by(2);
            for quoted in quoted.filter(|quoted| quoted.contains('/')) {
                assert!(is_listed(quoted), "{name:?}: {help}");
            }
        }
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check(data));
