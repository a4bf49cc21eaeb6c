//! Calls of the facade, each with its place in the source.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::Names;

/// A call of a function of the facade.
pub(super) struct FacadeCall<'a> {
    pub(super) function: &'a str,
    pub(super) generic: Option<&'a TokenStream>,
    pub(super) arguments: TokenStream,
}

impl FacadeCall<'_> {
    /// The call, seen where a part of the signature stands, from its first token to its last.
    ///
    /// Rustc reports an unfulfilled bound at the path of the function that has it, at the type that
    /// it is given, or at the call; all three are then the same place, and it reports it once.
    pub(super) fn seen_at(self, part: &TokenStream, names: &Names) -> TokenStream {
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
