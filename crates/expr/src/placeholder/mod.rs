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

use std::error::Error;
use std::fmt;
use std::ops::Range;

use crate::error::{ParseError, quoted};

/// The greatest depth of nested placeholders, in one text or through the values of keys.
const LEVELS_MAX: usize = 32;

/// The greatest number of bytes that are read, all values of a resolution together.
const BYTES_MAX: usize = 1 << 20;

/// The number of values that are asked for in one resolution.
const VALUES_MAX: usize = 4_096;

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
    parts: Vec<TemplatePart>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    /// Text as it is, escapes already undone. Never empty, never two of them in a row.
    Text(String),
    /// `${key}` or `${key:default}`.
    Placeholder { key: Vec<TemplatePart>, default: Option<Vec<TemplatePart>> },
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
            ..=BYTES_MAX => TemplateReader { text, at: 0, level: 0 }.parts(&[]),
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
        while let [TemplatePart::Placeholder { key, default: Some(default) }] = parts.as_slice() {
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
fn plain(parts: &[TemplatePart]) -> Option<&str> {
    match parts {
        [] => Some(""),
        [TemplatePart::Text(text)] => Some(text),
        _ => None,
    }
}

/// Where the reader is in the text. It only moves forward, from one character to another.
struct TemplateReader<'a> {
    text: &'a str,
    at: usize,
    level: usize,
}

impl TemplateReader<'_> {
    /// Reads up to the end of the text or one of `ends`, which stays unread.
    fn parts(&mut self, ends: &[char]) -> Result<Vec<TemplatePart>, ParseError> {
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
    fn placeholder(&mut self) -> Result<TemplatePart, ParseError> {
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
        Ok(TemplatePart::Placeholder { key, default })
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

fn push_text(parts: &mut Vec<TemplatePart>, text: &str) {
    match parts.last_mut() {
        Some(TemplatePart::Text(last)) => last.push_str(text),
        _ => parts.push(TemplatePart::Text(text.to_owned())),
    }
}

/// Of a long chain of keys, how many are shown at either end.
const SHOWN: usize = 4;

/// Why the placeholders of a text could not be replaced.
///
/// ```
/// use scheduler_expr::Template;
///
/// let mut lookup = |key: &str| match key {
///     "a" => Ok::<_, String>(Some("${b}".to_owned())),
///     "b" => Ok(Some("${a}".to_owned())),
///     _ => Ok(None),
/// };
/// let error = Template::parse("${a}")?.resolve(&mut lookup).unwrap_err();
/// assert_eq!(error.to_string(), "`${a}` leads back to itself: a -> b -> a");
/// assert_eq!(error.key(), "a");
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ResolveTemplateError<E> {
    kind: ResolveTemplateErrorKind<E>,
    chain: Vec<String>,
}

/// The kinds of [`ResolveTemplateError`].
///
/// ```
/// use scheduler_expr::{ResolveTemplateErrorKind, Template};
///
/// let template = Template::parse("${report.cron}")?;
/// let error = template.resolve(&mut |_| Ok::<_, String>(None)).unwrap_err();
/// assert_eq!(error.kind(), &ResolveTemplateErrorKind::NotSet);
/// assert_eq!(error.key(), "report.cron");
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResolveTemplateErrorKind<E> {
    /// The key has no value, and the placeholder no default.
    NotSet,
    /// The value of the key needs the value of the key.
    Cycle,
    /// Values lead to values more than 32 levels deep.
    TooDeep,
    /// More than 4,096 values were needed.
    TooMany,
    /// All values together are longer than 1 MiB.
    TooLong,
    /// The key is put together from other values, and comes to nothing.
    NoKey,
    /// The text the key is set to is no template.
    Value(ParseError),
    /// The lookup failed.
    Lookup(E),
}

impl<E> ResolveTemplateError<E> {
    /// Returns the kind of the error.
    pub fn kind(&self) -> &ResolveTemplateErrorKind<E> {
        &self.kind
    }

    /// The key at fault.
    #[must_use]
    pub fn key(&self) -> &str {
        self.chain.last().map_or("", String::as_str)
    }

    /// The keys that led to the fault: the first stands in the text itself, each further one in the
    /// value or default of the one before it, and the last is the key at fault.
    #[must_use]
    pub fn chain(&self) -> &[String] {
        &self.chain
    }
}

impl<E: fmt::Display> fmt::Display for ResolveTemplateError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = placeholder(self.key());
        match &self.kind {
            ResolveTemplateErrorKind::NotSet => write!(f, "{key} is not set")?,
            ResolveTemplateErrorKind::Cycle => write!(f, "{key} leads back to itself")?,
            ResolveTemplateErrorKind::TooDeep => {
                write!(f, "{key} is more than {LEVELS_MAX} levels deep")?;
            }
            ResolveTemplateErrorKind::TooMany => {
                write!(f, "more than {VALUES_MAX} values are needed, the last for {key}")?;
            }
            ResolveTemplateErrorKind::TooLong => {
                write!(f, "with {key} the values are longer than 1 MiB")?;
            }
            ResolveTemplateErrorKind::NoKey => {
                f.write_str("a placeholder's key comes to nothing")?;
            }
            ResolveTemplateErrorKind::Value(error) => write!(f, "the value of {key}: {error}")?,
            ResolveTemplateErrorKind::Lookup(error) => write!(f, "{key}: {error}")?,
        }
        match shown(&self.chain) {
            Some(chain) => write!(f, ": {chain}"),
            None => Ok(()),
        }
    }
}

impl<E: fmt::Display> fmt::Debug for ResolveTemplateError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<E: fmt::Display> Error for ResolveTemplateError<E> {}

/// The placeholder of a key, quoted for a sentence.
fn placeholder(key: &str) -> String {
    quoted(&format!("${{{key}}}"))
}

/// The chain on one line, its middle left out when it is long; none when it says nothing more.
fn shown(chain: &[String]) -> Option<String> {
    let bare = |key: &String| quoted(key).trim_matches('`').to_owned();
    let named: Vec<String> = chain.iter().filter(|key| !key.is_empty()).map(bare).collect();
    match named.len() {
        0 | 1 => None,
        count if count > 2 * SHOWN => {
            let (head, tail) = (&named[..SHOWN], &named[count - SHOWN..]);
            Some(format!("{} -> … -> {}", head.join(" -> "), tail.join(" -> ")))
        }
        _ => Some(named.join(" -> ")),
    }
}

impl Template {
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
        let mut resolver =
            TemplateResolver { lookup, path: Vec::new(), level: 0, values: 0, bytes: 0 };
        let mut out = String::new();
        match resolver.parts(&self.parts, &mut out) {
            Ok(()) => Ok(out),
            Err((kind, key)) => {
                let keys = resolver.path.into_iter().map(|step| step.key);
                Err(ResolveTemplateError { kind, chain: keys.chain([key]).collect() })
            }
        }
    }
}

/// A fault and the key at fault; the keys before it are still on the path.
type Fault<E> = (ResolveTemplateErrorKind<E>, String);

struct TemplateResolver<'a, E> {
    lookup: &'a mut dyn FnMut(&str) -> Result<Option<String>, E>,
    path: Vec<Step>,
    level: usize,
    values: usize,
    bytes: usize,
}

/// A key whose value or default is being resolved.
struct Step {
    key: String,
    is_set: bool,
}

impl<E> TemplateResolver<'_, E> {
    fn parts(&mut self, parts: &[TemplatePart], out: &mut String) -> Result<(), Fault<E>> {
        for part in parts {
            match part {
                TemplatePart::Text(text) => out.push_str(text),
                TemplatePart::Placeholder { key, default } => {
                    self.level += 1;
                    self.placeholder(key, default.as_deref(), out)?;
                    self.level -= 1;
                }
            }
        }
        Ok(())
    }

    fn placeholder(
        &mut self,
        key: &[TemplatePart],
        default: Option<&[TemplatePart]>,
        out: &mut String,
    ) -> Result<(), Fault<E>> {
        // INVARIANT: this comes before any recursion, so the stack is bounded.
        if self.level > LEVELS_MAX {
            let key = plain(key).unwrap_or("…").to_owned();
            return Err((ResolveTemplateErrorKind::TooDeep, key));
        }
        let key = self.key(key)?;
        if self.path.iter().any(|step| step.is_set && step.key == key) {
            return Err((ResolveTemplateErrorKind::Cycle, key));
        }
        match (self.value(&key)?, default) {
            (Some(value), _) => self.follow(Step { key, is_set: true }, &value.parts, out),
            (None, Some(default)) => self.follow(Step { key, is_set: false }, default, out),
            (None, None) => Err((ResolveTemplateErrorKind::NotSet, key)),
        }
    }

    /// The key, put together.
    fn key(&mut self, parts: &[TemplatePart]) -> Result<String, Fault<E>> {
        let mut key = String::new();
        self.parts(parts, &mut key)?;
        match key.trim() {
            "" => Err((ResolveTemplateErrorKind::NoKey, String::new())),
            key => Ok(key.to_owned()),
        }
    }

    /// Looks a key up, within the limits.
    fn value(&mut self, key: &str) -> Result<Option<Template>, Fault<E>> {
        let fault = |kind| (kind, key.to_owned());
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(fault(ResolveTemplateErrorKind::TooMany));
        }
        let value = (self.lookup)(key);
        let value = value.map_err(|error| fault(ResolveTemplateErrorKind::Lookup(error)))?;
        let Some(text) = value else { return Ok(None) };
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > BYTES_MAX {
            return Err(fault(ResolveTemplateErrorKind::TooLong));
        }
        let template = Template::parse(&text);
        template.map(Some).map_err(|error| fault(ResolveTemplateErrorKind::Value(error)))
    }

    /// Writes `parts`, which stand in the value or default of `step`'s key.
    ///
    /// After a fault the path is left as it is: it is the chain that led there.
    fn follow(
        &mut self,
        step: Step,
        parts: &[TemplatePart],
        out: &mut String,
    ) -> Result<(), Fault<E>> {
        self.path.push(step);
        self.parts(parts, out)?;
        self.path.pop();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
