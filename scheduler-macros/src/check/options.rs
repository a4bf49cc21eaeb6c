//! The options that an annotation needs, those that go together, their texts.

use proc_macro2::{Ident, TokenStream};
use scheduler_expr::{
    Attribute, AttributeError, DurationUnit, Role, RuleKind, Template, check_name,
};
use syn::parse::{ParseStream, Parser};
use syn::{LitStr, Token};

use crate::args::{Args, Form, Key, Value};
use crate::diagnostic::{Faults, remedy};

/// Checks the options. Returns the texts of those that settings can override.
pub(super) fn check_options(
    args: &Args,
    form: Form,
    function: &Ident,
    faults: &mut Faults,
) -> Vec<(Attribute, String)> {
    if form == Form::Schedule {
        check_triggers(args, function, faults);
    }
    let resolved = check_texts(args, faults);
    check_together(args, form, &resolved, faults);
    texts(args).map(|(attribute, _, text)| (attribute, text)).collect()
}

fn check_triggers(args: &Args, function: &Ident, faults: &mut Faults) {
    let mut rules = args.rules();
    let Some(first) = rules.next() else {
        if args.get(Key::INITIAL_DELAY).is_none() && !args.is_incomplete {
            faults.push(function, no_trigger());
        }
        return;
    };
    for other in rules {
        let (word, first) = (other.key.name(), first.key.name());
        let message = format!(
            "`{word}` conflicts with `{first}`: a scheduled task has exactly one trigger\n\
             remove one, or write a second `#[scheduled(…)]` to run the function on both"
        );
        faults.push(&other.word, message);
    }
}

fn no_trigger() -> String {
    let rows = Attribute::ALL.iter().map(|attribute| attribute.row());
    let rules = rows.filter(|row| row.role == Role::Rule);
    let examples: Vec<String> = rules.map(|row| format!("`{}`", row.example)).collect();
    format!(
        "`#[scheduled]` needs a trigger\nadd one of: {}, or `{}` alone to run once",
        examples.join(", "),
        Key::INITIAL_DELAY.example()
    )
}

/// Checks options against each other.
fn check_together(args: &Args, form: Form, resolved: &[(Attribute, String)], faults: &mut Faults) {
    let mut texts: Vec<(Attribute, &str)> =
        resolved.iter().map(|(attribute, text)| (*attribute, text.as_str())).collect();
    // An option whose value could not be read is there all the same.
    for option in args.iter() {
        if let Key::Attribute(attribute) = option.key
            && texts.iter().all(|(known, _)| *known != attribute)
        {
            texts.push((attribute, ""));
        }
    }
    let rule = if form == Form::Job { RuleKind::Job } else { RuleKind::Once };
    let has_rule = form == Form::Job
        || args.rules().next().is_some()
        || args.get(Key::INITIAL_DELAY).is_some();
    for fault in Attribute::check_together(&texts, rule, TimeUnit::of(args).any()) {
        let is_certain = !args.is_incomplete && has_rule;
        if is_certain || fault.attribute() == Attribute::InitialDelay {
            push(args, &fault, faults);
        }
    }
}

fn push(args: &Args, fault: &AttributeError, faults: &mut Faults) {
    let Some(option) = args.get(Key::Attribute(fault.attribute())) else { return };
    let message = remedy(fault, fault.caret().as_deref(), fault.help());
    match &option.value {
        Some(value) if fault.is_about_text() => faults.push(value, message),
        _ => faults.push(&option.word, message),
    }
}

/// The attributes that have a text in the annotation, with that text.
pub(super) fn texts(args: &Args) -> impl Iterator<Item = (Attribute, &Value, String)> {
    args.iter().filter_map(|option| match (option.key, &option.value) {
        (Key::Attribute(attribute), Some(value)) => Some((attribute, value, value.text()?)),
        _ => None,
    })
}

/// Checks the texts one by one. Returns those of attributes where no setting is set: empty if the text is faulty, or a
/// number whose unit is not known.
///
/// The parsers are those of the program's start. The names of zones are a list in `scheduler-expr`, because `chrono-tz` would be compiled
/// a second time for the compiler, in every fresh build of every user. A test of the engine compares the two.
fn check_texts(args: &Args, faults: &mut Faults) -> Vec<(Attribute, String)> {
    if let Some(value) = args.value(Key::Name) {
        name(value, faults);
    }
    if let Some(value) = args.value(Key::Alias) {
        alias(value, faults);
    }
    let unit = TimeUnit::of(args);
    let is_off = args.value(Key::CRON).and_then(Value::text).as_deref() == Some("-");
    let mut all = Vec::new();
    for (attribute, value, written) in texts(args) {
        // As in Spring: the zone of a task that is switched off is not looked at.
        let resolved = match attribute {
            Attribute::Zone if is_off => Ok(written),
            _ => resolve(attribute, &written, unit.any()),
        };
        let resolved = resolved.unwrap_or_else(|message| {
            faults.push(value, message);
            String::new()
        });
        let resolved = if unit.hides(attribute, &resolved) { String::new() } else { resolved };
        all.push((attribute, resolved));
    }
    all
}

/// Checks the argument of `cron!`.
pub(crate) fn cron_text(argument: &TokenStream, faults: &mut Faults) {
    let parse = |input: ParseStream<'_>| -> syn::Result<LitStr> {
        let text = input.parse()?;
        input.parse::<Option<Token![,]>>()?;
        input.is_empty().then_some(text).ok_or_else(|| input.error(""))
    };
    match parse.parse2(argument.clone()) {
        Err(_) => faults.push(
            argument,
            "`cron!` takes one text\nwrite for example `cron!(\"0 0 9 * * MON-FRI\")`; options \
             follow it: `.zone(\"Europe/Berlin\")`",
        ),
        Ok(text) => {
            if let Err(message) = resolve(Attribute::Cron, &text.value(), None) {
                faults.push(&text, message);
            }
        }
    }
}

/// The unit of the bare numbers.
#[derive(Clone, Copy)]
enum TimeUnit {
    None,
    Known(DurationUnit),
    /// There is one, which is faulty or a placeholder.
    Unknown,
}

impl TimeUnit {
    pub(super) fn of(args: &Args) -> Self {
        if args.get(Key::TIME_UNIT).is_none() {
            return Self::None;
        }
        let written = args.value(Key::TIME_UNIT).and_then(Value::text);
        let default = |text: &String| Template::parse(text).ok()?.sole_default();
        let text = written.as_ref().and_then(default).or(written);
        let known = text.and_then(|text| Attribute::parse_unit(&text).ok());
        known.map_or(Self::Unknown, Self::Known)
    }

    /// The unit to check numbers with: any, if it is not known.
    pub(super) fn any(self) -> Option<DurationUnit> {
        match self {
            Self::None => None,
            Self::Known(unit) => Some(unit),
            Self::Unknown => Some(DurationUnit::Milliseconds),
        }
    }

    /// Returns true if the length of this depends on the unit, which is not known.
    fn hides(self, attribute: Attribute, text: &str) -> bool {
        matches!(self, Self::Unknown)
            && attribute.parse_duration(text, None).is_err()
            && attribute.parse_duration(text, self.any()).is_ok()
    }
}

/// Checks a text. Returns the text if no setting is set, or the message.
fn resolve(
    attribute: Attribute,
    written: &str,
    unit: Option<DurationUnit>,
) -> Result<String, String> {
    let template = Template::parse(written).map_err(|error| {
        let invalid = format!("invalid `{attribute}`: {error}");
        remedy(&invalid, Some(&error.caret()), error.help())
    })?;
    if !written.contains("${") {
        attribute.check(written, unit).map_err(|error| worded(&error, ""))?;
        return Ok(written.to_owned());
    }
    let Some(default) = template.sole_default() else { return Ok(written.to_owned()) };
    let place = "in the default of the placeholder: ";
    attribute.check(&default, unit).map_err(|error| worded(&error, place))?;
    Ok(default)
}

fn worded(error: &AttributeError, place: &str) -> String {
    remedy(&format!("{place}{error}"), error.caret().as_deref(), error.help())
}

/// Reports a former name that no job could have had.
fn alias(value: &Value, faults: &mut Faults) {
    for text in value.texts() {
        if let Err(error) = check_name(&text) {
            let help = error
                .help()
                .map_or_else(|| format!("write `{}`", Key::Alias.example()), str::to_owned);
            faults.push(value, remedy(&format!("`alias` {error}"), None, Some(&help)));
        }
    }
}

/// Reports a name that would be hard to find again in settings and messages.
fn name(value: &Value, faults: &mut Faults) {
    let name = value.text().unwrap_or_default();
    let example = Key::Name.example();
    if name.contains("${") {
        let message = format!(
            "`name` takes no placeholder, because settings find the task by its name\n\
             write for example `{example}`"
        );
        faults.push(value, message);
    } else if let Err(error) = check_name(&name) {
        let help = error.help().map_or_else(|| format!("write `{example}`"), str::to_owned);
        faults.push(value, remedy(&format!("`name` {error}"), None, Some(&help)));
    }
}
