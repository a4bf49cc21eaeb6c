//! A bounded queue that a thread or the caller delivers.

use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Duration;
use std::{fmt, io};

use super::catch;
use super::queue::{Next, Priority, Queue};

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
