//! Options of all tasks that do not set them: `[scheduler.defaults]` and `Builder::defaults`.

use scheduler_expr::{Attribute, Role, nearest};

use super::fault::Fault;
use super::file::{Content, Line};
use super::merge::{Effective, Values};
use super::reading::{Reading, Subject};
use super::schema::{DEFAULTS, ROOT};
use super::source::{Raw, Source, Valued};
use super::text::word;

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
pub(super) fn read(reading: &mut Reading<'_>) -> Values {
    let sources = reading.sources;
    let in_code = &sources.defaults;
    for (attribute, _) in in_code {
        if let Some((reason, help)) = unknown_attribute(attribute.name(), &Source::Default) {
            let source = Source::Code { call: CALL.to_owned() };
            reading.faults.push(Fault::at(&source, reason).help(help));
        }
    }
    let mut values = Values::new();
    for attribute in options() {
        let own = in_code.iter().find(|(known, _)| *known == attribute);
        let own = own.map(|(_, text)| Raw {
            text: text.clone(),
            source: Source::Code { call: CALL.to_owned() },
        });
        let Some(raw) = reading.find(&key(attribute), attribute.row().kind).or(own) else {
            continue;
        };
        let subject = Subject {
            label: word(&key(attribute)),
            owner: format!("setting {}", word(&key(attribute))),
            example: attribute.row().example_text(),
        };
        if let Some(valued) = reading.resolve(&raw, &subject)
            && let Some(valued) = checked(reading, attribute, valued)
        {
            values.push((attribute, valued));
        }
    }
    values
}

fn checked(reading: &mut Reading<'_>, attribute: Attribute, valued: Valued) -> Option<Valued> {
    let Err(error) = attribute.check(&valued.text, None) else { return Some(valued) };
    let defaults = Effective::of_defaults(attribute, valued);
    reading.faults.push(defaults.blame(&error));
    None
}

/// What is wrong with a line under `scheduler.defaults`.
pub(super) fn unknown(line: &Line, parts: &[String]) -> Option<(String, Option<String>)> {
    let name = parts.join(".");
    let is_empty = matches!(line.content, Content::EmptyTable);
    if is_empty && (name.is_empty() || options().any(|option| option.group() == Some(&*name))) {
        return None;
    }
    unknown_attribute(&name, &line.source)
}

fn unknown_attribute(name: &str, source: &Source) -> Option<(String, Option<String>)> {
    let known = Attribute::from_name(name);
    if known.is_some_and(|attribute| attribute.row().role == Role::Option) {
        return None;
    }
    let shown = word(&format!("{DEFAULTS}.{name}"));
    let names = || options().map(|option| source.name(option.name()));
    if known.is_some() {
        let reason =
            format!("{shown}: each task says itself when it fires, so this has no default");
        return Some((reason, Some(format!("remove it; the options are {}", list(names())))));
    }
    let all: Vec<String> = names().collect();
    Some(match nearest(name, all.iter().map(String::as_str)) {
        Some(meant) => {
            (format!("unknown option {shown}; did you mean `{DEFAULTS}.{meant}`?"), None)
        }
        None => {
            (format!("unknown option {shown}"), Some(format!("the options are {}", list(names()))))
        }
    })
}

fn list(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<String>>().join(", ")
}
