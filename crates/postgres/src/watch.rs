//! Notifications: a hint that something may be due.

use std::sync::Arc;
use std::time::Duration;

use scheduler_store::{StoreError, Watch};
use tokio_postgres::Error;

use crate::connect::Connect;
use crate::fault::store_error;
use crate::session::Session;
use crate::sql::Schema;

/// After so long without a notification the connection is probed: one that is half open says nothing.
const PROBE: Duration = Duration::from_secs(10);

/// Listens on a connection of its own, on the thread that waits.
pub(crate) struct Listener {
    connect: Arc<Connect>,
    listen: String,
    session: Option<Session>,
    /// The time that was waited since the connection has said something.
    quiet: Duration,
}

impl Listener {
    pub(crate) fn new(connect: &Arc<Connect>, schema: &Schema) -> Self {
        let listen = format!("listen \"{}\"", schema.channel());
        Self { connect: Arc::clone(connect), listen, session: None, quiet: Duration::ZERO }
    }

    fn open(&self) -> Result<Session, StoreError> {
        let mut session = self.connect.open("watch")?;
        session.batch_execute(&self.listen).map_err(|error| store_error(&error))?;
        Ok(session)
    }

    /// Waits on a connection. None if there is none.
    fn hears(&mut self, limit: Duration) -> Option<Result<bool, Error>> {
        let session = self.session.as_mut()?;
        let heard = session.hears(limit);
        self.quiet = if matches!(heard, Ok(false)) { self.quiet + limit } else { Duration::ZERO };
        if self.quiet < PROBE {
            return Some(heard);
        }
        self.quiet = Duration::ZERO;
        Some(session.batch_execute("").and(heard))
    }
}

impl Watch for Listener {
    fn wait(&mut self, limit: Duration) -> Result<bool, StoreError> {
        match self.hears(limit) {
            Some(Ok(is_heard)) => return Ok(is_heard),
            Some(Err(_)) => {
                self.session = None;
                self.connect.pace().broke();
            }
            None => {}
        }
        self.session = Some(self.open()?);
        // Others may have enqueued while this process did not listen.
        Ok(true)
    }
}
