//! Names an item that is neither a function nor an `impl` block.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

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
