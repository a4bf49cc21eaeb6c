//! Jobs that are enqueued in a transaction of the program.

use std::fmt;
use std::sync::Arc;

use rusqlite::{Connection, Transaction};
use scheduler_store::{EnqueueIn, Enqueued, NewJob, Refusal, StoreError};

use crate::clock::{Clock, SystemClock};
use crate::error::{is_busy, unavailable};
use crate::tables::Tables;
use crate::tx::Tx;

/// A transaction of the program on the file of a store: jobs that are enqueued in it exist if and when it is committed.
///
/// Of a transaction that began as [`Deferred`](rusqlite::TransactionBehavior::Deferred) and has read, SQLite may refuse the
/// first write while another connection writes; begin it as `Immediate`.
pub struct InTransaction<'a> {
    db: &'a Connection,
    tables: Tables,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for InTransaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InTransaction").finish_non_exhaustive()
    }
}

impl<'a> InTransaction<'a> {
    /// A transaction on a file whose tables have the default prefix. [`Sqlite::in_transaction`](crate::Sqlite::in_transaction) knows others.
    #[must_use]
    pub fn new(transaction: &'a Transaction<'_>) -> Self {
        Self::with(transaction, Tables::DEFAULT, Arc::new(SystemClock))
    }

    pub(crate) fn with(
        transaction: &'a Transaction<'_>,
        tables: Tables,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { db: transaction, tables, clock }
    }

    fn insert(&self, jobs: &[NewJob]) -> rusqlite::Result<Result<Vec<Enqueued>, Refusal>> {
        let tx = Tx::new(self.db, &self.tables, self.clock.now(), "", self.clock.since_boot())?;
        match tx.refusal() {
            Some(refusal) => Ok(Err(refusal)),
            None => tx.enqueue(jobs).map(Ok),
        }
    }
}

impl EnqueueIn for InTransaction<'_> {
    /// All or none, whatever becomes of the transaction.
    fn enqueue(&mut self, jobs: &[NewJob]) -> Result<Vec<Enqueued>, StoreError> {
        jobs.iter().try_for_each(NewJob::check)?;
        let failed = |error: rusqlite::Error| {
            match is_busy(&error) {
            true => StoreError::Unavailable(
                "another connection writes to the file\n  help: begin the transaction as `Immediate`, with a busy timeout"
                    .to_owned(),
            ),
            false => unavailable(&error),
        }
        };
        self.db.execute_batch("SAVEPOINT scheduler_enqueue").map_err(failed)?;
        match self.insert(jobs) {
            Ok(answers) => {
                self.db.execute_batch("RELEASE scheduler_enqueue").map_err(failed)?;
                Ok(answers?)
            }
            Err(error) => {
                // After a full disk SQLite may have rolled all of it back already: then there is nothing to undo.
                if !self.db.is_autocommit() {
                    let undo = "ROLLBACK TO scheduler_enqueue; RELEASE scheduler_enqueue";
                    self.db.execute_batch(undo).map_err(failed)?;
                }
                Err(failed(error))
            }
        }
    }
}
