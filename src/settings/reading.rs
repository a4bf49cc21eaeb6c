//! Finds what keys are set to, and replaces placeholders.

use std::collections::BTreeSet;

use scheduler_expr::{
    Kind, ParseTemplateError, ResolveTemplateError, ResolveTemplateErrorKind, Template,
};

use super::fault::{Fault, Remark};
use super::file::{ARRAY, Content, Layer, Line};
use super::key;
use super::source::{Raw, Source, Valued, origins};
use super::sources::Sources;
use super::text::{visible, word};

/// Settings that are being applied, with the faults found so far.
pub(super) struct Reading<'a> {
    pub(super) sources: &'a Sources,
    pub(super) faults: Vec<Fault>,
    pub(super) remarks: Vec<Remark>,
    /// The variables that were read and set.
    pub(super) used: BTreeSet<String>,
    /// The keys that placeholders read, folded.
    pub(super) asked: BTreeSet<String>,
}

/// What a text is for, in messages.
pub(super) struct Subject<'a> {
    /// In front of a reason: `` `report`: `cron` ``.
    pub(super) label: String,
    /// Behind "in": `` task `report` ``.
    pub(super) owner: String,
    /// A value to paste.
    pub(super) example: &'a str,
}

impl<'a> Reading<'a> {
    pub(super) fn new(sources: &'a Sources) -> Self {
        Self {
            sources,
            faults: Vec::new(),
            remarks: Vec::new(),
            used: BTreeSet::new(),
            asked: BTreeSet::new(),
        }
    }

    /// What the key is set to in the highest place that sets it.
    ///
    /// Sources below are looked at too, so that what is wrong there is found.
    pub(super) fn find(&mut self, key: &str, kind: Kind) -> Option<Raw> {
        let sources = self.sources;
        let name = key::fold(key);
        let mut found = self.in_layer(&sources.builder, &name, kind);
        let variables = self.in_environment(key);
        found = found.or(variables);
        for file in &sources.files {
            let lower = self.in_layer(file, &name, kind);
            found = found.or(lower);
        }
        found
    }

    fn in_layer(&mut self, layer: &Layer, name: &str, kind: Kind) -> Option<Raw> {
        let mut found: Option<Raw> = None;
        for line in layer.named(name) {
            let Some(raw) = self.text(name, line, kind) else { continue };
            match &found {
                Some(first) => self.faults.push(set_twice(&word(name), &first.source, &raw.source)),
                None => found = Some(raw),
            }
        }
        found
    }

    /// The text a line sets its key to; a fault if it sets it to something that this kind does not take.
    pub(super) fn text(&mut self, key: &str, line: &Line, kind: Kind) -> Option<Raw> {
        let Line { content, source, .. } = line;
        let kind = match (content, kind) {
            (Content::Text(text), _) | (Content::List(text), Kind::Tags) => {
                return Some(Raw { text: text.clone(), source: source.clone() });
            }
            (Content::List(_), _) => ARRAY,
            (Content::EmptyTable, _) => "an empty table",
            (Content::Other(kind), _) => kind,
        };
        let text = format!("{} is set to {kind}", word(key));
        let help = "write a string, a whole number, true or false".to_owned();
        self.faults.push(Fault::at(source, text).help(help));
        None
    }

    fn in_environment(&mut self, key: &str) -> Option<Raw> {
        let mut found: Option<Raw> = None;
        for variable in key::variables(key) {
            let Some(raw) = self.variable(&variable) else { continue };
            match &found {
                Some(first) => self.faults.push(set_twice(&word(key), &first.source, &raw.source)),
                None => found = Some(raw),
            }
        }
        found
    }

    /// What a variable is set to.
    pub(super) fn variable(&mut self, variable: &str) -> Option<Raw> {
        let sources = self.sources;
        match sources.environment.text(variable) {
            Ok(text) => text.map(|text| {
                self.used.insert(variable.to_owned());
                let source = Source::Environment { variable: variable.to_owned() };
                Raw { text: text.to_owned(), source }
            }),
            Err(fault) => {
                self.used.insert(variable.to_owned());
                self.faults.push(fault);
                None
            }
        }
    }

    /// The text with its placeholders replaced; a fault if that cannot be done.
    pub(super) fn resolve(&mut self, raw: &Raw, subject: &Subject<'_>) -> Option<Valued> {
        let Self { sources, used, asked, .. } = self;
        let mut lookup = Lookup { sources, via: Vec::new(), used, asked };
        let template = match Template::parse(&raw.text) {
            Ok(template) => template,
            Err(error) => {
                self.faults.push(unreadable(raw, subject, &error));
                return None;
            }
        };
        let resolved = template.resolve(&mut |key| lookup.value(key));
        let Lookup { via, .. } = lookup;
        match resolved {
            Ok(text) => {
                let (written, source) = (raw.text.clone(), raw.source.clone());
                Some(Valued { text, written, source, via })
            }
            Err(error) => {
                self.faults.push(unresolved(raw, subject, &error, &via));
                None
            }
        }
    }
}

/// Finds the values of placeholders, and remembers where they were.
struct Lookup<'a> {
    sources: &'a Sources,
    via: Vec<(String, Source)>,
    used: &'a mut BTreeSet<String>,
    asked: &'a mut BTreeSet<String>,
}

impl Lookup<'_> {
    /// The text of a key in the highest place that sets it.
    fn value(&mut self, key: &str) -> Result<Option<String>, String> {
        let sources = self.sources;
        let name = key::fold(&key::parts(key).join("."));
        self.asked.insert(name.clone());
        if let Some(text) = self.in_layer(&sources.builder, key, &name)? {
            return Ok(Some(text));
        }
        let exact = std::iter::once(key.to_owned());
        for variable in exact.chain(key::variables(key)) {
            let text = sources.environment.text(&variable).map_err(|fault| fault.to_string())?;
            if let Some(text) = text {
                self.used.insert(variable.clone());
                self.remember(key, &Source::Environment { variable });
                return Ok(Some(text.to_owned()));
            }
        }
        for file in &sources.files {
            if let Some(text) = self.in_layer(file, key, &name)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    fn in_layer(&mut self, layer: &Layer, key: &str, name: &str) -> Result<Option<String>, String> {
        for line in layer.named(name) {
            match &line.content {
                Content::EmptyTable => {}
                Content::Other(kind) => {
                    return Err(format!("{} sets it to {kind}, which is no text", line.source));
                }
                Content::Text(text) | Content::List(text) => {
                    self.remember(key, &line.source);
                    return Ok(Some(text.clone()));
                }
            }
        }
        Ok(None)
    }

    fn remember(&mut self, key: &str, source: &Source) {
        if !self.via.iter().any(|(known, _)| known == key) {
            self.via.push((key.to_owned(), source.clone()));
        }
    }
}

/// A fault of two places with the same precedence.
pub(super) fn set_twice(what: &str, first: &Source, second: &Source) -> Fault {
    Fault::at(second, format!("{what} is also set by {first}"))
        .help("remove one of the two".to_owned())
}

fn unreadable(raw: &Raw, subject: &Subject<'_>, error: &ParseTemplateError) -> Fault {
    Fault::at(&raw.source, format!("{}: {error}", subject.label))
        .note(error.caret())
        .help(error.help().map(str::to_owned))
}

fn unresolved(
    raw: &Raw,
    subject: &Subject<'_>,
    error: &ResolveTemplateError<String>,
    via: &[(String, Source)],
) -> Fault {
    let fault = match error.kind() {
        ResolveTemplateErrorKind::NotSet => not_set(raw, subject, error),
        ResolveTemplateErrorKind::Value(inner) => {
            Fault::at(&raw.source, format!("{}: {error}", subject.label))
                .note(inner.caret())
                .help(inner.help().map(str::to_owned))
        }
        _ => Fault::at(&raw.source, format!("{}: {error}", subject.label)),
    };
    match origins(via).strip_prefix("; ") {
        Some(origins) => fault.note(format!("note: set by {origins}")),
        None => fault,
    }
}

fn not_set(raw: &Raw, subject: &Subject<'_>, error: &ResolveTemplateError<String>) -> Fault {
    let key = error.key();
    let mut text = format!(
        "{} in {} ({}) is not set",
        word(&format!("${{{key}}}")),
        subject.owner,
        raw.source
    );
    if error.chain().len() > 1 {
        let chain: Vec<String> = error.chain().iter().map(|key| visible(key)).collect();
        text.push_str(&format!(": {}", chain.join(" -> ")));
    }
    Fault::about(&raw.source, text).help(how_to_set(key, subject.example))
}

/// The help for a key that is not set.
fn how_to_set(key: &str, example: &str) -> String {
    const BARE: fn(char) -> bool = |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let parts: Vec<&str> = key.split('.').collect();
    let is_bare = parts.iter().all(|part| !part.is_empty() && part.chars().all(BARE));
    if !is_bare || key.len() > 100 {
        return "set it, or give a default behind a colon".to_owned();
    }
    let line = match parts.as_slice() {
        [tables @ .., last] if !tables.is_empty() => {
            format!("[{}] {last} = \"{example}\"", tables.join("."))
        }
        _ => format!("{key} = \"{example}\""),
    };
    format!(
        "set {} or {line} in scheduler.toml, or give a default: ${{{key}:{example}}}",
        key::variable(key)
    )
}
