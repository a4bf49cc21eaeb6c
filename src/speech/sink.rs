//! Where messages go: to the program's function, to its log, or to stderr.

use std::fmt;
use std::io;
use std::io::Write;
use std::sync::Arc;

use super::Message;
use crate::observe::Level;
use crate::observe::Log;

/// A function of the program that is given the messages.
type Say = dyn Fn(&str) + Send + Sync;

/// Where the program wants the messages. What it calls is the program's: it may panic, and never return.
#[derive(Clone)]
pub(crate) struct Sink {
    /// The program's function; none if it gave none.
    say: Option<Arc<Say>>,
}

impl Sink {
    /// The program's log, where there is one, or else stderr.
    pub(crate) fn standard() -> Self {
        Self { say: None }
    }

    /// A function of the program.
    pub(crate) fn new(say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { say: Some(Arc::new(say)) }
    }

    pub(super) fn say(&self, message: &Message) {
        match self.log() {
            Some(log) => log.say(message.level(), &message.in_one_line()),
            None => self.write(&message.to_string()),
        }
    }

    /// Takes a text of several lines, which has no level in a form for people.
    pub(super) fn announce(&self, text: &str) {
        match self.log() {
            Some(log) => log.say(Level::Info, text),
            None => self.write(text),
        }
    }

    /// Whether there is a log that wants each success.
    pub(super) fn wants_debug(&self) -> bool {
        self.log().is_some_and(|log| log.is_enabled(Level::Debug))
    }

    /// Asked each time, because a subscriber can be installed after the scheduler has started.
    fn log(&self) -> Option<Log> {
        if self.say.is_some() { None } else { Log::installed() }
    }

    fn write(&self, text: &str) {
        match &self.say {
            Some(say) => say(text),
            None => drop(writeln!(io::stderr().lock(), "{text}")),
        }
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").finish_non_exhaustive()
    }
}
