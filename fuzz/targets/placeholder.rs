//! Reads any text as a template, and resolves it with any values: no panic, a brief error, and a
//! bounded result.
//!
//! Input: lines; the first is the template, the others are the values of `a`, `b`, `c`…
#![cfg_attr(fuzzing, no_main)]

use std::convert::Infallible;

use scheduler_expr::Template;

const KEYS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

pub fn check(text: &str) {
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default();
    let values: Vec<&str> = lines.collect();
    let template = match Template::parse(first) {
        Ok(template) => template,
        Err(error) => {
            assert!(first.get(error.span()).is_some());
            assert_eq!(error.caret().lines().count(), 2);
            return;
        }
    };
    let mut asked = 0;
    let mut lookup = |key: &str| {
        asked += 1;
        let index = KEYS.iter().position(|known| *known == key);
        let value = index.and_then(|index| values.get(index));
        Ok::<_, Infallible>(value.map(|value| (*value).to_owned()))
    };
    match template.resolve(&mut lookup) {
        Ok(resolved) => {
            assert!(resolved.len() <= first.len() + (1 << 20));
            assert_eq!(template.is_plain(), asked == 0);
        }
        Err(error) => {
            let message = error.to_string();
            assert!(message.chars().count() <= 600 && !message.chars().any(char::is_control));
            assert!(!template.is_plain());
        }
    }
    if let Some(default) = template.sole_default() {
        let unset = template.resolve(&mut |_| Ok::<_, Infallible>(None));
        assert_eq!(unset.ok(), Some(default));
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|text: &str| check(text));
