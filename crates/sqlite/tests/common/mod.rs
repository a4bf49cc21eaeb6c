//! A store in a temporary folder, with a clock moved by hand.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler_sqlite::{Sqlite, SqliteClock, Synchronous};
use scheduler_store::{Enqueue, JobId, NewJob, Poll, SessionId, Store, StoreTime, TaskRoom, Uuid};
use store_conformance::TestStore;
pub(crate) use store_conformance::open;

/// A folder that is deleted with its owner.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("scheduler-sqlite-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("jobs.db")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A clock that is moved by hand, of a machine that can be started again.
#[derive(Debug)]
pub(crate) struct HandClock {
    now: AtomicI64,
    boot: Mutex<String>,
}

impl HandClock {
    pub(crate) fn new() -> Arc<Self> {
        let now = AtomicI64::new(1_700_000_000_000_000);
        Arc::new(Self { now, boot: Mutex::new("first".to_owned()) })
    }

    pub(crate) fn set(&self, now: StoreTime) {
        self.now.store(now.as_micros(), Ordering::SeqCst);
    }

    pub(crate) fn restart(&self, boot: &str) {
        boot.clone_into(&mut self.boot.lock().unwrap());
    }
}

impl SqliteClock for HandClock {
    fn now(&self) -> StoreTime {
        StoreTime::from_micros(self.now.load(Ordering::SeqCst))
    }

    fn since_boot(&self) -> Duration {
        Duration::from_micros(self.now.load(Ordering::SeqCst).unsigned_abs())
    }

    fn boot_id(&self) -> String {
        self.boot.lock().unwrap().clone()
    }
}

/// A store in a folder of its own.
#[derive(Debug)]
pub(crate) struct TestSqlite {
    store: Sqlite,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) folder: Folder,
}

impl TestSqlite {
    pub(crate) fn handle(&self) -> Sqlite {
        let clock = Arc::clone(&self.clock) as Arc<dyn SqliteClock>;
        let builder = Sqlite::builder(self.folder.file()).clock(clock);
        builder.synchronous(Synchronous::Normal).open().unwrap()
    }
}

impl TestStore for TestSqlite {
    fn fresh() -> Self {
        let (folder, clock) = (Folder::new(), HandClock::new());
        let builder =
            Sqlite::builder(folder.file()).clock(Arc::clone(&clock) as Arc<dyn SqliteClock>);
        let store = builder.synchronous(Synchronous::Normal).open().unwrap();
        Self { store, clock, folder }
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn second(&self) -> Box<dyn Store> {
        Box::new(self.handle())
    }

    fn reopen(&mut self) {
        self.store = self.handle();
    }

    fn set_now(&self, now: StoreTime) {
        self.clock.set(now);
    }
}

pub(crate) const END: StoreTime = StoreTime::MAX;

pub(crate) fn id(number: u128) -> JobId {
    JobId::from_uuid(Uuid::from_u128(number))
}

pub(crate) fn jobs(numbers: std::ops::Range<u128>, task: &str) -> Enqueue {
    let jobs = numbers.map(|number| NewJob::new(id(number), task)).collect();
    Enqueue { jobs, not_after: END }
}

pub(crate) fn poll_of(session: SessionId, task: &str, limit: u32) -> Poll {
    Poll {
        session,
        tasks: [TaskRoom { task: task.into(), room: limit, version: u32::MAX }].into(),
        queues: None,
        limit,
        abandon_limit: limit,
        lost_limit: limit,
        with_leases: false,
        not_after: END,
    }
}
