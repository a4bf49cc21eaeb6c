//! Replaces `Self` in the arguments of a method.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{GenericArgument, Lifetime, PathArguments, Type, parse_quote};

use super::{Names, Task};
use crate::check::Argument;

/// A name for `Self`, if an argument of a method mentions it.
pub(super) fn own_type(task: &Task<'_>, names: &Names) -> Option<TokenStream> {
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
pub(super) fn without_self(tokens: TokenStream, name: &Ident) -> TokenStream {
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
