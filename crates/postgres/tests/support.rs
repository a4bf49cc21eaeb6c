//! A server for all tests, and a schema for each.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use postgres_server::Server;
use scheduler_postgres::postgres::{Client, NoTls};
use scheduler_postgres::{Builder, Postgres};
use scheduler_store::{
    Command, CommandOutcome, DEFAULT_QUEUE, End, Enqueue, Enqueued, Finish, Fire, JobId, NewJob,
    Next, OnBusy, OnLost, Overlap, Payload, Poll, Priority, Rule, ScheduleSpec, SessionId, Skips,
    Store, StoreTime, StoredJob, TaskRoom, TickJob, Timing, Uuid,
};
pub(crate) use store_conformance::open;
use store_conformance::{TestModel, TestStore};

/// The server of this process; none if there is no PostgreSQL, and the test is to end.
pub(crate) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(published).as_ref()
}

/// A server that publishes each change of each table, which PostgreSQL refuses for rows without a key.
fn published() -> Option<Server> {
    let settings =
        ["wal_level=logical", "fsync=off", "full_page_writes=off", "synchronous_commit=off"];
    let server = Server::start_with(&settings)?;
    let _ = server.psql("create publication everything for all tables");
    Some(server)
}

/// A schema that no other test has.
pub(crate) fn schema() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn builder(server: &Server) -> Builder {
    Postgres::builder(&server.url()).schema(schema())
}

pub(crate) fn client(server: &Server) -> Client {
    Client::connect(&server.url(), NoTls).expect("a connection")
}

/// A store whose clock is moved by hand, for the suite. Without a server it is the model, so that the suite passes over it.
pub(crate) enum TestPostgres {
    Real { store: Postgres, url: String, clock: Box<Mutex<Client>> },
    Skipped(TestModel),
}

impl TestPostgres {
    pub(crate) fn new(server: &Server) -> Self {
        Self::of(timed(server), server.url(), client(server))
    }

    /// A store that is at an address, whose clock is moved by a client that may do everything.
    pub(crate) fn of(store: Postgres, url: String, mut clock: Client) -> Self {
        let schema = store.schema();
        let tables = format!(
            "create unlogged table {schema}.test_clock (now timestamptz not null);
             insert into {schema}.test_clock values ('2000-01-01 00:00:00+00');
             grant select on {schema}.test_clock to public;
             -- The model, whose fences are compared with these, has no connections.
             create or replace function {schema}.skip_fences() returns void language sql as '';
             set synchronous_commit = off;"
        );
        clock.batch_execute(&tables).expect("a clock");
        let now = format!("language sql volatile as 'select now from {schema}.test_clock'");
        replace_clock(&mut clock, schema, &now);
        Self::Real { store, url, clock: Box::new(Mutex::new(clock)) }
    }
}

/// Lets all functions of a schema ask a function in place of the clock.
pub(crate) fn replace_clock(client: &mut Client, schema: &str, definition: &str) {
    let replaced = format!(
        "do $$ declare v_function text; begin
           for v_function in select pg_get_functiondef(f.oid) from pg_proc f
             where f.pronamespace = '{schema}'::regnamespace and f.prosrc like '%pg_catalog.clock_timestamp()%' loop
             execute replace(v_function, 'pg_catalog.clock_timestamp()', '{schema}.clock()');
           end loop; end $$;
         create function {schema}.clock() returns timestamptz {definition};"
    );
    client.batch_execute(&replaced).expect("a clock");
}

fn timed(server: &Server) -> Postgres {
    builder(server).relaxed_claims(false).connect().expect("a store")
}

impl TestStore for TestPostgres {
    fn fresh() -> Self {
        server().map_or_else(|| Self::Skipped(TestModel::fresh()), Self::new)
    }

    fn store(&self) -> &dyn Store {
        match self {
            Self::Real { store, .. } => store,
            Self::Skipped(model) => model.store(),
        }
    }

    fn second(&self) -> Box<dyn Store> {
        match self {
            Self::Real { store, url, .. } => {
                let other = Postgres::builder(url).schema(store.schema()).relaxed_claims(false);
                Box::new(other.connect().expect("a store"))
            }
            Self::Skipped(model) => model.second(),
        }
    }

    fn reopen(&mut self) {
        match self {
            Self::Real { store, url, .. } => {
                let other = Postgres::builder(url).schema(store.schema()).relaxed_claims(false);
                *store = other.connect().expect("a store");
            }
            Self::Skipped(model) => model.reopen(),
        }
    }

    fn set_now(&self, now: StoreTime) {
        match self {
            Self::Real { store, clock, .. } => {
                let set = format!(
                    "update {}.test_clock set now = '1970-01-01 00:00:00+00'::timestamptz
                       + ({1} / 1000000) * interval '1 second' + ({1} % 1000000) * interval '1 microsecond'",
                    store.schema(),
                    now.as_micros()
                );
                clock.lock().expect("the clock").batch_execute(&set).expect("the clock moves");
            }
            Self::Skipped(model) => model.set_now(now),
        }
    }

    fn seeds() -> u64 {
        12
    }
}

pub(crate) const END: StoreTime = StoreTime::MAX;
pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn id(number: u128) -> JobId {
    JobId::from_uuid(Uuid::from_u128(number))
}

pub(crate) fn session(number: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(number))
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

pub(crate) fn enqueue(store: &dyn Store, jobs: Vec<NewJob>) -> Vec<Enqueued> {
    store.enqueue(&Enqueue { jobs, not_after: END }).expect("an answer")
}

/// An address in SQL.
pub(crate) fn uuid(number: u128) -> String {
    format!("'{}'::uuid", Uuid::from_u128(number))
}

/// Waits until a backend of this schema's statements waits for a lock: then the race is on.
pub(crate) fn until_one_waits(client: &mut Client, schema: &str) {
    let sql = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query ~ ('\\y' || $1 || '\\y')";
    for _ in 0..3_000 {
        if client.query_one(sql, &[&schema]).expect("a count").get::<_, i64>(0) > 0 {
            return;
        }
        client.batch_execute("select pg_sleep(0.01)").expect("a pause");
    }
    panic!("no connection waits for a lock");
}

/// A definition of a schedule whose ticks are computed.
pub(crate) fn definition(name: &str, overlap: Overlap) -> ScheduleSpec {
    ScheduleSpec {
        name: name.to_owned(),
        task: "tick".to_owned(),
        payload: Payload::default(),
        queue: DEFAULT_QUEUE.to_owned(),
        priority: Priority::Normal,
        partition: None,
        rule: Rule { text: "rule".to_owned(), timing: Timing::Computed },
        calculator: "1".to_owned(),
        overlap,
        max_attempts: 3,
        on_lost: OnLost::Rerun,
        is_dynamic: true,
    }
}

/// Makes a schedule, and returns its cursor.
pub(crate) fn put(store: &dyn Store, name: &str, overlap: Overlap) -> StoreTime {
    let definition = Box::new(definition(name, overlap));
    assert_eq!(store.command(&Command::Put { definition }, END), Ok(CommandOutcome::Done));
    let schedules = store.schedules().expect("schedules");
    schedules.iter().find(|each| each.definition.name == name).expect("it is there").cursor
}

/// A tick of a schedule one microsecond after the cursor.
pub(crate) fn fire_of(
    session: SessionId,
    schedule: &str,
    seen: StoreTime,
    job: u128,
    on_busy: OnBusy,
) -> Fire {
    let tick = seen.after(Duration::from_micros(1));
    Fire {
        session,
        schedule: schedule.to_owned(),
        rule: "rule".to_owned(),
        seen,
        pause: None,
        cursor: tick,
        next: Next::Unknown,
        job: Some(TickJob { id: id(job), tick, missed: 0, run_at: tick }),
        on_busy,
        skips: Skips::default(),
        claim: None,
        not_after: END,
    }
}

/// The pages that a statement looks at once its connection has planned it. When others make tables, it is planned again, which
/// looks at more: so the fewest of many times count.
pub(crate) fn pages(client: &mut Client, statement: &str) -> u64 {
    let once = |client: &mut Client| {
        let buffers = buffers(client, statement);
        count(&buffers, "hit=") + count(&buffers, "read=")
    };
    (0..20).map(|_| once(client)).min().expect("some")
}

/// The pages of temporary files that a statement writes with the least memory that a server allows: what it sorts and keeps.
pub(crate) fn pages_aside(client: &mut Client, statement: &str) -> u64 {
    client.batch_execute("set work_mem = '64kB'").expect("a setting");
    buffers(client, statement).split_once("temp ").map_or(0, |(_, aside)| count(aside, "written="))
}

/// The pages of a statement and of all that its functions execute: `Buffers: shared hit=12 read=3, temp read=4 written=5`.
fn buffers(client: &mut Client, statement: &str) -> String {
    let explain =
        format!("explain (analyze, buffers, costs off, timing off, summary off) {statement}");
    let mut transaction = client.transaction().expect("a transaction");
    let rows = transaction.query(&explain, &[]).expect("a plan");
    transaction.rollback().expect("a rollback");
    let mut lines = rows.iter().map(|row| row.get::<_, String>(0));
    // The first node includes all others.
    lines.find(|line| line.contains("Buffers: ")).expect("buffers")
}

fn count(buffers: &str, name: &str) -> u64 {
    let counts = buffers.split([' ', ',']).filter_map(|word| word.strip_prefix(name));
    counts.map(|count| count.parse::<u64>().expect("a number")).sum()
}

/// Jobs of the task `old` that are done, so many in each row of the finished ones.
pub(crate) fn finished(store: &Postgres, numbers: impl Iterator<Item = u128>, in_a_row: usize) {
    let me = open(store, 9);
    let new = |number| NewJob::new(id(100_000 + number), "old");
    enqueue(store, numbers.map(new).collect());
    loop {
        let jobs = store.poll(&poll_of(me, "old", 500)).expect("a poll").jobs;
        let end = |job: &StoredJob| Finish {
            progress: None,
            session: me,
            held: job.held(),
            end: End::Done,
        };
        if jobs.is_empty() {
            return;
        }
        for row in jobs.chunks(in_a_row) {
            store.finish(&row.iter().map(end).collect::<Vec<_>>()).expect("ends");
        }
    }
}

/// An identity of version 7 that was made two seconds before the end of its job, in SQL.
pub(crate) const OF_VERSION_7: &str = "(lpad(to_hex((extract(epoch from e.at) * 1000)::bigint - 2000), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid";

/// A statement that adds so many rows, of 500 jobs or of one, that have ended at even intervals in the last two hours.
pub(crate) fn ended_lately(schema: &str, rows: u32, identity: &str) -> String {
    let in_a_row = if identity == OF_VERSION_7 { 500 } else { 1 };
    format!(
        "insert into {schema}.done (ended_at, least_id, greatest_id, id, fence, run_at, expires_at, created_at, started_at, attempt, lost, undecoded,
           priority, is_abandoned, is_exclusive, is_key_until_start, max_attempts, payload_version, state, task, queue, partition, key, schedule, tick,
           missed, payload, error, traceparent, attempts, progress)
         select e.at, min(i.id::text)::uuid, max(i.id::text)::uuid, array_agg(i.id), array_agg(0::bigint), array_agg(e.at), array[null::timestamptz], array_agg(e.at),
           array_agg(e.at), '{{1}}', '{{0}}', '{{0}}', '{{1}}', '{{f}}', '{{f}}', '{{f}}', '{{1}}', '{{0}}', '{{done}}', '{{old}}', '{{default}}', array[null], array[null],
           array[null], array[null::timestamptz], '{{0}}', '{{\"\"}}', array[null], array[null], array[null], array[null]
         from (select now() - interval '2 hours' * n / {rows} as at from generate_series({rows}, 1, -1) n) e
         cross join lateral (
           select {identity} as id from generate_series(1, {in_a_row}) n where e.at is not null) i
         group by e.at order by e.at"
    )
}
