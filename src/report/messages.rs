//! The queue of messages, and the thread that prints them.
//!
//! A sink may block. Only the start and the stop of a scheduler wait for it, for a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;
use std::{fmt, io};

use super::{Message, Sink};
use crate::observe::{Level, Next, Priority, Queue, Subscriber, catch, plural};

/// How long a start and a stop wait for the sink, in real time.
const FLUSH: Duration = Duration::from_secs(1);

/// Prints messages in order, on a thread of their own.
#[derive(Clone)]
pub(crate) struct Messages(Arc<Shared>);

struct Shared {
    queue: Arc<Queue<Output>>,
    delivery: Delivery,
    is_debug_wanted: Arc<AtomicBool>,
}

enum Delivery {
    /// By the thread with this number.
    Thread(ThreadId),
    /// By the caller; for simulations.
    Caller(Printer),
}

/// What is printed.
enum Output {
    Message(Message),
    /// A text of several lines; a log gets the messages instead.
    Text(String, Vec<Message>),
}

/// Prints to the sink.
struct Printer {
    sink: Sink,
    subscriber: Subscriber,
    is_debug_wanted: Arc<AtomicBool>,
}

impl Messages {
    /// Starts the thread; an error if that is not possible.
    pub(crate) fn start(sink: Sink) -> io::Result<Self> {
        let (printer, queue) = (Printer::new(sink), Arc::new(Queue::new()));
        let is_debug_wanted = Arc::clone(&printer.is_debug_wanted);
        let outputs = Arc::clone(&queue);
        let thread = thread::Builder::new().name("scheduler-messages".to_owned());
        let thread = thread.spawn(move || {
            printer.ask();
            while let Some(next) = outputs.wait() {
                printer.print(next);
            }
            drop(catch(|| drop(printer)));
        })?;
        let delivery = Delivery::Thread(thread.thread().id());
        Ok(Self(Arc::new(Shared { queue, delivery, is_debug_wanted })))
    }

    /// Prints each message on the thread that reports it.
    pub(crate) fn in_place(sink: Sink) -> Self {
        let (printer, queue) = (Printer::new(sink), Arc::new(Queue::new()));
        printer.ask();
        let is_debug_wanted = Arc::clone(&printer.is_debug_wanted);
        let delivery = Delivery::Caller(printer);
        Self(Arc::new(Shared { queue, delivery, is_debug_wanted }))
    }

    /// Prints a message. Not to be called under a lock.
    pub(crate) fn print(&self, message: Message) {
        let priority = match message.level() {
            Level::Debug => Priority::Low,
            _ => Priority::Normal,
        };
        self.push(Output::Message(message), priority);
    }

    /// Prints a message of the start or the stop, which a full queue drops last.
    pub(crate) fn announce(&self, message: Message) {
        self.push(Output::Message(message), Priority::High);
    }

    /// Prints a text of several lines, or logs messages where a log is installed; a full queue drops it last.
    pub(crate) fn announce_text(&self, text: String, messages: Vec<Message>) {
        self.push(Output::Text(text, messages), Priority::High);
    }

    /// Waits until all is printed. Returns false after a second.
    pub(crate) fn flush(&self) -> bool {
        match self.0.delivery {
            Delivery::Thread(thread) if thread != thread::current().id() => {
                self.0.queue.flush(FLUSH)
            }
            _ => true,
        }
    }

    /// Ends the thread once it has printed what waits. Does not wait for it.
    pub(crate) fn close(&self) {
        self.0.queue.close();
    }

    /// Whether the sink takes debug messages, as of the last printed message.
    pub(crate) fn is_debug_wanted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.is_debug_wanted)
    }

    fn push(&self, output: Output, priority: Priority) {
        let Shared { queue, delivery, .. } = &*self.0;
        queue.push(output, priority);
        if let Delivery::Caller(printer) = delivery {
            queue.drain(|next| printer.print(next));
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Printer {
    /// Called on the thread that starts the scheduler: the subscriber may be that thread's alone.
    fn new(sink: Sink) -> Self {
        Self { sink, subscriber: Subscriber::current(), is_debug_wanted: Arc::default() }
    }

    /// Asks whether the sink takes debug messages.
    fn ask(&self) -> bool {
        let asked = catch(|| self.subscriber.within(|| self.sink.wants_debug()));
        let is_wanted = asked.unwrap_or(false);
        // ORDERING: relaxed; one success more or less is printed.
        self.is_debug_wanted.store(is_wanted, Ordering::Relaxed);
        is_wanted
    }

    /// A panic of the sink is left to its panic hook.
    fn print(&self, next: Next<Output>) {
        let is_debug_wanted = self.ask();
        let print = || match next {
            Next::Item(Output::Message(message)) => {
                self.sink.print(&message.complete(is_debug_wanted));
            }
            Next::Item(Output::Text(text, messages)) => self.sink.print_text(&text, &messages),
            Next::Lost(count) => self.sink.print(&lost(count)),
        };
        drop(catch(|| self.subscriber.within(print)));
    }
}

fn lost(count: u64) -> Message {
    let messages = plural(count, "message");
    Message::warn(format!("{messages} could not be printed: those before took too long")).note(
        "help: read stderr, or let the function for messages, or the log, pass them to another thread",
    )
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messages").finish_non_exhaustive()
    }
}
