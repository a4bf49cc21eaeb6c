//! Jobs that are enqueued in a transaction of the program.

#[cfg(any(feature = "postgres", feature = "sqlite-system"))]
use std::any::Any;
use std::future::Future;

#[cfg(feature = "postgres")]
use scheduler_postgres::{postgres, tokio_postgres as asynchronous};
#[cfg(feature = "sqlite-system")]
use scheduler_sqlite::rusqlite;
#[cfg(any(feature = "postgres", feature = "sqlite-system"))]
use scheduler_store::Refusal;
use scheduler_store::{Enqueued, NewJob, Store, StoreError};

use super::error::EnqueueError;
use super::job::Job;
use super::jobs::{Jobs, sole};

/// A transaction of the program in which jobs can be enqueued: see [`Jobs::enqueue_in`].
///
/// The transactions of `rusqlite` and `postgres` are some. For another client, implement it on a type of yours that has the
/// transaction: [`Store::statement`] has what to execute.
///
/// ```
/// use scheduler::store::{EnqueueIn, Enqueued, NewJob, Store, StoreError};
///
/// # struct Client;
/// # impl Client {
/// #     fn query(&mut self, _: &str, _: &str) -> Result<Vec<(String, String)>, std::io::Error> { Ok(Vec::new()) }
/// # }
/// struct Mine<'a>(&'a mut Client);
///
/// impl EnqueueIn for Mine<'_> {
///     fn enqueue(&mut self, store: &dyn Store, jobs: &[NewJob]) -> Result<Vec<Enqueued>, StoreError> {
///         let (sql, json) = store.statement(jobs)?;
///         let rows = self.0.query(&sql, &json).map_err(|error| StoreError::NotExecuted(error.to_string()))?;
///         Ok(rows.iter().filter_map(|(id, outcome)| Enqueued::from_row(id, outcome)).collect())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no transaction in which jobs can be enqueued",
    label = "not a transaction of `rusqlite` or `postgres`",
    note = "a transaction of `tokio_postgres` is one for `jobs.enqueue_in_async(&mut transaction, job).await`",
    note = "the transactions come with the features `sqlite` and `postgres`, and have to be of the versions that \
            `scheduler::store` exports",
    note = "every other client executes the statement and the text that `jobs.statement(job)` returns"
)]
pub trait EnqueueIn {
    /// Enqueues jobs of this store in this transaction, all or none. One answer for each.
    ///
    /// # Errors
    ///
    /// The database does not answer, it is not the store's, or a text or payload cannot be stored.
    fn enqueue(&mut self, store: &dyn Store, jobs: &[NewJob]) -> Result<Vec<Enqueued>, StoreError>;
}

/// A transaction of the program in which async code can enqueue jobs: see [`Jobs::enqueue_in_async`].
///
/// The transaction of `tokio_postgres` is one. For another client, implement it on a type of yours that has the transaction:
/// see [`EnqueueIn`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no transaction in which async code can enqueue jobs",
    label = "not a transaction of `tokio_postgres`",
    note = "the transaction comes with the feature `postgres`, and has to be of the version that `scheduler::store` exports",
    note = "every other client executes the statement and the text that `jobs.statement(job)` returns"
)]
pub trait EnqueueInAsync {
    /// Enqueues jobs of this store in this transaction, all or none. One answer for each.
    ///
    /// # Errors
    ///
    /// As [`EnqueueIn::enqueue`].
    fn enqueue(
        &mut self,
        store: &dyn Store,
        jobs: &[NewJob],
    ) -> impl Future<Output = Result<Vec<Enqueued>, StoreError>> + Send;
}

/// In a transaction of yours: the jobs exist if and when it is committed. On PostgreSQL the commit wakes the processes that wait,
/// unless they poll only (`Wakeup::Poll`); else a process finds them when it next asks the store.
impl Jobs {
    /// Enqueues a job in a transaction of `rusqlite`, `postgres`, or [another client](EnqueueIn) on the store's database.
    ///
    /// ```no_run,standalone_crate
    /// # #[cfg(feature = "sqlite-system")]
    /// # mod with_sqlite {
    /// use scheduler::store::rusqlite;
    /// use scheduler::{Jobs, job};
    ///
    /// #[job(name = "send-receipt")]
    /// fn send_receipt(#[payload] invoice: u32) {
    ///     println!("invoice {invoice} is paid");
    /// }
    ///
    /// fn pay(db: &mut rusqlite::Connection, jobs: &Jobs) -> Result<(), Box<dyn std::error::Error>> {
    ///     let immediate = rusqlite::TransactionBehavior::Immediate;
    ///     let mut transaction = db.transaction_with_behavior(immediate)?;
    ///     transaction.execute("update invoice set paid = true where number = 17", [])?;
    ///     jobs.enqueue_in(&mut transaction, send_receipt::job(17))?;
    ///     transaction.commit()?;
    ///     Ok(())
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Self::enqueue); or the transaction is of another database. It should then be rolled back.
    pub fn enqueue_in(
        &self,
        transaction: &mut impl EnqueueIn,
        job: Job,
    ) -> Result<Enqueued, EnqueueError> {
        Ok(sole(&self.enqueue_all_in(transaction, vec![job])?))
    }

    /// Enqueues jobs in a transaction, as [`enqueue_in`](Self::enqueue_in) does. One answer for each.
    ///
    /// # Errors
    ///
    /// As [`enqueue_in`](Self::enqueue_in).
    pub fn enqueue_all_in(
        &self,
        transaction: &mut impl EnqueueIn,
        jobs: Vec<Job>,
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        let (jobs, new) = self.checked(jobs)?;
        let answers = self.inner.client.call(|store| transaction.enqueue(store, &new));
        answers.map_err(|error| EnqueueError::of(jobs, &error))
    }

    /// Enqueues a job in a transaction of `tokio_postgres`, or [another client](EnqueueInAsync) on the store's database.
    ///
    /// # Errors
    ///
    /// As [`enqueue_in`](Self::enqueue_in).
    pub async fn enqueue_in_async(
        &self,
        transaction: &mut impl EnqueueInAsync,
        job: Job,
    ) -> Result<Enqueued, EnqueueError> {
        Ok(sole(&self.enqueue_all_in_async(transaction, vec![job]).await?))
    }

    /// Enqueues jobs in a transaction, as [`enqueue_in_async`](Self::enqueue_in_async) does. One answer for each.
    ///
    /// # Errors
    ///
    /// As [`enqueue_in`](Self::enqueue_in).
    pub async fn enqueue_all_in_async(
        &self,
        transaction: &mut impl EnqueueInAsync,
        jobs: Vec<Job>,
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        let (jobs, new) = self.checked(jobs)?;
        let answers = match self.inner.client.store().get() {
            Ok(store) => transaction.enqueue(store, &new).await,
            Err(error) => Err(error),
        };
        answers.map_err(|error| EnqueueError::of(jobs, &error))
    }

    /// A statement of SQL and its only parameter, a text, which enqueue a job: for a transaction of any client of the store's
    /// database, such as `sqlx`, `diesel` or `sea-orm`. The text has all that annotation, settings and code say.
    ///
    /// It is good for this job only. It returns a row with the texts `id` and `outcome`: the job, and `accepted`; or the job
    /// that has its key, and `kept` or `replaced`. On SQLite it returns no row if nothing was written, and needs
    /// SQLite 3.41.
    ///
    /// ```
    /// # use scheduler::{EnqueueError, Job, Jobs};
    /// # fn outbox(jobs: &Jobs, job: Job) -> Result<(), EnqueueError> {
    /// let (sql, json) = jobs.statement(job)?;
    /// // sqlx::query(&sql).bind(json).execute(&mut *transaction).await?;
    /// // diesel::sql_query(sql).bind::<Text, _>(json).execute(connection)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The job cannot be stored, or the store is no database. The error has the job.
    pub fn statement(&self, job: Job) -> Result<(String, String), EnqueueError> {
        self.statement_all(vec![job])
    }

    /// As [`statement`](Self::statement), for several jobs: the statement enqueues all or none. It returns a row for each.
    ///
    /// # Errors
    ///
    /// As [`statement`](Self::statement).
    pub fn statement_all(&self, jobs: Vec<Job>) -> Result<(String, String), EnqueueError> {
        let (jobs, new) = self.checked(jobs)?;
        let statement = self.inner.client.call(|store| store.statement(&new));
        statement.map_err(|error| EnqueueError::of(jobs, &error))
    }
}

#[cfg(feature = "sqlite-system")]
#[cfg_attr(docsrs, doc(cfg(any(feature = "sqlite", feature = "sqlite-system"))))]
impl EnqueueIn for rusqlite::Transaction<'_> {
    fn enqueue(&mut self, store: &dyn Store, jobs: &[NewJob]) -> Result<Vec<Enqueued>, StoreError> {
        store_of_type::<scheduler_sqlite::Sqlite>(store, "SQLite")?.enqueue_in(self, jobs)
    }
}

#[cfg(feature = "postgres")]
#[cfg_attr(docsrs, doc(cfg(feature = "postgres")))]
impl EnqueueIn for postgres::Transaction<'_> {
    fn enqueue(&mut self, store: &dyn Store, jobs: &[NewJob]) -> Result<Vec<Enqueued>, StoreError> {
        store_of_type::<scheduler_postgres::Postgres>(store, "PostgreSQL")?.enqueue_in(self, jobs)
    }
}

#[cfg(feature = "postgres")]
#[cfg_attr(docsrs, doc(cfg(feature = "postgres")))]
impl EnqueueInAsync for asynchronous::Transaction<'_> {
    async fn enqueue(
        &mut self,
        store: &dyn Store,
        jobs: &[NewJob],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let store = store_of_type::<scheduler_postgres::Postgres>(store, "PostgreSQL")?;
        store.enqueue_in_async(self, jobs).await
    }
}

/// The store, if it is of this type.
#[cfg(any(feature = "postgres", feature = "sqlite-system"))]
fn store_of_type<'a, S: Store>(
    store: &'a dyn Store,
    transaction: &str,
) -> Result<&'a S, StoreError> {
    let any: &dyn Any = store;
    any.downcast_ref().ok_or_else(|| {
        let store = store.describe();
        let why =
            format!("the transaction is one of {transaction}, and the jobs are kept in {store}");
        Refusal::Unsupported(why).into()
    })
}
