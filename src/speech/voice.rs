//! Where the scheduler's own words go.

use std::fmt;
use std::io;
use std::io::Write;
use std::sync::Arc;

use super::Message;
use crate::observe::Level;
use crate::observe::Log;
use crate::observe::catch;

/// A function of the program that is given the words.
type Say = dyn Fn(&str) + Send + Sync;

/// Says the scheduler's own words where the program wants them.
#[derive(Clone)]
pub(crate) struct Voice {
    /// The program's function; none if it gave none.
    say: Option<Arc<Say>>,
}

impl Voice {
    /// In the program's log, where there is one, or else on stderr.
    pub(crate) fn standard() -> Self {
        Self { say: None }
    }

    /// By a function of the program.
    pub(crate) fn new(say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { say: Some(Arc::new(say)) }
    }

    pub(crate) fn say(&self, message: &Message) {
        match self.log() {
            Some(log) => contain(|| log.say(message.level(), &message.in_one_line())),
            None => self.speak(&message.to_string()),
        }
    }

    /// Says a text of several lines, which has no level in a form for people.
    pub(crate) fn announce(&self, text: &str) {
        match self.log() {
            Some(log) => contain(|| log.say(Level::Info, text)),
            None => self.speak(text),
        }
    }

    /// Whether there is a log that wants each success.
    pub(crate) fn wants_debug(&self) -> bool {
        self.log().is_some_and(|log| catch(|| log.is_enabled(Level::Debug)).unwrap_or(false))
    }

    /// Asked each time, because a subscriber can be installed after the scheduler has started.
    fn log(&self) -> Option<Log> {
        if self.say.is_some() { None } else { Log::installed() }
    }

    fn speak(&self, text: &str) {
        match &self.say {
            Some(say) => contain(|| say(text)),
            None => drop(writeln!(io::stderr().lock(), "{text}")),
        }
    }
}

/// Calls what belongs to the program. Of a panic its hook has told already.
fn contain(call: impl FnOnce()) {
    drop(catch(call));
}

impl fmt::Debug for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Voice").finish_non_exhaustive()
    }
}
