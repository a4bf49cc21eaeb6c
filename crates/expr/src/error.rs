//! The error of every parser.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use crate::excerpt::Excerpt;

/// Why a text is not a cron expression, a duration, a template, a name, an instant or a time zone.
///
/// [`Display`](fmt::Display) is one line. [`caret`](Self::caret) shows the place and [`help`](Self::help) the remedy:
///
/// ```
/// use scheduler_expr::CronExpression;
///
/// let error = CronExpression::parse("0 0 0 * * FRI-MON").unwrap_err();
/// assert_eq!(error.to_string(), "invalid cron expression: day-of-week range `FRI-MON` runs backwards");
/// assert_eq!(error.span(), 10..17);
/// assert_eq!(error.caret(), "0 0 0 * * FRI-MON\n          ^^^^^^^ day-of-week");
/// assert_eq!(error.help(), Some("write `FRI-SUN,MON`"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ParseError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    text: Excerpt,
    span: Range<usize>,
    /// Stands behind the carets.
    label: Option<&'static str>,
    message: String,
    help: Option<String>,
    /// The text that the help says to write in place of the whole.
    replacement: Option<String>,
    cause: Option<Cause>,
}

/// Causes for which an attribute has a help of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A number of a duration has no unit.
    NoUnit,
    /// A duration is not longer than zero.
    NotPositive,
}

impl ParseError {
    /// An error at these bytes of a text that [`within`](Self::within) names.
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            text: Excerpt::default(),
            span,
            label: None,
            message: message.into(),
            help: None,
            replacement: None,
            cause: None,
        }))
    }

    pub(crate) fn within(mut self, text: &str) -> Self {
        self.0.text = Excerpt::new(text, &self.0.span);
        self
    }

    pub(crate) fn with_prefix(mut self, prefix: &str) -> Self {
        self.0.message.insert_str(0, prefix);
        self
    }

    pub(crate) fn with_label(mut self, label: &'static str) -> Self {
        self.0.label = Some(label);
        self
    }

    pub(crate) fn with_help(mut self, help: impl Into<Option<String>>) -> Self {
        self.0.help = help.into();
        self
    }

    /// Sets the text to write in place of the whole, if there is one, and a help that says so.
    pub(crate) fn with_replacement(mut self, replacement: impl Into<Option<String>>) -> Self {
        if let Some(replacement) = replacement.into() {
            self.0.help = Some(format!("write `{replacement}`"));
            self.0.replacement = Some(replacement);
        }
        self
    }

    pub(crate) fn with_cause(mut self, cause: Cause) -> Self {
        self.0.cause = Some(cause);
        self
    }

    /// Returns the bytes of the text that are at fault.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.0.span.clone()
    }

    /// Returns what to write instead.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Returns two lines: the text, and carets below the fault, behind them the name of a cron field.
    ///
    /// A long text is cut to 200 characters around the fault. Characters that cannot be printed are escaped.
    #[must_use]
    pub fn caret(&self) -> String {
        self.0.text.caret(self.0.label)
    }

    pub(crate) fn replacement(&self) -> Option<&str> {
        self.0.replacement.as_deref()
    }

    pub(crate) fn cause(&self) -> Option<Cause> {
        self.0.cause
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.message)
    }
}

impl fmt::Debug for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for ParseError {}
