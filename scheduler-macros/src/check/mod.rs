//! The rules: each a condition, a place and a sentence. Nothing else.
//!
//! * [`function`]: what may be annotated.
//! * this file: which options go together.
//! * [`words`]: whether a text means something, judged by `scheduler-expr`, which judges it again
//!   when the program starts.
//!
//! What needs types (does the function return something the scheduler understands, is its future
//! `Send`) is left to rustc; [`expand`](crate::expand) gives it the place to point at.

mod function;
mod words;

use proc_macro2::Ident;
use scheduler_expr::DurationUnit;
use syn::ext::IdentExt;
use syn::{LitStr, Path, parse_quote};

use crate::args::{Args, Given, Key, Value};
use crate::diagnostic::Faults;
use crate::item::Function;

pub(crate) use function::not_a_function;

/// An annotation that was found to be right.
pub(crate) struct Plan {
    pub(crate) name: Name,
    pub(crate) rule: Rule,
    pub(crate) initial_delay: Option<String>,
    pub(crate) time_unit: Option<DurationUnit>,
    /// The facade, as the user's crate can name it.
    pub(crate) facade: Path,
}

/// What the task is called.
pub(crate) enum Name {
    /// As the annotation says.
    Given(String),
    /// By the path of the module, which only the compiler knows, and this.
    InModule(String),
}

/// What makes the function run, in the words of the annotation.
pub(crate) enum Rule {
    Cron { expression: String, zone: Option<String> },
    FixedRate { period: String },
    FixedDelay { delay: String },
    Once,
}

/// The options of which there is exactly one, unless [`Key::InitialDelay`] stands alone.
const TRIGGERS: &[Key] = &[Key::FixedRate, Key::FixedDelay, Key::Cron];

/// The options that take a duration.
const DURATIONS: &[Key] = &[Key::FixedRate, Key::FixedDelay, Key::InitialDelay];

/// The options of which there is at least one.
const TIMES: &[Key] = &[Key::FixedRate, Key::FixedDelay, Key::Cron, Key::InitialDelay];

/// Judges an annotation; `None` if there was a fault.
///
/// The function itself is judged, and its faults reported, with its first annotation only.
pub(crate) fn check(args: &Args, function: &Function, faults: &mut Faults) -> Option<Plan> {
    let mut function_faults = Faults::default();
    function::check(function, &mut function_faults);
    let is_callable = function_faults.is_empty();
    if !is_repeated(args) {
        faults.append(function_faults);
    }
    let time_unit = check_options(args, &function.sig.ident, faults);
    let is_right = is_callable && faults.is_empty();
    is_right.then(|| plan(args, &function.sig.ident, time_unit)).flatten()
}

/// Judges the options, and gives the unit of the bare numbers.
fn check_options(args: &Args, function: &Ident, faults: &mut Faults) -> Option<DurationUnit> {
    check_triggers(args, function, faults);
    check_companions(args, faults);
    let time_unit = args.text(Key::TimeUnit).and_then(|text| words::time_unit(text, faults));
    let has_unit = args.get(Key::TimeUnit).is_some();
    if let Some(cron) = args.text(Key::Cron) {
        words::cron(cron, faults);
    }
    if let Some(zone) = args.text(Key::Zone) {
        words::zone(zone, faults);
    }
    for given in args.among(DURATIONS) {
        // A unit that cannot be read has been reported; any other one shows the remaining faults.
        let unit = time_unit.or(has_unit.then_some(DurationUnit::Milliseconds));
        words::duration(given, unit, faults);
    }
    if let Some(name) = args.text(Key::Name) {
        words::name(name, faults);
    }
    time_unit
}

fn check_triggers(args: &Args, function: &Ident, faults: &mut Faults) {
    let mut triggers = args.among(TRIGGERS);
    let Some(first) = triggers.next() else {
        if args.get(Key::InitialDelay).is_none() && !args.is_incomplete {
            faults.push(function, no_trigger());
        }
        return;
    };
    for other in triggers {
        let (word, first) = (other.key.name(), first.key.name());
        let message = format!(
            "`{word}` conflicts with `{first}`: a scheduled task has exactly one trigger\n\
             remove one, or write a second `#[scheduled(…)]` to run the function on both"
        );
        faults.push(&other.word, message);
    }
}

fn no_trigger() -> String {
    let examples: Vec<String> = TRIGGERS.iter().map(|key| format!("`{}`", key.example())).collect();
    format!(
        "`#[scheduled]` needs a trigger\nadd one of: {}, or `{}` alone to run once",
        examples.join(", "),
        Key::InitialDelay.example()
    )
}

/// Options that mean something only beside certain others.
fn check_companions(args: &Args, faults: &mut Faults) {
    if let (Some(_), Some(delay)) = (args.get(Key::Cron), args.get(Key::InitialDelay)) {
        let message = "`initial_delay` cannot be combined with `cron`: \
                       the expression alone says when the first run is; remove `initial_delay`";
        faults.push(&delay.word, message);
    }
    if args.is_incomplete || args.among(TIMES).next().is_none() {
        return;
    }
    if let (None, Some(zone)) = (args.get(Key::Cron), args.get(Key::Zone)) {
        let message = "`zone` is of no use without `cron`: only a cron expression \
                       reads the wall clock; remove `zone`";
        faults.push(&zone.word, message);
    }
    if let (None, Some(unit)) = (args.among(DURATIONS).next(), args.get(Key::TimeUnit)) {
        let message = "`time_unit` is of no use here: it is the unit of the bare numbers in \
                       `fixed_rate`, `fixed_delay` and `initial_delay`; remove `time_unit`";
        faults.push(&unit.word, message);
    }
}

fn plan(args: &Args, function: &Ident, time_unit: Option<DurationUnit>) -> Option<Plan> {
    let rule = match args.among(TRIGGERS).next() {
        None => Rule::Once,
        Some(given) => match given.key {
            Key::Cron => Rule::Cron {
                expression: value_text(given)?,
                zone: args.text(Key::Zone).map(LitStr::value),
            },
            Key::FixedRate => Rule::FixedRate { period: value_text(given)? },
            _ => Rule::FixedDelay { delay: value_text(given)? },
        },
    };
    Some(Plan {
        name: args.text(Key::Name).map_or_else(
            || Name::InModule(default_name(args, function)),
            |name| Name::Given(name.value()),
        ),
        rule,
        initial_delay: args.get(Key::InitialDelay).and_then(value_text),
        time_unit,
        facade: facade(args),
    })
}

/// The text of a value; a number is a text too.
fn value_text(given: &Given) -> Option<String> {
    match given.value.as_ref()? {
        Value::Text(text) => Some(text.value()),
        Value::Number(number) => Some(number.base10_digits().to_owned()),
        Value::Path(_) => None,
    }
}

/// The function's name, and from its second annotation on a number.
fn default_name(args: &Args, function: &Ident) -> String {
    let function = function.unraw();
    match args.get(Key::Nth).and_then(value_text) {
        None => function.to_string(),
        Some(nth) => format!("{function}-{nth}"),
    }
}

fn facade(args: &Args) -> Path {
    match args.get(Key::Crate).and_then(|given| given.value.as_ref()) {
        Some(Value::Path(path)) => path.clone(),
        _ => parse_quote!(::scheduler),
    }
}

/// Whether this is not the first annotation of its function, which has then been judged already.
pub(crate) fn is_repeated(args: &Args) -> bool {
    args.get(Key::Nth).is_some()
}
