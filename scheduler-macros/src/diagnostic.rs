//! All faults of one annotation together, each at its own token.
//!
//! A message is lower case, without a final stop, with the user's words in backticks; the remedy
//! follows a semicolon or stands on a line of its own, ready to be pasted. No fault is ever placed
//! at `Span::call_site()`: rustc would then add a remark about the macro itself.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

/// The faults found so far.
#[derive(Default)]
pub(crate) struct Faults {
    all: Option<syn::Error>,
}

impl Faults {
    /// Adds a fault that is seen at `tokens`.
    pub(crate) fn push(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.append(Self { all: Some(syn::Error::new_spanned(tokens, message)) });
    }

    /// Adds the faults of another collection.
    pub(crate) fn append(&mut self, other: Self) {
        match (&mut self.all, other.all) {
            (Some(all), Some(more)) => all.combine(more),
            (none @ None, more) => *none = more,
            (Some(_), None) => {}
        }
    }

    /// Returns true if nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_none()
    }

    /// The code that makes rustc report them.
    pub(crate) fn to_tokens(&self) -> TokenStream {
        self.under(&TokenStream::new())
    }

    /// The same below attributes, such as the conditions of what is at fault.
    pub(crate) fn under(&self, attrs: &TokenStream) -> TokenStream {
        let all = self.all.iter().flatten().map(|each| each.to_compile_error());
        all.map(|report| quote!(#attrs #report)).collect()
    }
}

/// A message of several lines: the fault, the place inside of the text, and the remedy.
///
/// Stable rustc cannot underline a part of a string literal, so `caret` repeats the text and marks
/// the part below it. Rustc indents the lines of a message evenly, which keeps the two in line.
pub(crate) fn remedy(fault: &impl Display, caret: Option<&str>, help: Option<&str>) -> String {
    let mut message = fault.to_string();
    for line in caret.into_iter().flat_map(str::lines) {
        message.push_str("\n    ");
        message.push_str(line);
    }
    if let Some(help) = help {
        message.push('\n');
        message.push_str(help);
    }
    message
}

/// The text with escapes for what cannot be seen; quotes stay as they are.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::new();
    for char in text.chars() {
        match char {
            '\'' | '"' | '\\' => shown.push(char),
            _ => shown.extend(char.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_place_and_remedy_below_the_fault() {
        assert_eq!(remedy(&"wrong", None, None), "wrong");
        let message = remedy(&"wrong", Some("0 25\n  ^^ hour"), Some("write `0`"));
        assert_eq!(message, "wrong\n    0 25\n      ^^ hour\nwrite `0`");
    }
}
