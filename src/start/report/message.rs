//! One message: its level, one line, and notes below it.

use std::{fmt, mem};

use crate::observe::{Event, Fields, Level, on_one_line};

/// A message. Each of its lines stays one line, whatever it contains.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    level: Level,
    line: String,
    notes: Vec<String>,
    /// For a log.
    fields: Fields,
    /// True if `tracing` has it already, inside the span of the attempt.
    is_in_span: bool,
    /// True if the line mentions further successes: their level is known when it is printed.
    is_of_successes: bool,
}

impl Message {
    pub(crate) fn error(line: impl AsRef<str>) -> Self {
        Self::new(Level::Error, line.as_ref())
    }

    pub(crate) fn warn(line: impl AsRef<str>) -> Self {
        Self::new(Level::Warn, line.as_ref())
    }

    pub(crate) fn info(line: impl AsRef<str>) -> Self {
        Self::new(Level::Info, line.as_ref())
    }

    /// The text of an event, with its fields.
    pub(super) fn about(event: &Event, level: Level) -> Self {
        Self::new(level, &event.to_string()).with_fields(event)
    }

    pub(super) fn new(level: Level, line: &str) -> Self {
        let (line, fields) = (on_one_line(line), Fields::default());
        Self { level, line, notes: Vec::new(), fields, is_in_span: false, is_of_successes: false }
    }

    /// Adds the fields of an event.
    pub(super) fn with_fields(mut self, event: &Event) -> Self {
        if cfg!(any(feature = "tracing", feature = "log")) {
            self.fields = Fields::of(event);
        }
        #[cfg(feature = "tracing")]
        {
            self.is_in_span = crate::observe::was_logged_in_span(event);
        }
        self
    }

    /// Lets the line mention further successes.
    pub(super) fn of_successes(mut self) -> Self {
        self.is_of_successes = true;
        self
    }

    /// Completes the line when it is printed.
    pub(super) fn complete(mut self, is_debug_wanted: bool) -> Self {
        if mem::take(&mut self.is_of_successes) {
            self.line.push_str(match is_debug_wanted {
                true => "; further successes are logged at debug level",
                false => "; further successes are not reported",
            });
        }
        self
    }

    /// Adds a line below, unless it is empty.
    pub(crate) fn note(mut self, note: impl AsRef<str>) -> Self {
        let note = on_one_line(note.as_ref());
        self.notes.extend((!note.is_empty()).then_some(note));
        self
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    pub(super) fn is_in_span(&self) -> bool {
        self.is_in_span
    }

    /// The text for a log, which shows the level itself.
    pub(crate) fn in_one_line(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("; {note}"));
        std::iter::once(self.line.clone()).chain(notes).collect()
    }
}

/// The text for the console, with the level before it and the notes indented.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Error => "ERROR",
            Level::Warn => "WARN ",
            Level::Info => "INFO ",
            Level::Debug => "DEBUG",
        };
        write!(f, "{level} {}", self.line)?;
        self.notes.iter().try_for_each(|note| write!(f, "\n      {note}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn a_message_has_a_form_for_the_console_and_one_for_logs() {
        let message = Message::warn("it is late").note("").note("help: hurry");
        assert_eq!(message.to_string(), "WARN  it is late\n      help: hurry");
        assert_eq!(message.in_one_line(), "it is late; help: hurry");
    }

    #[test]
    fn no_text_forges_a_line() {
        let message = Message::info("a\nERROR b").note("c\r\nd");
        assert_eq!(message.to_string(), "INFO  a\\nERROR b\n      c\\r\\nd");
        assert_eq!(message.in_one_line(), "a\\nERROR b; c\\r\\nd");
    }
}
