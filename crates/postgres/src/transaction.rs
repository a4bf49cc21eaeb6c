//! Jobs in a transaction of the caller.

use postgres::Transaction;
use scheduler_store::{EnqueueIn, Enqueued, NewJob, StoreError, StoreTime};

use crate::fault::store_error;
use crate::job::Batch;

/// A transaction of the caller, in which jobs can be enqueued: see [`Postgres::in_transaction`](crate::Postgres::in_transaction).
///
/// ```no_run
/// use scheduler_postgres::{Postgres, postgres};
/// use scheduler_store::{EnqueueIn, JobId, NewJob, Uuid};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut client = postgres::Client::connect("postgres://localhost/app", postgres::NoTls)?;
/// let store = Postgres::connect("postgres://localhost/app")?;
/// let mut transaction = client.transaction()?;
/// transaction.execute("update invoice set paid = true where id = 17", &[])?;
/// let job = NewJob::new(JobId::from_uuid(Uuid::from_u128(17)), "send_receipt");
/// store.in_transaction(&mut transaction).enqueue(&[job])?;
/// transaction.commit()?;
/// # Ok(())
/// # }
/// ```
pub struct InTransaction<'a, 't> {
    transaction: &'a mut Transaction<'t>,
    sql: String,
    nudge: bool,
}

impl<'a, 't> InTransaction<'a, 't> {
    pub(crate) fn new(transaction: &'a mut Transaction<'t>, sql: String, nudge: bool) -> Self {
        Self { transaction, sql, nudge }
    }
}

impl EnqueueIn for InTransaction<'_, '_> {
    fn enqueue(&mut self, jobs: &[NewJob]) -> Result<Vec<Enqueued>, StoreError> {
        jobs.iter().try_for_each(NewJob::check)?;
        let mut answers = Vec::new();
        for batch in Batch::split(jobs) {
            let sent =
                batch.send(self.transaction, &self.sql, StoreTime::MAX, self.nudge, &mut answers);
            sent.map_err(|error| store_error(&error))?;
        }
        Ok(answers)
    }
}

impl std::fmt::Debug for InTransaction<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InTransaction").finish_non_exhaustive()
    }
}
