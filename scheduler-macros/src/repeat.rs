//! Several `#[scheduled]` on one function.
//!
//! Each attribute is expanded by itself, the first one first, and only the first one sees them all.
//! It numbers the others by writing `__nth = 2,` and so on in front of their options, from which
//! they know their default name and that the function has been checked already.
//!
//! An attribute is recognised by the last segment of its path. One that was imported under another
//! name is not, and two such need a `name = "…"`.
//!
//! Absent annotations do not count, so that a task has the same name in every build. Rustc resolves the
//! `cfg_attr` of a function first; those of a method are still there, and its annotations are counted
//! by the compiler: [`before`] says which.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Attribute, Meta};

use crate::args::NTH;
use crate::item::{self, Annotation};

/// Numbers the further annotations among `attrs`, from 2.
pub(crate) fn number(attrs: &mut [Attribute]) {
    let annotations = attrs.iter_mut().filter(|attr| item::is_annotation(&attr.meta));
    let repeated = annotations.filter_map(|attr| match &mut attr.meta {
        Meta::List(list) => Some(list),
        Meta::Path(_) | Meta::NameValue(_) => None,
    });
    for (nth, list) in (2..).zip(repeated) {
        list.tokens = numbered(&list.tokens, nth);
    }
}

/// The number of annotations of a method that are there for certain, and the conditions of each of the others,
/// as the inside of `cfg!(…)`.
pub(crate) fn before(annotations: &[Annotation]) -> (usize, Vec<TokenStream>) {
    let (certain, perhaps): (Vec<_>, Vec<_>) =
        annotations.iter().partition(|annotation| annotation.conditions.is_empty());
    let conditions = perhaps.iter().map(|annotation| &annotation.conditions);
    (certain.len(), conditions.map(|conditions| quote!(all(#(#conditions),*))).collect())
}

/// The condition under which any of the annotations is there, if there is one.
pub(crate) fn any(annotations: &[Annotation]) -> Option<TokenStream> {
    let (certain, conditions) = before(annotations);
    (certain == 0).then(|| quote!(#[cfg(any(#(#conditions),*))]))
}

/// The options of the annotation that is the `nth`, from 1; the first one has no number.
pub(crate) fn numbered(options: &TokenStream, nth: usize) -> TokenStream {
    if nth == 1 {
        return options.clone();
    }
    let first = options.clone().into_iter().next();
    let span = first.map_or_else(Span::mixed_site, |token| token.span());
    let word = Ident::new(NTH, span);
    let nth = Literal::usize_unsuffixed(nth);
    quote_spanned!(span=> #word = #nth, #options)
}
