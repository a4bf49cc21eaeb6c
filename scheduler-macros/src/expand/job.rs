//! Generates the code that makes jobs, and warnings at unstable names.
//!
//! It is a type of the function's name, so that `send_invoice::job(invoice)` works wherever the function is imported; for a
//! method `Mailer::send` the associated function `Mailer::send_job`, as no type can stand in an `impl` block.
//!
//! A type and a function of the same name do not meet, because a type without values has no name among the functions. Its
//! name has the place of the function, and is made by the macro, so that no lint about names complains about it.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use scheduler_expr::Attribute;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{FnArg, Pat, Type};

use super::{FacadeCall, Idents, Task, without_self};
use crate::check::{Argument, Name, Owner};

/// The type, and what stands beside the entry.
pub(super) fn job_constructor(task: &Task<'_>, names: &Idents) -> (TokenStream, TokenStream) {
    let ident = &task.function.sig.ident;
    let vis = &task.function.vis;
    let job_constructor = job_constructor_name(ident);
    let doc = format!("Makes jobs that run [`{0}`](fn@{0}).", ident.unraw());
    let job = Ident::new("job", Span::mixed_site());
    let make = make(task, &quote!(pub), &job, names);
    let make = quote!(impl #job_constructor { #make });
    let unnamed = unnamed_job(task);
    let job_constructor = quote! {
        #[doc = #doc]
        #[allow(non_camel_case_types)]
        #vis enum #job_constructor {}
    };
    (job_constructor, quote!(#make #unnamed))
}

/// The associated function of a method's type.
pub(super) fn method_job_constructor(task: &Task<'_>, names: &Idents) -> TokenStream {
    let Some(Owner { ty, .. }) = task.owner else { return TokenStream::new() };
    let (ident, vis) = (&task.function.sig.ident, &task.function.vis);
    let function =
        format_ident!("{}_job", ident.unraw(), span = job_constructor_name(ident).span());
    let make = make(task, &quote!(#[allow(dead_code)] #vis), &function, names);
    let unnamed = unnamed_job(task);
    quote!(impl #ty { #make } #unnamed)
}

/// The name of the type.
fn job_constructor_name(function: &Ident) -> Ident {
    let mut job_constructor = function.clone();
    job_constructor.set_span(Span::mixed_site().located_at(function.span()));
    job_constructor
}

/// The function that makes a job.
fn make(task: &Task<'_>, vis: &TokenStream, function: &Ident, names: &Idents) -> TokenStream {
    let Idents { private, constant, .. } = names;
    let name = task.function.sig.ident.unraw();
    let payload = payload(task);
    let doc = match payload {
        Some(_) => format!("A job that runs `{name}` with this payload."),
        None => format!("A job that runs `{name}`."),
    };
    let parameter = Ident::new("payload", Span::mixed_site());
    let (parameters, new) = match payload {
        Some(ty) => {
            let ty = without_self(ty.to_token_stream(), &names.own_type);
            let arguments = quote!(&#constant, &#parameter);
            let new = FacadeCall { function: "job_with", generic: Some(&ty), arguments };
            (quote!(#parameter: #ty), new.seen_at(&ty, names))
        }
        None => (TokenStream::new(), quote!(#private::job(&#constant))),
    };
    let made = partitioned(task, &parameter, &new, names).unwrap_or(new);
    // Another function of this name is reported at the one that runs the jobs.
    quote_spanned! {function.span()=>
        #[doc = #doc]
        #[must_use]
        #vis fn #function(#parameters) -> #private::Job {
            #made
        }
    }
}

/// The job with its partition, if the annotation has an expression for it. The payload has its name there, and is not needed
/// afterwards.
fn partitioned(
    task: &Task<'_>,
    parameter: &Ident,
    new: &TokenStream,
    names: &Idents,
) -> Option<TokenStream> {
    let expression = task.plan.job.as_ref()?.partition.to_token_stream();
    if expression.is_empty() {
        return None;
    }
    let mut bound = Vec::new();
    let binding = payload_pattern(task).map(|mut pattern| {
        read_only(&mut pattern, &mut bound);
        quote!(let #pattern = #parameter;)
    });
    let made = Ident::new("made", Span::mixed_site());
    let lent = lent(&expression);
    let arguments = quote!(#made, #lent);
    let call = FacadeCall { function: "partitioned", generic: None, arguments };
    let call = call.seen_at(&expression, names);
    Some(quote! {
        let #made = #new;
        #binding
        #(let _ = &#bound;)*
        #call
    })
}

/// The expression by reference, with its place: from its first token to its last.
fn lent(expression: &TokenStream) -> TokenStream {
    let mut spans = expression.clone().into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(Span::call_site);
    let mut parentheses = Group::new(Delimiter::Parenthesis, expression.clone());
    parentheses.set_span(spans.last().unwrap_or(first));
    quote_spanned!(first=> & #parentheses)
}

/// The pattern of the payload's parameter.
fn payload_pattern(task: &Task<'_>) -> Option<Pat> {
    let mut inputs = task.arguments.iter().zip(&task.function.sig.inputs);
    inputs.find_map(|pair| match pair {
        (Argument::Payload(_), FnArg::Typed(argument)) => Some((*argument.pat).clone()),
        _ => None,
    })
}

/// Makes the names in a pattern such that nothing is changed by them, and collects them: a name that is not used would be a
/// warning.
fn read_only(pattern: &mut Pat, bound: &mut Vec<Ident>) {
    match pattern {
        Pat::Ident(name) => {
            if name.by_ref.is_none() {
                name.mutability = None;
            }
            bound.push(name.ident.clone());
            if let Some((_, inner)) = &mut name.subpat {
                read_only(inner, bound);
            }
        }
        Pat::Paren(inner) => read_only(&mut inner.pat, bound),
        Pat::Reference(inner) => read_only(&mut inner.pat, bound),
        Pat::Slice(list) => list.elems.iter_mut().for_each(|part| read_only(part, bound)),
        Pat::Struct(list) => {
            list.fields.iter_mut().for_each(|part| read_only(&mut part.pat, bound));
        }
        Pat::Tuple(list) => list.elems.iter_mut().for_each(|part| read_only(part, bound)),
        Pat::TupleStruct(list) => list.elems.iter_mut().for_each(|part| read_only(part, bound)),
        _ => {}
    }
}

fn payload<'a>(task: &Task<'a>) -> Option<&'a Type> {
    task.arguments.iter().find_map(|argument| match argument {
        Argument::Payload(ty) => Some(ty),
        _ => None,
    })
}

/// The part of the entry about jobs.
pub(super) fn facts(task: &Task<'_>, names: &Idents) -> TokenStream {
    let private = &names.private;
    let Some(job) = &task.plan.job else { return quote!(#private::None) };
    let (version, aliases) = (job.version, &job.aliases);
    let is_partitioned = job.partition.is_some();
    let check = match payload(task) {
        None => quote!(#private::None),
        Some(ty) => {
            let stored = Ident::new("stored", Span::mixed_site());
            let check = decode(task, ty, names, ("check_payload", &stored));
            quote!(#private::Some(|#stored| #check))
        }
    };
    quote! {
        #private::Some(#private::JobFacts {
            version: #version,
            aliases: &[#(#aliases),*],
            check: #check,
            is_partitioned: #is_partitioned,
        })
    }
}

/// Decodes the payload of a run, or one that is stored, by a function of the facade.
pub(super) fn decode(
    task: &Task<'_>,
    ty: &Type,
    names: &Idents,
    (function, from): (&str, &Ident),
) -> TokenStream {
    let private = &names.private;
    let (version, upgrade) = match &task.plan.job {
        Some(job) => (job.version, job.upgrade.as_ref()),
        None => (0, None),
    };
    let upgrade = match upgrade {
        None => quote!(#private::None),
        Some(path) => {
            let old = Ident::new("old", Span::mixed_site().located_at(path.span()));
            // Where the path stands, if it is of another function.
            let called = quote_spanned!(path.span()=> #path(#old));
            quote!(#private::Some(|#old| #private::upgraded(#called)))
        }
    };
    let ty = without_self(ty.to_token_stream(), &names.own_type);
    let arguments = quote!(#from, #version, #upgrade);
    FacadeCall { function, generic: Some(&ty), arguments }.seen_at(&ty, names)
}

/// A warning at a `#[job]` without a name.
fn unnamed_job(task: &Task<'_>) -> Option<TokenStream> {
    task.plan.job.as_ref().filter(|job| !job.is_named)?;
    let name = task.function.sig.ident.unraw();
    let note = format!(
        "its jobs are kept under its path, and a function that is moved or renamed does not find them again: \
         write `#[job(name = \"{name}\")]`"
    );
    Some(warning(task, "JOB_WITHOUT_NAME", &note))
}

/// A warning at a durable schedule without a name.
pub(super) fn unnamed_schedule(task: &Task<'_>) -> Option<TokenStream> {
    let mut attributes = task.plan.attributes.iter();
    let is_durable = attributes.any(|(key, text)| *key == Attribute::Durable && text == "true");
    if !is_durable || matches!(task.plan.name, Name::Written(_)) {
        return None;
    }
    let name = task.function.sig.ident.unraw();
    let note = format!(
        "its schedule is kept under its path, and a function that is moved or renamed leaves it behind with its jobs: \
         write `#[scheduled(name = \"{name}\", …)]`"
    );
    Some(warning(task, "SCHEDULE_WITHOUT_NAME", &note))
}

fn warning(task: &Task<'_>, constant: &str, note: &str) -> TokenStream {
    let ident = &task.function.sig.ident;
    let used = Ident::new(constant, Span::mixed_site().located_at(ident.span()));
    let mut seen = used.clone();
    seen.set_span(ident.span());
    quote! {
        #[deprecated(note = #note)]
        const #used: () = ();
        const _: () = #seen;
    }
}
