//! Placeholders: `${key}` and `${key:default}` inside a text.
//!
//! A text is parsed once into a [`Template`], and resolved with whatever knows the values of keys.
//! Keys and defaults may hold placeholders themselves, and so may the values. `\${` stands for a
//! literal `${`; a `}` outside a placeholder is itself. An expression of Spring's language, `#{…}`, is
//! refused; `\#{` stands for a literal `#{`.
//!
//! INVARIANT: the work is bounded, whatever the texts are. Recursion ends after `LEVELS_MAX`
//! levels, of texts at most `BYTES_MAX` are read in all, and at most `VALUES_MAX` values are
//! asked for. Each part of a text that was read is written at most once, so the result is no longer
//! than what was read.

mod resolve;
mod template;
#[cfg(test)]
mod tests;

pub use resolve::{ResolveTemplateError, ResolveTemplateErrorKind};
pub use template::Template;
use template::{BYTES_MAX, LEVELS_MAX, Part, VALUES_MAX, plain};
