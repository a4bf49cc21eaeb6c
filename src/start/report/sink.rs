//! The sink of messages: a function, the log, or stderr.

use std::io;
use std::io::Write;
use std::sync::Arc;

use super::Message;
use crate::observe::Log;

/// A function of the program for messages.
type Function = dyn Fn(&str) + Send + Sync;

/// The destination of messages. It may be code of the program, which may panic and may never return.
#[derive(Clone, Default)]
pub(crate) struct Sink {
    function: Option<Arc<Function>>,
}

impl Sink {
    /// The program's log, if one is installed, or else stderr.
    pub(crate) fn standard() -> Self {
        Self::default()
    }

    /// A function of the program.
    pub(crate) fn new(function: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { function: Some(Arc::new(function)) }
    }

    pub(super) fn print(&self, message: &Message) {
        match self.log() {
            Some(_) if message.is_in_span() => {}
            Some(log) => log.write(message.level(), &message.in_one_line(), message.fields()),
            None => self.write(&message.to_string()),
        }
    }

    /// Prints a text of several lines; a log gets messages instead.
    pub(super) fn print_text(&self, text: &str, messages: &[Message]) {
        match self.log() {
            Some(_) => messages.iter().for_each(|message| self.print(message)),
            None => self.write(text),
        }
    }

    /// Returns true if there is a log that takes debug messages.
    pub(super) fn wants_debug(&self) -> bool {
        self.log().is_some_and(Log::wants_debug)
    }

    /// Asked each time: a subscriber may be installed after the start.
    fn log(&self) -> Option<Log> {
        if self.function.is_some() { None } else { Log::installed() }
    }

    fn write(&self, text: &str) {
        match &self.function {
            Some(function) => function(text),
            None => drop(writeln!(io::stderr().lock(), "{text}")),
        }
    }
}

crate::base::opaque::opaque! { Sink }
