//! The error of a command, with its place and the remedy.

use std::fmt;
use std::ops::Range;

use scheduler_expr::{CronExpression, ParseError, quoted};

/// The exit code of success.
pub(crate) const OK: u8 = 0;

/// The exit code when the answer is no: a text that is no expression, a lint under `--deny`, a request that
/// the running program refuses.
pub(crate) const NO: u8 = 1;

/// The exit code when the command could not be carried out: it is misspelt, a file cannot be read, no
/// program answers.
pub(crate) const UNABLE: u8 = 2;

/// The greatest length of a text that is shown with a caret.
const SHOWN_MAX: usize = 120;

/// A reason to fail, in the words for the person who typed the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CliError {
    pub(crate) code: u8,
    what: String,
    /// The text, and carets below the part of it that is wrong.
    place: Option<String>,
    help: Vec<String>,
}

impl CliError {
    /// The answer is no.
    pub(crate) fn no(what: impl Into<String>) -> Self {
        Self { code: NO, what: what.into(), place: None, help: Vec::new() }
    }

    /// The command could not be carried out.
    pub(crate) fn unable(what: impl Into<String>) -> Self {
        Self { code: UNABLE, ..Self::no(what) }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    pub(crate) fn at(mut self, text: &str, span: Range<usize>, label: &str) -> Self {
        self.place = caret(text, span, label);
        self
    }

    /// With these lines below the message: a text, and carets below a part of it.
    pub(crate) fn below(mut self, lines: &[String]) -> Self {
        self.place = (!lines.is_empty()).then(|| lines.join("\n"));
        self
    }

    /// The message, in one sentence.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// The first help, if there is one.
    pub(crate) fn first_help(&self) -> Option<&str> {
        self.help.first().map(String::as_str)
    }
}

/// The text and a caret below a part of it; none where it would not stay in its place.
fn caret(text: &str, span: Range<usize>, label: &str) -> Option<String> {
    let is_plain =
        text.len() <= SHOWN_MAX && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    if !is_plain || span.start > text.len() {
        return None;
    }
    let width = span.end.saturating_sub(span.start).max(1);
    let line = format!("{text}\n{}{} {label}", " ".repeat(span.start), "^".repeat(width));
    Some(line.trim_end().to_owned())
}

impl From<ParseError> for CliError {
    fn from(error: ParseError) -> Self {
        let fault = Self::no(error.to_string());
        match error.help() {
            Some(help) => fault.help(help),
            None => fault,
        }
    }
}

/// Writes it as the compiler writes its messages.
impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        if let Some(place) = &self.place {
            f.write_str("\n")?;
            for line in place.lines() {
                write!(f, "\n  {line}")?;
            }
            if !self.help.is_empty() {
                f.write_str("\n")?;
            }
        }
        for help in &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

/// Reads a text of Spring's dialect.
pub(crate) fn parse(text: &str) -> Result<CronExpression, CliError> {
    CronExpression::parse(text).map_err(|error| {
        let words = text.split_whitespace().count();
        let place = Some(error.caret());
        let fault = CliError { place, ..CliError::from(error) };
        let is_line = text.is_ascii() && !text.contains(['"', '`', '\\']);
        match words {
            5 if is_line => fault.help("or let it be read as a crontab line: --from unix"),
            7 if is_line => fault.help("or let it be read as Quartz would: --from quartz"),
            _ => fault,
        }
    })
}

/// A text of the person's, quoted and cut.
pub(crate) fn named(text: &str) -> String {
    quoted(text)
}
