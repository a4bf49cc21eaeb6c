//! What can be wrong with the text of a template.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use crate::excerpt::Excerpt;

/// Why a text with placeholders cannot be read.
///
/// ```
/// use scheduler_expr::Template;
///
/// let error = Template::parse("every ${:5s}").unwrap_err();
/// assert_eq!(error.to_string(), "the placeholder has no key");
/// assert_eq!(error.span(), 6..9);
/// assert_eq!(error.caret(), "every ${:5s}\n      ^^^");
/// assert_eq!(error.help(), Some("write `${key}` or `${key:default}`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseTemplateError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    fault: Fault,
    excerpt: Excerpt,
}

/// The kinds of [`ParseTemplateError`].
///
/// ```
/// use scheduler_expr::{ParseTemplateErrorKind, Template};
///
/// assert_eq!(Template::parse("${}").unwrap_err().kind(), ParseTemplateErrorKind::NoKey);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseTemplateErrorKind {
    /// A `${` has no `}`.
    Unclosed,
    /// There is nothing but blanks where the key belongs.
    NoKey,
    /// Placeholders are nested too deep.
    TooDeep,
    /// The text is too long.
    TooLong,
    /// There is an expression of Spring's language, `#{…}`.
    SpringExpression,
}

/// A fault on its way from the place where it was found, still without the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: ParseTemplateErrorKind,
    pub(super) span: Range<usize>,
}

impl ParseTemplateError {
    pub(super) fn new(text: &str, fault: Fault) -> Self {
        let excerpt = Excerpt::new(text, &fault.span);
        Self(Box::new(Details { fault, excerpt }))
    }

    /// What is wrong, for a program to look at.
    #[must_use]
    pub fn kind(&self) -> ParseTemplateErrorKind {
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
        self.words().1
    }

    /// Two lines: the text, and carets below the fault.
    ///
    /// Of a long text at most 200 characters around the fault are shown; what cannot be printed is
    /// escaped.
    #[must_use]
    pub fn caret(&self) -> String {
        self.0.excerpt.caret(None)
    }

    /// The message and the help.
    fn words(&self) -> (&'static str, Option<&'static str>) {
        match self.kind() {
            ParseTemplateErrorKind::Unclosed => (
                "the placeholder is not closed",
                Some("close it with `}`, or write `\\${` for a literal `${`"),
            ),
            ParseTemplateErrorKind::NoKey => {
                ("the placeholder has no key", Some("write `${key}` or `${key:default}`"))
            }
            ParseTemplateErrorKind::TooDeep => {
                ("placeholders are nested more than 32 levels deep", None)
            }
            ParseTemplateErrorKind::TooLong => ("the text is longer than 1 MiB", None),
            ParseTemplateErrorKind::SpringExpression => (
                "Spring expressions (SpEL) are not supported",
                Some("write `${key}` or `${key:default}`, or the value itself"),
            ),
        }
    }
}

impl fmt::Display for ParseTemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words().0)
    }
}

impl Error for ParseTemplateError {}
