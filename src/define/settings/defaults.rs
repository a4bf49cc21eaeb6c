//! Options of all tasks that do not set them: `[scheduler.defaults]` and `Builder::defaults`.

use scheduler_expr::{Attribute, Role, nearest};

use super::{
    AttributeValues, Content, DEFAULTS, Line, ROOT, Raw, Reading, ResolvedAttributes,
    ResolvedValue, SettingsError, Source, Subject, word,
};

/// The call that gives defaults in code.
const CALL: &str = "builder.defaults(…)";

/// The attributes that may have a default for all tasks.
pub(super) fn options() -> impl Iterator<Item = Attribute> {
    Attribute::ALL.iter().copied().filter(|attribute| attribute.row().role == Role::Option)
}

/// The key of the default of an attribute.
pub(super) fn key(attribute: Attribute) -> String {
    format!("{ROOT}.{DEFAULTS}.{attribute}")
}

/// Reads the defaults; each that no task could have is reported here, once, and left out.
pub(super) fn read(reading: &mut Reading<'_>) -> AttributeValues {
    let sources = reading.sources;
    let in_code = &sources.defaults;
    let call = || Source::Code { call: CALL.to_owned() };
    for (attribute, _) in in_code {
        let fault = unknown_option(attribute.name(), &Source::Default);
        reading.faults.extend(fault.map(|fault| fault.at(&call())));
    }
    let mut values = AttributeValues::new();
    for attribute in options() {
        let default = in_code.iter().find(|(known, _)| *known == attribute);
        let default = default.map(|(_, text)| Raw { text: text.clone(), source: call() });
        let Some(raw) = reading.find(&key(attribute), attribute.row().kind).or(default) else {
            continue;
        };
        let subject = Subject {
            label: word(&key(attribute)),
            owner: format!("setting {}", word(&key(attribute))),
            example: attribute.row().example_text(),
        };
        if let Some(resolved) = reading.resolve(&raw, &subject)
            && let Some(resolved) = checked(reading, attribute, resolved)
        {
            values.push((attribute, resolved));
        }
    }
    values
}

fn checked(
    reading: &mut Reading<'_>,
    attribute: Attribute,
    resolved: ResolvedValue,
) -> Option<ResolvedValue> {
    let Err(error) = attribute.check(&resolved.text, None) else { return Some(resolved) };
    let defaults = ResolvedAttributes::of_defaults(attribute, resolved);
    reading.faults.push(defaults.blame(&error));
    None
}

/// The fault of a line under `scheduler.defaults`, if no task can have the option.
pub(super) fn unknown(line: &Line, parts: &[String]) -> Option<SettingsError> {
    let name = parts.join(".");
    let is_empty = matches!(line.content, Content::EmptyTable);
    if is_empty && (name.is_empty() || options().any(|option| option.group() == Some(&*name))) {
        return None;
    }
    unknown_option(&name, &line.source)
}

fn unknown_option(name: &str, source: &Source) -> Option<SettingsError> {
    let names: Vec<String> = options().map(|option| source.name(option.name())).collect();
    let all = || format!("the options are {}", names.join(", "));
    let shown = word(&format!("{DEFAULTS}.{name}"));
    match Attribute::from_name(name) {
        Some(attribute) if attribute.row().role == Role::Option => None,
        Some(_) => {
            let text =
                format!("{shown}: each task says itself when it fires, so this has no default");
            Some(SettingsError::new(text).help(format!("remove it; {}", all())))
        }
        None => {
            let meant = nearest(name, names.iter().map(String::as_str));
            let meant = meant.map(|meant| format!("{DEFAULTS}.{meant}"));
            Some(SettingsError::unknown(format!("option {shown}"), meant, all))
        }
    }
}
