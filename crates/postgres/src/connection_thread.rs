//! One connection on a thread of its own.
//!
//! A connection runs a small runtime inside each call, and must not be used on a thread of another runtime. A store may
//! be called from anywhere; so each connection lives on a thread of its own, and the caller waits for the answer. A
//! connection is given up at its deadline. A caller whose request waited for another one leaves the thread behind, and
//! the next request gets a new one.
//!
//! A call whose caller waits no longer is never begun. It begins when it may have an effect: before that it waits for others
//! and for its connection.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use scheduler_store::StoreError;
use tokio_postgres::Error;

use crate::blocking_connection::BlockingConnection;
use crate::connect::Connect;
use crate::error::{is_fatal, is_rolled_back, store_error, unavailable};

/// The number of times that a transaction is repeated which the server has rolled back because of another.
const ROLLBACKS_MAX: u32 = 5;

/// The repetition of a request whose connection turns out to be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryOnDisconnect {
    /// Once, on a new connection: twice is the same as once.
    Once,
    /// Never.
    Never,
}

/// One connection, made when it is needed.
pub(crate) struct ConnectionThread {
    connect: Arc<Connect>,
    calls: Calls<ConnectionState>,
    is_connected: Arc<AtomicBool>,
    /// True while the thread has been asked to connect, and has not tried.
    is_connecting: Arc<AtomicBool>,
    /// The number of requests without an answer.
    waiting: AtomicUsize,
}

impl ConnectionThread {
    pub(crate) fn new(name: &'static str, connect: Arc<Connect>) -> Self {
        let is_connected = Arc::new(AtomicBool::new(false));
        let shared = (Arc::clone(&connect), Arc::clone(&is_connected));
        let state = move || {
            let (connect, is_connected) = (Arc::clone(&shared.0), Arc::clone(&shared.1));
            ConnectionState { name, connect, connection: None, is_connected }
        };
        let is_connecting = Arc::new(AtomicBool::new(false));
        let (calls, waiting) = (Calls::new(name, state), AtomicUsize::new(0));
        Self { connect, calls, is_connected, is_connecting, waiting }
    }

    /// Returns true if the last request has left a connection.
    fn is_connected(&self) -> bool {
        // ORDERING: relaxed, here and below: a hint, and nothing else is read by it.
        self.is_connected.load(Ordering::Relaxed)
    }

    /// Has the thread connect, and does not wait for it. A failure shows at the next request.
    pub(crate) fn connect(&self) {
        if self.is_connecting.swap(true, Ordering::Relaxed) {
            return;
        }
        let is_connecting = Arc::clone(&self.is_connecting);
        let tried = self.calls.send(Box::new(move |state| {
            is_connecting.store(false, Ordering::Relaxed);
            // The request that needs the connection reports why there is none.
            let _ = state.connection();
            state.note();
        }));
        if tried.is_err() {
            self.is_connecting.store(false, Ordering::Relaxed);
        }
    }

    /// Executes a request on the thread, and waits for its answer until the deadline. If the request still waits for
    /// others or for a connection then, it is not sent any more.
    pub(crate) fn call<R: Send + 'static>(
        &self,
        again: RetryOnDisconnect,
        mut work: impl FnMut(&mut BlockingConnection) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, StoreError> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let answer = self.calls.call(self.connect.patience(), move |state, beginning| {
            let answer = state.run(again, beginning, &mut work);
            state.note();
            answer
        });
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        answer
    }
}

/// The connections of those who enqueue and ask: the one with the fewest requests, in turn.
pub(crate) struct Callers {
    threads: Vec<ConnectionThread>,
    turn: AtomicUsize,
}

impl Callers {
    pub(crate) fn new(threads: Vec<ConnectionThread>) -> Self {
        Self { threads, turn: AtomicUsize::new(0) }
    }

    /// The connection of the next caller. While one stands, no caller waits for another one to be made: the server may have no
    /// more.
    pub(crate) fn next(&self) -> &ConnectionThread {
        // ORDERING: relaxed, counters.
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.threads.len();
        let next = &self.threads[turn];
        let in_turn = self.threads[turn..].iter().chain(&self.threads[..turn]);
        let standing = in_turn.filter(|each| each.is_connected());
        match standing.min_by_key(|each| each.waiting.load(Ordering::Relaxed)) {
            Some(standing) => {
                if !next.is_connected() {
                    next.connect();
                }
                standing
            }
            None => next,
        }
    }
}

/// The state of the thread.
struct ConnectionState {
    name: &'static str,
    connect: Arc<Connect>,
    connection: Option<BlockingConnection>,
    is_connected: Arc<AtomicBool>,
}

impl ConnectionState {
    /// The connection, which is made if there is none.
    fn connection(&mut self) -> Result<&mut BlockingConnection, StoreError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect.connection(self.name)?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Lets callers know whether there is a connection.
    fn note(&self) {
        self.is_connected.store(self.connection.is_some(), Ordering::Relaxed);
    }

    fn run<R>(
        &mut self,
        again: RetryOnDisconnect,
        beginning: &Beginning,
        work: &mut impl FnMut(&mut BlockingConnection) -> Result<R, Error>,
    ) -> Result<R, StoreError> {
        let (mut rollbacks, mut is_repeated) = (0, again == RetryOnDisconnect::Never);
        // RACE: the server may have executed the first message and lost its answer. No later error is more certain.
        let mut doubt = None;
        // The server may have ended an idle connection: nothing was sent on it, so that another one may be used.
        if again == RetryOnDisconnect::Never
            && self.connection.as_mut().is_some_and(BlockingConnection::has_ended)
        {
            self.connection = None;
        }
        if self.connect.is_refused() {
            self.connection = None;
        }
        loop {
            let is_new = self.connection.is_none();
            let connection = match self.connection() {
                Ok(connection) => connection,
                Err(error) => return Err(doubt.unwrap_or(error)),
            };
            if !beginning.begin() {
                return Err(StoreError::NotExecuted("its caller waits no longer".to_owned()));
            }
            let error = match work(connection) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            connection.await_end();
            if connection.is_closed() || is_fatal(&error) {
                let was_given_up = connection.was_given_up();
                self.connection = None;
                self.connect.broke(&error);
                if was_given_up {
                    return Err(unavailable("no answer before the deadline"));
                }
                if !is_repeated && !is_new {
                    let first = store_error(&error);
                    (is_repeated, doubt) = (true, Some(first).filter(is_uncertain));
                    continue;
                }
            } else if is_rolled_back(&error) && rollbacks < ROLLBACKS_MAX {
                rollbacks += 1;
                continue;
            }
            return Err(doubt.unwrap_or_else(|| store_error(&error)));
        }
    }
}

/// The request may have been executed.
fn is_uncertain(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_))
}

type Work<S> = Box<dyn FnOnce(&mut S) + Send>;

const WAITS: u8 = 0;
const BEGUN: u8 = 1;
const LEFT: u8 = 2;

/// The decision about a call: it begins, or its caller leaves. The first counts.
#[derive(Clone, Default)]
struct Beginning(Arc<AtomicU8>);

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
struct Calls<S> {
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
                // Nothing waits for the answer if the caller has gone.
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
