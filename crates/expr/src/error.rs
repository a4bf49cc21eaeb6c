//! The error of every parser, which quotes the text and points.

use std::error::Error;
use std::fmt;
use std::ops::Range;

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
pub struct ParseError(Box<ParseDetails>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ParseDetails {
    text: Excerpt,
    span: Range<usize>,
    /// Stands behind the carets.
    label: Option<&'static str>,
    message: String,
    help: Option<String>,
    /// The text that the help says to write in place of the whole.
    replacement: Option<String>,
    cause: Option<ParseErrorCause>,
}

/// Causes for which an attribute has a help of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParseErrorCause {
    /// A number of a duration has no unit.
    NoUnit,
    /// A duration is not longer than zero.
    NotPositive,
}

impl ParseError {
    /// An error at these bytes of a text that [`within`](Self::within) names.
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self(Box::new(ParseDetails {
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

    pub(crate) fn with_cause(mut self, cause: ParseErrorCause) -> Self {
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

    pub(crate) fn cause(&self) -> Option<ParseErrorCause> {
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

/// The greatest number of characters of a text that are quoted.
const LIMIT: usize = 200;

/// The greatest number of characters of a single word that are quoted.
const WORD_LIMIT: usize = 40;

/// The greatest number of characters before the fault that are quoted from a text that is too long.
const LEAD: usize = 60;

/// Stands where a part of the text was left out.
const ELLIPSIS: char = '…';

/// One line of quoted text and the columns of the fault in it, whatever the text is.
///
/// A person may hand a megabyte, control characters, or letters that print on top of each other.
/// An excerpt has at most [`LIMIT`] characters around the fault, on one line, with everything
/// invisible written as an escape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Excerpt {
    line: String,
    column: usize,
    width: usize,
}

impl Excerpt {
    /// Quotes `text` around the bytes of `span`.
    pub(crate) fn new(text: &str, span: &Range<usize>) -> Self {
        let start = floor_boundary(text, span.start);
        let end = floor_boundary(text, span.end).max(start);
        let mut quote = Quote::default();
        quote.lead(&text[..start], text.len() <= LIMIT);
        let column = quote.columns;
        quote.push_all(&text[start..end]);
        let width = (quote.columns - column).max(1);
        quote.push_all(&text[end..]);
        Self { line: quote.line, column, width }
    }

    /// The quoted line, and below it the caret with a `label` behind it.
    pub(crate) fn caret(&self, label: Option<&str>) -> String {
        let mut out =
            format!("{}\n{}{}", self.line, " ".repeat(self.column), "^".repeat(self.width));
        if let Some(label) = label {
            out.push(' ');
            out.push_str(label);
        }
        out
    }
}

/// Quotes a word for use inside a sentence: in backticks, escaped, at most forty characters.
///
/// ```
/// use scheduler_expr::quoted;
///
/// assert_eq!(quoted("report"), "`report`");
/// assert_eq!(quoted("a\nb"), "`a\\nb`");
/// assert_eq!(quoted(&"x".repeat(100)).chars().count(), 42);
/// ```
#[must_use]
pub fn quoted(word: &str) -> String {
    let mut quote = Quote { capacity: WORD_LIMIT, ..Quote::default() };
    quote.push_all(word);
    format!("`{}`", quote.line)
}

/// Returns true if a suggestion may repeat `text` whole.
pub(crate) fn is_quotable(text: &str) -> bool {
    text.len() <= LIMIT / 2 && text.chars().all(|c| c == ' ' || c.is_ascii_graphic())
}

/// The last character boundary at or before `index`.
fn floor_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// A line under construction.
struct Quote {
    line: String,
    columns: usize,
    capacity: usize,
}

impl Default for Quote {
    fn default() -> Self {
        Self { line: String::new(), columns: 0, capacity: LIMIT }
    }
}

impl Quote {
    /// Quotes what stands before the fault, from its end when it is too long.
    fn lead(&mut self, before: &str, is_short: bool) {
        let skipped = before.chars().count().saturating_sub(LEAD);
        if is_short || skipped == 0 {
            self.push_all(before);
            return;
        }
        self.push_char(ELLIPSIS);
        let shown = before.char_indices().nth(skipped).map_or("", |(index, _)| &before[index..]);
        self.push_all(shown);
    }

    /// Appends a text with invisible characters escaped, up to the limit, and an ellipsis where it is cut.
    fn push_all(&mut self, text: &str) {
        for c in text.chars() {
            if self.capacity == 0 {
                return;
            }
            let shown = match c {
                '"' | '\'' | '\\' => c.to_string(),
                _ => c.escape_debug().to_string(),
            };
            if shown.chars().count() >= self.capacity {
                self.push_char(ELLIPSIS);
                self.capacity = 0;
                return;
            }
            shown.chars().for_each(|c| self.push_char(c));
        }
    }

    fn push_char(&mut self, c: char) {
        self.line.push(c);
        self.columns += columns_of(c);
        self.capacity = self.capacity.saturating_sub(1);
    }
}

/// The number of columns of a terminal a character takes: two for East Asian wide letters and emoji.
fn columns_of(c: char) -> usize {
    match u32::from(c) {
        0x1100..=0x115F
        | 0x2E80..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, span: Range<usize>, expected: &str) {
        assert_eq!(Excerpt::new(text, &span).caret(Some("here")), expected);
    }

    #[test]
    fn points_at_the_bytes_of_the_span() {
        check("0 0 25 * * *", 4..6, "0 0 25 * * *\n    ^^ here");
        check("abc", 3..3, "abc\n   ^ here");
        check("", 0..0, "\n^ here");
    }

    #[test]
    fn escapes_what_cannot_be_seen() {
        check("0\t0", 1..2, "0\\t0\n ^^ here");
        check("a\0b", 2..3, "a\\0b\n   ^ here");
        check("\u{feff}1", 3..4, "\\u{feff}1\n        ^ here");
        check("e\u{301}x", 3..4, "e\\u{301}x\n        ^ here");
        check("say \"hi\"", 4..8, "say \"hi\"\n    ^^^^ here");
    }

    #[test]
    fn counts_columns_not_bytes() {
        check("é 1", 3..4, "é 1\n  ^ here");
        check("日 1", 4..5, "日 1\n   ^ here");
    }

    #[test]
    fn survives_a_span_that_is_no_boundary() {
        check("日", 1..2, "日\n^ here");
        check("a", 5..9, "a\n ^ here");
    }

    #[test]
    fn quotes_at_most_the_limit() {
        for text in ["x".repeat(1 << 20), "\u{1}".repeat(1 << 16), "日".repeat(1 << 16)] {
            for at in [0, text.len() / 2, text.len()] {
                let excerpt = Excerpt::new(&text, &(at..text.len()));
                assert!(excerpt.line.chars().count() <= LIMIT, "{}", excerpt.line);
                assert!(excerpt.column + excerpt.width <= 2 * LIMIT);
            }
        }
        assert_eq!(quoted(&"x".repeat(50)).chars().count(), WORD_LIMIT + 2);
        // Characters that need no escape are cut, too.
        let quotes = Excerpt::new(&"'".repeat(300), &(0..0));
        assert_eq!(quotes.line, "'".repeat(LIMIT - 1) + "…");
    }

    #[test]
    fn leaves_out_what_is_far_before_the_fault() {
        let text = |before: usize| "x".repeat(before) + "!" + &"y".repeat(300);
        let far = Excerpt::new(&text(1_000), &(1_000..1_001));
        assert!(far.line.starts_with("…xx") && far.line.ends_with("yy…"), "{}", far.line);
        assert_eq!(far.line.chars().nth(far.column), Some('!'));
        assert_eq!((far.column, far.width), (LEAD + 1, 1));
        let near = Excerpt::new(&text(10), &(10..11));
        assert!(near.line.starts_with("xxxxxxxxxx!y"), "{}", near.line);
        let short = "x".repeat(150) + "!";
        assert_eq!(Excerpt::new(&short, &(150..151)).line, short);
    }

    #[test]
    fn carets_end_where_the_text_is_cut() {
        let excerpt = Excerpt::new(&"x".repeat(300), &(0..300));
        assert_eq!(excerpt.line.chars().count(), LIMIT);
        assert_eq!((excerpt.column, excerpt.width), (0, LIMIT));
    }

    #[test]
    fn a_suggestion_repeats_a_short_text_only() {
        assert!(is_quotable(&"x".repeat(LIMIT / 2)));
        assert!(!is_quotable(&"x".repeat(LIMIT / 2 + 1)));
        assert!(!is_quotable("a\tb"));
    }
}
