//! The item that the attribute stands on, read no deeper than needed.
//!
//! This module takes a function ([`Function`]) or an `impl` block ([`ImplBlock`]) apart, so
//! that the rules can look at it and it can be put together again.
//!
//! It parses no body. A function whose body does not parse yet is returned as it is, so that an
//! editor keeps working and rustc reports the mistake.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, ItemImpl, Meta, MetaList, Path, Signature, Token, Visibility, parse_quote, token,
};

use crate::args::Form;

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

/// An `impl` block.
pub(crate) struct ImplBlock {
    /// The block as it would be without its members, to be looked at.
    pub(crate) head: ItemImpl,
    /// The tokens of the head, to be given back.
    head_tokens: TokenStream,
    body: Group,
    /// `#![…]` at the beginning of the body.
    inner_attrs: Vec<Attribute>,
    pub(crate) members: Vec<Member>,
}

impl ImplBlock {
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

impl Parse for ImplBlock {
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

impl ToTokens for ImplBlock {
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
///
/// Rustc resolves `#[cfg(…)]` and `#[cfg_attr(…)]` before it expands an attribute, but only those of
/// the item itself. Those inside of an `impl` block are still there: an annotation may be hidden in a
/// `cfg_attr`, and what is generated for a method has to stand under the method's conditions.
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

/// The kind of item, and the word that shows it; `None` if it is no item.
pub(crate) fn name_of_other_item(item: &TokenStream) -> Option<(&'static str, TokenStream)> {
    let mut tokens = item.clone().into_iter();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Ident(word) => match noun(&word.to_string()) {
                Some(noun) => return Some((noun, token.into())),
                None if is_prefix(&word.to_string()) => {}
                None => return is_bang(tokens.next()).then(|| ("a macro call", token.into())),
            },
            // Of an attribute, or of `pub(crate)`.
            TokenTree::Punct(hash) if hash.as_char() == '#' => {
                tokens.next();
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {}
            _ => return None,
        }
    }
    None
}

fn is_bang(token: Option<TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(bang)) if bang.as_char() == '!')
}

/// Returns true if the word may stand before the keyword of an item.
fn is_prefix(word: &str) -> bool {
    matches!(word, "pub" | "crate" | "unsafe" | "async" | "safe" | "auto" | "default")
}

fn noun(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "struct" => "a struct",
        "enum" => "an enum",
        "union" => "a union",
        "trait" => "a trait",
        "impl" => "an `impl` block that cannot be read",
        "mod" => "a module",
        "const" => "a constant",
        "static" => "a static",
        "type" => "a type alias",
        "use" => "a `use` declaration",
        "extern" => "an `extern` block",
        "macro_rules" => "a macro",
        "fn" => "a function that cannot be read",
        "let" => "a `let` statement",
        _ => return None,
    })
}
