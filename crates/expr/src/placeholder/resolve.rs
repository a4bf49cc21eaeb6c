//! Puts values in place of placeholders, within limits.

use std::error::Error;
use std::fmt;

use super::{BYTES_MAX, LEVELS_MAX, Part, Template, VALUES_MAX, plain};
use crate::error::ParseError;
use crate::excerpt::quoted;

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
        let mut resolver = Resolver { lookup, path: Vec::new(), level: 0, values: 0, bytes: 0 };
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

struct Resolver<'a, E> {
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

impl<E> Resolver<'_, E> {
    fn parts(&mut self, parts: &[Part], out: &mut String) -> Result<(), Fault<E>> {
        for part in parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Placeholder { key, default } => {
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
        key: &[Part],
        default: Option<&[Part]>,
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
    fn key(&mut self, parts: &[Part]) -> Result<String, Fault<E>> {
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
    fn follow(&mut self, step: Step, parts: &[Part], out: &mut String) -> Result<(), Fault<E>> {
        self.path.push(step);
        self.parts(parts, out)?;
        self.path.pop();
        Ok(())
    }
}
