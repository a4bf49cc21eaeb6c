//! Tables that are made, and tables that are refused.

use std::thread;

use scheduler_postgres::{ConnectError, Postgres};
use scheduler_store::{Enqueue, NewJob, Open, Refusal, SessionId, Store, StoreError, Uuid};

use crate::support::{END, SECOND, client, enqueue, id, open, schema, server};

#[test]
fn eight_that_start_at_once_make_one_schema() {
    let Some(server) = server() else { return };
    for _ in 0..5 {
        let (url, schema) = (server.url(), schema());
        let threads: Vec<_> = (0..8_u128)
            .map(|number| {
                let builder = Postgres::builder(&url).schema(&schema);
                thread::spawn(move || {
                    let store = builder.connect().expect("no error");
                    open(&store, number);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        let count = format!(
            "select (select count(*) from {schema}.meta), (select count(*) from {schema}.session)"
        );
        let row = client(server).query_one(&count, &[]).expect("counts");
        assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (1, 8));
    }
}

#[test]
fn tables_that_a_newer_library_has_changed_are_refused_and_stay_as_they_are() {
    let Some(server) = server() else { return };
    let (url, schema) = (server.url(), schema());
    let connect = || Postgres::builder(&url).schema(&schema).connect().expect("a store");
    // One makes its connections now, and the other when they are needed.
    let (store, later) = (connect(), connect());
    for number in 0..4 {
        enqueue(&store, vec![NewJob::new(id(number), "a")]);
    }
    let mut client = client(server);
    let mut set = |version: i32, min_reader: i32| {
        let set = format!("update {schema}.meta set version = $1, min_reader = $2");
        client.execute(&set, &[&version, &min_reader]).expect("an update");
    };
    // Newer, but this library still understands it: a rolling deploy.
    set(99, 1);
    open(&store, 1);
    Postgres::builder(&url).schema(&schema).connect().expect("it is understood");
    set(99, 98);
    let refused = Postgres::builder(&url).schema(&schema).connect();
    let Err(ConnectError::NewerSchema(text)) = refused else { panic!("{refused:?}") };
    assert!(text.contains("99") && text.contains("98") && text.contains("help:"), "{text}");
    // A store that was opened before finds out when it opens a session (R20).
    let request = Open {
        queues: None,
        concurrency: 4,
        id: SessionId::from_uuid(Uuid::from_u128(2)),
        replaces: Some(SessionId::from_uuid(Uuid::from_u128(1))),
        label: String::new(),
        build: String::new(),
        application: String::new(),
        tasks: [].into(),
        lease: SECOND,
        not_after: END,
    };
    let answer = store.open(&request);
    assert!(matches!(answer, Err(StoreError::Refused(Refusal::NewerSchema(_)))), "{answer:?}");
    // From then on it enqueues nothing, and neither does one that connects now.
    for (number, store) in [&later, &store, &store, &store].into_iter().enumerate() {
        let jobs = vec![NewJob::new(id(10 + number as u128), "a")];
        let answer = store.enqueue(&Enqueue { jobs, not_after: END });
        assert!(matches!(answer, Err(StoreError::Refused(Refusal::NewerSchema(_)))), "{answer:?}");
    }
    let mut count = |table: &str| -> i64 {
        let count = format!("select count(*) from {schema}.{table}");
        client.query_one(&count, &[]).expect("a count").get(0)
    };
    assert_eq!(
        ["job", "session"].map(&mut count),
        [4, 0],
        "the migration has ended older sessions"
    );
}

#[test]
fn the_printed_migrations_are_enough() {
    let Some(server) = server() else { return };
    let schema = schema();
    let builder = || Postgres::builder(&server.url()).schema(&schema).migrate(false);
    let missing = builder().connect();
    let Err(ConnectError::NotMigrated(text)) = missing else { panic!("{missing:?}") };
    assert!(text.contains("Postgres::migrations"), "{text}");
    let _ = server.psql(&Postgres::migrations(&schema).expect("a script"));
    let store = builder().connect().expect("all is there");
    open(&store, 1);
    // Executed again it changes nothing.
    let _ = server.psql(&Postgres::migrations(&schema).expect("a script"));
    assert_eq!(store.sessions().expect("sessions").len(), 1);
    assert_eq!(store.job(id(1)), Ok(None));
}

#[test]
fn two_schemas_share_nothing() {
    let Some(server) = server() else { return };
    let stores = [(); 2].map(|()| crate::support::builder(server).connect().expect("a store"));
    open(&stores[0], 1);
    assert_eq!(stores[0].sessions().expect("sessions").len(), 1);
    assert_eq!(stores[1].sessions().expect("sessions").len(), 0);
}

#[test]
fn a_schema_that_is_no_identifier_is_refused_before_anything_is_sent() {
    for name in ["", "Robert'); drop table job; --", "a.b", "\"", &"x".repeat(51)] {
        let error = Postgres::builder("postgres://nobody@127.0.0.1:1/none").schema(name).connect();
        let error = error.expect_err("no schema");
        assert!(error.to_string().contains("help: use up to 50 lower-case letters"), "{error}");
        assert_eq!(format!("{error:?}"), error.to_string(), "as `main` prints it");
    }
}
