//! One message, the queue of messages, and their sink.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fmt, io, mem};

use crate::observe::{
    Delivery, Event, Fields, Level, Log, Next, Priority, catch, on_one_line, plural,
};

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

    fn is_in_span(&self) -> bool {
        self.is_in_span
    }

    /// The text for a log, which shows the level itself.
    fn in_one_line(&self) -> String {
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

/// The longest wait of a start and a stop for the sink, in real time.
const FLUSH: Duration = Duration::from_secs(1);

/// Prints messages in order, on a thread of their own.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    delivery: Arc<Delivery<Output>>,
    is_debug_wanted: Arc<AtomicBool>,
}

/// One output.
enum Output {
    Message(Message),
    /// A text of several lines; a log gets the messages instead.
    Text(String, Vec<Message>),
}

/// Prints to the sink.
struct Printer {
    sink: Sink,
    #[cfg(feature = "tracing")]
    subscriber: crate::observe::Subscriber,
    is_debug_wanted: Arc<AtomicBool>,
}

impl Messages {
    /// Starts the thread; an error if that is not possible.
    pub(crate) fn start(sink: Sink) -> io::Result<Self> {
        let printer = Printer::new(sink);
        let is_debug_wanted = Arc::clone(&printer.is_debug_wanted);
        let delivery = Delivery::on_thread("scheduler-messages", move |next| printer.print(next))?;
        Ok(Self { delivery: Arc::new(delivery), is_debug_wanted })
    }

    /// Prints each message on the thread that reports it.
    pub(crate) fn in_place(sink: Sink) -> Self {
        let printer = Printer::new(sink);
        let is_debug_wanted = Arc::clone(&printer.is_debug_wanted);
        let delivery = Delivery::on_caller(move |next| printer.print(next));
        Self { delivery: Arc::new(delivery), is_debug_wanted }
    }

    /// Prints a message. Not to be called under a lock.
    pub(crate) fn print(&self, message: Message) {
        let priority = match message.level() {
            Level::Debug => Priority::Low,
            _ => Priority::Normal,
        };
        self.delivery.send(Output::Message(message), priority);
    }

    /// Prints a message of the start or the stop, which a full queue drops last.
    pub(crate) fn announce(&self, message: Message) {
        self.delivery.send(Output::Message(message), Priority::High);
    }

    /// Prints a text of several lines, or logs messages where a log is installed; a full queue drops it last.
    pub(crate) fn announce_text(&self, text: String, messages: Vec<Message>) {
        self.delivery.send(Output::Text(text, messages), Priority::High);
    }

    /// Waits until all is printed. Returns false after a second.
    pub(crate) fn flush(&self) -> bool {
        self.delivery.flush(FLUSH)
    }

    /// Ends the thread once it has printed all waiting messages. Does not wait for the thread.
    pub(crate) fn close(&self) {
        self.delivery.close();
    }

    /// Returns true if the sink takes debug messages, as of the last printed message.
    pub(crate) fn is_debug_wanted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_debug_wanted)
    }
}

impl Printer {
    /// Called on the thread that starts the scheduler: the subscriber may be that thread's alone.
    fn new(sink: Sink) -> Self {
        Self {
            sink,
            #[cfg(feature = "tracing")]
            subscriber: crate::observe::Subscriber::current(),
            is_debug_wanted: Arc::default(),
        }
    }

    /// A panic of the sink is left to its panic hook.
    fn print(&self, next: Next<Output>) {
        let print = || {
            let is_debug_wanted = self.sink.wants_debug();
            // ORDERING: relaxed; one success more or less is printed.
            self.is_debug_wanted.store(is_debug_wanted, Ordering::Relaxed);
            match next {
                Next::Item(Output::Message(message)) => {
                    self.sink.print(&message.complete(is_debug_wanted));
                }
                Next::Item(Output::Text(text, messages)) => self.sink.print_text(&text, &messages),
                Next::Lost(count) => self.sink.print(&lost(count)),
            }
        };
        #[cfg(feature = "tracing")]
        let print = || self.subscriber.within(print);
        drop(catch(print));
    }
}

fn lost(count: u64) -> Message {
    let messages = plural(count, "message");
    Message::warn(format!("{messages} could not be printed: the sink was too slow"))
        .note("help: something reads stderr too slowly; drain it, or log from another thread")
}

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
    fn print_text(&self, text: &str, messages: &[Message]) {
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

crate::base::opaque! { Sink }

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
