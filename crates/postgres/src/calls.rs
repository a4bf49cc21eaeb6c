//! Calls on a thread of its own, one after the other.
//!
//! A caller waits for so long and no longer, whether its call is being executed by then or still waits for others. In both
//! cases the thread is left behind, which ends with the calls that it has, and the next call begins another one. A call
//! whose caller waits no longer is never begun. It begins when it may have an effect: before that it waits for others and for
//! its connection.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use scheduler_store::StoreError;

use crate::fault::unavailable;

type Work<S> = Box<dyn FnOnce(&mut S) + Send>;

const WAITS: u8 = 0;
const BEGUN: u8 = 1;
const LEFT: u8 = 2;

/// The decision about a call: it begins, or its caller leaves. The first counts.
#[derive(Clone, Default)]
pub(crate) struct Beginning(Arc<AtomicU8>);

impl Beginning {
    /// Begins the call, which may have an effect from now on; once, or more often. Returns false if its caller has left.
    pub(crate) fn begin(&self) -> bool {
        self.decide(BEGUN) != LEFT
    }

    /// The caller waits no longer. Returns false if the call has begun.
    fn leave(&self) -> bool {
        self.decide(LEFT) != BEGUN
    }

    fn decide(&self, state: u8) -> u8 {
        // ORDERING: relaxed, here and below: nothing else is read by it.
        let decided = self.0.compare_exchange(WAITS, state, Ordering::Relaxed, Ordering::Relaxed);
        decided.map_or_else(|before| before, |_| state)
    }

    fn has_left(&self) -> bool {
        self.0.load(Ordering::Relaxed) == LEFT
    }
}

/// Calls with a state of type `S`, which each thread makes for itself.
pub(crate) struct Calls<S> {
    name: &'static str,
    state: Box<dyn Fn() -> S + Send + Sync>,
    current: Mutex<Current<S>>,
}

/// The thread that gets the next call.
struct Current<S> {
    /// The number of threads that were begun.
    number: u64,
    sender: Option<Sender<Work<S>>>,
}

impl<S: 'static> Calls<S> {
    pub(crate) fn new(name: &'static str, state: impl Fn() -> S + Send + Sync + 'static) -> Self {
        let current = Mutex::new(Current { number: 0, sender: None });
        Self { name, state: Box::new(state), current }
    }

    /// Executes a call, and waits for its answer at most for so long.
    ///
    /// [`StoreError::NotExecuted`] if it has not begun by then: it never will.
    pub(crate) fn call<R: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce(&mut S, &Beginning) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError>
    where
        S: Send,
    {
        let (reply, answer) = mpsc::sync_channel(1);
        let beginning = Beginning::default();
        let begins = beginning.clone();
        let number = self.send(Box::new(move |state| {
            if !begins.has_left() {
                // The caller may be gone by then.
                let _ = reply.send(work(state, &begins));
            }
        }))?;
        match answer.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                self.leave(number);
                Err(match beginning.leave() {
                    true => unsent(),
                    false => unavailable("no answer before the deadline"),
                })
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(unavailable("the connection's thread ended"))
            }
        }
    }

    /// Leaves a thread behind, unless that was done.
    fn leave(&self, number: u64) {
        let mut current = self.lock();
        if current.number == number {
            current.sender = None;
        }
    }

    /// Returns the number of the thread that has the call now.
    pub(crate) fn send(&self, work: Work<S>) -> Result<u64, StoreError>
    where
        S: Send,
    {
        let mut current = self.lock();
        // A thread that has ended, by a panic, is replaced.
        let unsent = match current.sender.as_ref() {
            Some(sender) => sender.send(work).err().map(|unsent| unsent.0),
            None => Some(work),
        };
        if let Some(work) = unsent {
            current.sender = Some(self.start(work)?);
            current.number += 1;
        }
        Ok(current.number)
    }

    fn start(&self, first: Work<S>) -> Result<Sender<Work<S>>, StoreError>
    where
        S: Send,
    {
        let (sender, calls) = mpsc::channel::<Work<S>>();
        let mut state = (self.state)();
        let thread = thread::Builder::new().name(format!("scheduler-{}", self.name));
        let started = thread.spawn(move || {
            while let Ok(work) = calls.recv() {
                work(&mut state);
            }
        });
        started.map_err(|error| unavailable(&format!("no thread for a connection: {error}")))?;
        let _ = sender.send(first);
        Ok(sender)
    }

    fn lock(&self) -> MutexGuard<'_, Current<S>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of a call that has not begun.
fn unsent() -> StoreError {
    StoreError::NotExecuted("no connection was free before the deadline".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::{ThreadId, current, scope};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn calls() -> Calls<()> {
        Calls::new("test", || ())
    }

    /// A call that reports its begin, and waits for a signal to end.
    fn slow(
        begun: Sender<ThreadId>,
        end: Receiver<()>,
    ) -> impl FnOnce(&mut (), &Beginning) -> Answer {
        move |(), beginning| {
            assert!(beginning.begin(), "its caller waits");
            begun.send(current().id()).expect("the test waits");
            // It ends also when the test has ended.
            let _ = end.recv();
            Ok(current().id())
        }
    }

    type Answer = Result<ThreadId, StoreError>;

    #[test]
    fn a_call_that_no_thread_waits_for_is_never_begun() {
        let calls = calls();
        let (begun, has_begun) = channel();
        let (end, ended) = channel();
        let (ran, has_run) = channel::<()>();
        scope(|scope| {
            let first = scope.spawn(|| calls.call(LONG, slow(begun, ended)));
            has_begun.recv().expect("it has begun");
            let second = calls.call(Duration::ZERO, move |(), _| Ok(ran.send(())));
            assert_eq!(second, Err(unsent()), "it is certain that it was not executed");
            end.send(()).expect("the first call waits");
            first.join().expect("no panic").expect("it was not too late for the first");
        });
        // The second call is gone, and has sent nothing.
        assert!(has_run.recv().is_err());
    }

    #[test]
    fn a_call_that_has_begun_may_have_been_executed() {
        let calls = calls();
        let (begun, has_begun) = channel();
        let (_end, ended) = channel();
        // The time is up once the call has begun.
        let call = calls.call(Duration::from_millis(200), slow(begun, ended));
        // A call that is never begun is dropped.
        let expected = match has_begun.recv() {
            Ok(_) => unavailable("no answer before the deadline"),
            Err(_) => unsent(),
        };
        assert_eq!(call, Err(expected));
    }

    #[test]
    fn a_call_whose_connection_comes_after_its_caller_has_left_is_not_begun() {
        let calls = calls();
        let (connected, is_connected) = channel::<()>();
        let (tell, told) = channel();
        let answer = calls.call(Duration::from_millis(50), move |(), beginning| {
            let _ = is_connected.recv();
            tell.send(beginning.begin()).expect("the test waits");
            Ok(())
        });
        assert_eq!(answer, Err(unsent()));
        drop(connected);
        assert_eq!(told.recv(), Ok(false));
    }

    #[test]
    fn a_caller_without_an_answer_leaves_no_thread_of_others() {
        let calls = calls();
        let (begun, has_begun) = channel();
        let (old_end, old_ended) = channel();
        let (new_end, new_ended) = channel();
        scope(|scope| {
            let old = scope.spawn({
                let begun = begun.clone();
                let calls = &calls;
                move || calls.call(LONG, slow(begun, old_ended))
            });
            has_begun.recv().expect("it has begun");
            // Two wait for the old thread. The first that gives up leaves it.
            let number = calls.send(Box::new(|()| {})).expect("it is sent");
            calls.leave(number);
            let new = scope.spawn({
                let calls = &calls;
                move || calls.call(LONG, slow(begun, new_ended))
            });
            let thread = has_begun.recv().expect("another thread has begun");
            // So does the second, when the new thread has work.
            calls.leave(number);
            let last = scope.spawn(|| calls.call(LONG, |(), _| Ok(current().id())));
            new_end.send(()).expect("the new call waits");
            assert_eq!(new.join().expect("no panic"), Ok(thread));
            assert_eq!(last.join().expect("no panic"), Ok(thread), "a third thread was begun");
            old_end.send(()).expect("the old call waits");
            assert_ne!(old.join().expect("no panic"), Ok(thread));
        });
    }
}
