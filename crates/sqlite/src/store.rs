//! The store: what a program opens.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use scheduler_store::{
    Action, ActionFilter, BulkOutcome, ClaimRef, Close, Command, CommandAll, CommandOutcome,
    Enqueue, Enqueued, Finish, Finished, Fire, Fired, JobFilter, JobId, JobPause, JobWait,
    LimitDepth, NewJob, Open, Opened, PartitionDepth, Poll, Polled, Prune, QueueDepth, Reap,
    Reaped, Register, Registered, Renew, Renewed, ScheduleSpec, SessionId, SessionInfo, Signature,
    Store, StoreError, StoreTime, StoredJob, StoredLimit, StoredSchedule, Watch, identifier,
    statement_json,
};

use crate::connection::{ConnectionPool, FileWatch, SqliteSettings};
use crate::error::{OpenError, check_version};
use crate::host::{HostClock, SqliteClock, file_of, network_of};
use crate::schema::{self, MIGRATIONS};
use crate::tx::Tables;

/// The longest wait for the lock of the file, of a request that does not expire.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// The transactions that survive a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Synchronous {
    /// Everything that was accepted: each transaction waits for the disk.
    #[default]
    Full,
    /// The last transactions may be lost when the power fails, also jobs that were accepted. Nothing is lost when only
    /// the process dies.
    Normal,
}

/// Durable jobs in a SQLite file. Clones are the same store.
///
/// Several processes of one host may use the file.
///
/// ```
/// use scheduler_sqlite::Sqlite;
/// use scheduler_store::{Enqueue, Enqueued, JobId, NewJob, Store, StoreTime, Uuid};
///
/// # let folder = std::env::temp_dir().join(format!("scheduler-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let store = Sqlite::open(folder.join("jobs.db"))?;
/// let id = JobId::from_uuid(Uuid::from_u128(1));
/// let request = Enqueue { jobs: vec![NewJob::new(id, "send")], not_after: StoreTime::MAX };
/// assert_eq!(store.enqueue(&request)?, [Enqueued::Accepted(id)]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sqlite {
    pool: Arc<ConnectionPool>,
}

/// The options of a [`Sqlite`] store, set before it opens.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    path: PathBuf,
    prefix: Option<String>,
    synchronous: Synchronous,
    busy_timeout: Duration,
    max_pages: Option<u32>,
    is_any_file_system: bool,
    clock: Arc<dyn SqliteClock>,
}

impl Sqlite {
    /// Opens a file, and makes it and the tables if they are not there.
    ///
    /// # Errors
    ///
    /// See [`OpenError`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::builder(path).open()
    }

    /// A store whose options are to be set.
    pub fn builder(path: impl AsRef<Path>) -> Builder {
        Builder {
            path: path.as_ref().to_owned(),
            prefix: None,
            synchronous: Synchronous::default(),
            busy_timeout: BUSY_TIMEOUT,
            max_pages: None,
            is_any_file_system: false,
            clock: Arc::new(HostClock),
        }
    }

    /// The statements that bring tables of a version to the one that this library knows, for those who make them by tools of
    /// their own; all of them for the version 0. The version of a file is in its table `scheduler_meta`.
    /// [`open`](Self::open) executes what is missing.
    #[must_use]
    pub fn migrations(from: u32) -> String {
        schema::printed(&Tables::DEFAULT, MIGRATIONS, i64::from(from))
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.pool.settings.tables
    }

    pub(crate) fn clock(&self) -> &dyn SqliteClock {
        &*self.pool.settings.clock
    }
}

impl Builder {
    /// The transactions that survive a loss of power.
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// The prefix of the names of all tables and indexes: `scheduler_` by default.
    pub fn table_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// The longest wait of a request while others write: 30 seconds by default. One that expires earlier waits until
    /// then.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// The greatest number of pages of the file.
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.max_pages = Some(pages);
        self
    }

    /// Opens the file wherever it is: you know that all its processes are on one host.
    pub fn any_file_system(mut self) -> Self {
        self.is_any_file_system = true;
        self
    }

    /// The clock, for tests.
    pub fn clock(mut self, clock: Arc<dyn SqliteClock>) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// See [`OpenError`].
    pub fn open(self) -> Result<Sqlite, OpenError> {
        check_version(rusqlite::version_number(), rusqlite::version())?;
        let text = self.path.as_os_str();
        if text.is_empty()
            || text == ":memory:"
            || text.to_string_lossy().starts_with("file::memory:")
        {
            return Err(OpenError::InMemory);
        }
        let network = network_of(&self.path).filter(|_| !self.is_any_file_system);
        if let Some(system) = network {
            return Err(OpenError::Network(self.path, system));
        }
        let is_linked = file_of(&self.path).is_some_and(|(_, names)| names > 1);
        if is_linked && !self.is_any_file_system {
            return Err(OpenError::Linked(self.path));
        }
        let settings = SqliteSettings {
            path: self.path,
            tables: self.prefix.map_or(Ok(Tables::DEFAULT), |prefix| Tables::new(&prefix))?,
            synchronous: match self.synchronous {
                Synchronous::Full => "full",
                Synchronous::Normal => "normal",
            },
            busy_timeout: self.busy_timeout,
            max_pages: self.max_pages,
            clock: self.clock,
        };
        Ok(Sqlite { pool: Arc::new(ConnectionPool::open(settings)?) })
    }
}

impl Store for Sqlite {
    fn separate(&self, application: &str) -> String {
        format!("Sqlite::builder(path).table_prefix(\"{}_\")", identifier(application))
    }

    fn describe(&self) -> String {
        format!("SQLite {}", self.pool.settings.path.display())
    }

    fn open(&self, request: &Open) -> Result<Opened, StoreError> {
        self.pool.write(Some(request.not_after), |tx| tx.open(request))
    }

    fn renew(&self, request: &Renew) -> Result<Renewed, StoreError> {
        self.pool.write(Some(request.not_after), |tx| tx.renew(request))
    }

    fn close(&self, request: &Close) -> Result<(), StoreError> {
        self.pool.write(Some(request.not_after), |tx| tx.close(request))
    }

    fn register(&self, request: &Register) -> Result<Registered, StoreError> {
        request.definitions.iter().try_for_each(ScheduleSpec::check)?;
        self.pool.write(Some(request.not_after), |tx| tx.register(request))
    }

    fn poll(&self, request: &Poll) -> Result<Polled, StoreError> {
        self.pool.write(Some(request.not_after), |tx| tx.poll(request, &self.pool))
    }

    fn fire(&self, request: &Fire) -> Result<Fired, StoreError> {
        self.pool.write(Some(request.not_after), |tx| tx.fire(request))
    }

    fn finish(&self, requests: &[Finish]) -> Result<Vec<Finished>, StoreError> {
        self.pool.write(None, |tx| tx.finish(requests))
    }

    fn held(&self, session: SessionId) -> Result<Vec<ClaimRef>, StoreError> {
        self.pool.read(|tx| tx.held(session))
    }

    fn reap(&self, request: &Reap) -> Result<Reaped, StoreError> {
        self.pool.write(Some(request.not_after), |tx| tx.reap(request))
    }

    fn enqueue(&self, request: &Enqueue) -> Result<Vec<Enqueued>, StoreError> {
        request.jobs.iter().try_for_each(NewJob::check)?;
        Ok(self.pool.write(Some(request.not_after), |tx| tx.enqueue(&request.jobs))??)
    }

    fn statement(&self, jobs: &[NewJob]) -> Result<(String, String), StoreError> {
        Ok((self.enqueue_sql(), statement_json(jobs)?))
    }

    fn command_by(
        &self,
        signature: Option<&Signature>,
        command: &Command,
        not_after: StoreTime,
    ) -> Result<CommandOutcome, StoreError> {
        command.check()?;
        self.pool.write(Some(not_after), |tx| tx.command_by(signature, command))
    }

    fn note(&self, action: &Action, adds: bool) -> Result<(), StoreError> {
        self.pool.write(None, |tx| tx.keep(&Action { at: tx.now, ..action.clone() }, adds))
    }

    fn actions(&self, filter: &ActionFilter, limit: u32) -> Result<Vec<Action>, StoreError> {
        self.pool.read(|tx| tx.actions(filter, limit))
    }

    fn command_all(&self, request: &CommandAll) -> Result<BulkOutcome, StoreError> {
        self.pool.write(Some(request.not_after), |tx| tx.command_all(request))
    }

    fn prune(&self, request: &Prune) -> Result<u64, StoreError> {
        self.pool.write(Some(request.not_after), |tx| tx.prune(request))
    }

    fn job(&self, id: JobId) -> Result<Option<StoredJob>, StoreError> {
        self.pool.read(|tx| tx.job(id))
    }

    fn jobs(&self, filter: &JobFilter, limit: u32) -> Result<Vec<StoredJob>, StoreError> {
        self.pool.read(|tx| tx.jobs(filter, limit))
    }

    fn schedules(&self) -> Result<Vec<StoredSchedule>, StoreError> {
        self.pool.read(|tx| tx.schedules())
    }

    fn pauses(&self) -> Result<Vec<JobPause>, StoreError> {
        self.pool.read(|tx| tx.all_pauses())
    }

    fn limits(&self) -> Result<Vec<StoredLimit>, StoreError> {
        self.pool.read(|tx| Ok(tx.all_limits()?.0.into_values().collect()))
    }

    fn waits(&self, jobs: &[JobId]) -> Result<Vec<JobWait>, StoreError> {
        let mut jobs = jobs.to_vec();
        jobs.sort_unstable();
        jobs.dedup();
        self.pool.read(move |tx| tx.waits(&jobs))
    }

    fn partitions(&self, task: &str, limit: u32) -> Result<Vec<PartitionDepth>, StoreError> {
        self.pool.read(|tx| tx.partitions(task, limit))
    }

    fn limit_depths(&self) -> Result<Vec<LimitDepth>, StoreError> {
        self.pool.read(|tx| tx.limit_depths())
    }

    fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.pool.read(|tx| tx.sessions())
    }

    fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        self.pool.read(|tx| tx.depths())
    }

    fn watch(&self) -> Option<Box<dyn Watch>> {
        Some(Box::new(FileWatch::new(Arc::clone(&self.pool))))
    }
}
