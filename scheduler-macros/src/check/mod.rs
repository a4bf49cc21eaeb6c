//! The rules: each a condition, a place and a sentence. Nothing else.
//!
//! * [`function`](mod@function): the functions and the `impl` blocks that may be annotated, and the arguments that the
//!   scheduler can hand to a function.
//! * [`form`]: by what type, and how to write it instead.
//! * [`job`](mod@job): the functions that run jobs, and their options.
//! * [`options`]: which options an annotation needs, and whether their texts are valid, by the parsers of `scheduler-expr`,
//!   which the program calls again at its start.
//!
//! Rules that need types (does the function return something the scheduler understands, can an argument
//! be made, is its future `Send`) is left to rustc; [`expand`](crate::expand) gives it the place to
//! point at.

mod form;
mod function;
mod job;
mod options;

use proc_macro2::Ident;
use scheduler_expr::Attribute;
use syn::ext::IdentExt;
use syn::{Path, parse_quote};

use crate::args::{Args, Form, Key, Value};
use crate::diagnostic::Faults;
use crate::item::Function;

pub(crate) use form::Argument;
use form::{Wanted, shown};
pub(crate) use function::{Owner, block, function, not_a_function, nothing_annotated};
pub(crate) use job::{JobPlan, check_one_job, take_payload_mark};
pub(crate) use options::cron_text;

/// An annotation that was found to be right.
pub(crate) struct Plan {
    pub(crate) name: Name,
    /// The options that settings can override, with their texts.
    pub(crate) attributes: Vec<(Attribute, String)>,
    /// The facade, as the user's crate can name it.
    pub(crate) facade: Path,
    /// Of a `#[job]`.
    pub(crate) job: Option<JobPlan>,
}

/// The name of the task.
pub(crate) enum Name {
    /// The name in the annotation.
    Written(String),
    /// By the path of the module, which only the compiler knows, the path of the function in it, and
    /// the number of the annotation on the function, from 1.
    InModule { function: String, nth: usize },
}

/// Checks an annotation of a function; `None` after a fault.
pub(crate) fn annotation(
    args: &Args,
    form: Form,
    function: &Function,
    owner: Option<&Owner>,
    faults: &mut Faults,
) -> Option<Plan> {
    let mut found = Faults::default();
    let ident = &function.sig.ident;
    let attributes = options::check_options(args, form, ident, &mut found);
    let job = job::check(args, form, function, &mut found);
    let is_right = found.is_empty();
    faults.append(found);
    is_right.then(|| Plan {
        name: name(args, ident, owner),
        attributes,
        job,
        facade: facade(args).or_else(|| owner?.facade.clone()).unwrap_or_else(default_facade),
    })
}

fn name(args: &Args, function: &Ident, owner: Option<&Owner>) -> Name {
    if let Some(name) = args.value(Key::Name).and_then(Value::text) {
        return Name::Written(name);
    }
    let nth = args.value(Key::Nth).and_then(Value::text).and_then(|nth| nth.parse().ok());
    Name::InModule { function: path(function, owner), nth: nth.unwrap_or(1) }
}

/// The function as it is called inside of its module: `sweep`, or `Reports::sweep`.
pub(crate) fn path(function: &Ident, owner: Option<&Owner>) -> String {
    let function = function.unraw();
    match owner {
        None => function.to_string(),
        Some(owner) => format!("{}::{function}", owner.name),
    }
}

/// The path that `crate = …` gives.
fn facade(args: &Args) -> Option<Path> {
    match args.value(Key::Crate) {
        Some(Value::Path(path)) => Some(path.clone()),
        _ => None,
    }
}

fn default_facade() -> Path {
    parse_quote!(::scheduler)
}

/// Returns true if this is not the first annotation of its function, which has then been checked already.
pub(crate) fn is_repeated(args: &Args) -> bool {
    args.get(Key::Nth).is_some()
}
