//! A plain role plants what the statements name; none of it is called.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use postgres_server::Server;
use scheduler_postgres::postgres::{Client, NoTls};
use scheduler_postgres::{Postgres, Wakeup};
use scheduler_store::{Command, NewJob, Overlap, Store, StoreTime, Uuid};
use store_conformance::{Differential, TestModel, TestStore};

use crate::rights::{grants, make_roles};
use crate::support::{END, TestPostgres, enqueue, id, open, poll_of, put, schema, server};

/// A database in which the role `mallory` has planted things, in `public` and in a schema that is first in each path.
struct Database {
    server: &'static Server,
    name: &'static str,
}

impl Database {
    fn of(server: &'static Server, name: &'static str) -> Self {
        let database = Self { server, name };
        let mut admin = crate::support::client(server);
        make_roles(&mut admin);
        let role = "do $$ begin create role mallory login; exception when duplicate_object or unique_violation then null; end $$";
        admin.batch_execute(role).expect("a role");
        admin.batch_execute(&format!("create database {name}")).expect("a database");
        let mut admin = database.admin();
        let reference = Postgres::migrations("reference").expect("a script");
        admin.batch_execute(&reference).expect("a schema whose types are known");
        // The default of PostgreSQL 13 and 14.
        let open = format!(
            "grant create on schema public to public; create schema mallory authorization mallory;
             create table mallory.word (word text primary key); alter table mallory.word owner to mallory;
             alter database {name} set search_path = mallory, public, pg_catalog;
             alter database {name} set track_functions = 'all'"
        );
        admin.batch_execute(&open).expect("a database of several users");
        let words = words(&reference);
        admin
            .execute("insert into mallory.word select unnest($1::text[])", &[&words])
            .expect("words");
        let mut mallory = database.connect("mallory", "?options=-csearch_path%3Dpg_catalog");
        mallory.batch_execute(include_str!("plant.sql")).expect("things are planted");
        admin.batch_execute("drop schema reference cascade").expect("it was for its types");
        database
    }

    fn url(&self, role: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/{}", self.server.port(), self.name)
    }

    fn connect(&self, role: &str, options: &str) -> Client {
        Client::connect(&(self.url(role) + options), NoTls).expect("a connection")
    }

    /// A superuser to whom nothing planted is visible.
    fn admin(&self) -> Client {
        self.connect("test", "?options=-csearch_path%3Dpg_catalog")
    }

    /// A schema that its owner makes and grants in the path of the database.
    fn schema(&self) -> String {
        let schema = schema();
        let made = format!("create schema {schema} authorization shop_owner");
        self.admin().batch_execute(&made).expect("a schema");
        let mut owner = self.connect("shop_owner", "");
        owner.batch_execute(&Postgres::migrations(&schema).expect("a script")).expect("tables");
        owner.batch_execute(&grants(&schema)).expect("grants");
        schema
    }

    fn store(&self, schema: &str, wakeup: Wakeup) -> Postgres {
        let builder = Postgres::builder(&self.url("shop_app")).schema(schema).migrate(false);
        builder.wakeup(wakeup).relaxed_claims(false).connect().expect("a store")
    }

    /// The number of calls of what is planted.
    fn calls(&self) -> i64 {
        let calls = "select case when is_called then last_value else 0 end from mallory.calls";
        self.admin().query_one(calls, &[]).expect("a count").get(0)
    }

    fn planted(&self) -> i64 {
        self.admin().query_one("select count(*) from mallory.planted", &[]).expect("a count").get(0)
    }
}

/// The words that may name a function, an operator's function or a relation: in the schema, and in the statements of the crate.
fn words(migrations: &str) -> Vec<String> {
    let mut texts = vec![migrations.to_owned()];
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in fs::read_dir(sources).expect("a folder").flatten() {
        texts.extend(fs::read_to_string(file.path()));
    }
    let mut words = BTreeSet::new();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    for text in &texts {
        for (end, _) in text.match_indices(|letter: char| !is_part(letter)) {
            let word = text[..end].rsplit(|letter| !is_part(letter)).next().unwrap_or_default();
            if !word.is_empty() && (text[end..].starts_with('(') || word.starts_with("pg_")) {
                words.insert(word.to_owned());
            }
        }
    }
    words.into_iter().collect()
}

/// A database for all tests that must not call what is planted.
fn database() -> Option<&'static Database> {
    static DATABASE: OnceLock<Option<Database>> = OnceLock::new();
    DATABASE.get_or_init(|| Some(Database::of(server()?, "planted"))).as_ref()
}

/// A store of the role `shop_app` in such a database, by turns with and without options of its own connections.
struct Planted(TestPostgres);

impl TestStore for Planted {
    fn fresh() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let Some(database) = database() else {
            return Self(TestPostgres::Skipped(TestModel::fresh()));
        };
        let wakeup =
            [Wakeup::Poll, Wakeup::Notify][NEXT.fetch_add(1, Ordering::Relaxed) as usize % 2];
        let store = database.store(&database.schema(), wakeup);
        Self(TestPostgres::of(store, database.url("shop_app"), database.admin()))
    }

    fn store(&self) -> &dyn Store {
        self.0.store()
    }

    fn second(&self) -> Box<dyn Store> {
        self.0.second()
    }

    fn reopen(&mut self) {
        self.0.reopen();
    }

    fn set_now(&self, now: StoreTime) {
        self.0.set_now(now);
    }
}

/// Objects in the temporary schema of a client.
const TEMPORARY: &str = "
    create domain pg_temp.text as pg_catalog.text check (mallory.trap() is null);
    create domain pg_temp.uuid as pg_catalog.uuid check (mallory.trap() is null);
    create domain pg_temp.bytea as pg_catalog.bytea check (mallory.trap() is null);
    create domain pg_temp.jsonb as pg_catalog.jsonb check (mallory.trap() is null);
    create domain pg_temp.json as pg_catalog.json check (mallory.trap() is null);
    create domain pg_temp.timestamptz as pg_catalog.timestamptz check (mallory.trap() is null);
    create temp view job as select mallory.trap() as id;
    create temp view key as select mallory.trap() as key;
    create temp view done as select mallory.trap() as id;
    create temp view pg_class as select mallory.trap() as relname;";

/// The functions for other programs, and those for people.
const CALLS: [&str; 20] = [
    "select {s}.enqueue('a')",
    "select {s}.enqueue('a', '{\"b\": 1}', '2100-01-01', 'k', 'high', 'q', 3, 'abandon', 2)",
    "select {s}.enqueue('a', '2', key => 'k', on_conflict => 'replace')",
    "select {s}.enqueue('a', '3', key => 'k', key_until => 'start')",
    "select {s}.enqueue('a', '3', key => 'l', key_for => '1 hour', id => '00000000-0000-0000-0000-000000000007', traceparent => 't')",
    "select {s}.enqueue_json('[]')",
    "select {s}.retry('00000000-0000-0000-0000-000000000007')",
    "select {s}.edit('00000000-0000-0000-0000-000000000007', '4')",
    "select {s}.pause_task('a', p_by => 'anna', p_until => 'infinity')",
    "select {s}.pause_queue('q')",
    "select {s}.resume_task('a'), {s}.resume_queue('q')",
    "select * from {s}.depths()",
    "select * from {s}.list(null, null, null, null, null, null, 9)",
    "select * from {s}.command_all('cancel', p_task => 'a', p_key => 'k')",
    "select {s}.cancel('00000000-0000-0000-0000-000000000007')",
    "select * from {s}.command_all('retry', p_task => 'a', p_state => 'cancelled')",
    "select {s}.retry('00000000-0000-0000-0000-000000000007')",
    "select {s}.remove('00000000-0000-0000-0000-000000000007')",
    "select {s}.run_now('none', '00000000-0000-0000-0000-000000000008')",
    "select * from {s}.jobs",
];

#[test]
fn nothing_that_a_plain_role_plants_is_called() {
    let Some(database) = database() else { return };
    // A program: each kind of request, and each answer.
    Differential { seed: 7_000, seeds: 8, steps: 300, every: 50 }.run::<Planted>();
    let schema = database.schema();
    let (own, pooled) =
        (database.store(&schema, Wakeup::Notify), database.store(&schema, Wakeup::Poll));
    let mut watch = own.watch().expect("a watch");
    watch.wait(std::time::Duration::ZERO).expect("it listens");
    let mut producer = database.connect("shop_client", "");
    for (number, store) in (1..).zip([&own, &pooled]) {
        let mut transaction = producer.transaction().expect("a transaction");
        store.enqueue_in(&mut transaction, &[NewJob::new(id(number), "b")]).expect("accepted");
        transaction.commit().expect("a commit");
        let me = open(store, number);
        assert_eq!(store.poll(&poll_of(me, "b", 9)).expect("a poll").jobs.len(), 1);
        assert_eq!(store.sessions().expect("sessions").len() as u128, number);
    }
    // A client that only enqueues, with objects of its own; a person who operates; and a superuser.
    producer.batch_execute(TEMPORARY).expect("temporary objects");
    run(&mut producer, &schema, &CALLS[..6]);
    run(&mut database.connect("shop_operator", ""), &schema, &CALLS[6..]);
    run(&mut database.connect("test", ""), &schema, &CALLS);
    assert_eq!(
        path_of(&mut producer),
        "mallory, public, pg_catalog",
        "a call leaves the path as it was"
    );
    rare(database, &schema, &own);
    println!("{} planted, none called", database.planted());
    assert_eq!(database.calls(), 0);
    assert!(database.planted() > 10_000);
    drop((own, pooled, watch, producer));
    assert_eq!(never_run(database, &schema), "");
}

/// Rare calls: the removal of a schedule, a poll while a pause is made, a poll that does with the lines that are known, and a migration after which
/// older builds end.
fn rare(database: &Database, schema: &str, store: &Postgres) {
    let me = open(store, 3);
    put(store, "gone", Overlap::Skip);
    store.command(&Command::Remove { schedule: "gone".to_owned() }, END).expect("an answer");
    let mut person = database.connect("shop_operator", "");
    let mut transaction = person.transaction().expect("a transaction");
    transaction.batch_execute(&format!("select {schema}.pause_task('b')")).expect("a pause");
    store.poll(&poll_of(me, "b", 9)).expect("a poll");
    transaction.rollback().expect("no pause");
    let poll = format!(
        "select * from {schema}.poll('{}', array['b'], array[1::bigint], array[9::bigint], null, 1, 1, 1, 'infinity', false, false",
        Uuid::from_u128(3)
    );
    let again = format!("{poll}, (select p.walk from ({poll})) p where p.is_answer), false)");
    run(&mut database.connect("shop_app", ""), schema, &[&again]);
    let newer = "update {s}.meta set min_reader = 9";
    run(&mut database.connect("shop_owner", ""), schema, &[newer]);
    let sessions = store.sessions().expect("sessions");
    assert!(!sessions.iter().any(|session| session.is_alive()), "{sessions:?}");
}

fn run(client: &mut Client, schema: &str, calls: &[&str]) {
    for call in calls {
        let done = client.batch_execute(&call.replace("{s}", schema));
        assert!(done.is_ok(), "{call}: {done:?}");
    }
}

fn path_of(client: &mut Client) -> String {
    client.query_one("show search_path", &[]).expect("a path").get(0)
}

/// The functions that no connection to the database has run by now, in any of its schemas.
fn never_run(database: &Database, schema: &str) -> String {
    let sql = format!(
        "select coalesce(string_agg(f.proname, ' ' order by f.proname), '') from pg_proc f
         where f.pronamespace = '{schema}'::regnamespace and f.proname not in (
           select u.funcname from pg_stat_user_functions u where u.schemaname <> 'mallory')"
    );
    let mut admin = database.admin();
    let mut left = String::new();
    // A connection hands over its counts when it ends.
    for _ in 0..500 {
        left = admin.query_one(&sql, &[]).expect("an answer").get(0);
        if left.is_empty() {
            break;
        }
        admin.batch_execute("select pg_sleep(0.01)").expect("a pause");
    }
    left
}

/// The test above sees a call: without their own paths, the same functions call what is planted.
#[test]
fn without_its_own_path_each_way_into_the_schema_calls_what_is_planted() {
    let Some(server) = server() else { return };
    let database = Database::of(server, "planted_open");
    let schema = database.schema();
    let store = database.store(&schema, Wakeup::Poll);
    enqueue(&store, vec![NewJob::new(id(1), "a")]);
    let me = open(&store, 1);
    assert_eq!(database.calls(), 0);
    let without = format!(
        "do $$ declare v_function text; begin
           for v_function in select f.oid::regprocedure from pg_proc f where f.pronamespace = '{schema}'::regnamespace loop
             execute 'alter function ' || v_function || ' reset search_path';
           end loop; end $$"
    );
    database.admin().batch_execute(&without).expect("functions without a path");
    let mut calls = 0;
    let mut is_called = |way: &str| {
        let (before, now) = (calls, database.calls());
        calls = now;
        assert!(now > before, "{way} calls nothing that is planted");
    };
    let fails = |role: &str, call: &str| {
        let done = database.connect(role, "").batch_execute(&call.replace("{s}", &schema));
        assert!(done.is_err(), "{role}: {call}");
    };
    fails("test", CALLS[0]);
    is_called("a superuser");
    fails("shop_client", CALLS[4]);
    is_called("a client");
    fails("shop_operator", CALLS[8]);
    is_called("a person who operates");
    store.poll(&poll_of(me, "a", 9)).expect_err("a poll");
    is_called("a program behind a pool");
    let own = database.store(&schema, Wakeup::Notify);
    assert_eq!(
        own.poll(&poll_of(me, "a", 9)).expect("a poll").jobs.len(),
        1,
        "its connection has a path"
    );
}
