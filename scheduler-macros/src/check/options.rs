//! The options that an annotation needs, and those that go together.

use proc_macro2::Ident;
use scheduler_expr::{Attribute, AttributeError, Role, RuleKind};

use super::words;
use crate::args::{Args, Form, Key};
use crate::diagnostic::{Faults, remedy};

/// Checks the options. Returns the texts of those that settings can override.
pub(super) fn check(
    args: &Args,
    form: Form,
    function: &Ident,
    faults: &mut Faults,
) -> Vec<(Attribute, String)> {
    if form == Form::Schedule {
        check_triggers(args, function, faults);
    }
    let resolved = words::check(args, faults);
    check_together(args, form, &resolved, faults);
    words::texts(args).map(|(attribute, _, text)| (attribute, text)).collect()
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
    for fault in Attribute::check_together(&texts, rule, words::Unit::of(args).any()) {
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
