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

/// What stands there instead of a function, and the word that shows it.
pub(crate) fn name_of_other_item(item: &TokenStream) -> (&'static str, TokenStream) {
    let mut tokens = item.clone().into_iter().peekable();
    let mut first = None;
    while let Some(token) = tokens.next() {
        let TokenTree::Ident(word) = &token else {
            let is_hash = matches!(&token, TokenTree::Punct(hash) if hash.as_char() == '#');
            if is_hash {
                tokens.next();
            } else {
                first.get_or_insert(token);
            }
            continue;
        };
        if let Some(noun) = noun(&word.to_string()) {
            return (noun, token.into());
        }
        first.get_or_insert(token);
    }
    ("something else", first.map_or_else(|| item.clone(), TokenStream::from))
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
