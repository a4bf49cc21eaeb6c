//! The queue of messages, and the thread that prints them.
//!
//! A sink may block. Only the start and the stop of a scheduler wait for it, for a second.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Message, Sink};
use crate::observe::{Delivery, Level, Next, Priority, catch, plural};

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
