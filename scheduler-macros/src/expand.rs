//! The code that is generated: the function as it was written, and beside it the entry.
//!
//! It stands in a crate about which nothing is known, so it names only what is in the facade's
//! `__private` module, brings no name into scope that the function could have, and calls the
//! function through a closure. After a fault there is only the function, and nothing that could
//! fail because of the fault.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ReturnType;
use syn::ext::IdentExt;

use crate::check::{Name, Plan, Rule};
use crate::item::Function;

/// Generates the entry of a function; the function itself is not part of it.
pub(crate) fn entry(function: &Function, plan: &Plan) -> TokenStream {
    let facade = &plan.facade;
    let function_name = function.sig.ident.unraw().to_string();
    let private = &other_than(&function_name, "scheduler_private");
    let constant = other_than(&function_name, "SCHEDULED_ENTRY");
    let name = name(&plan.name, private);
    let attributes = attributes(plan, private);
    let wire = wire(function, private);
    let ident = &function.sig.ident;
    let deprecated = function.attrs.iter().any(|attr| attr.path().is_ident("deprecated"));
    let deprecated = deprecated.then(|| quote!(#[allow(deprecated)]));
    quote! {
        #deprecated
        const _: () = {
            use #facade::__private as #private;
            const #constant: #private::Entry = #private::Entry::new(
                #name,
                #private::Origin::new(
                    #function_name,
                    #private::module_path!(),
                    #private::Location { file: #private::file!(), line: #private::line!() },
                    || #private::FunctionId::of(&#ident),
                ),
                &[#(#attributes),*],
                #wire,
            );
            #private::submit! { #constant }
        };
    }
}

/// A name that does not hide the function.
fn other_than(function: &str, name: &str) -> Ident {
    if function == name { format_ident!("{name}_") } else { format_ident!("{name}") }
}

fn name(name: &Name, private: &Ident) -> TokenStream {
    match name {
        Name::Given(name) => quote!(#name),
        Name::InModule(name) => {
            let name = format!("::{name}");
            quote!(#private::concat!(#private::module_path!(), #name))
        }
    }
}

/// The texts of the annotation.
fn attributes(plan: &Plan, private: &Ident) -> Vec<TokenStream> {
    let mut texts: Vec<(&str, String)> = Vec::new();
    match &plan.rule {
        Rule::Cron { expression, zone } => {
            texts.push(("Cron", expression.clone()));
            texts.extend(zone.iter().map(|zone| ("Zone", zone.clone())));
        }
        Rule::FixedRate { period } => texts.push(("FixedRate", period.clone())),
        Rule::FixedDelay { delay } => texts.push(("FixedDelay", delay.clone())),
        Rule::Once => {}
    }
    texts.extend(plan.initial_delay.iter().map(|text| ("InitialDelay", text.clone())));
    let unit = plan.time_unit.map(|unit| format!("{unit:?}").to_lowercase());
    texts.extend(unit.map(|unit| ("TimeUnit", unit)));
    let pairs = texts.into_iter().map(|(key, text)| {
        let key = format_ident!("{key}");
        quote!((#private::Attribute::#key, #text))
    });
    pairs.collect()
}

/// How the function is called. Its result is judged at the return type, its future at its name.
fn wire(function: &Function, private: &Ident) -> TokenStream {
    let ident = &function.sig.ident;
    let settle = quote! {
        |value| {
            use #private::{FromAny as _, FromError as _, FromPointer as _, FromReturn as _};
            (&&&&#private::Returns::of(&value)).settle(value)
        }
    };
    if function.sig.asyncness.is_some() {
        let begin = place(quote!(#private::begin), &function.sig.output);
        let settle = place(settle, &function.sig.output);
        let future = quote_spanned!(ident.span()=> #ident());
        quote!(|_| #private::async_call(|_| #begin(#future, #settle)))
    } else {
        let call = place(quote!(#private::settle), &function.sig.output);
        quote!(|_| #private::sync_call(|_| #call(#ident(), #settle)))
    }
}

/// Moves the tokens to where the return type stands, from its first token to its last.
///
/// Rustc reports an unfulfilled bound at the path of the function that has it, and a path reaches
/// from its first token to its last.
fn place(path: TokenStream, output: &ReturnType) -> TokenStream {
    let ReturnType::Type(_, ty) = output else {
        return path;
    };
    let mut spans = ty.to_token_stream().into_iter().map(|token| token.span());
    let Some(first) = spans.next() else {
        return path;
    };
    let last = spans.last().unwrap_or(first);
    let length = path.clone().into_iter().count();
    let placed = path.into_iter().enumerate().map(|(index, mut token)| {
        token.set_span(if index + 1 == length { last } else { first });
        token
    });
    placed.collect()
}
