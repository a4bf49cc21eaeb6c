//! Notifications: a hint that something may be due.

use std::sync::Arc;
use std::time::Duration;

use scheduler_store::{StoreError, Watch};
use tokio_postgres::Error;

use crate::blocking_connection::BlockingConnection;
use crate::connect::Connect;
use crate::fault::store_error;
use crate::sql::Schema;

/// After so long without a notification the connection is probed: one that is half open says nothing.
const PROBE: Duration = Duration::from_secs(10);

/// Listens on a connection of its own, on the thread that waits.
pub(crate) struct Listener {
    connect: Arc<Connect>,
    listen: String,
    connection: Option<BlockingConnection>,
    /// The time that was waited since the connection has said something.
    quiet: Duration,
}

impl Listener {
    pub(crate) fn new(connect: &Arc<Connect>, schema: &Schema) -> Self {
        let listen = format!("listen \"{}\"", schema.channel());
        Self { connect: Arc::clone(connect), listen, connection: None, quiet: Duration::ZERO }
    }

    fn open(&self) -> Result<BlockingConnection, StoreError> {
        let mut connection = self.connect.open("watch")?;
        connection.batch_execute(&self.listen).map_err(|error| store_error(&error))?;
        Ok(connection)
    }

    /// Waits on a connection. None if there is none.
    fn hears(&mut self, limit: Duration) -> Option<Result<bool, Error>> {
        let connection = self.connection.as_mut()?;
        let heard = connection.hears(limit);
        self.quiet = if matches!(heard, Ok(false)) { self.quiet + limit } else { Duration::ZERO };
        if self.quiet < PROBE {
            return Some(heard);
        }
        self.quiet = Duration::ZERO;
        Some(connection.batch_execute("").and(heard))
    }
}

impl Watch for Listener {
    fn wait(&mut self, limit: Duration) -> Result<bool, StoreError> {
        match self.hears(limit) {
            Some(Ok(is_heard)) => return Ok(is_heard),
            Some(Err(_)) => {
                self.connection = None;
                self.connect.pace().broke();
            }
            None => {}
        }
        self.connection = Some(self.open()?);
        // Others may have enqueued while this process did not listen.
        Ok(true)
    }
}
