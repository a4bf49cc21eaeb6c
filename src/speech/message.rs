//! One thing that is said: how urgent it is, one line, and notes below it.

use std::fmt;

use super::words::on_one_line;
use crate::observe::Level;

/// Something to be said. Each of its lines stays one line, whatever is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    level: Level,
    line: String,
    notes: Vec<String>,
    /// Whether it says what comes of further successes, which only the log knows.
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

    pub(crate) fn debug(line: impl AsRef<str>) -> Self {
        Self::new(Level::Debug, line.as_ref())
    }

    fn new(level: Level, line: &str) -> Self {
        Self { level, line: on_one_line(line), notes: Vec::new(), is_of_successes: false }
    }

    /// Has the line say what comes of further successes.
    pub(crate) fn of_successes(mut self) -> Self {
        self.is_of_successes = true;
        self
    }

    /// Adds to the line what is known when it is printed.
    pub(crate) fn complete(mut self, is_debug_wanted: bool) -> Self {
        if std::mem::take(&mut self.is_of_successes) {
            self.line.push_str(match is_debug_wanted {
                true => "; further successes are logged at debug level",
                false => "; further successes are not reported",
            });
        }
        self
    }

    /// Adds a line below; one that is empty is left out.
    pub(crate) fn note(mut self, note: impl AsRef<str>) -> Self {
        let note = on_one_line(note.as_ref());
        self.notes.extend((!note.is_empty()).then_some(note));
        self
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// The text for a log, which has a column for the level and wants one line.
    pub(crate) fn in_one_line(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("; {note}"));
        std::iter::once(self.line.clone()).chain(notes).collect()
    }
}

/// The text for people, with the level before it and the notes indented.
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
    fn a_message_has_a_form_for_people_and_one_for_logs() {
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
