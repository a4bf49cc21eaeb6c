//! Which of several texts for one task counts.
//!
//! For each attribute it is the text of the highest place. The trigger is more: the highest place
//! that has one replaces the trigger of all places below, with the attributes that mean nothing
//! without it.

use std::fmt;

use scheduler_expr::Attribute;

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

    /// The fault of a text that a parser refused: where it was written, what for, and an example.
    pub(crate) fn fault(&self, attribute: Attribute, refusal: &Refusal<'_>) -> Fault {
        let valued = self.get(attribute);
        let place = valued.map_or_else(|| self.place.clone(), |valued| valued.source.to_string());
        let reason = refusal.reason.to_string();
        let about = format!("`{attribute}`");
        let about = if reason.contains(&about) { String::new() } else { format!("{about}: ") };
        let mut fault = Fault::new(format!("{place}: {}: {about}{reason}", word(&self.name)));
        if let Some(caret) = &refusal.caret {
            fault = fault.note(caret.as_str());
        }
        if let Some(note) = valued.and_then(Valued::note) {
            fault = fault.note(note);
        }
        fault.help(match refusal.help {
            Some(help) => help.to_owned(),
            None => format!("for example `{attribute} = \"{}\"`", schema::example(attribute)),
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
            label: format!("{}: `{attribute}`", word(task.name)),
            owner: format!("task {}", word(task.name)),
            example: schema::example(attribute),
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
    schema::TRIGGERS.into_iter().filter_map(|trigger| Some((trigger, place.get(&trigger)?)))
}

fn two_triggers(task: &str, place: &Words) -> Option<Fault> {
    let mut triggers = triggers(place);
    let ((one, first), (other, second)) = (triggers.next()?, triggers.next()?);
    let text = format!(
        "{}: task {} has `{other}`, and `{one}` ({}): a task has one trigger",
        second.source,
        word(task),
        first.source
    );
    Some(Fault::new(text).help("remove one of the two".to_owned()))
}

/// Takes away, below the highest place that has a trigger, all that belongs to other triggers.
/// Returns the trigger that was replaced; of a one-time task that is its initial delay.
fn replace_trigger(places: &mut [Words]) -> Option<(Attribute, Raw)> {
    let highest = places.iter().position(|place| triggers(place).next().is_some())?;
    let (trigger, _) = triggers(&places[highest]).next()?;
    let mut replaced = None;
    let mut delay = None;
    for place in &mut places[highest + 1..] {
        for (attribute, raw) in std::mem::take(place) {
            if !schema::is_foreign_to(attribute, trigger) {
                place.insert(attribute, raw);
            } else if schema::TRIGGERS.contains(&attribute) {
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
        let other = replaced.filter(|_| schema::TRIGGERS.contains(attribute));
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
