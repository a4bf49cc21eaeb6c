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

mod job;
mod resolve;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{GenericArgument, Lifetime, Path, PathArguments, Type, parse_quote};

use crate::check::{self, Argument, Name, Owner, Plan};
use crate::item::{self, Function};

/// Generates the entry of an annotation; the function itself is not part of it.
pub(crate) fn entry(task: &Task<'_>) -> TokenStream {
    let unnamed = job::unnamed_schedule(task);
    entry_and(task, &Idents::without_collisions(task), &quote!(#unnamed))
}

/// Generates the entry of a job, and what makes jobs.
pub(crate) fn job(task: &Task<'_>) -> TokenStream {
    let names = &Idents::without_collisions(task);
    let (job_constructor, beside) = job::job_constructor(task, names);
    let entry = entry_and(task, names, &beside);
    quote!(#job_constructor #entry)
}

/// Generates the entry of a method that runs jobs, and an associated function that makes them. `path` is how the annotation
/// was named, which counts as a use of its import.
pub(crate) fn job_method(task: &Task<'_>, path: &Path) -> TokenStream {
    let names = &Idents::without_collisions(task);
    let job_constructor = job::method_job_constructor(task, names);
    entry_and(task, names, &quote!(#[allow(unused_imports)] use #path as _; #job_constructor))
}

/// The entry, and beside it what needs it.
fn entry_and(task: &Task<'_>, names: &Idents, beside: &TokenStream) -> TokenStream {
    let Idents { private, constant, .. } = names;
    let facade = &task.plan.facade;
    let function = check::path(&task.function.sig.ident, task.owner);
    let name = name(task, private);
    let options = options(task.plan, private);
    let path = path(task);
    let receiver = receiver(task, private);
    let job = job::facts(task, names);
    let own_type = own_type(task, names);
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

/// Everything that an entry is made of.
pub(crate) struct Task<'a> {
    pub(crate) function: &'a Function,
    pub(crate) arguments: &'a [Argument],
    pub(crate) plan: &'a Plan,
    /// The `impl` block's type, if the function is a method.
    pub(crate) owner: Option<&'a Owner>,
    /// The conditions of the entry besides the function's own, as inside of `cfg(…)`.
    pub(crate) conditions: &'a [TokenStream],
    /// The conditions of earlier annotations of the function that may be compiled out; the number of this one follows those that are not.
    pub(crate) earlier_cfg_annotations: &'a [TokenStream],
    /// Where the annotation stands.
    pub(crate) span: Span,
}

impl<'a> Task<'a> {
    /// A free function.
    pub(crate) fn alone(function: &'a Function, arguments: &'a [Argument], plan: &'a Plan) -> Self {
        let span = Span::call_site();
        Self {
            function,
            arguments,
            plan,
            owner: None,
            conditions: &[],
            earlier_cfg_annotations: &[],
            span,
        }
    }
}

/// The names that generated code brings into scope.
struct Idents {
    private: Ident,
    constant: Ident,
    own_type: Ident,
}

impl Idents {
    /// Names that collide with none that the function's signature or its `impl` mentions.
    fn without_collisions(task: &Task<'_>) -> Self {
        let sig = &task.function.sig;
        let owner = task.owner.map(|owner| &owner.ty);
        let taken = quote!(#sig #owner).to_string();
        let free = |name: &str| {
            let mut name = name.to_owned();
            while taken.contains(&name) {
                name.push('_');
            }
            format_ident!("{name}")
        };
        Self {
            private: free("scheduler_private"),
            constant: free("SCHEDULED_ENTRY"),
            own_type: free("ScheduledType"),
        }
    }
}

/// The path of the function next to its item.
fn path(task: &Task<'_>) -> TokenStream {
    let ident = &task.function.sig.ident;
    match task.owner {
        None => quote!(#ident),
        Some(Owner { ty, .. }) => quote!(<#ty>::#ident),
    }
}

/// A name for `Self`, if an argument of a method mentions it.
fn own_type(task: &Task<'_>, names: &Idents) -> Option<TokenStream> {
    let owner = task.owner?;
    let own_type = &names.own_type;
    let mentions = |ty: &Type| {
        let tokens = ty.to_token_stream();
        tokens.to_string() != without_self(tokens, own_type).to_string()
    };
    let mut ty = owner.ty.clone();
    name_lifetimes(&mut ty);
    let is_mentioned = task.arguments.iter().filter_map(Argument::ty).any(mentions);
    is_mentioned.then(|| quote!(type #own_type = #ty;))
}

/// Writes `'static`, which all managed values live for, where the head of the `impl` block leaves a
/// lifetime open: `Report<'_>`, `Report<&str>`. An alias cannot.
fn name_lifetimes(ty: &mut Type) {
    match ty {
        Type::Reference(reference) => {
            name_lifetime(reference.lifetime.get_or_insert_with(|| parse_quote!('_)));
            name_lifetimes(&mut reference.elem);
        }
        Type::Path(path) => {
            for word in &mut path.path.segments {
                let PathArguments::AngleBracketed(list) = &mut word.arguments else { continue };
                for argument in &mut list.args {
                    match argument {
                        GenericArgument::Lifetime(lifetime) => name_lifetime(lifetime),
                        GenericArgument::Type(ty) => name_lifetimes(ty),
                        _ => {}
                    }
                }
            }
        }
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(name_lifetimes),
        Type::Array(array) => name_lifetimes(&mut array.elem),
        Type::Slice(slice) => name_lifetimes(&mut slice.elem),
        Type::Paren(inner) => name_lifetimes(&mut inner.elem),
        Type::Group(inner) => name_lifetimes(&mut inner.elem),
        // A lifetime that a function pointer or a `dyn Fn(&str)` leaves open is the caller's choice.
        _ => {}
    }
}

fn name_lifetime(lifetime: &mut Lifetime) {
    if lifetime.ident == "_" {
        lifetime.ident = Ident::new("static", lifetime.ident.span());
    }
}

/// Replaces `Self` by a name.
fn without_self(tokens: TokenStream, name: &Ident) -> TokenStream {
    let replaced = tokens.into_iter().map(|token| match token {
        TokenTree::Ident(word) if word == "Self" => {
            TokenTree::Ident(format_ident!("{name}", span = word.span()))
        }
        TokenTree::Group(group) => {
            let inside = without_self(group.stream(), name);
            let mut replaced = Group::new(group.delimiter(), inside);
            replaced.set_span(group.span());
            TokenTree::Group(replaced)
        }
        other => other,
    });
    replaced.collect()
}

/// A call of a function of the facade.
struct FacadeCall<'a> {
    function: &'a str,
    generic: Option<&'a TokenStream>,
    arguments: TokenStream,
}

impl FacadeCall<'_> {
    /// The call, seen where a part of the signature stands, from its first token to its last.
    ///
    /// Rustc reports an unfulfilled bound at the path of the function that has it, at the type that
    /// it is given, or at the call; all three are then the same place, and it reports it once.
    fn seen_at(self, part: &TokenStream, names: &Idents) -> TokenStream {
        let Self { function, generic, arguments } = self;
        let mut spans = part.clone().into_iter().map(|token| token.span());
        let first = spans.next().unwrap_or_else(Span::call_site);
        let last = spans.last().unwrap_or(first);
        let private = Ident::new(&names.private.to_string(), first);
        let function = Ident::new(function, if generic.is_some() { first } else { last });
        let open = generic.map(|_| quote_spanned!(first=> ::<));
        let close = generic.map(|_| quote_spanned!(last=> >));
        let mut parentheses = Group::new(Delimiter::Parenthesis, arguments);
        parentheses.set_span(last);
        let path = quote_spanned!(first=> #private:: #function);
        quote!(#path #open #generic #close #parentheses)
    }
}
