//! The thread that asks the store for async code.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use scheduler_core::time::EventCount;
use scheduler_core::{Clock, Tick};

use crate::observe::catch;
use crate::sync::Mutex;

type Work = Box<dyn FnOnce() + Send>;

/// One thread that executes what it is given, in the order of due time. It starts with the first call, and ends when this is
/// dropped.
pub(super) struct Helper {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    gate: Arc<EventCount>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// By due time, and then in the order in which it was given.
    work: BTreeMap<(Tick, u64), Work>,
    given: u64,
    has_thread: bool,
    is_closed: bool,
}

impl Helper {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let (gate, queue) = (Arc::default(), Mutex::default());
        Self { shared: Arc::new(Shared { clock, gate, queue }) }
    }

    /// Has the thread execute this at an instant. If no thread can be started, it is dropped.
    pub(super) fn execute(&self, at: Tick, work: impl FnOnce() + Send + 'static) {
        let mut queue = self.shared.queue.lock();
        queue.given += 1;
        let number = queue.given;
        queue.work.insert((at, number), Box::new(work));
        let is_first = !std::mem::replace(&mut queue.has_thread, true);
        drop(queue);
        self.shared.gate.open();
        if is_first {
            self.start();
        }
    }

    fn start(&self) {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("scheduler-jobs".to_owned());
        if thread.spawn(move || shared.work()).is_err() {
            let mut queue = self.shared.queue.lock();
            queue.has_thread = false;
            let unasked = std::mem::take(&mut queue.work);
            drop(queue);
            drop(unasked);
        }
    }
}

impl Shared {
    fn work(&self) {
        loop {
            let seen = self.gate.epoch();
            let now = self.clock.now();
            let mut queue = self.queue.lock();
            if queue.is_closed {
                return;
            }
            let next = queue.work.first_key_value().map(|((at, _), _)| *at);
            if next.is_some_and(|at| at <= now) {
                let work = queue.work.pop_first();
                drop(queue);
                if let Some((_, work)) = work {
                    // A panic of a store or of a waker ends nothing but its call.
                    drop(catch(work));
                }
            } else {
                drop(queue);
                self.clock.wait(&self.gate, seen, next);
            }
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.is_closed = true;
        let unasked = std::mem::take(&mut queue.work);
        drop(queue);
        drop(unasked);
        self.shared.gate.open();
    }
}

crate::opaque::opaque! { Helper }

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use scheduler_core::ManualClock;

    use super::*;

    #[test]
    fn one_thread_executes_all_in_the_order_of_due_time_and_ends_with_its_owner() {
        let clock = ManualClock::new();
        let helper = Helper::new(Arc::new(clock.clone()));
        let (sender, received) = channel();
        let send = |at: Tick, number: u32| {
            let sender = sender.clone();
            helper.execute(at, move || {
                // The test may have failed.
                let _ = sender.send((number, thread::current().id()));
                assert!(number != 1, "a panic ends no thread");
            });
        };
        let second = Tick::ZERO + Duration::from_secs(1);
        send(second, 3);
        send(Tick::ZERO, 1);
        send(Tick::ZERO, 2);
        let first = received.recv().expect("it is executed");
        let next = received.recv().expect("it is executed");
        assert_eq!((first.0, next.0), (1, 2));
        clock.advance(Duration::from_secs(1));
        let last = received.recv().expect("it is executed");
        assert_eq!((last.0, last.1), (3, first.1), "it is one thread");
        let later = second + Duration::from_secs(1);
        send(later, 4);
        drop((helper, sender));
        assert!(received.recv().is_err(), "what is not due is dropped with the thread");
    }
}
