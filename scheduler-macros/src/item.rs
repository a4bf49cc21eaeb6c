//! The item that the attribute stands on, read no deeper than needed.
//!
//! The body stays a bag of tokens: a function whose body does not parse yet is given back as it
//! is, so that an editor keeps working and rustc reports the mistake in its own words.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Signature, Visibility};

/// A function: attributes, visibility and signature, and the rest as it stands.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    vis: Visibility,
    pub(crate) sig: Signature,
    /// The body in braces, or the semicolon of a function without one.
    rest: TokenStream,
}

impl Function {
    /// Whether there is a body, as there is not in a trait or an `extern` block.
    pub(crate) fn has_body(&self) -> bool {
        matches!(
            self.rest.clone().into_iter().next(),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace
        )
    }
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attrs: input.call(Attribute::parse_outer)?,
            vis: input.parse()?,
            sig: input.parse()?,
            rest: input.parse()?,
        })
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

/// What item stands there instead of a function, and the word that shows it; `None` if it is no
/// item.
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

/// Whether the word may stand before the one that says what an item is.
fn is_prefix(word: &str) -> bool {
    matches!(word, "pub" | "crate" | "unsafe" | "async" | "safe" | "auto" | "default")
}

fn noun(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "struct" => "a struct",
        "enum" => "an enum",
        "union" => "a union",
        "trait" => "a trait",
        "impl" => "an `impl` block",
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
