//! One connection on a thread of its own.
//!
//! A connection runs a small runtime inside each call, and must not be used on a thread of another runtime. A store may
//! be called from anywhere; so each connection lives on a thread of its own, and the caller waits for the answer. A
//! connection is given up at its deadline. A caller whose request waited for another one leaves the thread behind, and
//! the next request gets a new one.

use std::sync::Arc;

use scheduler_store::StoreError;
use tokio_postgres::Error;

use crate::calls::Calls;
use crate::connect::Connect;
use crate::fault::{is_fatal, is_rolled_back, store_error, unavailable};
use crate::session::Session;

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
}

impl ConnectionThread {
    pub(crate) fn new(name: &'static str, connect: Arc<Connect>) -> Self {
        let each = Arc::clone(&connect);
        let state = move || ConnectionState { name, connect: Arc::clone(&each), session: None };
        Self { connect, calls: Calls::new(name, state) }
    }

    /// Executes a request on the thread, and waits for its answer until the deadline. If the request still waits for
    /// others then, it is not executed, and answered as one that came too late.
    pub(crate) fn call<R: Send + 'static>(
        &self,
        again: RetryOnDisconnect,
        mut work: impl FnMut(&mut Session) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, StoreError> {
        self.calls.call(self.connect.patience(), move |state| state.run(again, &mut work))
    }
}

/// The state of the thread.
struct ConnectionState {
    name: &'static str,
    connect: Arc<Connect>,
    session: Option<Session>,
}

impl ConnectionState {
    fn run<R>(
        &mut self,
        again: RetryOnDisconnect,
        work: &mut impl FnMut(&mut Session) -> Result<R, Error>,
    ) -> Result<R, StoreError> {
        let (mut rollbacks, mut may_repeat) = (0, again == RetryOnDisconnect::Once);
        // The server may have ended an idle connection: nothing was sent on it, so that another one may be used.
        if again == RetryOnDisconnect::Never
            && self.session.as_mut().is_some_and(Session::has_ended)
        {
            self.session = None;
        }
        if self.connect.is_refused() {
            self.session = None;
        }
        loop {
            let is_new = self.session.is_none();
            let session = match self.session.as_mut() {
                Some(session) => session,
                None => self.session.insert(self.connect.session(self.name)?),
            };
            let error = match work(session) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            session.await_end();
            if session.is_closed() || is_fatal(&error) {
                let was_given_up = session.was_given_up();
                self.session = None;
                self.connect.pace().broke();
                if was_given_up {
                    return Err(unavailable("no answer before the deadline"));
                }
                if may_repeat && !is_new {
                    may_repeat = false;
                    continue;
                }
            } else if is_rolled_back(&error) && rollbacks < ROLLBACKS_MAX {
                rollbacks += 1;
                continue;
            }
            return Err(store_error(&error));
        }
    }
}
