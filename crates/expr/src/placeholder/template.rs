//! A text that may have placeholders in it: reads its parts.

use std::ops::Range;

use crate::error::ParseError;

/// The greatest depth of nested placeholders, in one text or through the values of keys.
pub(super) const LEVELS_MAX: usize = 32;

/// The greatest number of bytes that are read, all values of a resolution together.
pub(super) const BYTES_MAX: usize = 1 << 20;

/// The number of values that are asked for in one resolution.
pub(super) const VALUES_MAX: usize = 4_096;

const OPEN: &str = "${";
const ESCAPED_OPEN: &str = "\\${";

/// The beginning of an expression of Spring's language.
const SPRING_OPEN: &str = "#{";
const ESCAPED_SPRING_OPEN: &str = "\\#{";

const WRITE_KEY: &str = "write `${key}` or `${key:default}`";

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
/// # Ok::<(), scheduler_expr::ParseError>(())
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
    /// Reads a text that may have placeholders in it.
    ///
    /// # Errors
    ///
    /// When a placeholder is not closed or has no key, when placeholders are nested more than 32
    /// levels deep, when the text is longer than 1 MiB, or has an expression of Spring's language, `#{…}`.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let parts = match text.len() {
            ..=BYTES_MAX => Reader { text, at: 0, level: 0 }.parts(&[]),
            length => Err(ParseError::new(0..length, "the text is longer than 1 MiB")),
        };
        Ok(Self { parts: parts.map_err(|error| error.within(text))? })
    }

    /// Returns true if there is no placeholder, so that nothing has to be looked up.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        plain(&self.parts).is_some()
    }

    /// Returns the default of the text, if that is certain: the text is exactly
    /// `${key:default}`, and the default has no placeholder or is again of this form.
    ///
    /// ```
    /// use scheduler_expr::Template;
    ///
    /// assert_eq!(Template::parse("${every:5s}")?.sole_default().as_deref(), Some("5s"));
    /// assert_eq!(Template::parse("${a:${b:5s}}")?.sole_default().as_deref(), Some("5s"));
    /// assert_eq!(Template::parse("${every:5}s")?.sole_default(), None);
    /// # Ok::<(), scheduler_expr::ParseError>(())
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

/// Where the reader is in the text. It only moves forward, from one character to another.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    level: usize,
}

impl Reader<'_> {
    /// Reads up to the end of the text or one of `ends`, which stays unread.
    fn parts(&mut self, ends: &[char]) -> Result<Vec<Part>, ParseError> {
        let mut parts = Vec::new();
        while let Some(next) = self.text[self.at..].chars().next() {
            if ends.contains(&next) {
                break;
            }
            if self.skip(ESCAPED_OPEN) {
                push_text(&mut parts, OPEN);
            } else if self.skip(ESCAPED_SPRING_OPEN) {
                push_text(&mut parts, SPRING_OPEN);
            } else if self.skip(OPEN) {
                parts.push(self.placeholder()?);
            } else if self.text[self.at..].starts_with(SPRING_OPEN) {
                let length = self.text[self.at..].find('}').map(|end| end + 1);
                let end = length.map_or(self.text.len(), |length| self.at + length);
                let message = "Spring expressions (SpEL) are not supported";
                return refuse(self.at..end, message, &format!("{WRITE_KEY}, or the value itself"));
            } else {
                let start = self.at;
                self.at += next.len_utf8();
                push_text(&mut parts, &self.text[start..self.at]);
            }
        }
        Ok(parts)
    }

    /// Reads a placeholder behind its `${`.
    fn placeholder(&mut self) -> Result<Part, ParseError> {
        let start = self.at - OPEN.len();
        self.level += 1;
        if self.level > LEVELS_MAX {
            let message = "placeholders are nested more than 32 levels deep";
            return Err(ParseError::new(start..self.at, message));
        }
        let key = self.parts(&[':', '}'])?;
        let end = (self.at + 1).min(self.text.len());
        let default = if self.skip(":") { Some(self.parts(&['}'])?) } else { None };
        if !self.skip("}") {
            let help = "close it with `}`, or write `\\${` for a literal `${`";
            return refuse(start..self.text.len(), "the placeholder is not closed", help);
        }
        if plain(&key).is_some_and(|key| key.trim().is_empty()) {
            return refuse(start..end, "the placeholder has no key", WRITE_KEY);
        }
        self.level -= 1;
        Ok(Part::Placeholder { key, default })
    }

    /// Moves behind `expected` if it comes next.
    fn skip(&mut self, expected: &str) -> bool {
        let found = self.text[self.at..].starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }
}

fn refuse<T>(span: Range<usize>, message: &str, help: &str) -> Result<T, ParseError> {
    Err(ParseError::new(span, message).with_help(help.to_owned()))
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}
