//! An `impl` block: its head, and its members.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, ItemImpl};

use super::Function;

/// An `impl` block.
pub(crate) struct Block {
    /// The block as it would be without its members, to be looked at.
    pub(crate) head: ItemImpl,
    /// The tokens of the head, to be given back.
    head_tokens: TokenStream,
    body: Group,
    /// `#![…]` at the beginning of the body.
    inner_attrs: Vec<Attribute>,
    pub(crate) members: Vec<Member>,
}

impl Block {
    /// The attributes of the block, before it and inside.
    pub(crate) fn attrs(&self) -> impl Iterator<Item = &Attribute> {
        self.head.attrs.iter().chain(&self.inner_attrs)
    }
}

/// An item between the braces of an `impl` block.
pub(crate) enum Member {
    Function(Box<Function>),
    Other(TokenStream),
}

impl Parse for Block {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut tokens: Vec<TokenTree> = input.parse::<TokenStream>()?.into_iter().collect();
        let body = match tokens.pop() {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => body,
            _ => return Err(input.error("expected an `impl` block")),
        };
        let head_tokens: TokenStream = tokens.into_iter().collect();
        let mut empty = Group::new(Delimiter::Brace, TokenStream::new());
        empty.set_span(body.span());
        let head = head_tokens.clone().into_iter().chain([TokenTree::Group(empty)]).collect();
        let (inner_attrs, members) = members.parse2(body.stream())?;
        Ok(Self { head: syn::parse2(head)?, head_tokens, body, inner_attrs, members })
    }
}

fn members(input: ParseStream<'_>) -> syn::Result<(Vec<Attribute>, Vec<Member>)> {
    let inner_attrs = input.call(Attribute::parse_inner)?;
    let mut members = Vec::new();
    while !input.is_empty() {
        members.push(member(input)?);
    }
    Ok((inner_attrs, members))
}

fn member(input: ParseStream<'_>) -> syn::Result<Member> {
    if Function::parse_member(&input.fork()).is_ok() {
        return Function::parse_member(input).map(|function| Member::Function(Box::new(function)));
    }
    let mut tokens = Vec::new();
    while !input.is_empty() {
        let token = input.parse::<TokenTree>()?;
        let is_last = match &token {
            TokenTree::Punct(sign) => sign.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        tokens.push(token);
        if is_last {
            break;
        }
    }
    Ok(Member::Other(tokens.into_iter().collect()))
}

impl ToTokens for Block {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.head_tokens.to_tokens(tokens);
        let mut inside = TokenStream::new();
        for attr in &self.inner_attrs {
            attr.to_tokens(&mut inside);
        }
        for member in &self.members {
            match member {
                Member::Function(function) => function.to_tokens(&mut inside),
                Member::Other(other) => other.to_tokens(&mut inside),
            }
        }
        let mut body = Group::new(Delimiter::Brace, inside);
        body.set_span(self.body.span());
        body.to_tokens(tokens);
    }
}
