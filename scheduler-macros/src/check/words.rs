//! Whether a text means something, judged by the code that reads it again when the program starts.
//!
//! The names of the zones are a list inside of `scheduler-expr`. To ask `chrono-tz` instead would
//! compile it a second time, for the compiler: 4.3 of the 6.5 seconds that the whole of chrono and
//! chrono-tz take on the machine where this was measured, in every fresh build of every user. A
//! test of the engine holds the list and `chrono-tz` together.

use scheduler_expr::{CronExpression, DurationUnit, ParseDurationError, ParseDurationErrorKind};
use scheduler_expr::{check_zone_name, parse_delay, parse_period};
use syn::LitStr;

use crate::args::{Given, Key, Value};
use crate::diagnostic::{Faults, remedy, shorten};

/// Reports an expression that cannot be read or that can never match.
pub(super) fn cron(text: &LitStr, faults: &mut Faults) {
    match CronExpression::parse(&text.value()) {
        Err(error) => {
            let caret = (!error.span().is_empty()).then(|| error.caret());
            faults.push(text, remedy(&error, caret.as_deref(), error.help()));
        }
        Ok(expression) => {
            if let Some(never) = expression.never_fires() {
                faults.push(text, remedy(&never, Some(&never.caret()), None));
            }
        }
    }
}

/// Reports a zone that does not exist.
pub(super) fn zone(text: &LitStr, faults: &mut Faults) {
    if let Err(error) = check_zone_name(&text.value()) {
        faults.push(text, remedy(&error, None, error.help()));
    }
}

/// Reports a duration that cannot be read or that its option cannot take.
pub(super) fn duration(given: &Given, unit: Option<DurationUnit>, faults: &mut Faults) {
    let text = match &given.value {
        Some(Value::Text(text)) => text.value(),
        Some(Value::Number(number)) => number.base10_digits().to_owned(),
        Some(Value::Path(_)) | None => return,
    };
    let judged = match given.key {
        Key::InitialDelay => parse_delay(&text, unit),
        _ => parse_period(&text, unit),
    };
    if let Err(error) = judged {
        let message = duration_message(given.key, &text, &error);
        match &given.value {
            Some(Value::Text(token)) => faults.push(token, message),
            Some(Value::Number(token)) => faults.push(token, message),
            Some(Value::Path(_)) | None => {}
        }
    }
}

fn duration_message(key: Key, text: &str, error: &ParseDurationError) -> String {
    // Carets below the whole text would only repeat what rustc underlines.
    let is_part = error.span() != (0..text.len());
    let caret = is_part.then(|| error.caret());
    let name = key.name();
    let invalid = format!("invalid `{name}`: {error}");
    if error.kind() == ParseDurationErrorKind::NoUnit && text.len() < 20 {
        let help = format!(
            "write `{name} = \"{text}ms\"`, or add `time_unit = \"milliseconds\"`, \
             which Spring's plain numbers are"
        );
        return remedy(&invalid, None, Some(&help));
    }
    remedy(&invalid, caret.as_deref(), error.help())
}

/// Reports a name that would be hard to find again in settings and messages.
pub(super) fn name(text: &LitStr, faults: &mut Faults) {
    let name = text.value();
    let example = Key::Name.example();
    if name.trim().is_empty() {
        faults.push(text, format!("`name` is empty; remove it, or write `{example}`"));
    } else if name.trim() != name {
        let message = format!("`name` has blanks around it; write `{:?}`", shorten(name.trim()));
        faults.push(text, message);
    } else if name.contains(char::is_control) {
        faults.push(text, format!("`name` has a control character in it; write `{example}`"));
    }
}

/// Reads the name of a unit, in any case, as Java has it in upper case.
pub(super) fn time_unit(text: &LitStr, faults: &mut Faults) -> Option<DurationUnit> {
    let word = text.value().to_lowercase();
    let found = DurationUnit::ALL.into_iter().find(|unit| unit_name(*unit) == word);
    if found.is_none() {
        let message = format!("`{}` is not a unit of time", shorten(&text.value()));
        let help = match nearest_unit(&word) {
            Some(unit) => format!("did you mean `{}`?", unit_name(unit)),
            None => {
                let names = DurationUnit::ALL.map(|unit| format!("`{}`", unit_name(unit)));
                format!("the units are {}", names.join(", "))
            }
        };
        faults.push(text, remedy(&message, None, Some(&help)));
    }
    found
}

/// The unit as Java names it, in lower case.
fn unit_name(unit: DurationUnit) -> String {
    format!("{unit:?}").to_lowercase()
}

/// The unit of a suffix such as `ms`, or of an abbreviation such as `secs`.
fn nearest_unit(word: &str) -> Option<DurationUnit> {
    let stem = word.strip_suffix('s').unwrap_or(word);
    let by_suffix = DurationUnit::ALL.into_iter().find(|unit| unit.suffix() == word);
    let by_stem = || DurationUnit::ALL.into_iter().find(|unit| unit_name(*unit).starts_with(stem));
    by_suffix.or_else(|| if stem.len() >= 2 { by_stem() } else { None })
}
