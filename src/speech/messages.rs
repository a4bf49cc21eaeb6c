//! Messages on their way to the sink: a bounded queue, and the thread that empties it.
//!
//! A sink is slow when a pipe is full, and is the program's code. So nothing waits for it but the start and
//! the end of a scheduler, and these for a second.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::ThreadId;
use std::time::Duration;

use super::Message;
use super::Sink;
use super::words::plural;
use crate::observe::Level;
use crate::observe::Next;
use crate::observe::Priority;
use crate::observe::Queue;
use crate::observe::Subscriber;
use crate::observe::catch;

/// How long a start and a stop wait for the sink, in real time.
const PATIENCE: Duration = Duration::from_secs(1);

/// Takes messages, and has them printed in order by a thread of their own.
#[derive(Clone)]
pub(crate) struct Messages(Arc<Shared>);

struct Shared {
    queue: Arc<Queue<Words>>,
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
pub(crate) enum Words {
    Message(Message),
    /// Several lines.
    Text(String),
}

/// Brings messages to the sink.
struct Printer {
    sink: Sink,
    subscriber: Subscriber,
    is_debug_wanted: Arc<AtomicBool>,
}

impl Messages {
    /// Starts the thread; an error when there is none to be had.
    pub(crate) fn start(sink: Sink) -> io::Result<Self> {
        let (printer, queue) = (Printer::new(sink), Arc::new(Queue::new()));
        let is_debug_wanted = Arc::clone(&printer.is_debug_wanted);
        let words = Arc::clone(&queue);
        let thread = thread::Builder::new().name("scheduler-messages".to_owned());
        let thread = thread.spawn(move || {
            printer.ask();
            while let Some(next) = words.wait() {
                printer.print(next);
            }
            drop(catch(|| drop(printer)));
        })?;
        let delivery = Delivery::Thread(thread.thread().id());
        Ok(Self(Arc::new(Shared { queue, delivery, is_debug_wanted })))
    }

    /// Has each message printed by its caller.
    pub(crate) fn in_place(sink: Sink) -> Self {
        let (printer, queue) = (Printer::new(sink), Arc::new(Queue::new()));
        printer.ask();
        let is_debug_wanted = Arc::clone(&printer.is_debug_wanted);
        let delivery = Delivery::Caller(printer);
        Self(Arc::new(Shared { queue, delivery, is_debug_wanted }))
    }

    /// Takes a message. Not to be called under a lock.
    pub(crate) fn say(&self, message: Message) {
        let priority = match message.level() {
            Level::Debug => Priority::Low,
            _ => Priority::Normal,
        };
        self.push(Words::Message(message), priority);
    }

    /// Takes words of the start or the stop, which a full queue drops last.
    pub(crate) fn announce(&self, words: impl Into<Words>) {
        self.push(words.into(), Priority::High);
    }

    /// Waits until everything is printed, but no longer than a second, and says whether it is.
    pub(crate) fn flush(&self) -> bool {
        match self.0.delivery {
            Delivery::Thread(thread) if thread != thread::current().id() => {
                self.0.queue.flush(PATIENCE)
            }
            _ => true,
        }
    }

    /// Nothing comes any more: the thread prints what waits, drops the sink and ends. Nothing waits for it.
    pub(crate) fn close(&self) {
        self.0.queue.close();
    }

    /// Whether the sink wants each success, as it was when the last message was printed.
    pub(crate) fn is_debug_wanted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.is_debug_wanted)
    }

    fn push(&self, words: Words, priority: Priority) {
        let Shared { queue, delivery, .. } = &*self.0;
        queue.push(words, priority);
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
    /// Made by the thread that starts the scheduler.
    fn new(sink: Sink) -> Self {
        Self { sink, subscriber: Subscriber::current(), is_debug_wanted: Arc::default() }
    }

    /// Asks whether the sink wants each success.
    fn ask(&self) -> bool {
        let asked = catch(|| self.subscriber.within(|| self.sink.wants_debug()));
        let is_wanted = asked.unwrap_or(false);
        // ORDERING: relaxed; one success more or less is printed.
        self.is_debug_wanted.store(is_wanted, Ordering::Relaxed);
        is_wanted
    }

    /// Of a panic its hook has told already.
    fn print(&self, next: Next<Words>) {
        let is_debug_wanted = self.ask();
        let print = || match next {
            Next::Item(Words::Message(message)) => {
                self.sink.say(&message.complete(is_debug_wanted));
            }
            Next::Item(Words::Text(text)) => self.sink.announce(&text),
            Next::Lost(count) => self.sink.say(&lost(count)),
        };
        drop(catch(|| self.subscriber.within(print)));
    }
}

fn lost(count: u64) -> Message {
    let messages = plural(count, "message");
    Message::warn(format!("{messages} could not be printed: those before took too long")).note(
        "help: read stderr, or have the function for messages, or the log, hand on what takes long",
    )
}

impl From<Message> for Words {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messages").finish_non_exhaustive()
    }
}
