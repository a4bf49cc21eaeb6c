//! The bus: brings each event to whoever listens, and lets nobody be hurt by it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::ThreadId;
use std::time::Duration;

use scheduler_core::Clock;

use super::Event;
use super::Listener;
use super::contain::catch;
use super::queue::Next;
use super::queue::Queue;

/// Brings events to the reporter and to listeners.
///
/// The reporter and the bridge to `metrics` are called in place, by the thread that tells the event; the
/// program's listeners by a thread of their own. What the reporter finds to say has another one.
pub(crate) struct Bus {
    reporter: Option<Arc<dyn Listener>>,
    in_place: Vec<Guarded>,
    delivery: Delivery,
    clock: Arc<dyn Clock>,
    /// Whether somebody listens to every event, but for the reporter.
    is_heard: bool,
    /// Whether the reporter does, which may begin while runs are in progress.
    is_reported: Arc<AtomicBool>,
}

/// How events come to the program's listeners.
enum Delivery {
    Nobody,
    /// By a thread, which has the listeners.
    Thread(ThreadId, Arc<Queue<Event>>),
    /// By whoever tells an event; for simulations.
    Caller(Queue<Event>, Audience),
}

/// The program's listeners, and who is told when one of them panics.
struct Audience {
    listeners: Vec<Guarded>,
    reporter: Option<Arc<dyn Listener>>,
    clock: Arc<dyn Clock>,
}

/// A listener whose panics are contained.
struct Guarded {
    listener: Arc<dyn Listener>,
    has_panicked: AtomicBool,
}

/// Who listens, before the bus is made.
pub(crate) struct BusBuilder {
    reporter: Option<Arc<dyn Listener>>,
    in_place: Vec<Arc<dyn Listener>>,
    listeners: Vec<Arc<dyn Listener>>,
    is_synchronous: bool,
    is_reported: Arc<AtomicBool>,
}

impl BusBuilder {
    pub(crate) fn new() -> Self {
        let (in_place, listeners, is_reported) = <_>::default();
        Self { reporter: None, in_place, listeners, is_synchronous: false, is_reported }
    }

    /// Who is told what everybody should know; for him alone, no event is made for each run.
    pub(crate) fn reporter(mut self, reporter: Arc<dyn Listener>) -> Self {
        self.reporter = Some(reporter);
        self
    }

    /// One who is told of every event, on the thread on which it happens.
    pub(crate) fn in_place(mut self, listener: Arc<dyn Listener>) -> Self {
        self.in_place.push(listener);
        self
    }

    /// A listener of the program, which is told of every event on the thread for listeners.
    pub(crate) fn listener(mut self, listener: Arc<dyn Listener>) -> Self {
        self.listeners.push(listener);
        self
    }

    /// Whether the reporter wants to hear of every run, too; it may change its mind.
    pub(crate) fn every_event(mut self, is_wanted: Arc<AtomicBool>) -> Self {
        self.is_reported = is_wanted;
        self
    }

    /// Has the program's listeners called by whoever tells an event, in order.
    pub(crate) fn synchronous(mut self) -> Self {
        self.is_synchronous = true;
        self
    }

    /// Makes the bus; an error when the thread for listeners cannot be started.
    pub(crate) fn build(self, clock: Arc<dyn Clock>) -> io::Result<Bus> {
        let in_place: Vec<_> = self.in_place.into_iter().map(Guarded::new).collect();
        let is_heard = !in_place.is_empty() || !self.listeners.is_empty();
        let delivery = if self.listeners.is_empty() {
            Delivery::Nobody
        } else {
            let audience = Audience {
                listeners: self.listeners.into_iter().map(Guarded::new).collect(),
                reporter: self.reporter.clone(),
                clock: Arc::clone(&clock),
            };
            match self.is_synchronous {
                true => Delivery::Caller(Queue::new(), audience),
                false => start(audience)?,
            }
        };
        let Self { reporter, is_reported, .. } = self;
        Ok(Bus { reporter, in_place, delivery, clock, is_heard, is_reported })
    }
}

fn start(audience: Audience) -> io::Result<Delivery> {
    let queue = Arc::new(Queue::new());
    let events = Arc::clone(&queue);
    let thread = thread::Builder::new().name("scheduler-events".to_owned());
    let thread = thread.spawn(move || {
        while let Some(next) = events.wait() {
            audience.tell(next);
        }
        audience.leave();
    })?;
    Ok(Delivery::Thread(thread.thread().id(), queue))
}

impl Bus {
    /// Whether events of every kind are wanted: also those of runs that have nothing special.
    pub(crate) fn is_heard(&self) -> bool {
        // ORDERING: relaxed; one run more or less is told to a reporter that has just begun to listen.
        self.is_heard || self.is_reported.load(Ordering::Relaxed)
    }

    /// Brings an event to all who listen. Not to be called under a lock.
    pub(crate) fn emit(&self, event: Event) {
        if let Some(reporter) = &self.reporter {
            drop(catch(|| reporter.on_event(&event)));
        }
        for listener in &self.in_place {
            listener.tell(&event, self.reporter.as_deref(), &*self.clock);
        }
        match &self.delivery {
            Delivery::Nobody => {}
            Delivery::Thread(_, queue) => {
                let priority = event.priority();
                queue.push(event, priority);
            }
            Delivery::Caller(queue, audience) => {
                let priority = event.priority();
                queue.push(event, priority);
                queue.drain(|next| audience.tell(next));
            }
        }
    }

    /// Waits until the listeners have heard everything, and says whether they have.
    ///
    /// The limit is one of real time. A listener does not wait for itself.
    pub(crate) fn flush(&self, limit: Duration) -> bool {
        match &self.delivery {
            Delivery::Thread(thread, queue) if *thread != thread::current().id() => {
                queue.flush(limit)
            }
            _ => true,
        }
    }

    /// Nothing comes any more: the thread for listeners delivers what waits, lets go of them, and ends. Nobody
    /// waits for it.
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

impl Audience {
    fn tell(&self, next: Next<Event>) {
        let event = match next {
            Next::Item(event) => event,
            Next::Lost(count) => Event::Lost { count },
        };
        for listener in &self.listeners {
            listener.tell(&event, self.reporter.as_deref(), &*self.clock);
        }
    }

    /// Drops the listeners, each by itself: a destructor may panic.
    fn leave(self) {
        for listener in self.listeners {
            drop(catch(|| drop(listener)));
        }
    }
}

impl Guarded {
    fn new(listener: Arc<dyn Listener>) -> Self {
        Self { listener, has_panicked: AtomicBool::new(false) }
    }

    /// Tells an event; the first panic is reported, and the listener goes on being told.
    fn tell(&self, event: &Event, reporter: Option<&dyn Listener>, clock: &dyn Clock) {
        let Err(failure) = catch(|| self.listener.on_event(event)) else { return };
        // ORDERING: relaxed, because nothing else hangs on it.
        if self.has_panicked.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(reporter) = reporter {
            let (hook, at) = ("listener", clock.wall());
            let event = Event::HookPanicked { hook, failure, at };
            drop(catch(|| reporter.on_event(&event)));
        }
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus").field("is_heard", &self.is_heard).finish_non_exhaustive()
    }
}
