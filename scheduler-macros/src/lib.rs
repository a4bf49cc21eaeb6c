//! The attributes `#[scheduled]` and `#[job]` of the [`scheduler-rs`] crate, which re-exports it: depend on that one.
//!
//! [`scheduler-rs`]: https://docs.rs/scheduler-rs/latest/scheduler/
//
// The crate parses and checks an annotation, and generates an entry that the library `scheduler` finds
// when the program starts. It works in the compiler only:
//
// | layer | does |
// |---|---|
// | `diagnostic` | collects faults and writes their messages |
// | `args` | reads the options, by one table |
// | `item` | reads the function, as far as its signature, or the `impl` block |
// | `repeat` | numbers several annotations of one function |
// | `check` | the rules |
// | `expand` | the code that is generated |
//
// `manual.md` and `job.md` explain the options to users.
//
// It changes no function, names nothing that the user's crate could have redefined, and does not stop at the first fault.
// It does not depend on the engine, which would be compiled for the compiler.

mod args;
mod check;
mod diagnostic;
mod expand;
mod item;
mod repeat;

use proc_macro2::TokenStream;
use quote::quote;

use crate::args::{Args, Form};
use crate::check::Owner;
use crate::diagnostic::Faults;
use crate::expand::Task;
use crate::item::{Annotation, Function, ImplBlock, Member};

#[doc = include_str!("manual.md")]
#[doc(alias = "Scheduled")]
#[doc(alias = "cron")]
#[doc(alias = "fixedRate")]
#[doc(alias = "fixedDelay")]
#[doc(alias = "initialDelay")]
#[proc_macro_attribute]
pub fn scheduled(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    annotate(options.into(), &item.into()).into()
}

/// [limits]: https://docs.rs/scheduler-rs/latest/scheduler/guide/limits/
/// [scheduled]: macro@crate::scheduled
#[doc = include_str!("job.md")]
#[doc(alias = "enqueue")]
#[doc(alias = "queue")]
#[doc(alias = "background job")]
#[proc_macro_attribute]
pub fn job(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    annotate_job(options.into(), &item.into()).into()
}

/// The expansion of `scheduler::cron!`, which gives the facade and a text.
#[doc(hidden)]
#[proc_macro]
pub fn cron_schedule(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    cron(input.into()).into()
}

/// The schedule of a cron expression, or the fault of its text.
fn cron(input: TokenStream) -> TokenStream {
    let mut tokens = input.into_iter();
    let facade = tokens.next();
    let mut faults = Faults::default();
    let text: TokenStream = tokens.collect();
    check::cron_text(&text, &mut faults);
    // An error alone: rustc would expect a schedule from a block.
    if faults.is_empty() { quote!(#facade::Schedule::cron(#text)) } else { faults.to_tokens() }
}

/// The function without the mark of its payload, and after it the constructor of jobs and the entry, or else the faults.
fn annotate_job(options: TokenStream, item: &TokenStream) -> TokenStream {
    let Ok(mut function) = syn::parse2::<Function>(item.clone()) else {
        return check::not_a_function(Form::Job, item);
    };
    let mut faults = Faults::default();
    let args = Args::parse(options, Form::Job, &mut faults);
    let arguments = check::function(&function, Form::Job, None, &mut faults);
    let plan = check::annotation(&args, Form::Job, &function, None, &mut faults);
    check::take_payload_mark(&mut function);
    let added = match (plan, arguments) {
        (Some(plan), Some(arguments)) if faults.is_empty() => {
            expand::job(&Task::alone(&function, &arguments, &plan))
        }
        _ => faults.to_tokens(),
    };
    quote!(#function #added)
}

/// The item, and after it its entries or else the faults.
fn annotate(options: TokenStream, item: &TokenStream) -> TokenStream {
    if let Ok(function) = syn::parse2::<Function>(item.clone()) {
        return annotate_function(options, function);
    }
    match syn::parse2::<ImplBlock>(item.clone()) {
        Ok(block) => annotate_block(options, block),
        Err(_) => check::not_a_function(Form::Schedule, item),
    }
}

/// One annotation of a function. The function itself is checked with its first annotation only.
fn annotate_function(options: TokenStream, mut function: Function) -> TokenStream {
    let mut faults = Faults::default();
    let args = Args::parse(options, Form::Schedule, &mut faults);
    let mut of_function = Faults::default();
    let arguments = check::function(&function, Form::Schedule, None, &mut of_function);
    let plan = check::annotation(&args, Form::Schedule, &function, None, &mut faults);
    if !check::is_repeated(&args) {
        faults.append(of_function);
        repeat::number(&mut function.attrs);
    }
    // It was reported, and rustc does not know it.
    check::take_payload_mark(&mut function);
    let added = match (plan, arguments) {
        (Some(plan), Some(arguments)) if faults.is_empty() => {
            expand::entry(&Task::alone(&function, &arguments, &plan))
        }
        _ => faults.to_tokens(),
    };
    quote!(#function #added)
}

/// All annotations of the methods in an `impl` block. A fault in one method does not keep the others
/// from their entries.
fn annotate_block(options: TokenStream, mut block: ImplBlock) -> TokenStream {
    let mut faults = Faults::default();
    let args = Args::parse(options, Form::Schedule, &mut faults);
    let owner = check::block(&args, &block, &mut faults);
    let mut entries = TokenStream::new();
    let mut is_annotated = false;
    for member in &mut block.members {
        let Member::Function(function) = member else { continue };
        let annotations = item::take_annotations(&mut function.attrs);
        is_annotated |= !annotations.is_empty();
        if let (Some(owner), false) = (&owner, annotations.is_empty()) {
            entries.extend(annotate_method(&annotations, function, owner));
            check::take_payload_mark(function);
        }
    }
    if owner.is_some() && !is_annotated {
        check::nothing_annotated(&block, &mut faults);
    }
    let faults = faults.to_tokens();
    quote!(#block #entries #faults)
}

/// The entries of a method, and its faults: neither is there where the method or the annotation is not.
fn annotate_method(annotations: &[Annotation], method: &Function, owner: &Owner) -> TokenStream {
    let mut of_method = Faults::default();
    // Only a method that is nothing but a job has a payload.
    let is_job = annotations.iter().all(|annotation| annotation.form == Form::Job);
    let form = if is_job { Form::Job } else { Form::Schedule };
    let arguments = check::function(method, form, Some(owner), &mut of_method);
    let conditions = item::conditions(&method.attrs);
    let conditions = quote!(#(#[#conditions])*);
    let is_annotated = repeat::any(annotations);
    let mut entries = of_method.under(&quote!(#conditions #is_annotated));
    for (index, annotation) in annotations.iter().enumerate() {
        let mut faults = Faults::default();
        let form = annotation.form;
        check::check_one_job(&annotations[..index], annotation, &mut faults);
        let (certain, earlier_cfg_annotations) = match form {
            Form::Schedule => repeat::before(&annotations[..index]),
            Form::Job => (0, Vec::new()),
        };
        let options = repeat::numbered(&annotation.options, certain + 1);
        let args = Args::parse(options, form, &mut faults);
        let plan = check::annotation(&args, form, method, Some(owner), &mut faults);
        if let (Some(plan), Some(arguments), true) = (&plan, &arguments, faults.is_empty()) {
            let task = Task {
                function: method,
                arguments,
                plan,
                owner: Some(owner),
                conditions: &annotation.conditions,
                earlier_cfg_annotations: &earlier_cfg_annotations,
                span: annotation.span,
            };
            entries.extend(match form {
                Form::Schedule => expand::entry(&task),
                Form::Job => expand::job_method(&task, &annotation.path),
            });
        }
        let under = &annotation.conditions;
        entries.extend(faults.under(&quote!(#conditions #(#[cfg(#under)])*)));
    }
    entries
}

#[cfg(test)]
mod tests;
