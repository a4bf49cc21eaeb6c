//! The annotations of a method, their conditions, and the allowed lints.
//!
//! Rustc resolves `#[cfg(…)]` and `#[cfg_attr(…)]` before it expands an attribute, but only those of
//! the item itself. Those inside of an `impl` block are still there: an annotation may be hidden in a
//! `cfg_attr`, and what is generated for a method has to stand under the method's conditions.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Meta, MetaList, Path, Token, parse_quote};

use crate::args::Form;

/// A `#[scheduled(…)]` or `#[job(…)]` that was taken from a method.
pub(crate) struct Annotation {
    pub(crate) form: Form,
    /// Its path, as it was written.
    pub(crate) path: Path,
    /// The options between its parentheses.
    pub(crate) options: TokenStream,
    /// Its conditions, as the inside of `cfg(…)`.
    pub(crate) conditions: Vec<TokenStream>,
    pub(crate) span: Span,
}

/// Removes the annotations from `attrs`, and returns them.
pub(crate) fn take_annotations(attrs: &mut Vec<Attribute>) -> Vec<Annotation> {
    let mut taken = Vec::new();
    let old = std::mem::take(attrs);
    for mut attr in old {
        if let Some(rest) = take(&attr.meta, &[], &mut taken) {
            attr.meta = rest;
            attrs.push(attr);
        }
    }
    taken
}

/// Takes the annotations in `meta`, and returns what is left.
fn take(meta: &Meta, conditions: &[TokenStream], taken: &mut Vec<Annotation>) -> Option<Meta> {
    let is_job = is_named(meta.path(), "job") && !matches!(meta, Meta::NameValue(_));
    if is_job || is_annotation(meta) {
        let options = match meta {
            Meta::List(list) => list.tokens.clone(),
            Meta::Path(_) | Meta::NameValue(_) => TokenStream::new(),
        };
        let (path, form) = (meta.path().clone(), if is_job { Form::Job } else { Form::Schedule });
        let (conditions, span) = (conditions.to_vec(), path.span());
        taken.push(Annotation { form, path, options, conditions, span });
        return None;
    }
    let Some((condition, metas)) = conditional(meta) else {
        return Some(meta.clone());
    };
    let conditions = [conditions, std::slice::from_ref(&condition)].concat();
    let before = taken.len();
    let rest: Vec<Meta> = metas.iter().filter_map(|meta| take(meta, &conditions, taken)).collect();
    if taken.len() == before {
        return Some(meta.clone());
    }
    (!rest.is_empty()).then(|| parse_quote!(cfg_attr(#condition, #(#rest),*)))
}

/// Returns true if the last segment of the path is `scheduled`.
pub(crate) fn is_annotation(meta: &Meta) -> bool {
    meta.path().segments.last().is_some_and(|word| word.ident == "scheduled")
        && !matches!(meta, Meta::NameValue(_))
}

/// Returns true if the last segment of the path is this word.
pub(crate) fn is_named(path: &Path, name: &str) -> bool {
    path.segments.last().is_some_and(|word| word.ident == name)
}

/// The condition of a `cfg_attr(…)`, and the attributes under it.
fn conditional(meta: &Meta) -> Option<(TokenStream, Vec<Meta>)> {
    let Meta::List(list) = meta else { return None };
    if !list.path.is_ident("cfg_attr") {
        return None;
    }
    let parts = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(list.tokens.clone()).ok()?;
    let mut parts = parts.into_iter();
    let condition = parts.next()?;
    Some((quote!(#condition), parts.collect()))
}

/// The attributes of `attrs` that decide if their item is there.
pub(crate) fn conditions(attrs: &[Attribute]) -> Vec<Meta> {
    attrs.iter().filter_map(|attr| condition(&attr.meta)).collect()
}

/// The parts of an attribute that decide if its item is there.
pub(crate) fn condition(meta: &Meta) -> Option<Meta> {
    part(meta, |meta| meta.path().is_ident("cfg").then(|| meta.clone()))
}

/// The lints that `attrs` allow, as `#[allow(…)]`, which expects nothing.
pub(crate) fn allowances<'a>(attrs: impl IntoIterator<Item = &'a Attribute>) -> Vec<Meta> {
    let allowance = |meta: &Meta| match meta {
        Meta::List(list) if list.path.is_ident("allow") => Some(meta.clone()),
        Meta::List(MetaList { path, tokens, .. }) if path.is_ident("expect") => {
            Some(parse_quote!(allow(#tokens)))
        }
        _ if meta.path().is_ident("deprecated") => Some(parse_quote!(allow(deprecated))),
        _ => None,
    };
    attrs.into_iter().filter_map(|attr| part(&attr.meta, allowance)).collect()
}

/// The results of `keep` for `meta`, or for each part of a `cfg_attr(…)`.
fn part(meta: &Meta, keep: fn(&Meta) -> Option<Meta>) -> Option<Meta> {
    let Some((condition, metas)) = conditional(meta) else { return keep(meta) };
    let parts: Vec<Meta> = metas.iter().filter_map(|meta| part(meta, keep)).collect();
    (!parts.is_empty()).then(|| parse_quote!(cfg_attr(#condition, #(#parts),*)))
}
