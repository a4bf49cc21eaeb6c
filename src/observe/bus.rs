//! Delivers events to the reporter, the bridges and the listeners.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;
use std::{fmt, io};

use scheduler_core::Clock;

use crate::observe::failure::catch;
use crate::observe::queue::{Next, Priority, Queue};
use crate::observe::{Event, EventKind};

/// Delivers events.
///
/// The reporter and the in-place listeners run on the thread that emits; they get every event that is emitted. The
/// program's listeners run on a thread of their own, behind a bounded queue.
pub(crate) struct Bus {
    in_place: Receivers,
    /// To the program's listeners, if there are any.
    delivery: Option<Delivery<Event>>,
    /// True if the reporter wants an event for every run; may change while runs are in progress.
    reports_every_run: Arc<AtomicBool>,
}

/// Some listeners, and the reporter for their panics.
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
        let has_listeners = !self.listeners.is_empty();
        let in_place = Receivers::new(self.in_place, self.reporter.clone(), Arc::clone(&clock));
        let listeners = Receivers::new(self.listeners, self.reporter, clock);
        let deliver = move |next| listeners.deliver(next);
        let delivery = match self.is_synchronous {
            _ if !has_listeners => None,
            true => Some(Delivery::on_caller(deliver)),
            false => Some(Delivery::on_thread("scheduler-events", deliver)?),
        };
        Ok(Bus { in_place, delivery, reports_every_run: self.reports_every_run })
    }
}

impl Bus {
    /// Returns true if events of ordinary runs are wanted, too.
    pub(crate) fn is_heard(&self) -> bool {
        let has_listeners = !self.in_place.listeners.is_empty() || self.delivery.is_some();
        // ORDERING: relaxed; a reporter that changes its mind may get one run more or less.
        has_listeners || self.reports_every_run.load(Ordering::Relaxed)
    }

    /// Delivers an event. Not to be called under a lock.
    pub(crate) fn emit(&self, event: Event) {
        self.emit_all(&mut vec![event]);
    }

    /// Delivers events, and leaves the vector empty. Not to be called under a lock.
    pub(crate) fn emit_all(&self, events: &mut Vec<Event>) {
        for event in &*events {
            if let Some(reporter) = &self.in_place.reporter {
                drop(catch(|| reporter.on_event(event)));
            }
            self.in_place.on_event(event);
        }
        match &self.delivery {
            Some(delivery) => events.drain(..).for_each(|event| {
                let priority = event.kind.priority();
                delivery.send(event, priority);
            }),
            None => events.clear(),
        }
    }

    /// Waits, in real time, until the listeners have got every event. Returns false when `limit` is over.
    pub(crate) fn flush(&self, limit: Duration) -> bool {
        self.delivery.as_ref().is_none_or(|delivery| delivery.flush(limit))
    }

    /// Drops the events that wait. The listeners get their number as lost, and so does the caller.
    pub(crate) fn give_up(&self) -> u64 {
        self.delivery.as_ref().map_or(0, Delivery::give_up)
    }

    /// Ends the thread for listeners once it has delivered all waiting items. Does not wait for the thread.
    pub(crate) fn close(&self) {
        self.delivery.iter().for_each(Delivery::close);
    }
}

impl Receivers {
    fn new(
        listeners: Vec<Arc<dyn Listener>>,
        reporter: Option<Arc<dyn Listener>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let guarded = |listener| Guarded { listener, has_panicked: AtomicBool::new(false) };
        Self { listeners: listeners.into_iter().map(guarded).collect(), reporter, clock }
    }

    fn deliver(&self, next: Next<Event>) {
        match next {
            Next::Item(event) => self.on_event(&event),
            Next::Lost(count) => {
                self.on_event(&Event::global(self.clock.wall(), EventKind::Lost { count }));
            }
        }
    }

    /// Calls each listener. The first panic of each is reported; later events are still delivered to it.
    fn on_event(&self, event: &Event) {
        for Guarded { listener, has_panicked } in &self.listeners {
            let Err(failure) = catch(|| listener.on_event(event)) else { continue };
            // ORDERING: relaxed, because nothing else depends on it.
            if has_panicked.swap(true, Ordering::Relaxed) {
                continue;
            }
            if let Some(reporter) = &self.reporter {
                let kind = EventKind::HookFailed { hook: "listener", failure };
                let event = Event::global(self.clock.wall(), kind);
                drop(catch(|| reporter.on_event(&event)));
            }
        }
    }
}

/// Drops each listener by itself: a destructor may panic.
impl Drop for Receivers {
    fn drop(&mut self) {
        self.listeners.drain(..).for_each(|listener| drop(catch(|| drop(listener))));
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus").field("is_heard", &self.is_heard()).finish_non_exhaustive()
    }
}

/// Code that gets events; any `Fn(&Event) + Send + Sync` is one.
///
/// Listeners run one after the other on a thread of their own, `scheduler-events`, so that none slows down a run. Up to
/// 1,024 events wait for it. When more come they are dropped, and [`Lost`](crate::EventKind::Lost) counts them. A quarter
/// of the queue is reserved for failures and rare kinds, such as the end of a task. A panic of a listener is contained
/// and reported once. Events are plain data: one that is kept keeps nothing else alive.
///
/// ```
/// use scheduler::{Event, EventKind, Listener};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(Default)]
/// struct Failures(AtomicU64);
///
/// impl Listener for Failures {
///     fn on_event(&self, event: &Event) {
///         if let EventKind::RunFinished { outcome, .. } = &event.kind {
///             self.0.fetch_add(u64::from(outcome.is_failure()), Ordering::Relaxed);
///         }
///     }
/// }
/// ```
#[doc(alias = "ApplicationListener")]
pub trait Listener: Send + Sync {
    /// Called for each event.
    fn on_event(&self, event: &Event);
}

impl<F: Fn(&Event) + Send + Sync> Listener for F {
    fn on_event(&self, event: &Event) {
        self(event);
    }
}

impl<L: Listener + ?Sized> Listener for Arc<L> {
    fn on_event(&self, event: &Event) {
        (**self).on_event(event);
    }
}

/// Delivers items in their order, one at a time.
pub(crate) struct Delivery<T> {
    queue: Arc<Queue<T>>,
    by: By<T>,
}

enum By<T> {
    /// The thread with this number.
    Thread(ThreadId),
    /// The thread that sends; for simulations.
    Caller(Box<dyn Fn(Next<T>) + Send + Sync>),
}

impl<T: Send + 'static> Delivery<T> {
    /// Starts a thread that calls `deliver`; an error if that is not possible.
    pub(crate) fn on_thread(
        name: &str,
        deliver: impl Fn(Next<T>) + Send + 'static,
    ) -> io::Result<Self> {
        let queue = Arc::new(Queue::new());
        let items = Arc::clone(&queue);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            while let Some(next) = items.wait() {
                deliver(next);
            }
            drop(catch(|| drop(deliver)));
        })?;
        Ok(Self { queue, by: By::Thread(thread.thread().id()) })
    }

    /// Calls `deliver` on the thread that sends.
    pub(crate) fn on_caller(deliver: impl Fn(Next<T>) + Send + Sync + 'static) -> Self {
        Self { queue: Arc::new(Queue::new()), by: By::Caller(Box::new(deliver)) }
    }
}

impl<T> Delivery<T> {
    /// Delivers an item, or drops it if the queue is full. Not to be called under a lock.
    pub(crate) fn send(&self, item: T, priority: Priority) {
        self.queue.push(item, priority);
        if let By::Caller(deliver) = &self.by {
            self.queue.drain(deliver);
        }
    }

    /// Waits, in real time, until all is delivered. Returns false when `limit` is over.
    ///
    /// A call from inside `deliver` does not wait for itself.
    pub(crate) fn flush(&self, limit: Duration) -> bool {
        match self.by {
            By::Thread(thread) if thread != thread::current().id() => self.queue.flush(limit),
            _ => true,
        }
    }

    /// Drops all items that wait, and delivers their number in their place. Returns it.
    pub(crate) fn give_up(&self) -> u64 {
        self.queue.give_up()
    }

    /// Ends the thread once it has delivered all waiting items. Does not wait for the thread.
    pub(crate) fn close(&self) {
        self.queue.close();
    }
}

impl<T> Drop for Delivery<T> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<T> fmt::Debug for Delivery<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").finish_non_exhaustive()
    }
}
