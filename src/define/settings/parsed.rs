//! Settings of the scheduler from text to value.

use scheduler_expr::Kind;

use super::{Reading, SettingsError, Spec, Subject, word};

/// What a setting is set to; a fault if it cannot be parsed.
pub(super) fn read<T>(
    reading: &mut Reading<'_>,
    table: &str,
    spec: Spec,
    parse: fn(&str) -> Result<T, SettingsError>,
) -> Option<T> {
    read_as(reading, Kind::Flag, table, spec, parse)
}

/// Reads a setting that a file may set to what this kind of attribute takes.
pub(super) fn read_as<T>(
    reading: &mut Reading<'_>,
    kind: Kind,
    table: &str,
    spec: Spec,
    parse: fn(&str) -> Result<T, SettingsError>,
) -> Option<T> {
    let name = format!("{table}.{}", spec.key);
    let raw = reading.find(&name, kind)?;
    let label = word(&name);
    let subject = Subject { owner: format!("setting {label}"), label, example: spec.example };
    let valued = reading.resolve(&raw, &subject)?;
    match parse(&valued.text) {
        Ok(value) => {
            reading.texts.push((name, valued));
            Some(value)
        }
        Err(fault) => {
            let example = valued.source.assignment(&name, &name, spec.example);
            let (text, help) = match valued.unseen() {
                Some(text) => (text, None),
                None => (fault.text, fault.help),
            };
            let help = help.map(|help| format!("{help}; ")).unwrap_or_default();
            let fault = SettingsError::new(format!("{}: {text}", subject.label))
                .note(valued.note())
                .help(format!("{help}for example `{example}`"));
            reading.faults.push(fault.at(&valued.source));
            None
        }
    }
}

/// A whole number.
pub(super) fn count(text: &str, what: &str) -> Result<usize, SettingsError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SettingsError::new(format!("{} is not a whole number of {what}", word(text))));
    }
    text.parse().map_err(|_| SettingsError::new(format!("{} is too large a number", word(text))))
}
