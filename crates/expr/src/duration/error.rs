//! What can be wrong with a duration.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use super::intended;
use crate::excerpt::{Excerpt, quoted};

/// Why a text is not a duration, or not one that is allowed.
///
/// ```
/// use scheduler_expr::parse_duration;
///
/// let error = parse_duration("10 sec", None).unwrap_err();
/// assert_eq!(error.to_string(), "`sec` is not a unit of time");
/// assert_eq!(error.span(), 3..6);
/// assert_eq!(error.caret(), "10 sec\n   ^^^");
/// assert_eq!(error.help(), Some("write `10s`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDurationError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    fault: Fault,
    excerpt: Excerpt,
}

/// The kinds of [`ParseDurationError`].
///
/// ```
/// use scheduler_expr::{ParseDurationErrorKind, parse_duration};
///
/// let error = parse_duration("5", None).unwrap_err();
/// assert_eq!(error.kind(), ParseDurationErrorKind::NoUnit);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseDurationErrorKind {
    /// There is no text, or nothing but blanks.
    Empty,
    /// A number has no unit and none is given.
    NoUnit,
    /// A unit is not one of `ns us ms s m h d`, or is in upper case among several.
    UnknownUnit,
    /// The units do not go from large to small.
    UnitOrder,
    /// A character stands where it has no meaning.
    Malformed,
    /// The duration is longer than 2⁶³ seconds, a number in it is greater than 2⁶³, or a period or delay is longer
    /// than 100 years.
    TooLong,
    /// The duration is zero or negative where it must be longer than zero.
    NotPositive,
    /// The duration is negative where it must not be.
    Negative,
}

/// A fault on its way from the place where it was found, still without the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    kind: ParseDurationErrorKind,
    span: Range<usize>,
    reason: String,
    help: Option<String>,
    instead: Option<String>,
}

impl ParseDurationError {
    pub(super) fn new(text: &str, fault: Fault) -> Self {
        let excerpt = Excerpt::new(text, &fault.span);
        Self(Box::new(Details { fault, excerpt }))
    }

    /// What is wrong, for a program to look at.
    #[must_use]
    pub fn kind(&self) -> ParseDurationErrorKind {
        self.0.fault.kind
    }

    /// The bytes of the given text that are at fault.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.0.fault.span.clone()
    }

    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.fault.help.as_deref()
    }

    /// The duration that the help says to write in place of the whole text.
    pub(crate) fn instead(&self) -> Option<&str> {
        self.0.fault.instead.as_deref()
    }

    /// Two lines: the text, and carets below the fault.
    ///
    /// Of a long text at most 200 characters around the fault are shown; what cannot be printed is
    /// escaped.
    #[must_use]
    pub fn caret(&self) -> String {
        self.0.excerpt.caret(None)
    }
}

impl fmt::Display for ParseDurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.fault.reason)
    }
}

impl Error for ParseDurationError {}

impl Fault {
    pub(super) fn new(
        kind: ParseDurationErrorKind,
        span: Range<usize>,
        reason: impl Into<String>,
    ) -> Self {
        Self { kind, span, reason: reason.into(), help: None, instead: None }
    }

    pub(super) fn help(mut self, help: String) -> Self {
        self.help = Some(help);
        self
    }

    /// What to write in place of the whole text.
    pub(super) fn instead(mut self, instead: String) -> Self {
        self.help = Some(format!("write `{instead}`"));
        self.instead = Some(instead);
        self
    }

    /// What to write in place of the whole `text`, if it is clear what was meant; else the help
    /// stays.
    pub(super) fn instead_of(self, text: &str) -> Self {
        match intended(text) {
            Some(instead) => self.instead(instead),
            None => self,
        }
    }

    /// The whole text is a duration that is zero or negative.
    pub(super) fn not_positive(text: &str) -> Self {
        let reason = format!("{} must be longer than zero", quoted(text));
        Self::new(ParseDurationErrorKind::NotPositive, 0..text.len(), reason)
    }

    /// The whole text is a duration that no clock can wait for.
    pub(super) fn too_long(text: &str) -> Self {
        let reason = format!("{} is longer than 100 years", quoted(text));
        let fault = Self::new(ParseDurationErrorKind::TooLong, 0..text.len(), reason);
        fault.help("the longest is `36525d`".to_owned())
    }

    /// The whole text is a duration that is negative.
    pub(super) fn negative(text: &str) -> Self {
        let reason = format!("{} must not be negative", quoted(text));
        Self::new(ParseDurationErrorKind::Negative, 0..text.len(), reason)
    }
}
