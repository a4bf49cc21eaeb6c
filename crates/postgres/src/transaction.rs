//! Jobs in a transaction of the caller.

use scheduler_store::{Enqueued, NewJob, Store as _, StoreError};
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use crate::fault::{store_error, unavailable};
use crate::store::Postgres;

impl Postgres {
    /// Enqueues jobs in a transaction of the caller: they exist if and when it is committed.
    ///
    /// ```no_run
    /// use scheduler_postgres::{Postgres, postgres};
    /// use scheduler_store::{JobId, NewJob, Uuid};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut client = postgres::Client::connect("postgres://localhost/app", postgres::NoTls)?;
    /// let store = Postgres::connect("postgres://localhost/app")?;
    /// let mut transaction = client.transaction()?;
    /// transaction.execute("update invoice set paid = true where id = 17", &[])?;
    /// let job = NewJob::new(JobId::from_uuid(Uuid::from_u128(17)), "send_receipt");
    /// store.enqueue_in(&mut transaction, &[job])?;
    /// transaction.commit()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The server does not answer, or a text or payload cannot be stored.
    pub fn enqueue_in(
        &self,
        transaction: &mut postgres::Transaction<'_>,
        jobs: &[NewJob],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let (sql, json) = self.statement(jobs)?;
        answers(transaction.query_typed(&sql, &[(&json, Type::TEXT)]))
    }

    /// As [`enqueue_in`](Self::enqueue_in), for a client that does not block its thread.
    ///
    /// # Errors
    ///
    /// As [`enqueue_in`](Self::enqueue_in).
    pub async fn enqueue_in_async(
        &self,
        transaction: &tokio_postgres::Transaction<'_>,
        jobs: &[NewJob],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let (sql, json) = self.statement(jobs)?;
        answers(transaction.query_typed(&sql, &[(&json, Type::TEXT)]).await)
    }
}

fn answers(rows: Result<Vec<Row>, Error>) -> Result<Vec<Enqueued>, StoreError> {
    let failed = |error: Error| store_error(&error);
    let unknown = || unavailable("`enqueue_json` has returned something else than jobs");
    let answer = |row: &Row| {
        let (id, outcome) = (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
        Enqueued::from_row(id, outcome).ok_or_else(unknown)
    };
    rows.map_err(failed)?.iter().map(answer).collect()
}
