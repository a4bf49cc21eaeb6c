//! The waker of a future against its poll, cancels, requests to stop.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use loom::sync::Mutex;
use loom::thread;
use scheduler_core::{Run, TaskState};

use crate::kit::{Counter, Latch, models, pool, stop};

models! {
    l12_a_wake_during_a_poll_is_kept: wake_against_poll;
    l12_a_future_that_is_cancelled_is_dropped_once: wake_against_cancel;
    l12_a_future_that_is_asked_to_stop_is_polled_on: stop_against_poll;
}

/// Something that a future awaits and that another thread brings about.
#[derive(Clone, Default)]
struct Signal(Arc<Mutex<(bool, Option<Waker>)>>);

impl Signal {
    fn set(&self) {
        let waker = {
            let mut signal = self.0.lock().unwrap();
            signal.0 = true;
            signal.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn awaited(&self, polls: &Counter) -> impl Future<Output = i32> + Send + use<> {
        let (signal, polls) = (self.clone(), polls.clone());
        poll_fn(move |context| {
            polls.add();
            let mut signal = signal.0.lock().unwrap();
            if signal.0 {
                return Poll::Ready(7);
            }
            signal.1 = Some(context.waker().clone());
            Poll::Pending
        })
    }
}

/// Whenever the wake comes, the future is polled on.
fn wake_against_poll() {
    let (pool, signal, polls) = (pool(1), Signal::default(), Counter::default());
    let handle = pool.schedule_async(Duration::ZERO, signal.awaited(&polls)).unwrap();
    let waker = thread::spawn(move || signal.set());
    assert_eq!(handle.wait(), Ok(7));
    waker.join().unwrap();
    assert!((1..=2).contains(&polls.get()), "{} polls", polls.get());
    stop(&pool);
}

/// Wake, poll and cancel at once: the task ends in one way, and nothing of it stays behind.
fn wake_against_cancel() {
    let (pool, signal, polls) = (pool(1), Signal::default(), Counter::default());
    let (dropped, called) = (Counter::default(), Counter::default());
    let (future, token) = (signal.awaited(&polls), dropped.on_drop());
    let body = async move {
        let _token = token;
        future.await
    };
    let handle = pool.schedule_async(Duration::ZERO, body).unwrap();
    let heard = called.clone();
    handle.on_done(move |_| heard.add());
    let waker = thread::spawn(move || signal.set());
    let won = handle.cancel();
    waker.join().unwrap();
    // The only worker has let go of the run before it takes another task.
    pool.submit(|| ()).unwrap().wait().unwrap();
    let expected = if won { TaskState::Cancelled } else { TaskState::Completed };
    assert_eq!((handle.state(), called.get(), dropped.get()), (expected, 1, 1));
    let stats = pool.stats();
    assert_eq!((stats.suspended, stats.queued), (0, 0), "nothing is left in the queue");
    stop(&pool);
}

/// A future that is pending until it is asked to stop looks at that, whenever the request comes.
fn stop_against_poll() {
    let (pool, begun) = (pool(1), Latch::default());
    let begins = begun.clone();
    let body = poll_fn(move |_| {
        begins.open();
        let is_asked = Run::with_current(Run::is_cancelled).unwrap_or_default();
        if is_asked { Poll::Ready(7) } else { Poll::Pending }
    });
    let handle = pool.schedule_async(Duration::ZERO, body).unwrap();
    begun.wait();
    handle.ask_to_stop();
    assert_eq!(handle.wait(), Ok(7));
    stop(&pool);
}
