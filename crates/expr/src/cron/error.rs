//! What can be wrong with a cron expression.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use super::CronField;
use crate::excerpt::Excerpt;

/// Why a text is not a cron expression.
///
/// [`Display`](fmt::Display) is one line. [`caret`](Self::caret) shows the place and
/// [`help`](Self::help) the remedy:
///
/// ```
/// use scheduler_expr::{CronExpression, CronField};
///
/// let error = CronExpression::parse("0 0 0 * * FRI-MON").unwrap_err();
/// assert_eq!(error.to_string(), "invalid cron expression: day-of-week range `FRI-MON` runs backwards");
/// assert_eq!(error.field(), Some(CronField::DayOfWeek));
/// assert_eq!(error.span(), 10..17);
/// assert_eq!(error.caret(), "0 0 0 * * FRI-MON\n          ^^^^^^^ day-of-week");
/// assert_eq!(error.help(), Some("write `FRI-SUN,MON`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseCronError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    fault: Fault,
    excerpt: Excerpt,
}

/// The kinds of [`ParseCronError`].
///
/// ```
/// use scheduler_expr::{CronExpression, ParseCronErrorKind};
///
/// let error = "0 9 * * *".parse::<CronExpression>().unwrap_err();
/// assert_eq!(error.kind(), ParseCronErrorKind::FieldCount { found: 5 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseCronErrorKind {
    /// There is nothing but blanks.
    Empty,
    /// The text is longer than 64 KiB.
    TooLong,
    /// There are not exactly six fields.
    FieldCount {
        /// How many there are.
        found: usize,
    },
    /// The text begins with `@` but is not one of the macros.
    UnknownMacro,
    /// Something other than a space separates fields.
    NotASpace,
    /// A list has an item without text.
    EmptyItem,
    /// Neither a number nor a name was found where one belongs.
    NotANumber,
    /// A number lies outside its field's range.
    OutOfRange {
        /// The smallest number allowed.
        min: u32,
        /// The greatest number allowed.
        max: u32,
    },
    /// A range ends before it begins.
    ReversedRange,
    /// A step is zero or not a number.
    InvalidStep,
    /// `L`, `W`, `#` or `?` is used where it has no meaning.
    MisplacedSpecial,
}

impl ParseCronError {
    pub(super) fn new(text: &str, fault: Fault) -> Self {
        let excerpt = Excerpt::new(text, &fault.span);
        Self(Box::new(Details { fault, excerpt }))
    }

    /// What is wrong, for a program to look at.
    #[must_use]
    pub fn kind(&self) -> ParseCronErrorKind {
        self.0.fault.kind
    }

    /// The field that is wrong; none when it is the expression as a whole.
    #[must_use]
    pub fn field(&self) -> Option<CronField> {
        self.0.fault.field
    }

    /// The bytes of the given text that are at fault.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.0.fault.span.clone()
    }

    /// What is wrong, without saying that a cron expression is meant.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.0.fault.reason
    }

    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.fault.help.as_deref()
    }

    /// Two lines: the expression, and carets below the fault with the field's name behind them.
    ///
    /// Of a long text at most 200 characters around the fault are shown; what cannot be printed is
    /// escaped.
    #[must_use]
    pub fn caret(&self) -> String {
        self.0.excerpt.caret(self.field().map(CronField::name))
    }
}

impl fmt::Display for ParseCronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid cron expression: {}", self.reason())
    }
}

impl Error for ParseCronError {}

/// A fault on its way from the place where it was found to the caller, still without the whole
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: ParseCronErrorKind,
    pub(super) field: Option<CronField>,
    pub(super) span: Range<usize>,
    pub(super) reason: String,
    pub(super) help: Option<String>,
}

impl Fault {
    pub(super) fn new(
        kind: ParseCronErrorKind,
        span: Range<usize>,
        reason: impl Into<String>,
    ) -> Self {
        Self { kind, field: None, span, reason: reason.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }

    pub(super) fn in_field(mut self, field: CronField) -> Self {
        self.field = Some(field);
        self
    }
}
