//! Notifications: a hint that something may be due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use scheduler_store::{StoreError, Watch};

use crate::connect::Connect;
use crate::fault::{store_error, unavailable};
use crate::session::Session;
use crate::sql::Schema;

/// The time for which the thread waits for a notification before it looks whether it is still wanted.
const STEP: Duration = Duration::from_millis(500);
/// After how many steps without a notification the connection is probed: one that is half open says nothing.
const PROBE_STEPS: u32 = 20;

/// Listens on a connection of its own, on a thread of its own.
pub(crate) struct Listener {
    nudges: Receiver<()>,
    is_wanted: Arc<AtomicBool>,
}

impl Listener {
    pub(crate) fn new(connect: &Arc<Connect>, schema: &Schema) -> Self {
        let (sender, nudges) = mpsc::sync_channel(1);
        let is_wanted = Arc::new(AtomicBool::new(true));
        let listener_thread = ListenThread {
            connect: Arc::clone(connect),
            listen: format!("listen \"{}\"", schema.channel()),
            sender,
            is_wanted: Arc::clone(&is_wanted),
        };
        // Without the thread, polling finds everything.
        let _ = thread::Builder::new()
            .name("scheduler-watch".to_owned())
            .spawn(move || listener_thread.run());
        Self { nudges, is_wanted }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.is_wanted.store(false, Ordering::Relaxed);
    }
}

impl Watch for Listener {
    fn wait(&mut self, limit: Duration) -> Result<bool, StoreError> {
        match self.nudges.recv_timeout(limit) {
            Ok(()) => Ok(true),
            Err(RecvTimeoutError::Timeout) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Err(unavailable("the listening thread ended")),
        }
    }
}

/// The state of the thread.
struct ListenThread {
    connect: Arc<Connect>,
    listen: String,
    sender: SyncSender<()>,
    is_wanted: Arc<AtomicBool>,
}

impl ListenThread {
    fn run(&self) {
        // Nothing is ever sent: it is a wait that ends early if the listener is gone.
        let (_pause, paused) = mpsc::channel::<()>();
        while self.is_wanted.load(Ordering::Relaxed) {
            match self.connect() {
                Ok(mut session) => {
                    // Others may have enqueued while nobody listened.
                    self.nudge();
                    let _ = self.listen(&mut session);
                    self.connect.pace().broke();
                }
                Err(_) => {
                    let _ = paused.recv_timeout(STEP);
                }
            }
        }
    }

    fn connect(&self) -> Result<Session, StoreError> {
        let mut session = self.connect.open("watch")?;
        session.batch_execute(&self.listen).map_err(|error| store_error(&error))?;
        Ok(session)
    }

    /// Listens until the connection breaks or nobody waits.
    fn listen(&self, session: &mut Session) -> Result<(), tokio_postgres::Error> {
        let mut quiet = 0;
        while self.is_wanted.load(Ordering::Relaxed) {
            let heard = session.hears(STEP)?;
            if heard {
                self.nudge();
            }
            quiet = if heard { 0 } else { quiet + 1 };
            if quiet >= PROBE_STEPS {
                session.batch_execute("")?;
                quiet = 0;
            }
        }
        Ok(())
    }

    fn nudge(&self) {
        if let Err(TrySendError::Disconnected(())) = self.sender.try_send(()) {
            self.is_wanted.store(false, Ordering::Relaxed);
        }
    }
}
