//! Generates an entry for each annotation, beside the unchanged item.
//!
//! This module writes the entry ([`entry`]), and the function that looks up arguments
//! and calls the user's function with them ([`resolve`]).
//!
//! It names nothing that the user's crate could have redefined. The code stands
//! in a crate about which nothing is known, so it names only what is in the facade's `__private`
//! module, and brings no name into scope that the function could have: its local variables have the
//! hygiene of `macro_rules!`. After a fault there is only the item, and nothing that could fail
//! because of the fault.

mod facade_call;
mod job;
mod own_type;
mod resolve;
mod task;
mod unnamed;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Path;

pub(crate) use task::Task;

use crate::check::{self, Argument, Name, Owner, Plan};
use crate::item;
use own_type::without_self;
use task::{Names, path};

/// Generates the entry of an annotation; the function itself is not part of it.
pub(crate) fn entry(task: &Task<'_>) -> TokenStream {
    let unnamed = unnamed::schedule(task);
    entry_and(task, &Names::without_collisions(task), &quote!(#unnamed))
}

/// Generates the entry of a job, and what makes jobs.
pub(crate) fn job(task: &Task<'_>) -> TokenStream {
    let names = &Names::without_collisions(task);
    let (job_constructor, beside) = job::job_constructor(task, names);
    let entry = entry_and(task, names, &beside);
    quote!(#job_constructor #entry)
}

/// Generates the entry of a method that runs jobs, and an associated function that makes them. `path` is how the annotation
/// was named, which counts as a use of its import.
pub(crate) fn job_method(task: &Task<'_>, path: &Path) -> TokenStream {
    let names = &Names::without_collisions(task);
    let job_constructor = job::method_job_constructor(task, names);
    entry_and(task, names, &quote!(#[allow(unused_imports)] use #path as _; #job_constructor))
}

/// The entry, and beside it what needs it.
fn entry_and(task: &Task<'_>, names: &Names, beside: &TokenStream) -> TokenStream {
    let Names { private, constant, .. } = names;
    let facade = &task.plan.facade;
    let function = check::path(&task.function.sig.ident, task.owner);
    let name = name(task, private);
    let options = options(task.plan, private);
    let path = task::path(task);
    let receiver = receiver(task, private);
    let job = job::facts(task, private);
    let own_type = own_type::own_type(task, names);
    let resolve = resolve::resolve(task, names);
    let cfg_and_allow = cfg_and_allow(task);
    // The entry repeats the types of the function. It is allowed what the function is, and nothing
    // else: under `#![forbid(deprecated)]` an `allow` is an error.
    let allowances = item::allowances(&task.function.attrs);
    // Rustc takes the line of the whole call, so that all of it has to stand there.
    let here = Ident::new(&private.to_string(), task.span);
    let line = quote_spanned!(task.span=> #here::line!());
    quote! {
        #cfg_and_allow
        const _: () = {
            use #facade::__private as #private;
            #own_type
            #(#[#allowances])*
            const #constant: #private::Entry = #private::Entry {
                name: #name,
                function: #function,
                module_path: #private::module_path!(),
                location: #private::Location::new(#private::file!(), #line),
                id: || #private::Any::type_id(&#path),
                attributes: &[#(#options),*],
                receiver: #receiver,
                job: #job,
                resolve: #resolve,
            };
            #private::submit! { #constant }
            #beside
        };
    }
}

fn name(task: &Task<'_>, private: &Ident) -> TokenStream {
    let (function, nth) = match &task.plan.name {
        Name::Written(name) => return quote!(#name),
        Name::InModule { function, nth } => (function, *nth),
    };
    let named = |nth: usize| {
        let name = match nth {
            1 => format!("::{function}"),
            _ => format!("::{function}-{nth}"),
        };
        quote!(#private::concat!(#private::module_path!(), #name))
    };
    let earlier_cfg_annotations = task.earlier_cfg_annotations;
    let most = named(nth + earlier_cfg_annotations.len());
    if earlier_cfg_annotations.is_empty() {
        return most;
    }
    // Only the compiler knows which of them are there.
    let fewer = (0..earlier_cfg_annotations.len()).map(|more| {
        let name = named(nth + more);
        quote!(#more => #name)
    });
    quote! {
        match 0usize #(+ if #private::cfg!(#earlier_cfg_annotations) { 1 } else { 0 })* {
            #(#fewer,)*
            _ => #most,
        }
    }
}

/// The options of the annotation with their texts.
fn options(plan: &Plan, private: &Ident) -> Vec<TokenStream> {
    let pairs = plan.attributes.iter().map(|(attribute, text)| {
        // `Debug` of a variant is its name in Rust.
        let attribute = format_ident!("{attribute:?}");
        quote!((#private::Attribute::#attribute, #text))
    });
    pairs.collect()
}

/// The type on whose managed values the function is called.
fn receiver(task: &Task<'_>, private: &Ident) -> TokenStream {
    let is_method = task.arguments.iter().any(|each| matches!(each, Argument::Receiver));
    match task.owner {
        Some(Owner { ty, .. }) if is_method => {
            quote!(#private::Some(#private::TypeId::of::<#ty>))
        }
        _ => quote!(#private::None),
    }
}

/// The conditions of the entry, and the lints that its block allows.
fn cfg_and_allow(task: &Task<'_>) -> TokenStream {
    let conditions = task.conditions;
    // Rustc has resolved the conditions of a free function.
    let (conditions_of_item, allowances) = match task.owner {
        None => (Vec::new(), [].as_slice()),
        Some(owner) => (item::conditions(&task.function.attrs), owner.allowances.as_slice()),
    };
    quote!(#(#[#conditions_of_item])* #(#[cfg(#conditions)])* #(#[#allowances])*)
}
