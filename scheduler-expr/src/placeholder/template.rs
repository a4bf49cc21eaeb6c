//! A text that may have placeholders in it, as its parts.

/// How deep placeholders may be nested, in one text or through the values of keys.
pub(super) const LEVELS_MAX: usize = 32;

/// How many bytes are read at most, all values of a resolution together.
pub(super) const BYTES_MAX: usize = 1 << 20;

/// How many values are asked for in one resolution.
pub(super) const VALUES_MAX: usize = 4_096;

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
    pub(super) parts: Vec<Part>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text as it is, escapes already undone. Never empty, never two of them in a row.
    Text(String),
    /// `${key}` or `${key:default}`.
    Placeholder { key: Vec<Part>, default: Option<Vec<Part>> },
}

impl Template {
    /// Returns true if there is no placeholder, so that nothing has to be looked up.
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
}

/// The text of parts without placeholders.
pub(super) fn plain(parts: &[Part]) -> Option<&str> {
    match parts {
        [] => Some(""),
        [Part::Text(text)] => Some(text),
        _ => None,
    }
}
