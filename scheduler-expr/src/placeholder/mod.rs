//! Placeholders: `${key}` and `${key:default}` inside a text.
//!
//! A text is parsed once into a [`Template`], and resolved with whatever knows the values of keys.
//! Keys and defaults may hold placeholders themselves, and so may the values. `\${` stands for a
//! literal `${`; a `}` outside a placeholder is itself. An expression of Spring's language, `#{…}`, is
//! refused; `\#{` stands for a literal `#{`.
//!
//! INVARIANT: the work is bounded, whatever the texts are. Recursion ends after [`LEVELS_MAX`]
//! levels, of texts at most [`BYTES_MAX`] are read in all, and at most [`VALUES_MAX`] values are
//! asked for. Each part of a text that was read is written at most once, so the result is no longer
//! than what was read.

mod error;
mod parse;
mod resolve;

pub use error::{ParseTemplateError, ParseTemplateErrorKind};
pub use resolve::{ResolveTemplateError, ResolveTemplateErrorKind};

/// How deep placeholders may be nested, in one text or through the values of keys.
const LEVELS_MAX: usize = 32;

/// How many bytes are read at most, all values of a resolution together.
const BYTES_MAX: usize = 1 << 20;

/// How many values are asked for in one resolution.
const VALUES_MAX: usize = 4_096;

/// A text with placeholders, as read from an annotation or from settings.
///
/// ```
/// use scheduler_expr::Template;
///
/// let template = Template::parse("0 ${minute:0} ${hour} * * *")?;
/// let mut lookup = |key: &str| Ok::<_, String>((key == "hour").then(|| "9".to_owned()));
/// assert_eq!(template.resolve(&mut lookup).unwrap(), "0 0 9 * * *");
///
/// let error = Template::parse("0 0 ${hour * * *").unwrap_err();
/// assert_eq!(error.to_string(), "the placeholder is not closed");
/// assert_eq!(error.caret(), "0 0 ${hour * * *\n    ^^^^^^^^^^^^");
/// # Ok::<(), scheduler_expr::ParseTemplateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Text as it is, escapes already undone. Never empty, never two of them in a row.
    Text(String),
    /// `${key}` or `${key:default}`.
    Placeholder { key: Vec<Part>, default: Option<Vec<Part>> },
}

impl Template {
    /// Reads a text that may have placeholders in it.
    ///
    /// # Errors
    ///
    /// When a placeholder is not closed or has no key, when placeholders are nested more than 32
    /// levels deep, when the text is longer than 1 MiB, or has an expression of Spring's language, `#{…}`.
    pub fn parse(text: &str) -> Result<Self, ParseTemplateError> {
        let parts = parse::parse(text).map_err(|fault| ParseTemplateError::new(text, fault))?;
        Ok(Self { parts })
    }

    /// Whether there is no placeholder, so that nothing has to be looked up.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        plain(&self.parts).is_some()
    }

    /// What the text comes to when its key is not set, if that is certain: the text is exactly
    /// `${key:default}`, and the default has no placeholder or is again of this form.
    ///
    /// ```
    /// use scheduler_expr::Template;
    ///
    /// assert_eq!(Template::parse("${every:5s}")?.sole_default().as_deref(), Some("5s"));
    /// assert_eq!(Template::parse("${a:${b:5s}}")?.sole_default().as_deref(), Some("5s"));
    /// assert_eq!(Template::parse("${every:5}s")?.sole_default(), None);
    /// # Ok::<(), scheduler_expr::ParseTemplateError>(())
    /// ```
    #[must_use]
    pub fn sole_default(&self) -> Option<String> {
        let mut parts = &self.parts;
        while let [Part::Placeholder { key, default: Some(default) }] = parts.as_slice() {
            plain(key)?;
            if let Some(text) = plain(default) {
                return Some(text.to_owned());
            }
            parts = default;
        }
        None
    }

    /// Puts values in place of the placeholders.
    ///
    /// `lookup` gives the text a key is set to, as it was written: placeholders in it are resolved
    /// in turn, with the same `lookup`.
    ///
    /// # Errors
    ///
    /// When a key without a default is not set, when a value leads back to itself, when a value is
    /// no template, when `lookup` fails, or when a limit is exceeded: 32 levels, 4,096 values,
    /// 1 MiB of text in all.
    pub fn resolve<E>(
        &self,
        lookup: &mut dyn FnMut(&str) -> Result<Option<String>, E>,
    ) -> Result<String, ResolveTemplateError<E>> {
        resolve::resolve(&self.parts, lookup)
    }
}

/// The text of parts without placeholders.
fn plain(parts: &[Part]) -> Option<&str> {
    match parts {
        [] => Some(""),
        [Part::Text(text)] => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
