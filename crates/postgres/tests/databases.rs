//! Databases as their owners have set them up.

use std::thread;
use std::time::Duration;

use postgres_server::Server;
use scheduler_postgres::postgres::{Client, NoTls};
use scheduler_postgres::{Builder, Postgres, Wakeup};
use scheduler_store::{
    Command, CommandOutcome, End, Enqueued, Finish, JobFilter, JobState, Key, KeyUntil, NewJob,
    OnConflict, Overlap, PauseScope, Prune, Store,
};

use crate::support::{
    END, builder, client, enqueue, id, open, poll_of, put, replace_clock, schema, server,
    until_one_waits,
};

/// A table without a key, in a publication of all tables, keeps its rows for ever.
#[test]
fn each_table_has_a_key_by_which_others_find_its_rows() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let tables = format!(
        "select relname, relreplident::text in ('f', 'i') or exists (
             select from pg_index i where i.indrelid = c.oid and i.indisprimary and c.relreplident = 'd') as has_key
         from pg_class c where relnamespace = '{}'::regnamespace and relkind in ('r', 'p')",
        store.schema()
    );
    let rows = client(server).query(&tables, &[]).expect("tables");
    assert!(rows.len() >= 7, "{} tables", rows.len());
    for row in rows {
        assert!(row.get::<_, bool>(1), "{}", row.get::<_, String>(0));
    }
}

#[test]
fn a_publication_of_all_tables_lets_jobs_go_that_have_ended() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let published = format!(
        "select count(*) from pg_publication_tables where schemaname = '{}' and tablename = 'done'
           and current_setting('wal_level') = 'logical'",
        store.schema()
    );
    let published = client(server).query_one(&published, &[]).expect("a publication");
    assert_eq!(published.get::<_, i64>(0), 1, "this test sees nothing");
    let me = open(&store, 1);
    enqueue(&store, (1..=4).map(|number| NewJob::new(id(number), "a")).collect());
    let jobs = store.poll(&poll_of(me, "a", 9)).expect("a poll").jobs;
    let ends: Vec<_> = jobs
        .iter()
        .map(|job| Finish { progress: None, session: me, held: job.held(), end: End::Done })
        .collect();
    store.finish(&ends).expect("they are done");
    let retry = store.command(&Command::Retry { job: id(1) }, END);
    assert_eq!(retry, Ok(CommandOutcome::Done));
    let remove = store.command(&Command::Delete { job: id(2) }, END);
    assert_eq!(remove, Ok(CommandOutcome::Done));
    let prune = Prune {
        keep_done: Duration::ZERO,
        keep_parked: Duration::ZERO,
        keep_over: Duration::ZERO,
        keep_actions: Duration::ZERO,
        limit: 100,
        not_after: END,
    };
    assert_eq!(store.prune(&prune), Ok(2));
    let left = store.jobs(&JobFilter::default(), 9).expect("jobs");
    assert_eq!(
        left.iter().map(|job| (job.id, job.state)).collect::<Vec<_>>(),
        [(id(1), JobState::Ready)]
    );
}

/// A database whose transactions are isolated as none of ours may be.
fn isolated(server: &Server, level: &str) -> String {
    let name = schema();
    let _ = server.psql(&format!(
        "create database {name}; alter database {name} set default_transaction_isolation = '{level}'"
    ));
    name
}

/// For each level of isolation, with the options of a connection, without them, and behind a pool.
fn each_isolated(test: impl Fn(&str, &dyn Fn() -> Builder)) {
    let Some(server) = server() else { return };
    let bouncer = server.bouncer();
    let pool = bouncer.as_ref().map(|bouncer| (bouncer.port(), Wakeup::Poll));
    let ways = [(server.port(), Wakeup::Notify), (server.port(), Wakeup::Poll)];
    for level in ["repeatable read", "serializable"] {
        for (port, wakeup) in ways.into_iter().chain(pool) {
            let name = isolated(server, level);
            let url = |port| format!("postgres://test@127.0.0.1:{port}/{name}");
            let builder = || Postgres::builder(&url(port)).schema("isolated").wakeup(wakeup);
            test(&url(server.port()), &builder);
        }
    }
}

#[test]
fn first_starts_at_once_make_one_schema_at_each_isolation() {
    each_isolated(|url, builder| {
        thread::scope(|scope| {
            for number in 0..8 {
                let builder = builder();
                scope.spawn(move || open(&builder.connect().expect("a store"), number));
            }
        });
        let mut client = Client::connect(url, NoTls).expect("a connection");
        let count = "select count(*) from isolated.session";
        assert_eq!(client.query_one(count, &[]).expect("a count").get::<_, i64>(0), 8);
    });
}

#[test]
fn a_pool_that_drops_settings_is_an_error_of_the_start_at_each_isolation() {
    let Some(server) = server() else { return };
    for level in ["repeatable read", "serializable"] {
        let name = isolated(server, level);
        let connect = || {
            let bouncer = server.session_bouncer()?;
            Some(Postgres::connect(&format!("postgres://test@127.0.0.1:{}/{name}", bouncer.port())))
        };
        let Some(refused) = connect() else { return };
        let text = refused.expect_err("it is isolated otherwise").to_string();
        let (fault, line) = text.split_once("\nhelp: ").expect("a line to write");
        assert!(fault.contains(&format!("transactions are isolated as {level}")), "{text}");
        let _ = server.psql(line);
        connect().expect("a pool").expect("a store");
        let _ = server.psql(&format!("alter role test in database {name} reset all"));
    }
}

#[test]
fn printed_migrations_executed_at_once_make_one_schema_at_each_isolation() {
    each_isolated(|url, _| {
        let script = Postgres::migrations("printed").expect("a script");
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut client = Client::connect(url, NoTls).expect("a connection");
                    client.batch_execute(&script).expect("the script succeeds");
                });
            }
        });
    });
}

#[test]
fn r21_a_poll_that_waits_for_a_pause_obeys_it_at_each_isolation() {
    each_isolated(|url, builder| {
        let store = builder().connect().expect("a store");
        let connect = || Client::connect(url, NoTls).expect("a connection");
        let (mut one, mut look) = (connect(), connect());
        // It waits for as long as the pause takes to be made.
        look.batch_execute("alter function isolated.await_pause set lock_timeout = '1min'")
            .expect("a longer wait");
        let me = open(&store, 1);
        enqueue(&store, vec![NewJob::new(id(1), "a")]);
        one.batch_execute("begin; select isolated.pause_task('a')").expect("a pause");
        let polling = store.clone();
        let poll = thread::spawn(move || polling.poll(&poll_of(me, "a", 9)).expect("a poll"));
        until_one_waits(&mut look, "isolated");
        one.batch_execute("commit").expect("a commit");
        let polled = poll.join().expect("no panic");
        assert_eq!(polled.jobs, []);
        assert_eq!(polled.paused, [PauseScope::Task("a".to_owned())]);
    });
}

fn keyed(number: u128) -> NewJob {
    let text = format!("k{}", number % 3);
    let key = Some(Key { text, until: KeyUntil::End, on_conflict: OnConflict::Keep });
    NewJob { key, ..NewJob::new(id(number), "a") }
}

/// Nothing of these fails, and each asks for the clock, which refuses to answer in any other transaction.
#[test]
fn requests_beside_each_other_read_what_is_committed_at_each_isolation() {
    each_isolated(|url, builder| {
        let store = builder().connect().expect("a store");
        let clock = "language plpgsql volatile as $$ begin
              if current_setting('transaction_isolation') <> 'read committed' then
                raise exception 'the transaction is %', current_setting('transaction_isolation');
              end if;
              return pg_catalog.clock_timestamp();
            end $$";
        let mut client = Client::connect(url, NoTls).expect("a connection");
        replace_clock(&mut client, "isolated", clock);
        let workers = [1, 2].map(|number| (store.clone(), open(&store, number)));
        thread::scope(|scope| {
            for thread in 0..4_u128 {
                let store = &store;
                scope.spawn(move || {
                    for number in 0..25 {
                        let answer = enqueue(store, vec![keyed(thread * 100 + number + 1)]);
                        assert!(matches!(answer[..], [Enqueued::Accepted(_) | Enqueued::Kept(_)]));
                    }
                });
            }
            for (store, me) in &workers {
                scope.spawn(move || {
                    for _ in 0..50 {
                        let jobs = store.poll(&poll_of(*me, "a", 9)).expect("a poll").jobs;
                        let end = |job: &scheduler_store::StoredJob| Finish {
                            progress: None,
                            session: *me,
                            held: job.held(),
                            end: End::Done,
                        };
                        store.finish(&jobs.iter().map(end).collect::<Vec<_>>()).expect("ends");
                    }
                });
            }
        });
        put(&store, "s", Overlap::Skip);
        let pause = Command::Pause {
            schedule: "s".to_owned(),
            until: None,
            by: String::new(),
            reason: String::new(),
        };
        for command in [pause, Command::RunNow { schedule: "s".to_owned(), job: id(9_000) }] {
            assert_eq!(store.command(&command, END), Ok(CommandOutcome::Done));
        }
        store.depths().expect("an answer");
    });
}
