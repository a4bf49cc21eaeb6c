//! The threads that ask the store for async code.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use scheduler_core::time::EventCount;
use scheduler_core::{Clock, Tick};

use crate::base::sync::Mutex;
use crate::observe::catch;

/// The most threads: so many calls may hang before the next one waits for another's end.
const THREADS_MAX: usize = 8;

type Work = Box<dyn FnOnce() + Send>;

/// Threads that execute what they are given, in the order of due time. The first starts with the first call, another one when all
/// are in a call. While nothing is due one of them waits, and the others end; all end when this is dropped.
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
    threads: usize,
    /// The threads that wait until something is due.
    waiting: usize,
    is_closed: bool,
}

impl Helper {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let (gate, queue) = (Arc::default(), Mutex::default());
        Self { shared: Arc::new(Shared { clock, gate, queue }) }
    }

    /// Has a thread execute this at an instant. If there is no thread, and none can be started, it is dropped.
    pub(super) fn execute(&self, at: Tick, work: impl FnOnce() + Send + 'static) {
        let mut queue = self.shared.queue.lock();
        queue.given += 1;
        let number = queue.given;
        queue.work.insert((at, number), Box::new(work));
        let is_wanted = queue.wants_thread();
        drop(queue);
        self.shared.gate.open();
        if is_wanted {
            self.shared.start_thread();
        }
    }
}

impl Queue {
    /// Returns true if no thread would look at the work, and counts the one that is to be started.
    fn wants_thread(&mut self) -> bool {
        let is_wanted = self.waiting == 0 && self.threads < THREADS_MAX && !self.work.is_empty();
        self.threads += usize::from(is_wanted);
        is_wanted
    }
}

impl Shared {
    fn start_thread(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        let thread = thread::Builder::new().name("scheduler-jobs".to_owned());
        if thread.spawn(move || shared.work()).is_err() {
            let mut queue = self.queue.lock();
            queue.threads -= 1;
            let is_last = queue.threads == 0;
            let unasked = if is_last { std::mem::take(&mut queue.work) } else { BTreeMap::new() };
            drop(queue);
            drop(unasked);
        }
    }

    fn work(self: &Arc<Self>) {
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
                let is_wanted = queue.wants_thread();
                drop(queue);
                if is_wanted {
                    self.start_thread();
                }
                if let Some((_, work)) = work {
                    // A panic of a store or of a waker ends nothing but its call.
                    drop(catch(work));
                }
            } else if queue.waiting > 0 {
                queue.threads -= 1;
                return;
            } else {
                queue.waiting += 1;
                drop(queue);
                self.clock.wait(&self.gate, seen, next);
                self.queue.lock().waiting -= 1;
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

crate::base::opaque::opaque! { Helper }

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use scheduler_core::ManualClock;

    use super::*;

    #[test]
    fn all_is_executed_when_it_is_due_and_the_threads_end_with_their_owner() {
        let clock = ManualClock::new();
        let helper = Helper::new(Arc::new(clock.clone()));
        let (sender, received) = channel();
        let send = |at: Tick, number: u32| {
            let sender = sender.clone();
            helper.execute(at, move || {
                // The test may have failed.
                let _ = sender.send(number);
                assert!(number != 1, "a panic ends no thread");
            });
        };
        let second = Tick::ZERO + Duration::from_secs(1);
        send(second, 3);
        send(Tick::ZERO, 1);
        assert_eq!(received.recv(), Ok(1));
        send(Tick::ZERO, 2);
        assert_eq!(received.recv(), Ok(2));
        clock.advance(Duration::from_secs(1));
        assert_eq!(received.recv(), Ok(3));
        let later = second + Duration::from_secs(1);
        send(later, 4);
        drop((helper, sender));
        assert!(received.recv().is_err(), "what is not due is dropped with the threads");
    }

    #[test]
    fn calls_that_hang_hold_up_no_other_until_there_are_too_many() {
        let helper = Helper::new(Arc::new(ManualClock::new()));
        let (sender, received) = channel();
        let mut hanging = Vec::new();
        for number in 0..THREADS_MAX {
            let (end, ended) = channel::<()>();
            hanging.push(end);
            let sender = sender.clone();
            helper.execute(Tick::ZERO, move || {
                let _ = sender.send(number);
                let _ = ended.recv();
            });
            assert_eq!(received.recv(), Ok(number), "beside those that hang");
        }
        helper.execute(Tick::ZERO, move || {
            let _ = sender.send(THREADS_MAX);
        });
        assert!(received.try_recv().is_err(), "each thread hangs");
        hanging.pop();
        assert_eq!(received.recv(), Ok(THREADS_MAX));
    }
}
