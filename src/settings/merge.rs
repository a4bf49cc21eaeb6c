//! Which of several texts for one task counts.
//!
//! For each attribute it is the text of the highest place. The trigger is more: the highest place
//! that has one replaces the trigger of all places below, with the attributes that mean nothing
//! without it.

use std::fmt;

use scheduler_expr::Attribute;
use scheduler_expr::AttributeError;
use scheduler_expr::RuleKind;

use super::fault::Fault;
use super::fault::Remark;
use super::fault::visible;
use super::fault::word;
use super::reading::Reading;
use super::reading::Subject;
use super::schema;
use super::source::Raw;
use super::source::Source;
use super::source::Valued;
use super::tasks::TaskWords;
use super::tasks::Words;

/// The word that switches a task off.
const OFF: &str = "false";

/// What counts for a task.
#[derive(Clone, Debug)]
pub(crate) struct Effective {
    name: String,
    place: String,
    values: Vec<(Attribute, Valued)>,
    is_complete: bool,
}

/// Why a parser refused a text.
pub(crate) struct Refusal<'a> {
    pub(crate) reason: &'a dyn fmt::Display,
    pub(crate) caret: Option<String>,
    pub(crate) help: Option<&'a str>,
}

impl Effective {
    /// The full name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether somebody has switched the task off.
    pub(crate) fn is_off(&self) -> bool {
        self.get(Attribute::Enabled).is_some_and(|enabled| enabled.text == OFF)
    }

    /// File and line of the annotation.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Whether each text that was written is among the values. Where it is not there is a fault
    /// already, and what seems to be missing is not.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// What the attribute is set to, if anybody set it.
    pub(crate) fn get(&self, attribute: Attribute) -> Option<&Valued> {
        let (_, valued) = self.values.iter().find(|(known, _)| *known == attribute)?;
        Some(valued)
    }

    /// The fault of a text that a parser refused, as the place of the text spells attributes.
    pub(crate) fn blame(&self, error: &AttributeError) -> Fault {
        let own = error.attribute();
        let source = self.get(own).map_or(&Source::Default, |valued| &valued.source);
        let (reason, help) = error.spelled(&|attribute, value| match value {
            None => source.name(attribute.name()),
            Some(value) => source.assignment(own.name(), attribute.name(), value),
        });
        let refusal = Refusal { reason: &reason, caret: error.caret(), help: help.as_deref() };
        self.fault(own, &refusal)
    }

    /// The fault of a text that was refused: where it was written, what for, and an example.
    pub(crate) fn fault(&self, attribute: Attribute, refusal: &Refusal<'_>) -> Fault {
        let valued = self.get(attribute);
        let annotation = Source::Annotation(self.place.clone());
        let source = valued.map_or(&annotation, |valued| &valued.source);
        let reason = refusal.reason.to_string();
        let about = format!("`{}`", source.name(attribute.name()));
        let about = if reason.contains(&about) { String::new() } else { format!("{about}: ") };
        let mut fault = Fault::at(source, format!("{}: {about}{reason}", word(&self.name)));
        if let Some(caret) = &refusal.caret {
            fault = fault.note(caret.as_str());
        }
        if let Some(note) = valued.and_then(Valued::note) {
            fault = fault.note(note);
        }
        let name = attribute.name();
        let example = || source.assignment(name, name, attribute.row().example_text());
        fault.help(match refusal.help {
            Some(help) => help.to_owned(),
            None => format!("for example `{}`", example()),
        })
    }
}

/// Merges what the places say, from high to low, with the words of the annotation. `short` is the
/// name in remarks.
pub(super) fn merge(
    reading: &mut Reading<'_>,
    task: &TaskWords<'_>,
    short: &str,
    mut places: Vec<Words>,
) -> Effective {
    let before = reading.faults.len();
    for place in &places {
        reading.faults.extend(two_triggers(task.name, place));
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
            label: format!("{}: `{}`", word(task.name), raw.source.name(attribute.name())),
            owner: format!("task {}", word(task.name)),
            example: attribute.row().example_text(),
        };
        match reading.resolve(raw, &subject) {
            Some(valued) => values.push((attribute, valued)),
            None => is_complete = false,
        }
    }
    let effective =
        Effective { name: task.name.to_owned(), place: task.place.clone(), values, is_complete };
    if effective.is_off() {
        // Whoever switches a task off need not configure it.
        reading.faults.truncate(resolved_from);
    }
    effective
}

fn annotation(task: &TaskWords<'_>) -> Words {
    let raw =
        |text: &str| Raw { text: text.to_owned(), source: Source::Annotation(task.place.clone()) };
    task.attributes.iter().map(|(attribute, text)| (*attribute, raw(text))).collect()
}

/// The triggers that a place sets.
fn triggers(place: &Words) -> impl Iterator<Item = (Attribute, &Raw)> {
    schema::triggers().filter_map(|trigger| Some((trigger, place.get(&trigger)?)))
}

fn two_triggers(task: &str, place: &Words) -> Option<Fault> {
    let mut triggers = triggers(place);
    let ((one, first), (other, second)) = (triggers.next()?, triggers.next()?);
    let (one, other) = (first.source.name(one.name()), second.source.name(other.name()));
    let task = word(task);
    let text = format!(
        "task {task} has `{other}`, and `{one}` ({}): a task has one trigger",
        first.source
    );
    Some(Fault::at(&second.source, text).help("remove one of the two".to_owned()))
}

/// Takes away, below the highest place that has a trigger, all that belongs to other triggers.
/// Returns the trigger that was replaced; of a one-time task that is its initial delay.
fn replace_trigger(places: &mut [Words]) -> Option<(Attribute, Raw)> {
    let highest = places.iter().position(|place| triggers(place).next().is_some())?;
    let (trigger, _) = triggers(&places[highest]).next()?;
    let rule = RuleKind::of(trigger)?;
    let mut replaced = None;
    let mut delay = None;
    for place in &mut places[highest + 1..] {
        for (attribute, raw) in std::mem::take(place) {
            if !schema::is_foreign_to(attribute, rule) {
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

/// Says what settings changed. The last of `places` is the annotation.
fn remark(
    reading: &mut Reading<'_>,
    task: &str,
    places: &[Words],
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
