//! The clock, the streams and the environment of a command. A test replaces them.

use std::fmt;
use std::io::{self, Read, Write};

use chrono::{DateTime, Utc};
use scheduler_core::Clock;
use scheduler_core::trigger::Zone;
use scheduler_expr::ParseError;

use crate::error::CliError;

/// The greatest length of an answer to a question.
const ANSWER_BYTES_MAX: usize = 100;

/// The clock, the streams and the environment of a command.
///
/// A program that offers the commands itself, or a test, sets the streams and the clock:
///
/// ```
/// use scheduler_cli::{Context, run_in};
/// use scheduler_core::ManualClock;
///
/// let clock = ManualClock::at("2026-03-27T11:04:00Z".parse()?);
/// let (mut output, mut errors) = (Vec::new(), Vec::new());
/// let code = run_in(
///     ["scheduler", "next", "0 0 9 * * MON-FRI", "--zone", "Europe/Berlin", "-n", "1"],
///     &mut Context {
///         clock: &clock,
///         input: &mut "".as_bytes(),
///         output: &mut output,
///         errors: &mut errors,
///         variable: &|_| None,
///         terminal: None,
///     },
/// );
/// assert_eq!(code, 0);
/// assert!(String::from_utf8(output)?.starts_with("Mon 2026-03-30 09:00 +02:00"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Context<'a> {
    /// The clock that says what time it is, and on which `watch` waits.
    pub clock: &'a dyn Clock,
    /// Where `-` is read from.
    pub input: &'a mut dyn Read,
    /// Where answers are written.
    pub output: &'a mut dyn Write,
    /// Where messages about faults are written.
    pub errors: &'a mut dyn Write,
    /// The environment: the value of a variable, if it is set.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The terminal that shows the answers; none if they go to a file or a pipe.
    pub terminal: Option<Terminal>,
}

/// A terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// The number of characters in a line.
    pub columns: usize,
}

impl Terminal {
    /// The terminal on the standard output of this process.
    #[must_use]
    pub fn of_output() -> Option<Self> {
        let stdout = io::stdout();
        let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(&stdout)?;
        Some(Self { columns: columns.into() })
    }
}

impl Context<'_> {
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.wall()
    }

    /// Writes a line of the answer.
    pub(crate) fn say(&mut self, line: impl fmt::Display) -> Result<(), CliError> {
        writeln!(self.output, "{line}").map_err(|error| unwritten(&error))
    }

    /// Returns the look of tables: colours only in a terminal that shows them, without `NO_COLOR`.
    pub(crate) fn look(&self) -> Look {
        let is_set = |name| (self.variable)(name).is_some_and(|value| !value.is_empty());
        let is_dumb = (self.variable)("TERM").is_some_and(|value| value == "dumb");
        Look {
            columns: self.terminal.map(|terminal| terminal.columns),
            has_colours: self.terminal.is_some() && !is_set("NO_COLOR") && !is_dumb,
        }
    }

    /// Asks the person who typed the command. Only `y` and `yes` are a yes.
    pub(crate) fn is_sure(&mut self, question: &str) -> Result<bool, CliError> {
        let asked = write!(self.errors, "{question} [y/N] ").and_then(|()| self.errors.flush());
        asked.map_err(|error| unwritten(&error))?;
        let (mut answer, mut byte) = (Vec::new(), [0]);
        while answer.len() < ANSWER_BYTES_MAX
            && matches!(self.input.read(&mut byte), Ok(1))
            && byte != *b"\n"
        {
            answer.extend(byte);
        }
        let answer = answer.trim_ascii().to_ascii_lowercase();
        Ok(answer == b"y" || answer == b"yes")
    }

    /// Writes a part of the answer.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), CliError> {
        let written = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
        written.map_err(|error| unwritten(&error))
    }
}

/// The look of tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// The greatest number of characters in a line, if there is one.
    pub(crate) columns: Option<usize>,
    pub(crate) has_colours: bool,
}

/// A reader that has gone, as `head` does, is no fault of the command.
fn unwritten(error: &io::Error) -> CliError {
    let mut fault = CliError::unable(format!("the answer cannot be written: {error}"));
    if error.kind() == io::ErrorKind::BrokenPipe {
        fault.code = crate::error::OK;
    }
    fault
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// A zone, and its source unless that is the command line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ZoneAsked {
    pub(crate) zone: Zone,
    by: Option<&'static str>,
}

impl ZoneAsked {
    /// A zone that the command line names.
    pub(crate) fn named(zone: Zone) -> Self {
        Self { zone, by: None }
    }

    /// Says in which zone the answer is, where the command line does not.
    pub(crate) fn tell(self, ctx: &mut Context<'_>) {
        if let Self { zone, by: Some(by) } = self {
            // The answer does not depend on it.
            writeln!(ctx.errors, "note: in {zone}, the zone of {by}; for another: --zone NAME")
                .ok();
        }
    }
}

/// The given zone, or else the one that a program started here would use: from `SCHEDULER_ZONE`, from `TZ`, or
/// of the system.
pub(crate) fn zone(name: Option<&str>, ctx: &Context<'_>) -> Result<ZoneAsked, CliError> {
    if let Some(name) = name {
        return Ok(ZoneAsked::named(name.parse()?));
    }
    let help = "name it: --zone Europe/Berlin";
    let faulty = |variable: &str, error: ParseError| {
        CliError::unable(format!("the variable {variable}: {error}")).help(help)
    };
    if let Some(name) = (ctx.variable)("SCHEDULER_ZONE") {
        let zone = name.parse().map_err(|error| faulty("SCHEDULER_ZONE", error))?;
        return Ok(ZoneAsked { zone, by: Some("SCHEDULER_ZONE") });
    }
    let variable = (ctx.variable)("TZ").unwrap_or_default();
    if let Some(zone) = Zone::of_variable(&variable) {
        let zone = zone.map_err(|error| faulty("TZ", error))?;
        return Ok(ZoneAsked { zone, by: Some("TZ") });
    }
    let zone = Zone::system().map_err(|error| CliError::unable(error.to_string()).help(help))?;
    Ok(ZoneAsked { zone, by: Some("the system") })
}
