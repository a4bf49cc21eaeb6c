//! The facade's queue for events and messages.
//!
//! Loom does not build the facade: the file is mounted here, on loom's locks, with room for one event of any priority.

use std::sync::Arc;
use std::time::Duration;

use loom::sync::Mutex;
use loom::thread;

use crate::kit::{Counter, models};

#[expect(dead_code, reason = "not all of it is modelled")]
#[path = "../../../src/observe/queue.rs"]
mod queue;

use queue::{Next, Priority};

type Queue = queue::Queue<Event>;

models! {
    l13_what_a_slow_listener_misses_is_counted: slow;
    l13_one_thread_delivers_at_a_time: in_turn;
    l13_a_flush_waits_for_what_is_being_told: flushed;
}

/// An event in the queue: the thread that sent it, and its number among the events of that thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    by: usize,
    number: usize,
}

/// The locks and atomics under the queue.
mod platform {
    pub(super) use loom::sync::{Mutex, MutexGuard};
    use std::sync::LockResult;
    use std::time::Duration;

    #[derive(Debug, Default)]
    pub(super) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(super) fn wait<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
        ) -> LockResult<MutexGuard<'a, T>> {
            self.0.wait(guard)
        }

        /// No time ends it.
        pub(super) fn wait_timeout_while<'a, T>(
            &self,
            mut guard: MutexGuard<'a, T>,
            _limit: Duration,
            mut is_to_wait: impl FnMut(&mut T) -> bool,
        ) -> LockResult<(MutexGuard<'a, T>, ())> {
            while is_to_wait(&mut guard) {
                guard = self.0.wait(guard).expect("nothing panics under the lock");
            }
            Ok((guard, ()))
        }

        pub(super) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

/// Tells of three events, one after the other.
fn tell(queue: &Queue, by: usize) {
    for number in 0..3 {
        queue.push(Event { by, number }, Priority::Low);
    }
}

/// Each event is heard or counted, those of one thread in order.
fn check(heard: &[Next<Event>], told: u64) {
    let (mut count, mut last) = (0, [None; 2]);
    for event in heard {
        match *event {
            Next::Lost(lost) => count += lost,
            Next::Item(Event { by, number }) => {
                assert!(last[by] < Some(number), "events are heard in order");
                last[by] = Some(number);
                count += 1;
            }
        }
    }
    assert_eq!(count, told, "an event is neither heard nor counted");
}

/// One tells of more than there is room for, while another listens, up to the end.
fn slow() {
    let queue = Arc::new(Queue::new());
    let listener = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || std::iter::from_fn(|| queue.wait()).collect::<Vec<Next<Event>>>())
    };
    let other = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || tell(&queue, 1))
    };
    tell(&queue, 0);
    other.join().unwrap();
    queue.close();
    check(&listener.join().unwrap(), 6);
}

/// Two tell events, and each delivers what waits unless the other is at it; nothing stays behind.
fn in_turn() {
    let (queue, heard) = (Arc::new(Queue::new()), Arc::new(Mutex::new(Vec::new())));
    let inside = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let teller = |by: usize| {
        let (queue, heard, inside) = (Arc::clone(&queue), Arc::clone(&heard), Arc::clone(&inside));
        move || {
            for number in 0..2 {
                queue.push(Event { by, number }, Priority::Normal);
                queue.drain(|next| {
                    use std::sync::atomic::Ordering::SeqCst;
                    assert!(!inside.swap(true, SeqCst), "events are delivered one at a time");
                    heard.lock().unwrap().push(next);
                    inside.store(false, SeqCst);
                });
            }
        }
    };
    let other = thread::spawn(teller(1));
    teller(0)();
    other.join().unwrap();
    check(&heard.lock().unwrap(), 4);
}

/// A flush ends when the listener has heard all earlier events, and not while it hears the last one.
fn flushed() {
    let (queue, heard) = (Arc::new(Queue::new()), Counter::default());
    let listener = {
        let (queue, heard) = (Arc::clone(&queue), heard.clone());
        thread::spawn(move || {
            while queue.wait().is_some() {
                thread::yield_now();
                heard.add();
            }
        })
    };
    queue.push(Event { by: 0, number: 0 }, Priority::Normal);
    assert!(queue.flush(Duration::MAX));
    assert_eq!(heard.get(), 1, "an event is told in time");
    queue.push(Event { by: 0, number: 1 }, Priority::High);
    assert!(queue.flush(Duration::MAX));
    assert_eq!(heard.get(), 2, "an event is told in time");
    queue.close();
    listener.join().unwrap();
}
