//! One connection on a thread of its own.
//!
//! A connection runs a small runtime inside each call, and must not be used on a thread of another runtime. A store may
//! be called from anywhere; so each connection lives on a thread of its own, and the caller waits for the answer. A
//! connection is given up at its deadline. A caller whose request waited for another one leaves the thread behind, and
//! the next request gets a new one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use scheduler_store::StoreError;
use tokio_postgres::Error;

use crate::blocking_connection::BlockingConnection;
use crate::calls::{Beginning, Calls};
use crate::connect::Connect;
use crate::fault::{is_fatal, is_rolled_back, store_error, unavailable};

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
    pub(crate) fn is_connected(&self) -> bool {
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
