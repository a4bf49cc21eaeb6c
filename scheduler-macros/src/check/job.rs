//! Checks a function that runs jobs: one argument may be the payload.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, FnArg, Path, Token, Type};

use super::form::{bare, check_named};
use super::{Argument, Wanted, shown};
use crate::args::{Args, Form, Key, Value};
use crate::diagnostic::Faults;
use crate::item::{self, Annotation, Function};

/// The options of `#[job]` that settings cannot override.
pub(crate) struct JobPlan {
    /// The version of the payload; 0 if there is none.
    pub(crate) version: u32,
    /// The function that upgrades a payload of an older version.
    pub(crate) upgrade: Option<Path>,
    /// The former names.
    pub(crate) aliases: Vec<String>,
    /// The expression for the partition of a job.
    pub(crate) partition: Option<Expr>,
    /// True if the name is written, and no move of the function changes it.
    pub(crate) is_named: bool,
}

/// Checks what an annotation says of jobs; `None` of a schedule.
pub(super) fn check(
    args: &Args,
    form: Form,
    function: &Function,
    faults: &mut Faults,
) -> Option<JobPlan> {
    if form == Form::Schedule {
        return None;
    }
    check_alone(function, faults);
    let has_payload = function.sig.inputs.iter().any(is_payload);
    let version = version(args, has_payload, faults);
    check_upgrade(args, version, faults);
    check_each(args, faults);
    Some(JobPlan {
        version: if has_payload { version } else { 0 },
        upgrade: match args.value(Key::Upgrade) {
            Some(Value::Path(path)) => Some(path.clone()),
            _ => None,
        },
        aliases: args.value(Key::Alias).map(Value::texts).unwrap_or_default(),
        partition: match args.value(Key::Partition) {
            Some(Value::Expression(expression)) => Some(expression.clone()),
            _ => None,
        },
        is_named: args.get(Key::Name).is_some(),
    })
}

fn check_alone(function: &Function, faults: &mut Faults) {
    for other in function.attrs.iter().filter(|attr| item::is_named(attr.meta.path(), "job")) {
        faults.push(other, ALONE);
    }
}

/// The message for a second annotation.
const ALONE: &str = "a function is one job; remove one `#[job]`";

/// Reports a `#[job]` of a method that has one before it; those under conditions may be for different builds.
pub(crate) fn check_one_job(before: &[Annotation], annotation: &Annotation, faults: &mut Faults) {
    let is_certain =
        |annotation: &Annotation| annotation.form == Form::Job && annotation.conditions.is_empty();
    if is_certain(annotation) && before.iter().any(is_certain) {
        faults.push(&annotation.path, ALONE);
    }
}

/// The version of the payload, which is 1 unless it is written.
fn version(args: &Args, has_payload: bool, faults: &mut Faults) -> u32 {
    let Some(option) = args.get(Key::Version) else { return 1 };
    let Some(value) = &option.value else { return 1 };
    if !has_payload && !args.is_incomplete {
        let message = "`version` is of no use without a payload\n\
                       remove `version`, or mark an argument `#[payload]`";
        faults.push(&option.word, message);
    }
    match value.text().and_then(|text| text.parse().ok()) {
        Some(version @ 1..) => version,
        _ => {
            let message = "the versions of a payload are `1`, `2` and so on";
            faults.push(value, message);
            1
        }
    }
}

fn check_upgrade(args: &Args, version: u32, faults: &mut Faults) {
    if let Some(option) = args.get(Key::Upgrade)
        && version == 1
        && !args.is_incomplete
    {
        let message =
            "`upgrade` is of no use for the first version of a payload\nadd `version = 2`";
        faults.push(&option.word, message);
    }
}

/// Reports a limit of each partition of jobs that have none.
fn check_each(args: &Args, faults: &mut Faults) {
    if let Some(option) = args.get(Key::Each)
        && args.get(Key::Partition).is_none()
        && !args.is_incomplete
    {
        let message = format!(
            "`each` is of no use without `partition`: it limits the jobs of each partition\n\
             add for example `{}`, an expression on the payload",
            Key::Partition.example()
        );
        faults.push(&option.word, message);
    }
}

/// The mark of a payload.
pub(super) fn payload_mark(attrs: &[Attribute]) -> Option<&Attribute> {
    attrs.iter().find(|attr| item::is_named(attr.meta.path(), "payload"))
}

fn is_payload(input: &FnArg) -> bool {
    matches!(input, FnArg::Typed(argument) if payload_mark(&argument.attrs).is_some())
}

/// The argument that is marked as the payload.
pub(super) fn payload(
    mark: &Attribute,
    ty: &Type,
    form: Form,
    faults: &mut Faults,
) -> Option<Argument> {
    if form == Form::Schedule {
        let message = "only a job has a payload, which the code that enqueues it gives\n\
                       write `#[job(…)]` in place of `#[scheduled(…)]`, or remove `#[payload]`";
        faults.push(mark, message);
        return None;
    }
    if mark.meta.require_path_only().is_err() {
        faults.push(mark, "`#[payload]` has no options; write `#[payload]`");
        return None;
    }
    let found = match bare(ty) {
        Type::Reference(reference) => Err(format!(
            "a payload is decoded for each run, which owns it\nwrite `{}`",
            owned(&reference.elem)
        )),
        Type::Ptr(pointer) => {
            Err(format!("a pointer cannot be kept in a store\nwrite `{}`", owned(&pointer.elem)))
        }
        other => check_named(other, Wanted::Always),
    };
    found.map_err(|message| faults.push(ty, message)).ok()?;
    Some(Argument::Payload(ty.clone()))
}

fn owned(ty: &Type) -> String {
    match bare(ty) {
        Type::Path(path) if path.path.is_ident("str") => "String".to_owned(),
        Type::Slice(slice) => format!("Vec<{}>", shown(&slice.elem)),
        other => shown(other),
    }
}

/// Reports a second payload.
pub(super) fn check_one_payload(inputs: &Punctuated<FnArg, Token![,]>, faults: &mut Faults) {
    for input in inputs.iter().filter(|input| is_payload(input)).skip(1) {
        let message = "a job has one payload\nput what belongs together into one type";
        faults.push(input, message);
    }
}

/// Removes the mark of the payload, which rustc does not know.
pub(crate) fn take_payload_mark(function: &mut Function) {
    for input in &mut function.sig.inputs {
        if let FnArg::Typed(argument) = input {
            argument.attrs.retain(|attr| !item::is_named(attr.meta.path(), "payload"));
        }
    }
}
