//! Delivers each event to the reporter, the bridges and the listeners, and contains their panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;
use std::{fmt, io};

use scheduler_core::Clock;

use super::contain::catch;
use super::queue::{Next, Queue};
use super::{Event, EventKind, Listener};

/// Delivers events.
///
/// The reporter and the in-place listeners run on the thread that emits; they get every event that is emitted. The
/// program's listeners run on a thread of their own, behind a bounded queue.
pub(crate) struct Bus {
    reporter: Option<Arc<dyn Listener>>,
    in_place: Vec<Guarded>,
    delivery: Delivery,
    clock: Arc<dyn Clock>,
    /// Whether a listener other than the reporter exists.
    has_listeners: bool,
    /// Whether the reporter wants an event for every run; may change while runs are in progress.
    reports_every_run: Arc<AtomicBool>,
}

/// How events get to the program's listeners.
enum Delivery {
    None,
    /// By this thread, which owns the listeners.
    Thread(ThreadId, Arc<Queue<Event>>),
    /// By the thread that emits; for simulations.
    Caller(Queue<Event>, Receivers),
}

/// The program's listeners, and the reporter for their panics.
struct Receivers {
    listeners: Vec<Guarded>,
    reporter: Option<Arc<dyn Listener>>,
    clock: Arc<dyn Clock>,
}

/// A listener whose panics are contained.
struct Guarded {
    listener: Arc<dyn Listener>,
    has_panicked: AtomicBool,
}

/// The receivers, before the bus is built.
#[derive(Default)]
pub(crate) struct BusBuilder {
    reporter: Option<Arc<dyn Listener>>,
    in_place: Vec<Arc<dyn Listener>>,
    listeners: Vec<Arc<dyn Listener>>,
    is_synchronous: bool,
    reports_every_run: Arc<AtomicBool>,
}

impl BusBuilder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The reporter. With no other listener, no event is made for an ordinary run.
    pub(crate) fn reporter(mut self, reporter: Arc<dyn Listener>) -> Self {
        self.reporter = Some(reporter);
        self
    }

    /// A listener that gets every event on the thread that emits it.
    pub(crate) fn in_place(mut self, listener: Arc<dyn Listener>) -> Self {
        self.in_place.push(listener);
        self
    }

    /// A listener of the program, called on the thread for listeners.
    pub(crate) fn listener(mut self, listener: Arc<dyn Listener>) -> Self {
        self.listeners.push(listener);
        self
    }

    /// A flag that is true while the reporter wants an event for every run.
    pub(crate) fn every_event(mut self, is_wanted: Arc<AtomicBool>) -> Self {
        self.reports_every_run = is_wanted;
        self
    }

    /// Calls the program's listeners on the thread that emits.
    pub(crate) fn synchronous(mut self) -> Self {
        self.is_synchronous = true;
        self
    }

    /// Builds the bus; an error if the thread for listeners cannot be started.
    pub(crate) fn build(self, clock: Arc<dyn Clock>) -> io::Result<Bus> {
        let in_place: Vec<_> = self.in_place.into_iter().map(Guarded::new).collect();
        let has_listeners = !in_place.is_empty() || !self.listeners.is_empty();
        let receivers = Receivers {
            listeners: self.listeners.into_iter().map(Guarded::new).collect(),
            reporter: self.reporter.clone(),
            clock: Arc::clone(&clock),
        };
        let delivery = match self.is_synchronous {
            _ if receivers.listeners.is_empty() => Delivery::None,
            true => Delivery::Caller(Queue::new(), receivers),
            false => start(receivers)?,
        };
        let Self { reporter, reports_every_run, .. } = self;
        Ok(Bus { reporter, in_place, delivery, clock, has_listeners, reports_every_run })
    }
}

fn start(receivers: Receivers) -> io::Result<Delivery> {
    let queue = Arc::new(Queue::new());
    let events = Arc::clone(&queue);
    let thread = thread::Builder::new().name("scheduler-events".to_owned());
    let thread = thread.spawn(move || {
        while let Some(next) = events.wait() {
            receivers.deliver(next);
        }
        receivers.close();
    })?;
    Ok(Delivery::Thread(thread.thread().id(), queue))
}

impl Bus {
    /// Whether events of ordinary runs are wanted, too.
    pub(crate) fn is_heard(&self) -> bool {
        // ORDERING: relaxed; a reporter that changes its mind may get one run more or less.
        self.has_listeners || self.reports_every_run.load(Ordering::Relaxed)
    }

    /// Delivers an event. Not to be called under a lock.
    pub(crate) fn emit(&self, event: Event) {
        if let Some(reporter) = &self.reporter {
            drop(catch(|| reporter.on_event(&event)));
        }
        for listener in &self.in_place {
            listener.deliver(&event, self.reporter.as_deref(), &*self.clock);
        }
        let priority = event.kind.priority();
        match &self.delivery {
            Delivery::None => {}
            Delivery::Thread(_, queue) => queue.push(event, priority),
            Delivery::Caller(queue, receivers) => {
                queue.push(event, priority);
                queue.drain(|next| receivers.deliver(next));
            }
        }
    }

    /// Waits, in real time, until the listeners have got every event. Returns false when `limit` is over.
    ///
    /// A listener that calls this does not wait for itself.
    pub(crate) fn flush(&self, limit: Duration) -> bool {
        match &self.delivery {
            Delivery::Thread(thread, queue) if *thread != thread::current().id() => {
                queue.flush(limit)
            }
            _ => true,
        }
    }

    /// Ends the thread for listeners once it has delivered what waits. Does not wait for it.
    pub(crate) fn close(&self) {
        if let Delivery::Thread(_, queue) = &self.delivery {
            queue.close();
        }
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.close();
    }
}

impl Receivers {
    fn deliver(&self, next: Next<Event>) {
        let event = match next {
            Next::Item(event) => event,
            Next::Lost(count) => Event::global(self.clock.wall(), EventKind::Lost { count }),
        };
        for listener in &self.listeners {
            listener.deliver(&event, self.reporter.as_deref(), &*self.clock);
        }
    }

    /// Drops each listener by itself: a destructor may panic.
    fn close(self) {
        for listener in self.listeners {
            drop(catch(|| drop(listener)));
        }
    }
}

impl Guarded {
    fn new(listener: Arc<dyn Listener>) -> Self {
        Self { listener, has_panicked: AtomicBool::new(false) }
    }

    /// Calls the listener. Its first panic is reported; later events are still delivered.
    fn deliver(&self, event: &Event, reporter: Option<&dyn Listener>, clock: &dyn Clock) {
        let Err(failure) = catch(|| self.listener.on_event(event)) else { return };
        // ORDERING: relaxed, because nothing else depends on it.
        if self.has_panicked.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(reporter) = reporter {
            let kind = EventKind::HookFailed { hook: "listener", failure };
            let event = Event::global(clock.wall(), kind);
            drop(catch(|| reporter.on_event(&event)));
        }
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus").field("is_heard", &self.is_heard()).finish_non_exhaustive()
    }
}
