//! Generates an entry for each annotation, beside the unchanged item.
//!
//! This module writes the entry ([`entry`]), and the function that looks up arguments
//! and calls the user's function with them ([`wire`]).
//!
//! It names nothing that the user's crate could have redefined. The code stands
//! in a crate about which nothing is known, so it names only what is in the facade's `__private`
//! module, and brings no name into scope that the function could have: its local variables have the
//! hygiene of `macro_rules!`. After a fault there is only the item, and nothing that could fail
//! because of the fault.

mod facade_call;
mod job;
mod own_type;
mod task;
mod unnamed;
mod wire;

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
    entry_and(task, &Names::unlike(task), &quote!(#unnamed))
}

/// Generates the entry of a job, and what makes jobs.
pub(crate) fn job(task: &Task<'_>) -> TokenStream {
    let names = &Names::unlike(task);
    let (maker, beside) = job::maker(task, names);
    let entry = entry_and(task, names, &beside);
    quote!(#maker #entry)
}

/// Generates the entry of a method that runs jobs, and an associated function that makes them. `path` is how the annotation
/// was named, which counts as a use of its import.
pub(crate) fn job_method(task: &Task<'_>, path: &Path) -> TokenStream {
    let names = &Names::unlike(task);
    let maker = job::method_maker(task, names);
    entry_and(task, names, &quote!(#[allow(unused_imports)] use #path as _; #maker))
}

/// The entry, and beside it what needs it.
fn entry_and(task: &Task<'_>, names: &Names, beside: &TokenStream) -> TokenStream {
    let Names { private, constant, .. } = names;
    let facade = &task.plan.facade;
    let function = check::path(&task.function.sig.ident, task.owner);
    let name = name(task, private);
    let attributes = attributes(task.plan, private);
    let path = task::path(task);
    let receiver = receiver(task, private);
    let of_job = job::facts(task, private);
    let own_type = own_type::own_type(task, names);
    let wire = wire::wire(task, names);
    let attrs = attrs(task);
    // The entry repeats the types of the function. It is allowed what the function is, and nothing
    // else: under `#![forbid(deprecated)]` an `allow` is an error.
    let allowances = item::allowances(&task.function.attrs);
    // Rustc takes the line of the whole call, so that all of it has to stand there.
    let here = Ident::new(&private.to_string(), task.span);
    let line = quote_spanned!(task.span=> #here::line!());
    quote! {
        #attrs
        const _: () = {
            use #facade::__private as #private;
            #own_type
            #(#[#allowances])*
            const #constant: #private::Entry = #private::Entry::new(
                #name,
                #private::Origin::new(
                    #function,
                    #private::module_path!(),
                    #private::Location::new(#private::file!(), #line),
                    || #private::FunctionId::of(&#path),
                ),
                &[#(#attributes),*],
                #wire,
            )
            #receiver
            #of_job;
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
    let perhaps_before = task.perhaps_before;
    let most = named(nth + perhaps_before.len());
    if perhaps_before.is_empty() {
        return most;
    }
    // Only the compiler knows which of them are there.
    let fewer = (0..perhaps_before.len()).map(|more| {
        let name = named(nth + more);
        quote!(#more => #name)
    });
    quote! {
        match 0usize #(+ if #private::cfg!(#perhaps_before) { 1 } else { 0 })* {
            #(#fewer,)*
            _ => #most,
        }
    }
}

/// The texts of the annotation.
fn attributes(plan: &Plan, private: &Ident) -> Vec<TokenStream> {
    let pairs = plan.attributes.iter().map(|(attribute, text)| {
        let attribute = format_ident!("{attribute:?}");
        quote!((#private::Attribute::#attribute, #text))
    });
    pairs.collect()
}

/// That the function is called on managed values, if it is.
fn receiver(task: &Task<'_>, private: &Ident) -> Option<TokenStream> {
    let Owner { ty, .. } = task.owner?;
    let is_method = task.arguments.iter().any(|each| matches!(each, Argument::Receiver));
    is_method.then(|| quote!(.with_receiver(#private::Receiver::of::<#ty>())))
}

/// The conditions of the entry, and the lints that its block allows.
fn attrs(task: &Task<'_>) -> TokenStream {
    let conditions = task.conditions;
    // Those of a free function have been resolved by rustc.
    let (conditions_of_item, allowances) = match task.owner {
        None => (Vec::new(), [].as_slice()),
        Some(owner) => (item::conditions(&task.function.attrs), owner.allowances.as_slice()),
    };
    quote!(#(#[#conditions_of_item])* #(#[cfg(#conditions)])* #(#[#allowances])*)
}
