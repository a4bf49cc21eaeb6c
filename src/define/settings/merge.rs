//! Merges the settings of a task with the defaults of all tasks.
//!
//! For each attribute the highest place counts. The highest place with a rule replaces the rules of all
//! places below, together with the attributes that need them.

use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler_expr::{Attribute, AttributeError, Role, RuleKind, nearest};

use crate::base::metadata::Location;
use crate::define::entry::Definition;
use crate::define::settings::{
    Content, DEFAULTS, Line, ROOT, Raw, Reading, Remark, ResolvedValue, SettingsError, Source,
    Subject, key, visible, word,
};

/// The text of `enabled` that disables a task.
const OFF: &str = "false";

/// The attributes of one task in one source.
pub(super) type RawAttributes = BTreeMap<Attribute, Raw>;

/// Attributes with their effective texts.
pub(super) type AttributeValues = Vec<(Attribute, ResolvedValue)>;

/// The effective attributes of a task, with the source of each.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedAttributes {
    /// The full name of the task.
    pub(super) name: Arc<str>,
    /// The place of its definition.
    pub(super) location: Location,
    values: AttributeValues,
    /// True if no text was refused. Otherwise a missing value is no further fault.
    pub(crate) is_complete: bool,
}

impl ResolvedAttributes {
    /// A default for all tasks, as if it were a task, for messages.
    fn of_defaults(attribute: Attribute, resolved: ResolvedValue) -> Self {
        let name = format!("{ROOT}.{}", key::DEFAULTS).into();
        let values = vec![(attribute, resolved)];
        Self { name, location: Location::NONE, values, is_complete: true }
    }

    /// The attributes of a definition that no setting replaces.
    #[cfg(all(test, feature = "durable"))]
    pub(crate) fn of_definition(task: &Definition) -> Self {
        let source = Source::Annotation(task.location);
        let value = |text: &str| ResolvedValue::plain(text, source.clone());
        let values = task.attributes.iter().map(|(attribute, text)| (*attribute, value(text)));
        let (name, location) = (Arc::clone(&task.name), task.location);
        Self { name, location, values: values.collect(), is_complete: true }
    }

    /// Returns true if the task is disabled by `enabled`.
    pub(crate) fn is_off(&self) -> bool {
        self.get(Attribute::Enabled).is_some_and(|enabled| enabled.text == OFF)
    }

    /// The text of an attribute, if it is set.
    pub(crate) fn get(&self, attribute: Attribute) -> Option<&ResolvedValue> {
        let (_, resolved) = self.values.iter().find(|(known, _)| *known == attribute)?;
        Some(resolved)
    }

    /// The fault of a text that a parser refused, as the place of the text spells attributes.
    pub(crate) fn blame(&self, error: &AttributeError) -> SettingsError {
        let refused = error.attribute();
        let source = self.get(refused).map_or(&Source::Default, |resolved| &resolved.source);
        let (reason, help) = error.spelled(&|attribute, value| match value {
            None => source.name(attribute.name()),
            Some(value) => source.assignment(refused.name(), attribute.name(), value),
        });
        self.refused(refused, &reason, error.caret(), help)
    }

    /// The text in place of a reason that is about a secret, or quotes one.
    fn unseen(&self, attribute: Attribute, reason: &str) -> Option<String> {
        let of_attribute = self.get(attribute).and_then(ResolvedValue::unseen);
        let is_quoted = |resolved: &&ResolvedValue| {
            resolved.secret.is_some()
                && !resolved.text.is_empty()
                && reason.contains(&resolved.text)
        };
        let other = || self.values.iter().map(|(_, resolved)| resolved).find(is_quoted);
        of_attribute.or_else(|| other()?.unseen())
    }

    /// The fault of an attribute, with the remedy.
    pub(crate) fn fault(&self, attribute: Attribute, reason: &str, help: String) -> SettingsError {
        self.refused(attribute, reason, None, Some(help))
    }

    /// The fault of a text that was refused: where it was written, what for, and the help or an example.
    pub(super) fn refused(
        &self,
        attribute: Attribute,
        reason: &str,
        caret: Option<String>,
        help: Option<String>,
    ) -> SettingsError {
        let resolved = self.get(attribute);
        let unseen = self.unseen(attribute, reason);
        let (reason, caret, help) = match &unseen {
            Some(reason) => (reason.as_str(), None, None),
            None => (reason, caret, help),
        };
        let annotation = Source::Annotation(self.location);
        let source = resolved.map_or(&annotation, |resolved| &resolved.source);
        let name = attribute.name();
        let about = format!("`{}`", source.name(name));
        let about = if reason.contains(&about) { String::new() } else { format!("{about}: ") };
        let example = || source.assignment(name, name, attribute.row().example_text());
        SettingsError::new(format!("{}: {about}{reason}", word(&self.name)))
            .note(caret)
            .note(resolved.and_then(ResolvedValue::note))
            .help(help.unwrap_or_else(|| format!("for example `{}`", example())))
            .at(source)
    }
}

/// Merges the places, from high to low, with the annotation and the defaults. `short` is the name in remarks.
pub(super) fn merge(
    reading: &mut Reading<'_>,
    task: &Definition,
    short: &str,
    mut places: Vec<RawAttributes>,
    defaults: &[(Attribute, ResolvedValue)],
) -> ResolvedAttributes {
    let before = reading.faults.len();
    for place in &places {
        reading.faults.extend(two_triggers(&task.name, place));
    }
    let is_certain = reading.faults.len() == before;
    let overridden = places.iter().any(|place| !place.is_empty());
    places.push(annotation(task));
    let replaced = if is_certain { replace_trigger(&mut places) } else { None };
    if overridden {
        remark(reading, short, &places, replaced.as_ref());
    }
    let mut values = Vec::new();
    let mut is_complete = is_certain;
    let resolved_from = reading.faults.len();
    for attribute in Attribute::ALL.iter().copied() {
        let Some(raw) = places.iter().find_map(|place| place.get(&attribute)) else { continue };
        let subject = Subject {
            label: format!("{}: `{}`", word(&task.name), raw.source.name(attribute.name())),
            owner: format!("task {}", word(&task.name)),
            example: attribute.row().example_text(),
        };
        match reading.resolve(raw, &subject) {
            Some(resolved) => values.push((attribute, resolved)),
            None => is_complete = false,
        }
    }
    add_defaults(&mut values, task.rule_alone(), defaults);
    let (name, location) = (Arc::clone(&task.name), task.location);
    let attributes = ResolvedAttributes { name, location, values, is_complete };
    if attributes.is_off() {
        // A disabled task need not be configured.
        reading.faults.truncate(resolved_from);
    }
    attributes
}

/// Adds the defaults that the task does not set itself, and that have a meaning beside what it sets.
fn add_defaults(
    values: &mut AttributeValues,
    rule: RuleKind,
    defaults: &[(Attribute, ResolvedValue)],
) {
    if defaults.is_empty() {
        return;
    }
    let is_set = |attribute| values.iter().any(|(known, _)| *known == attribute);
    let mut added: Vec<(Attribute, &ResolvedValue)> = defaults
        .iter()
        .filter(|(attribute, _)| !is_set(*attribute))
        .map(|(attribute, text)| (*attribute, text))
        .collect();
    // Leaving one out may make another one useless.
    loop {
        let texts = values.iter().map(|(attribute, resolved)| (*attribute, resolved.text.as_str()));
        let texts =
            texts.chain(added.iter().map(|(attribute, resolved)| (*attribute, &*resolved.text)));
        let written: Vec<(Attribute, &str)> = texts.collect();
        let faults = Attribute::check_together(&written, rule, None);
        let mut useless = faults.iter().filter(|fault| !fault.is_about_text());
        let Some(at) = useless.find_map(|fault| {
            added.iter().position(|(attribute, _)| *attribute == fault.attribute())
        }) else {
            break;
        };
        added.remove(at);
    }
    values.extend(added.into_iter().map(|(attribute, resolved)| (attribute, resolved.clone())));
}

fn annotation(task: &Definition) -> RawAttributes {
    let raw = |text: &str| Raw { text: text.to_owned(), source: Source::Annotation(task.location) };
    task.attributes.iter().map(|(attribute, text)| (*attribute, raw(text))).collect()
}

/// The triggers that a place sets.
fn triggers(place: &RawAttributes) -> impl Iterator<Item = (Attribute, &Raw)> {
    key::triggers().filter_map(|trigger| Some((trigger, place.get(&trigger)?)))
}

fn two_triggers(task: &str, place: &RawAttributes) -> Option<SettingsError> {
    let mut triggers = triggers(place);
    let ((one, first), (other, second)) = (triggers.next()?, triggers.next()?);
    let (one, other) = (first.source.name(one.name()), second.source.name(other.name()));
    let task = word(task);
    let text = format!(
        "task {task} has `{other}`, and `{one}` ({}): a task has one trigger",
        first.source
    );
    Some(SettingsError::new(text).help("remove one of the two".to_owned()).at(&second.source))
}

/// Takes away, below the highest place that has a trigger, all that belongs to other triggers.
/// Returns the trigger that was replaced; of a one-time task that is its initial delay.
fn replace_trigger(places: &mut [RawAttributes]) -> Option<(Attribute, Raw)> {
    let highest = places.iter().position(|place| triggers(place).next().is_some())?;
    let (trigger, _) = triggers(&places[highest]).next()?;
    let rule = RuleKind::of(trigger)?;
    let mut replaced = None;
    let mut delay = None;
    for place in &mut places[highest + 1..] {
        for (attribute, raw) in std::mem::take(place) {
            if !key::is_foreign_to(attribute, rule) {
                place.insert(attribute, raw);
            } else if RuleKind::of(attribute).is_some() {
                replaced.get_or_insert((attribute, raw));
            } else if attribute == Attribute::InitialDelay {
                delay.get_or_insert((attribute, raw));
            }
        }
    }
    replaced.or(delay)
}

/// Notes what settings changed. The last of `places` is the annotation.
fn remark(
    reading: &mut Reading<'_>,
    task: &str,
    places: &[RawAttributes],
    replaced: Option<&(Attribute, Raw)>,
) {
    for attribute in Attribute::ALL {
        let mut texts = places.iter().filter_map(|place| place.get(attribute));
        let Some(raw) = texts.next() else { continue };
        if matches!(raw.source, Source::Annotation(_)) {
            continue;
        }
        let other = replaced.filter(|_| RuleKind::of(*attribute).is_some());
        let was = match (texts.next(), other) {
            (Some(lower), _) => Some(format!("\"{}\"", visible(&lower.text))),
            (None, Some((trigger, lower))) => {
                Some(format!("{trigger} = \"{}\"", visible(&lower.text)))
            }
            (None, None) => None,
        };
        let task = visible(task);
        reading.remarks.push(Remark::note(match was {
            Some(was) => format!("{task}: {attribute} overridden by {} (was {was})", raw.source),
            None => format!("{task}: {attribute} set by {}", raw.source),
        }));
    }
}

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
