//! A folder with a store, and the processes that share it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use postgres_server::{Proxy, Server};
use scheduler::store::postgres::{Client, NoTls};
use scheduler_store::{
    Command, CommandOutcome, Enqueue, JobFilter, JobId, JobState, NewJob, Payload, Store,
    StoreTime, StoredJob, Uuid,
};
use tempfile::TempDir;

use crate::process::{Process, ProcessBuilder};

/// A store of its own for one test, in a folder that is removed at the end.
#[derive(Debug)]
pub struct Lab {
    folder: TempDir,
    store: String,
    program: PathBuf,
}

/// The text between schema and port in the address of a store in PostgreSQL.
const HOST: &str = ":postgres://test@127.0.0.1:";

/// The server of all tests of a test program. It ends with the process.
static SERVER: LazyLock<Option<Server>> = LazyLock::new(Server::start);

impl Lab {
    /// A lab with a SQLite file, or with a schema of a PostgreSQL server if `TEST_CLUSTER_STORE` is `postgres`.
    /// `program` is the path of the program `node`. None where PostgreSQL is wanted and missing, with a message.
    #[must_use]
    pub fn new(program: &str) -> Option<Self> {
        if !Self::is_postgres() {
            return Some(Self::sqlite(program));
        }
        let server = SERVER.as_ref()?;
        Some(Self::postgres(program, &server.url()))
    }

    /// A lab with PostgreSQL, for faults that only a server has. None, with a message, if the tests use SQLite.
    #[must_use]
    pub fn on_postgres(program: &str) -> Option<Self> {
        if !Self::is_postgres() {
            eprintln!("SKIPPED: it needs a server, and TEST_CLUSTER_STORE is not `postgres`");
            return None;
        }
        Self::new(program)
    }

    /// Returns true if the tests use PostgreSQL.
    #[must_use]
    pub fn is_postgres() -> bool {
        std::env::var_os("TEST_CLUSTER_STORE").is_some_and(|store| store == "postgres")
    }

    /// A lab with a SQLite file.
    ///
    /// # Panics
    ///
    /// If there can be no folder.
    #[must_use]
    pub fn sqlite(program: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = format!("sqlite:{}", folder.path().join("jobs.db").display());
        Self { folder, store, program: PathBuf::from(program) }
    }

    /// A lab with a schema of its own in a PostgreSQL server.
    ///
    /// # Panics
    ///
    /// If there can be no folder.
    #[must_use]
    pub fn postgres(program: &str, url: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::tempdir().expect("a folder");
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let store = format!("postgres:lab_{}_{number}:{url}", std::process::id());
        Self { folder, store, program: PathBuf::from(program) }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address of the store, as the program `node` takes it.
    #[must_use]
    pub fn store(&self) -> &str {
        &self.store
    }

    /// A network of its own to the server of the store.
    ///
    /// # Panics
    ///
    /// If the store is not in PostgreSQL.
    #[must_use]
    pub fn proxy(&self) -> Proxy {
        Proxy::new(self.split().1)
    }

    /// The address of the same store on another port, with [options](crate::open).
    ///
    /// # Panics
    ///
    /// If the store is not in PostgreSQL.
    #[must_use]
    pub fn store_at(&self, port: u16, options: &str) -> String {
        let (schema, _, database) = self.split();
        format!("{schema}{options}{HOST}{port}/{database}")
    }

    /// The address of a store in PostgreSQL: its schema, port, and database.
    fn split(&self) -> (&str, u16, &str) {
        let (schema, rest) = self.store.split_once(HOST).expect("a store in PostgreSQL");
        let (port, database) = rest.split_once('/').expect("a port and a database");
        (schema, port.parse().expect("a port"), database)
    }

    /// A connection of the test's own to the server of the store, and the schema.
    ///
    /// # Panics
    ///
    /// If there can be none.
    #[must_use]
    pub fn client(&self) -> (Client, String) {
        let client = Client::connect(&self.url(), NoTls).expect("the server answers");
        (client, self.split().0.trim_start_matches("postgres:").to_owned())
    }

    /// The address of the server of the store.
    ///
    /// # Panics
    ///
    /// If the store is not in PostgreSQL.
    #[must_use]
    pub fn url(&self) -> String {
        let (_, port, database) = self.split();
        format!("postgres://test@127.0.0.1:{port}/{database}")
    }

    /// The store, as this process sees it.
    ///
    /// # Panics
    ///
    /// If it does not open.
    #[must_use]
    pub fn open(&self) -> Arc<dyn Store> {
        crate::open(&self.store).expect("the store opens")
    }

    /// Says that a newer library has changed the tables, or an older one has changed them back.
    ///
    /// # Panics
    ///
    /// If the store does not take it.
    pub fn set_version(&self, version: i32, min_reader: i32) {
        let set = format!("version = {version}, min_reader = {min_reader}");
        if self.store.starts_with("sqlite:") {
            let connection = self.connection();
            let done = connection.execute_batch(&format!("update scheduler_meta set {set}"));
            return done.expect("the file takes it");
        }
        let (mut client, schema) = self.client();
        let done = client.batch_execute(&format!("update {schema}.meta set {set}"));
        done.expect("the server takes it");
    }

    /// A connection of the test's own to the file of the store.
    ///
    /// # Panics
    ///
    /// If there can be none.
    #[must_use]
    pub fn connection(&self) -> scheduler_sqlite::rusqlite::Connection {
        let path = self.store.strip_prefix("sqlite:").expect("a SQLite file");
        let connection = scheduler_sqlite::rusqlite::Connection::open(path);
        let connection = connection.expect("the file opens");
        connection.busy_timeout(Duration::from_secs(10)).expect("a timeout can be set");
        connection
    }

    /// Freezes a process between its transactions: one that is frozen within a transaction keeps the lock of a SQLite file,
    /// and all others wait for it.
    ///
    /// # Panics
    ///
    /// If it is within a transaction each time, for minutes.
    pub fn freeze(&self, process: &Process) {
        let is_locked = || {
            let connection = self.connection();
            connection.busy_timeout(Duration::from_millis(500)).expect("a timeout can be set");
            connection.execute_batch("begin immediate; rollback").is_err()
        };
        eventually(Duration::from_secs(300), "a moment without a transaction", || {
            process.freeze();
            if self.store.starts_with("sqlite:") && is_locked() {
                process.resume();
                return None;
            }
            Some(())
        });
    }

    /// Enqueues jobs of a task with this payload, and returns their identities.
    ///
    /// # Panics
    ///
    /// If the store does not accept them.
    pub fn enqueue(&self, task: &str, payload: &str, count: usize) -> Vec<JobId> {
        let options = match task {
            "twice" => 3,
            "work" => 5,
            _ => 1,
        };
        let job = |_| NewJob {
            payload: Payload { version: 1, bytes: payload.as_bytes().to_vec() },
            max_attempts: options,
            on_lost: match task {
                "abandoned" => scheduler_store::OnLost::Abandon,
                _ => scheduler_store::OnLost::Rerun,
            },
            ..NewJob::new(JobId::from_uuid(Uuid::now_v7()), task)
        };
        let jobs: Vec<NewJob> = (0..count).map(job).collect();
        let ids = jobs.iter().map(|job| job.id).collect();
        let store = self.open();
        for chunk in jobs.chunks(1_000) {
            let request = Enqueue { jobs: chunk.to_vec(), not_after: StoreTime::MAX };
            store.enqueue(&request).expect("the store accepts them");
        }
        ids
    }

    /// A job as it is stored.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn job(&self, id: JobId) -> StoredJob {
        self.open().job(id).expect("the store answers").expect("the job is there")
    }

    /// Waits until a job has a state, and returns it.
    ///
    /// # Panics
    ///
    /// If it does not have it in time.
    pub fn await_state(&self, id: JobId, state: JobState, limit: Duration) -> StoredJob {
        let store = self.open();
        eventually(limit, &format!("job {id} is {}", state.word()), || {
            let job = store.job(id).expect("the store answers").expect("the job is there");
            (job.state == state).then_some(job)
        })
    }

    /// Waits until no job is unfinished.
    ///
    /// # Panics
    ///
    /// If none ends within the limit.
    pub fn await_all_ended(&self, limit: Duration) {
        self.await_ended(|_| true, limit);
    }

    /// Waits until no job of a task is unfinished.
    ///
    /// # Panics
    ///
    /// If none ends within the limit.
    pub fn await_task_ended(&self, task: &str, limit: Duration) {
        self.await_ended(|of| of == task, limit);
    }

    /// The limit counts from the last end: the machine decides how long all of them take.
    fn await_ended(&self, is_of: impl Fn(&str) -> bool, limit: Duration) {
        let (store, mut least) = (self.open(), u64::MAX);
        while least > 0 {
            least = eventually(limit, &format!("fewer than {least} jobs are unfinished"), || {
                let depths = store.depths().expect("the store answers");
                let of_task = depths.iter().filter(|depth| is_of(&depth.task));
                Some(of_task.map(|depth| depth.unfinished()).sum()).filter(|left| *left < least)
            });
        }
    }

    /// All jobs in a state.
    ///
    /// # Panics
    ///
    /// If the store does not answer.
    #[must_use]
    pub fn jobs(&self, state: JobState) -> Vec<StoredJob> {
        let filter = JobFilter { state: Some(state), ..JobFilter::default() };
        self.open().jobs(&filter, u32::MAX).expect("the store answers")
    }

    /// Executes a command, which has to succeed.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn command(&self, command: &Command) {
        let answer = self.open().command(command, StoreTime::MAX).expect("the store answers");
        assert_eq!(answer, CommandOutcome::Done, "{command:?}");
    }

    /// A process that polls every 0.2 s, with 4 threads. Its lease of 15 s outlives slow moments of the machine.
    #[must_use]
    pub fn process(&self, label: &str) -> ProcessBuilder {
        ProcessBuilder::new(&self.program, label, self.folder(), &self.store)
    }

    /// A process whose session is soon lost, by a fault of the test or by a slow moment: its jobs may run again at any time.
    #[must_use]
    pub fn process_with_short_lease(&self, label: &str) -> ProcessBuilder {
        self.process(label).with("lease", 2_000).with("renew", 500)
    }
}

/// Returns true if tests take as long as the contract says; else they take a fraction.
#[must_use]
pub fn is_full() -> bool {
    std::env::var_os("TEST_CLUSTER_FULL").is_some()
}

/// A length from the contract, or a shorter one.
#[must_use]
pub fn length(full: u64, brief: u64) -> Duration {
    Duration::from_secs(if is_full() { full } else { brief })
}

/// Waits.
#[expect(clippy::disallowed_methods, reason = "processes run in real time")]
pub fn pass(time: Duration) {
    std::thread::sleep(time);
}

/// Waits until there is an answer, and returns it.
///
/// # Panics
///
/// If there is none within the limit. A limit is generous: the machine may be slow.
#[expect(clippy::disallowed_methods, reason = "processes are watched by the clock of the system")]
pub fn eventually<T>(limit: Duration, what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(begun.elapsed() < limit, "after {limit:?} not yet: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
