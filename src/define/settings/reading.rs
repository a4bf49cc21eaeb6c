//! Finds what keys are set to; replaces placeholders; hides secrets.

use std::collections::BTreeSet;
use std::fmt;

use scheduler_expr::{
    Attribute, Kind, ParseError, ResolveTemplateError, ResolveTemplateErrorKind, Template,
};

use crate::define::settings::source::unseen;
use crate::define::settings::{
    ARRAY, Content, Environment, Layer, Line, Raw, Remark, ResolvedValue, SettingsError, Source,
    is_bare, key, origins, visible, word,
};

/// The places in which settings are written, each read once.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) builder: Layer,
    pub(super) environment: Environment,
    pub(super) files: Vec<Layer>,
    /// The defaults for all tasks that code gives.
    pub(super) defaults: Vec<(Attribute, String)>,
    pub(super) secrets: Secrets,
}

impl Sources {
    /// The places that have lines, from high to low; the environment is after the first.
    pub(super) fn layers(&self) -> impl Iterator<Item = &Layer> {
        std::iter::once(&self.builder).chain(&self.files)
    }
}

/// Settings that are being applied, with the faults found so far.
pub(super) struct Reading<'a> {
    pub(super) sources: &'a Sources,
    /// The texts of the settings of the scheduler and its pools, by their keys.
    pub(super) texts: Vec<(String, ResolvedValue)>,
    pub(super) faults: Vec<SettingsError>,
    pub(super) remarks: Vec<Remark>,
    /// The variables that were read and set.
    pub(super) used: BTreeSet<String>,
    /// The keys that placeholders read, folded.
    pub(super) asked: BTreeSet<String>,
}

/// The owner of a text, in messages.
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
            texts: Vec::new(),
            faults: Vec::new(),
            remarks: Vec::new(),
            used: BTreeSet::new(),
            asked: BTreeSet::new(),
        }
    }

    /// Finds the value of a key in the highest place that sets it.
    ///
    /// Reads the places below too, to find their faults.
    pub(super) fn find(&mut self, key: &str, kind: Kind) -> Option<Raw> {
        let sources = self.sources;
        let name = key::fold(key);
        let mut lines = |layer: &Layer| {
            layer.named(&name).filter_map(|line| self.text(&name, line, kind)).collect()
        };
        let mut places: Vec<Vec<Raw>> = sources.layers().map(&mut lines).collect();
        let variables = key::variables(key);
        places.insert(1, variables.iter().filter_map(|name| self.variable(name)).collect());
        let mut found = None;
        for mut place in places.into_iter().rev().filter(|place| !place.is_empty()) {
            let first = place.remove(0);
            let twice = place.iter().map(|raw| set_twice(&word(key), &first.source, &raw.source));
            self.faults.extend(twice);
            found = Some(first);
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
        self.faults.push(SettingsError::new(text).help(help).at(source));
        None
    }

    /// Reads a variable.
    pub(super) fn variable(&mut self, variable: &str) -> Option<Raw> {
        let sources = self.sources;
        let text = sources.environment.text(variable).transpose()?;
        self.used.insert(variable.to_owned());
        match text {
            Ok(text) => {
                let source = Source::Environment { variable: variable.to_owned() };
                Some(Raw { text: text.to_owned(), source })
            }
            Err(fault) => {
                self.faults.push(fault);
                None
            }
        }
    }

    /// The text with its placeholders replaced; a fault if that cannot be done.
    pub(super) fn resolve(&mut self, raw: &Raw, subject: &Subject<'_>) -> Option<ResolvedValue> {
        let sources = self.sources;
        let mut via: Vec<(String, Source)> = Vec::new();
        let mut secret = Secret::default();
        let template =
            Template::parse(&raw.text).map_err(|error| refused(raw, subject, &error, Some(&error)));
        let text = template.and_then(|template| {
            let mut lookup = |key: &str| {
                let Some(Raw { text, source }) = self.placeholder(key)? else { return Ok(None) };
                if sources.secrets.has(key, &source) {
                    secret.note(key, &text);
                }
                if via.iter().all(|(known, _)| known != key) {
                    via.push((key.to_owned(), source));
                }
                Ok(Some(text))
            };
            let text = template.resolve(&mut lookup);
            text.map_err(|error| unresolved(raw, subject, &error, &via, &secret))
        });
        match text {
            Ok(text) => {
                let (written, source) = (raw.text.clone(), raw.source.clone());
                Some(ResolvedValue { text, written, source, via, secret: secret.key })
            }
            Err(fault) => {
                self.faults.push(fault);
                None
            }
        }
    }

    /// Finds the value of a placeholder's key in the highest place that sets it.
    fn placeholder(&mut self, key: &str) -> Result<Option<Raw>, String> {
        let sources = self.sources;
        let name = key::fold(&key::parts(key).join("."));
        self.asked.insert(name.clone());
        if let Some(raw) = text_in(&sources.builder, &name)? {
            return Ok(Some(raw));
        }
        for variable in std::iter::once(key.to_owned()).chain(key::variables(key)) {
            let text = sources.environment.text(&variable).map_err(|fault| fault.to_string())?;
            if let Some(text) = text {
                self.used.insert(variable.clone());
                let source = Source::Environment { variable };
                return Ok(Some(Raw { text: text.to_owned(), source }));
            }
        }
        let in_files = sources.files.iter().map(|file| text_in(file, &name));
        in_files.filter_map(Result::transpose).next().transpose()
    }
}

/// The secrets in a text.
#[derive(Default)]
struct Secret {
    /// The first key.
    key: Option<String>,
    values: Vec<String>,
}

impl Secret {
    fn note(&mut self, key: &str, value: &str) {
        self.key.get_or_insert_with(|| key.to_owned());
        self.values.push(value.to_owned());
    }

    /// The key of a secret whose value is a part of what the error shows.
    fn shown_by(&self, error: &ResolveTemplateError<String>) -> Option<&str> {
        let key = self.key.as_deref()?;
        let is_in = |shown: &String| {
            self.values.iter().any(|value| !value.is_empty() && shown.contains(value))
        };
        let is_excerpt = matches!(error.kind(), ResolveTemplateErrorKind::Value(_));
        (is_excerpt || error.chain().iter().any(is_in)).then_some(key)
    }
}

/// The first text of a placeholder's key in a layer.
fn text_in(layer: &Layer, name: &str) -> Result<Option<Raw>, String> {
    let mut lines = layer.named(name).filter(|line| !matches!(line.content, Content::EmptyTable));
    let Some(Line { content, source, .. }) = lines.next() else { return Ok(None) };
    match content {
        Content::Text(text) | Content::List(text) => {
            Ok(Some(Raw { text: text.clone(), source: source.clone() }))
        }
        Content::Other(kind) => Err(format!("{source} sets it to {kind}, which is no text")),
        Content::EmptyTable => Ok(None),
    }
}

/// A fault of two places with the same precedence.
pub(super) fn set_twice(what: &str, first: &Source, second: &Source) -> SettingsError {
    SettingsError::new(format!("{what} is also set by {first}"))
        .help("remove one of the two".to_owned())
        .at(second)
}

/// The fault of a text whose placeholders cannot be replaced, because of a template.
fn refused(
    raw: &Raw,
    subject: &Subject<'_>,
    reason: &dyn fmt::Display,
    template: Option<&ParseError>,
) -> SettingsError {
    SettingsError::new(format!("{}: {reason}", subject.label))
        .note(template.map(ParseError::caret))
        .help(template.and_then(ParseError::help).map(str::to_owned))
        .at(&raw.source)
}

fn unresolved(
    raw: &Raw,
    subject: &Subject<'_>,
    error: &ResolveTemplateError<String>,
    via: &[(String, Source)],
    secret: &Secret,
) -> SettingsError {
    let hidden = secret.shown_by(error);
    let hidden = hidden.map(|key| unseen("a placeholder in it cannot be replaced", key));
    let fault = match error.kind() {
        _ if hidden.is_some() => refused(raw, subject, &hidden.unwrap_or_default(), None),
        ResolveTemplateErrorKind::NotSet => not_set(raw, subject, error),
        ResolveTemplateErrorKind::Value(inner) => refused(raw, subject, error, Some(inner)),
        _ => refused(raw, subject, error, None),
    };
    let origins = origins(via);
    fault.note(origins.strip_prefix("; ").map(|origins| format!("note: set by {origins}")))
}

fn not_set(
    raw: &Raw,
    subject: &Subject<'_>,
    error: &ResolveTemplateError<String>,
) -> SettingsError {
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
    SettingsError::new(text).help(how_to_set(key, subject.example)).about(&raw.source)
}

/// The help for a key that is not set.
fn how_to_set(key: &str, example: &str) -> String {
    if !key.split('.').all(is_bare) || key.len() > 100 {
        return "set it, or give a default behind a colon".to_owned();
    }
    let line = match key.rsplit_once('.') {
        Some((table, last)) => format!("[{table}] {last} = \"{example}\""),
        None => format!("{key} = \"{example}\""),
    };
    format!(
        "set {} or {line} in scheduler.toml, or give a default: ${{{key}:{example}}}",
        key::variable(key)
    )
}

/// The words that make a name secret.
const MARKS: [&str; 7] =
    ["secret", "password", "passwd", "passphrase", "token", "key", "credential"];

/// The keys whose values are secret: those with a mark in their names, and those that the program names.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    /// Folded keys, and the variables that stand for them.
    named: BTreeSet<String>,
}

impl Secrets {
    pub(super) fn new(keys: &[String]) -> Self {
        let names = |written: &String| {
            let folded = key::fold(&key::parts(written).join("."));
            key::variables(written).into_iter().chain([written.clone(), folded])
        };
        Self { named: keys.iter().flat_map(names).collect() }
    }

    /// Returns true if a placeholder of this key, set there, has a secret value.
    pub(super) fn has(&self, written: &str, source: &Source) -> bool {
        let variable = match source {
            Source::Environment { variable } => Some(variable.as_str()),
            _ => None,
        };
        std::iter::once(written).chain(variable).any(|name| self.is_secret(name))
    }

    fn is_secret(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        MARKS.iter().any(|mark| lower.contains(mark))
            || self.named.contains(name)
            || self.named.contains(&key::fold(&key::parts(name).join(".")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_mark_and_names_of_the_program_are_secret() {
        let secrets = Secrets::new(&["db.url".to_owned(), "pin-code".to_owned()]);
        let in_file = Source::File { path: "scheduler.toml".to_owned(), line: 1 };
        let in_env = |name: &str| Source::Environment { variable: name.to_owned() };
        for name in [
            "db.password",
            "DB_PASSWORD",
            "apiToken",
            "aws.secret-access",
            "stripe_key",
            "db.url",
            "pin_code",
            "pin-code",
        ] {
            assert!(secrets.has(name, &in_file), "{name}");
        }
        for (name, variable) in [("db.url", "DB_URL"), ("a", "MY_TOKEN"), ("x", "PIN_CODE")] {
            assert!(secrets.has(name, &in_env(variable)), "{name} {variable}");
        }
        assert!(!secrets.has("report.cron", &in_file));
        assert!(!secrets.has("report.cron", &in_env("REPORT_CRON")));
        assert!(!secrets.has("db.url.host", &in_file));
    }
}
