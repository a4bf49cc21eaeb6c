//! Measures the store against a server of its own with syncs on.
//!
//! `cargo run --release -p scheduler-postgres --example figures`.
//!
//! Arguments: how many jobs (default 200000), and words that select cells (`burn`, `enqueue`, `future`, `limits`).
#![allow(clippy::disallowed_methods, reason = "it measures real time, on threads of its own")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use postgres_server::Server;
use scheduler_postgres::postgres::{Client, NoTls};
use scheduler_postgres::{Builder, Postgres};
use scheduler_store::{
    End, Enqueue, Finish, JobId, Limit, LimitSpec, NewJob, Open, Poll, Priority, Register,
    SessionId, Store, StoreTime, TaskRoom, Uuid, When,
};

fn main() {
    let settings = [
        "shared_buffers=1GB",
        "max_wal_size=8GB",
        "checkpoint_timeout=30min",
        "shared_preload_libraries=pg_stat_statements",
        if std::env::var_os("FIGURES_NESTED").is_some() {
            "pg_stat_statements.track=all"
        } else {
            "pg_stat_statements.track=top"
        },
    ];
    let Some(server) = Server::start_with(&settings) else { return };
    let mut args = std::env::args().skip(1);
    let jobs: u64 = args.next().and_then(|text| text.parse().ok()).unwrap_or(200_000);
    let cells: Vec<String> = args.collect();
    let wants = |cell: &str| cells.is_empty() || cells.iter().any(|each| each == cell);
    let mut admin = Client::connect(&server.url(), NoTls).expect("a connection");
    admin.batch_execute("create extension pg_stat_statements").expect("the extension");
    if wants("enqueue") {
        enqueue(&server, &mut admin, 2_000, 1);
        enqueue(&server, &mut admin, 50_000, 500);
    }
    if wants("burn") {
        for workers in [1, 4] {
            for batch in [50, 200, 500] {
                Burn { workers, batch, ..Burn::of(jobs) }.measure(&server, &mut admin);
            }
        }
        Burn { is_relaxed: true, ..Burn::of(jobs) }.measure(&server, &mut admin);
    }
    if wants("limits") {
        for workers in [1, 4] {
            for is_limited in [false, true] {
                Burn { workers, batch: 50, is_limited, flood: 1_000_000, ..Burn::of(jobs) }
                    .measure(&server, &mut admin);
            }
        }
    }
    if let Some(folder) = std::env::var_os("FIGURES_FLOOR").filter(|_| wants("floor")) {
        for (workers, batch) in [(1, 50), (1, 200), (4, 50), (4, 200)] {
            floor(&server, &mut admin, Path::new(&folder), jobs, workers, batch);
        }
    }
    if wants("future") {
        for future in [0, 300_000] {
            Burn { batch: 50, future, ..Burn::of(20_000) }.measure(&server, &mut admin);
        }
    }
}

fn builder(server: &Server, schema: &str) -> Builder {
    Postgres::builder(&server.url()).schema(schema)
}

fn fresh(server: &Server, admin: &mut Client) -> Postgres {
    admin.batch_execute("drop schema if exists scheduler cascade").expect("the old one goes");
    builder(server, "scheduler").connect().expect("a store")
}

fn fill(store: &Postgres, count: u64, batch: usize, change: impl Fn(NewJob) -> NewJob) {
    let job = |n| {
        let id = JobId::from_uuid(Uuid::from_u128((u128::from(n) << 64) | random(n)));
        change(NewJob::new(id, "noop"))
    };
    let ids: Vec<u64> = (0..count).collect();
    for chunk in ids.chunks(batch) {
        let jobs = chunk.iter().copied().map(job).collect();
        store.enqueue(&Enqueue { jobs, not_after: StoreTime::MAX }).expect("accepted");
    }
}

fn random(n: u64) -> u128 {
    u128::from((n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn enqueue(server: &Server, admin: &mut Client, count: u64, batch: usize) {
    let store = fresh(server, admin);
    fill(&store, 10, 1, |mut job| {
        job.task = "warm".to_owned();
        job.id = JobId::from_uuid(Uuid::from_u128(job.id.as_uuid().as_u128() ^ 1));
        job
    });
    let meter = Meter::start(admin);
    fill(&store, count, batch, |job| job);
    meter.print(admin, &format!("enqueue by {batch}"), count);
}

/// A backlog, and those who work it off.
struct Burn {
    count: u64,
    workers: u64,
    batch: u32,
    /// Other jobs, which are due in a day.
    future: u64,
    /// Due jobs of one partition, which are not worked off.
    flood: u64,
    is_relaxed: bool,
    /// The jobs have a thousand partitions. Each of those has five running jobs at most.
    is_limited: bool,
}

impl Burn {
    fn of(count: u64) -> Self {
        let (workers, batch, future, flood) = (1, 200, 0, 0);
        Self { count, workers, batch, future, flood, is_relaxed: false, is_limited: false }
    }

    fn measure(&self, server: &Server, admin: &mut Client) {
        let store = fresh(server, admin);
        self.fill(&store);
        for each in ["vacuum analyze", "checkpoint"] {
            admin.batch_execute(each).expect("a vacuum");
        }
        let done = Arc::new(AtomicU64::new(0));
        let meter = Meter::start(admin);
        let threads: Vec<_> = (0..self.workers)
            .map(|worker| {
                let store = builder(server, "scheduler").relaxed_finishes(self.is_relaxed);
                let (done, batch, count) = (Arc::clone(&done), self.batch, self.count);
                thread::spawn(move || {
                    work(&store.connect().expect("a store"), worker, batch, count, &done)
                })
            })
            .collect();
        let shares: Vec<u64> =
            threads.into_iter().map(|each| each.join().expect("a worker")).collect();
        let count = shares.iter().sum::<u64>();
        assert!(count == self.count || self.flood > 0 && count >= self.count, "each job once");
        meter.print(admin, &self.label(), count);
        if self.workers > 1 {
            println!("    shares {shares:?}");
        }
    }

    fn fill(&self, store: &Postgres) {
        let lane = |partition: String| self.is_limited.then_some(partition);
        fill(store, self.count, 1000, |job| NewJob {
            partition: lane(format!("p{}", job.id.as_uuid().as_u128() >> 64 & 1023)),
            ..job
        });
        let other = |job: &NewJob| JobId::from_uuid(Uuid::from_u128(!job.id.as_uuid().as_u128()));
        fill(store, self.flood, 1000, |job| NewJob {
            id: other(&job),
            partition: lane("flood".to_owned()),
            ..job
        });
        fill(store, self.future, 1000, |job| NewJob {
            id: other(&job),
            priority: Priority::High,
            when: When::After(Duration::from_secs(86_400)),
            ..job
        });
        if self.is_limited {
            let each = Limit { running: Some(5), ..Limit::default() };
            let limits = vec![LimitSpec { task: "noop".to_owned(), each, ..LimitSpec::default() }];
            let session = open(store, u64::MAX);
            let (first_opened, definitions) = (StoreTime::from_micros(0), Vec::new());
            let not_after = StoreTime::MAX;
            let register = Register { session, first_opened, definitions, limits, not_after };
            store.register(&register).expect("the limit");
        }
    }

    fn label(&self) -> String {
        let Self { workers, batch, future, flood, is_relaxed, is_limited, .. } = self;
        let relaxed = if *is_relaxed { ", relaxed" } else { "" };
        let limited = if *is_limited { ", five of each of 1,024 partitions" } else { "" };
        format!("burn {workers} x {batch}{relaxed}{limited}, {future} future, {flood} beside")
    }
}

fn open(store: &Postgres, number: u64) -> SessionId {
    let session = SessionId::from_uuid(Uuid::from_u128(u128::from(number) + 1));
    let open = Open {
        queues: None,
        concurrency: 4,
        id: session,
        replaces: None,
        label: "figures".to_owned(),
        build: String::new(),
        application: String::new(),
        tasks: [].into(),
        lease: Duration::from_secs(600),
        not_after: StoreTime::MAX,
    };
    store.open(&open).expect("a session");
    session
}

fn work(store: &Postgres, worker: u64, batch: u32, count: u64, done: &AtomicU64) -> u64 {
    let session = open(store, worker);
    let poll = Poll {
        session,
        tasks: vec![
            TaskRoom { task: "noop".into(), room: batch, version: u32::MAX },
            TaskRoom { task: "other".into(), room: batch, version: u32::MAX },
        ]
        .into(),
        queues: None,
        limit: batch,
        abandon_limit: batch,
        lost_limit: 1,
        with_leases: false,
        not_after: StoreTime::MAX,
    };
    let mut mine = 0;
    while done.load(Ordering::Relaxed) < count {
        let polled = store.poll(&poll).expect("a poll");
        let ends: Vec<_> = polled
            .jobs
            .iter()
            .map(|job| Finish { progress: None, session, held: job.held(), end: End::Done })
            .collect();
        store.finish(&ends).expect("an end");
        mine += ends.len() as u64;
        done.fetch_add(ends.len() as u64, Ordering::Relaxed);
    }
    mine
}

/// The same work by `pgbench`, without a scheduler around it: `floor.sql`, `claim-array.sql` and `complete.sql` of a folder.
fn floor(server: &Server, admin: &mut Client, folder: &Path, count: u64, workers: u64, batch: u64) {
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a script");
    admin.batch_execute("drop table if exists job, session").expect("the old ones go");
    admin.batch_execute(&read("floor.sql")).expect("tables");
    let fill =
        "insert into job (task, payload) select 'noop', '{}' from generate_series(1, $1::bigint)";
    admin.execute(fill, &[&(count as i64)]).expect("jobs");
    for each in ["vacuum analyze", "checkpoint"] {
        admin.batch_execute(each).expect("a vacuum");
    }
    let script = std::env::temp_dir().join(format!("floor-{}.sql", server.port()));
    fs::write(&script, read("claim-array.sql") + "\n" + &read("complete.sql")).expect("a script");
    let meter = Meter::start(admin);
    // It ends by itself: with nothing left, a script divides by zero.
    Command::new(server.programs().join("pgbench"))
        .args(["-n", "-M", "prepared", "-T", "60", "-D", &format!("batch={batch}")])
        .args(["-c", &workers.to_string(), "-j", &workers.to_string(), "-f"])
        .arg(&script)
        .arg(server.url())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("pgbench");
    meter.print(admin, &format!("floor {workers} x {batch}"), count);
    let left: i64 = admin.query_one("select count(*) from job", &[]).expect("a count").get(0);
    assert_eq!(left, 0, "jobs are left");
    let _ = fs::remove_file(script);
}

struct Meter {
    started: Instant,
    wal: i64,
    cpu: u64,
    own: u64,
}

impl Meter {
    fn start(admin: &mut Client) -> Self {
        admin.batch_execute("select pg_stat_statements_reset()").expect("a reset");
        let wal = wal(admin);
        Self { started: Instant::now(), wal, cpu: server_cpu(admin), own: cpu_of("self") }
    }

    fn print(self, admin: &mut Client, label: &str, count: u64) {
        let seconds = self.started.elapsed().as_secs_f64();
        let each = |ticks: u64| ticks as f64 * 10_000.0 / count as f64;
        let cpu = each(server_cpu(admin).saturating_sub(self.cpu));
        let own = each(cpu_of("self") - self.own);
        let wal = (wal(admin) - self.wal) as f64 / count as f64;
        let statements: i64 = admin
            .query_one("select coalesce(sum(calls), 0)::bigint from pg_stat_statements", &[])
            .expect("a row")
            .get(0);
        if std::env::var_os("FIGURES_NESTED").is_some() {
            let sql = "select total_exec_time, calls, shared_blks_hit, left(regexp_replace(query, '[[:space:]]+', ' ', 'g'), 150) from pg_stat_statements order by 1 desc limit 14";
            for row in admin.query(sql, &[]).expect("rows") {
                let (time, calls, hit, text): (f64, i64, i64, String) =
                    (row.get(0), row.get(1), row.get(2), row.get(3));
                println!(
                    "  {:8.2} us {calls:6} {:8.1} {text}",
                    time * 1000.0 / count as f64,
                    hit as f64 / count as f64
                );
            }
        }
        let statements = statements as f64 / count as f64;
        let rate = count as f64 / seconds;
        println!(
            "{label}: {rate:.0} /s; of each: server {cpu:.1} us, client {own:.1} us, WAL {wal:.0} bytes, {statements:.4} statements"
        );
    }
}

fn wal(admin: &mut Client) -> i64 {
    let sql = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
    admin.query_one(sql, &[]).expect("a row").get(0)
}

/// The time of the server and all its children, in hundredths of a second.
fn server_cpu(admin: &mut Client) -> u64 {
    let pid: i32 = admin.query_one("select pg_backend_pid()", &[]).expect("a row").get(0);
    let parent = stat(&pid.to_string())[1].clone();
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let all = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    all.filter(|name| *name == parent || stat(name).get(1) == Some(&parent))
        .map(|name| cpu_of(&name))
        .sum()
}

/// The fields of a process after its name.
fn stat(pid: &str) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default();
    fields.split_whitespace().map(str::to_owned).collect()
}

/// User and system time, with the time of children that have ended.
fn cpu_of(pid: &str) -> u64 {
    let stat = stat(pid);
    stat.iter().skip(11).take(4).filter_map(|text| text.parse::<u64>().ok()).sum()
}
