//! A lane: one connection on a thread of its own, to which requests go over a channel.
//!
//! A connection runs a small runtime inside each call, and must not be used on a thread of another runtime. A store may be
//! called from anywhere; so each connection lives on a thread of its own, and the caller waits for the answer. A
//! connection is given up at its deadline; a caller whose request waited for that of another leaves the lane with its thread
//! behind, and the next request gets a new one.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use scheduler_store::StoreError;
use tokio_postgres::Error;

use crate::connect::Connect;
use crate::fault::{is_fatal, is_rolled_back, store_error, unavailable};
use crate::session::Session;

/// How often a transaction is repeated that the server has rolled back because of another.
const ROLLBACKS_MAX: u32 = 5;

type Work = Box<dyn FnOnce(&mut Line) + Send>;

/// Whether a request may be sent again if its connection turns out to be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// Once, on a new connection: twice is the same as once.
    Once,
    /// Never.
    Never,
}

/// One connection, made when it is needed.
#[derive(Debug)]
pub(crate) struct Lane {
    name: &'static str,
    connect: Arc<Connect>,
    sender: Mutex<Option<Sender<Work>>>,
}

impl Lane {
    pub(crate) fn new(name: &'static str, connect: Arc<Connect>) -> Self {
        Self { name, connect, sender: Mutex::default() }
    }

    /// Executes a request on the lane's thread, and waits for its answer until the deadline.
    pub(crate) fn call<R: Send + 'static>(
        &self,
        again: Again,
        mut work: impl FnMut(&mut Session) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, StoreError> {
        let (reply, answer) = mpsc::sync_channel(1);
        let work: Work = Box::new(move |line| {
            // The caller may be gone.
            let _ = reply.send(line.run(again, &mut work));
        });
        self.send(work)?;
        match answer.recv_timeout(self.connect.patience()) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                self.lock().take();
                Err(unavailable("no answer before the deadline"))
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(unavailable("the connection's thread ended"))
            }
        }
    }

    fn send(&self, work: Work) -> Result<(), StoreError> {
        let mut sender = self.lock();
        // A thread that has ended, by a panic, is replaced.
        let unsent = match sender.as_ref() {
            Some(sender) => sender.send(work).err().map(|unsent| unsent.0),
            None => Some(work),
        };
        unsent.map_or(Ok(()), |work| self.start(&mut sender, work))
    }

    fn start(&self, sender: &mut Option<Sender<Work>>, work: Work) -> Result<(), StoreError> {
        let (new, requests) = mpsc::channel::<Work>();
        let mut line = Line { name: self.name, connect: Arc::clone(&self.connect), session: None };
        let thread = thread::Builder::new().name(format!("scheduler-{}", self.name));
        let started = thread.spawn(move || {
            while let Ok(work) = requests.recv() {
                work(&mut line);
            }
        });
        started.map_err(|error| unavailable(&format!("no thread for a connection: {error}")))?;
        let _ = new.send(work);
        *sender = Some(new);
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Sender<Work>>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread of a lane has.
struct Line {
    name: &'static str,
    connect: Arc<Connect>,
    session: Option<Session>,
}

impl Line {
    fn run<R>(
        &mut self,
        again: Again,
        work: &mut impl FnMut(&mut Session) -> Result<R, Error>,
    ) -> Result<R, StoreError> {
        let (mut rollbacks, mut may_repeat) = (0, again == Again::Once);
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
