//! The item that the attribute stands on, read no deeper than needed.
//!
//! This module takes a function ([`Function`]) or an `impl` block ([`Block`]) apart, so
//! that the rules can look at it and it can be put together again.
//!
//! It parses no body. A function whose body does not parse yet is returned as it is, so that an
//! editor keeps working and rustc reports the mistake.

mod block;
mod condition;
mod other;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Signature, Token, Visibility, token};

pub(crate) use block::{Block, Member};
pub(crate) use condition::{
    Annotation, allowances, condition, conditions, is_annotation, is_named, take_annotations,
};
pub(crate) use other::name_of_other_item;

/// A function: attributes, visibility and signature, and the rest as it stands.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// The body in braces, or the semicolon of a function without one.
    rest: TokenStream,
}

impl Function {
    /// Returns true if there is a body, as there is not in a trait or an `extern` block.
    pub(crate) fn has_body(&self) -> bool {
        begins_with_braces(self.rest.clone())
    }

    /// Reads a function that others may follow.
    fn parse_member(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut function = Self::parse_head(input)?;
        function.rest = match input.peek(token::Brace) {
            true => input.parse::<TokenTree>()?.into(),
            false => input.parse::<Token![;]>()?.into_token_stream(),
        };
        Ok(function)
    }

    fn parse_head(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attrs: input.call(Attribute::parse_outer)?,
            vis: input.parse()?,
            sig: input.parse()?,
            rest: TokenStream::new(),
        })
    }
}

/// Returns true if braces come first, be it in the invisible group that a `$body:block` of `macro_rules!` is.
fn begins_with_braces(tokens: TokenStream) -> bool {
    let Some(TokenTree::Group(group)) = tokens.into_iter().next() else { return false };
    match group.delimiter() {
        Delimiter::Brace => true,
        Delimiter::None => begins_with_braces(group.stream()),
        _ => false,
    }
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let head = Self::parse_head(input)?;
        Ok(Self { rest: input.parse()?, ..head })
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for attr in &self.attrs {
            attr.to_tokens(tokens);
        }
        self.vis.to_tokens(tokens);
        self.sig.to_tokens(tokens);
        self.rest.to_tokens(tokens);
    }
}
