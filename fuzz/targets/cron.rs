//! Reads any text as a cron expression: no panic, a brief error, and one text for one meaning.
#![cfg_attr(fuzzing, no_main)]

use scheduler_expr::CronExpression;

pub fn check(text: &str) {
    match CronExpression::parse(text) {
        Ok(cron) => {
            let canonical = cron.to_string();
            let again = CronExpression::parse(&canonical).expect("the canonical text is valid");
            assert_eq!(again, cron);
            assert_eq!(again.to_string(), canonical);
            assert_eq!(cron.may_fire(), cron.never_fires().is_none());
            assert!(!cron.describe().is_empty());
        }
        Err(error) => {
            assert!(text.get(error.span()).is_some());
            assert_eq!(error.caret().lines().count(), 2);
            let message = error.to_string();
            assert!(message.chars().count() <= 300 && !message.chars().any(char::is_control));
            assert!(error.help().is_none_or(|help| help.chars().count() <= 300));
        }
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|text: &str| check(text));
