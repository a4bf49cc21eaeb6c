//! Other clients: `psql`, an asynchronous library, transactions; and notifications.

use std::time::Duration;

use scheduler_postgres::postgres::{Client, Row};
use scheduler_postgres::{Postgres, Wakeup};
use scheduler_store::{
    ClaimRef, End, Enqueue, Enqueued, Expiry, Finish, JobFilter, JobState, Key, KeyUntil, NewJob,
    OnConflict, OnLost, Overlap, Payload, Priority, Prune, Store, StoreTime, Uuid, When,
};

use crate::support::{SECOND, builder, client, enqueue, id, open, poll_of, put, server};

const WAIT: Duration = Duration::from_secs(60);
const QUIET: Duration = Duration::from_millis(300);

#[test]
fn any_client_enqueues_in_its_own_transaction() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let me = open(&store, 1);
    let schema = store.schema();
    let printed = server.psql(&format!(
        "begin; select 'gone ' || {schema}.enqueue('send', '{{\"invoice\": 1}}'); rollback;
         begin; select 'kept ' || {schema}.enqueue('send', '{{\"invoice\": 17}}', key => 'inv-17', priority => 'high',
           queue => 'mail', max_attempts => 5, run_at => now() - interval '1 hour'); commit;
         select 'same ' || {schema}.enqueue('send', '{{\"invoice\": 18}}', key => 'inv-17');
         select {schema}.enqueue('later', run_at => 'infinity');"
    ));
    let lines: Vec<_> = printed.lines().map(|line| line.split(' ').collect::<Vec<_>>()).collect();
    assert_eq!(lines[1][1], lines[2][1], "the key has one job: {printed}");
    let polled = store.poll(&poll_of(me, "send", 10)).expect("a poll");
    assert_eq!(polled.jobs.len(), 1);
    let job = &polled.jobs[0];
    assert_eq!((job.id.to_string(), job.payload.version), (lines[1][1].to_owned(), 1));
    assert_eq!(String::from_utf8_lossy(&job.payload.bytes), "{\"invoice\": 17}");
    assert_eq!((&*job.queue, job.priority, job.max_attempts), ("mail", Priority::High, 5));
    let later = JobFilter { task: Some("later".to_owned()), ..JobFilter::default() };
    assert_eq!(store.jobs(&later, 10).expect("jobs")[0].run_at, scheduler_store::StoreTime::MAX);
    // Refused before anything is stored.
    for call in [
        "enqueue('')",
        "enqueue('a', priority => 'High')",
        "enqueue(repeat('x', 251))",
        "enqueue('a', key => '')",
    ] {
        let error = client(server).batch_execute(&format!("select {schema}.{call}"));
        assert_eq!(
            error.expect_err(call).code().map(|code| code.code().to_owned()),
            Some("22023".to_owned())
        );
    }
    let answers = server.psql(&format!(
        "select {schema}.cancel('{0}'); select {schema}.retry('{0}'); select {schema}.cancel('00000000-0000-0000-0000-0000000000ff')",
        lines[1][1]
    ));
    assert_eq!(answers.lines().collect::<Vec<_>>(), ["ok", "running", "not_found"]);
}

/// The calls of the functions for people, with the arguments that they need.
const CALLS: [(&str, &str); 10] = [
    ("enqueue", "'a', key => 'k' || clock_timestamp()"),
    ("cancel", "JOB"),
    ("retry", "JOB"),
    ("remove", "JOB"),
    ("edit", "JOB, '1'"),
    ("command_all", "'retry'"),
    ("list", "null, null, null, null, null, null"),
    ("run_now", "'s', gen_random_uuid()"),
    ("pause_task", "'a'"),
    ("pause_queue", "'q'"),
];

/// The greatest and the least values of a type, and those beside others.
fn extremes(kind: &str) -> &'static [&'static str] {
    match kind {
        "timestamptz" => &[
            "infinity",
            "-infinity",
            "4713-11-24 00:00:00+00 BC",
            "294276-12-31 23:59:59.999999+00",
            "9999-12-31 23:59:59.999999+00",
        ],
        "interval" => &[
            "1000000 years",
            "-1000000 years",
            "178000000 years",
            "-178000000 years",
            "2147483647 days 2147483647 hours",
            "0",
            "-1 microsecond",
        ],
        "int8" => &["9223372036854775807", "-9223372036854775808", "4294967296", "0", "-1"],
        _ => &[],
    }
}

#[test]
fn a_value_that_no_job_can_have_is_refused_as_one_and_others_are_the_nearest() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    put(&store, "s", Overlap::Allow);
    let (mut client, mut calls) = (client(server), 0);
    let schema = store.schema();
    for (function, arguments) in CALLS {
        let parameters = format!(
            "select a.name, t.typname::text from pg_proc p cross join lateral unnest(p.proargnames[:p.pronargs], p.proargtypes::oid[])
               a(name, type) join pg_type t on t.oid = a.type where p.pronamespace = '{schema}'::regnamespace and proname = '{function}'"
        );
        for row in client.query(&parameters, &[]).expect("parameters") {
            let (parameter, kind): (String, String) = (row.get(0), row.get(1));
            for value in extremes(&kind) {
                let parked = "'00000000-0000-0000-0000-000000000007'";
                let call = format!(
                    "insert into {schema}.job (id, task, payload, payload_version, queue, priority, run_at, max_attempts, is_abandoned,
                       state, finished_at, created_at) values ({parked}, 'a', '', 0, 'q', 1, now(), 1, false, 'parked', now(), now())
                       on conflict do nothing;
                     select {schema}.{function}({}, {parameter} => '{value}'::{kind})",
                    arguments.replace("JOB", parked)
                );
                let error = client.batch_execute(&call).err();
                let state = error
                    .as_ref()
                    .and_then(|error| error.code())
                    .map(|code| code.code().to_owned());
                let is_late = parameter == "p_not_after" && state.as_deref() == Some("SCH01");
                let is_fine = error.is_none() || is_late || state.as_deref() == Some("22023");
                assert!(is_fine, "{function}({parameter} => {value}): {error:?}");
                calls += 1;
            }
        }
        store.jobs(&JobFilter::default(), 1_000).expect("they can be read");
        store.pauses().expect("they can be read");
        store
            .prune(&Prune {
                keep_done: Duration::MAX,
                keep_parked: Duration::MAX,
                keep_over: Duration::MAX,
                keep_actions: Duration::MAX,
                limit: u32::MAX,
                not_after: StoreTime::MAX,
            })
            .expect("nothing is so old");
    }
    assert!(calls > 45, "{calls} calls");
    let me = open(&store, 1);
    store.poll(&poll_of(me, "a", 100)).expect("they can be claimed");
}

/// The longest time in SQL is the longest time in Rust.
#[test]
fn a_key_for_ever_is_kept_to_the_end_of_time() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let key = Key {
        text: "r".to_owned(),
        until: KeyUntil::For(Duration::MAX),
        on_conflict: OnConflict::Keep,
    };
    enqueue(&store, vec![NewJob { key: Some(key), ..NewJob::new(id(1), "a") }]);
    let sql = format!(
        "select {0}.enqueue('a', key => 's', key_for => '178000000 years'); select distinct until from {0}.key",
        store.schema()
    );
    let until = server.psql(&format!("set timezone = 'UTC'; {sql}"));
    assert_eq!(until.lines().last(), Some("9999-12-31 23:59:59.999999+00"), "{until}");
    assert_eq!(until.lines().count(), 2, "one for both: {until}");
}

#[test]
fn an_asynchronous_client_enqueues_and_the_store_is_called_inside_its_runtime() {
    let Some(server) = server() else { return };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = builder(server).connect().expect("a store");
        let schema = store.schema().to_owned();
        let (mut client, connection) =
            tokio_postgres::connect(&server.url(), tokio_postgres::NoTls)
                .await
                .expect("a connection");
        let connection = tokio::spawn(connection);
        let enqueue_sql = format!("select {schema}.enqueue('send', '{{}}')");
        let transaction = client.transaction().await.expect("a transaction");
        transaction.execute(&enqueue_sql, &[]).await.expect("it is enqueued");
        transaction.rollback().await.expect("it is undone");
        let transaction = client.transaction().await.expect("a transaction");
        transaction.execute(&enqueue_sql, &[]).await.expect("it is enqueued");
        let answers = store.enqueue_in_async(&transaction, &[NewJob::new(id(4), "send")]).await;
        assert_eq!(answers, Ok(vec![Enqueued::Accepted(id(4))]));
        // On a thread of a runtime, where the library `postgres` itself panics.
        assert!(store.jobs(&JobFilter::default(), 10).expect("jobs").is_empty());
        transaction.commit().await.expect("it is there");
        assert_eq!(store.jobs(&JobFilter::default(), 10).expect("jobs").len(), 2);
        assert_eq!(enqueue(&store, vec![NewJob::new(id(5), "send")]), [Enqueued::Accepted(id(5))]);
        drop(client);
        connection.await.expect("no panic").expect("no error");
    });
}

#[test]
fn a_transaction_of_the_caller_decides_whether_there_is_a_job() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let me = open(&store, 1);
    let mut client = client(server);
    for (number, is_committed) in [(1, false), (2, true)] {
        let mut transaction = client.transaction().expect("a transaction");
        let twice = [NewJob::new(id(number), "a"), NewJob::new(id(number), "a")];
        let accepted = Ok(vec![Enqueued::Accepted(id(number)); 2]);
        assert_eq!(store.enqueue_in(&mut transaction, &twice), accepted);
        let refused = store.enqueue_in(&mut transaction, &[NewJob::new(id(9), "a\0")]);
        assert!(refused.is_err(), "refused before it is sent");
        assert_eq!(store.poll(&poll_of(me, "a", 10)).expect("a poll").jobs, []);
        match is_committed {
            true => transaction.commit().expect("a commit"),
            false => transaction.rollback().expect("a rollback"),
        }
        let polled = store.poll(&poll_of(me, "a", 10)).expect("a poll");
        assert_eq!(polled.jobs.len(), usize::from(is_committed));
    }
}

/// Executes the statement as any client would, and returns what it answers.
fn execute(client: &mut Client, (sql, json): &(String, String)) -> Vec<Enqueued> {
    let rows = client.query(sql, &[json]).expect("it is executed");
    let answer = |row: &Row| Enqueued::from_row(row.get("id"), row.get("outcome"));
    rows.iter().map(|row| answer(row).expect("a row of the statement")).collect()
}

#[test]
fn the_statement_keeps_a_key_for_a_time() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let keyed = |number, until| {
        let key = Some(Key { text: "k".to_owned(), until, on_conflict: OnConflict::Keep });
        NewJob { key, ..NewJob::new(id(number), "a") }
    };
    let both = [keyed(1, KeyUntil::For(SECOND * 3_600)), NewJob::new(id(2), "b")];
    let statement = store.statement(&both).expect("a statement");
    let accepted = [Enqueued::Accepted(id(1)), Enqueued::Accepted(id(2))];
    assert_eq!(execute(&mut client, &statement), accepted);
    let me = open(&store, 1);
    let job = store.poll(&poll_of(me, "a", 9)).expect("a poll").jobs.remove(0);
    store
        .finish(&[Finish { progress: None, session: me, held: job.held(), end: End::Done }])
        .expect("it is done");
    let statement = store.statement(&[keyed(3, KeyUntil::End)]).expect("a statement");
    assert_eq!(execute(&mut client, &statement), [Enqueued::Kept(id(1))]);
}

#[test]
fn the_statement_stores_what_the_store_itself_does() {
    let Some(server) = server() else { return };
    let (own, other) = (builder(server).connect(), builder(server).connect());
    let (own, other) = (own.expect("a store"), other.expect("a store"));
    let bytes = br#"{"text":"it's \"\u0000\"","big":18446744073709551615}"#.to_vec();
    let (until, on_conflict) = (KeyUntil::Start, OnConflict::Keep);
    let new = [
        NewJob::new(id(1), "plain"),
        NewJob {
            payload: Payload { version: 3, bytes },
            queue: "mail".to_owned(),
            priority: Priority::Urgent,
            when: When::At(StoreTime::from_micros(-1_700_000_000_123_456)),
            key: Some(Key { text: "k".to_owned(), until, on_conflict }),
            max_attempts: u32::MAX,
            on_lost: OnLost::Abandon,
            ..NewJob::new(id(2), "full")
        },
        NewJob { when: When::After(Duration::MAX), ..NewJob::new(id(3), "late") },
        NewJob { when: When::At(StoreTime::MAX), ..NewJob::new(id(4), "last") },
    ];
    let accepted = [1, 2, 3, 4].map(|number| Enqueued::Accepted(id(number)));
    own.enqueue(&Enqueue { jobs: new.to_vec(), not_after: StoreTime::MAX }).expect("an answer");
    assert_eq!(
        execute(&mut client(server), &other.statement(&new).expect("a statement")),
        accepted
    );
    let stored = |store: &dyn Store| store.jobs(&JobFilter::default(), 10).expect("jobs");
    let (mut by_store, by_statement) = (stored(&own), stored(&other));
    for (job, other) in by_store.iter_mut().zip(&by_statement) {
        if job.run_at == job.created_at {
            job.run_at = other.run_at;
        }
        job.created_at = other.created_at;
    }
    assert_eq!(by_statement, by_store);
    assert_eq!(execute(&mut client(server), &other.statement(&[]).expect("a statement")), []);
}

#[test]
fn the_statement_and_the_function_have_the_expiry_and_the_greatest_delay_of_a_job() {
    let Some(server) = server() else { return };
    let (store, mut client) = (builder(server).connect().expect("a store"), client(server));
    let second = Duration::from_secs(1);
    let ask = |number, wait| {
        let on_conflict = OnConflict::Debounce(second * 60);
        let key = Some(Key { text: "k".to_owned(), until: KeyUntil::Start, on_conflict });
        let (when, expires) = (When::After(second * wait), Some(Expiry::After(second * 5)));
        NewJob { key, when, expires, ..NewJob::new(id(number), "a") }
    };
    let mut send = |new: NewJob| execute(&mut client, &store.statement(&[new]).expect("text"));
    let job = |number| store.job(id(number)).expect("an answer").expect("a job");
    assert_eq!(send(ask(1, 10)), [Enqueued::Accepted(id(1))]);
    let accepted = job(1).created_at;
    assert_eq!(job(1).run_at, accepted.after(second * 10));
    assert_eq!(job(1).expires_at, Some(accepted.after(second * 15)));
    assert_eq!(send(ask(2, 900)), [Enqueued::Replaced(id(1))]);
    assert_eq!(job(1).run_at, accepted.after(second * 60));
    assert!(job(1).expires_at > Some(accepted.after(second * 900)));
    let at = StoreTime::from_micros(7_000_000);
    let fixed = NewJob { expires: Some(Expiry::At(at)), ..NewJob::new(id(3), "a") };
    assert_eq!(send(fixed), [Enqueued::Accepted(id(3))]);
    assert_eq!(job(3).expires_at, Some(at));
    let sql = "select {s}.enqueue('a', id => '00000000-0000-0000-0000-000000000004', expires_at => '1970-01-01 00:00:07+00')";
    let _ = server.psql(&sql.replace("{s}", store.schema()));
    assert_eq!(job(4).expires_at, Some(at));
}

#[test]
fn r3_the_statement_knows_identities_and_keys() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let mut client = client(server);
    let keyed = |number, on_conflict| {
        let key = Some(Key { text: "k".to_owned(), until: KeyUntil::End, on_conflict });
        NewJob { key, ..NewJob::new(id(number), "a") }
    };
    let new = [
        keyed(1, OnConflict::Keep),
        keyed(2, OnConflict::Keep),
        keyed(3, OnConflict::Replace),
        keyed(1, OnConflict::Keep),
        NewJob::new(id(4), "a"),
    ];
    let statement = store.statement(&new).expect("a statement");
    let (accepted, kept) = (Enqueued::Accepted(id(1)), Enqueued::Kept(id(1)));
    let replaced = Enqueued::Replaced(id(1));
    let expected = [accepted, kept, replaced, accepted, Enqueued::Accepted(id(4))];
    assert_eq!(execute(&mut client, &statement), expected);
    assert_eq!(store.jobs(&JobFilter::default(), 10).expect("jobs").len(), 2);
    let me = open(&store, 1);
    let job = store.poll(&poll_of(me, "a", 1)).expect("a poll").jobs.remove(0);
    let held = ClaimRef { job: job.id, fence: job.fence };
    store
        .finish(&[Finish { progress: None, session: me, held, end: End::Done }])
        .expect("an answer");
    let statement = store.statement(&[NewJob::new(job.id, "a")]).expect("a statement");
    assert_eq!(execute(&mut client, &statement), [Enqueued::Accepted(job.id)]);
    assert_eq!(store.job(job.id).expect("an answer").expect("a job").state, JobState::Done);
}

#[test]
fn people_select_jobs_by_their_payload() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let me = open(&store, 1);
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let bytes: [&[u8]; 5] = [br#"{"invoice":17,"to":"Ada"}"#, b"", b"{", &[255], deep.as_bytes()];
    let new = (1..).zip(bytes).map(|(number, bytes)| {
        let payload = Payload { version: 1, bytes: bytes.to_vec() };
        NewJob { payload, priority: Priority::High, ..NewJob::new(id(number), "send") }
    });
    enqueue(&store, new.collect());
    let mut client = client(server);
    let mut select = |condition: &str| {
        let sql = format!(
            "select id, state, priority, payload->>'to' as who from {}.jobs where {condition} order by id",
            store.schema()
        );
        let rows = client.query(&sql, &[]).expect("rows");
        let row = |row: &Row| (row.get(0), row.get::<_, String>(1) + " " + row.get(2), row.get(3));
        rows.iter().map(row).collect::<Vec<(Uuid, String, Option<String>)>>()
    };
    let invoice = "payload @> '{\"invoice\": 17}'";
    let job =
        |state: &str| vec![(id(1).as_uuid(), format!("{state} high"), Some("Ada".to_owned()))];
    assert_eq!(select(invoice), job("ready"));
    assert_eq!(select("payload is null").len(), 4, "one has none, three cannot be read");
    let claimed = store.poll(&poll_of(me, "send", 1)).expect("a poll").jobs.remove(0);
    assert_eq!(select(invoice), job("running"));
    let held = ClaimRef { job: claimed.id, fence: claimed.fence };
    store
        .finish(&[Finish { progress: None, session: me, held, end: End::Done }])
        .expect("an answer");
    assert_eq!(select(invoice), job("done"), "also those that have ended");
    assert_eq!(select("true").len(), 5);
}

#[test]
fn a_notification_comes_with_the_commit_and_only_if_something_is_due() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let other = builder(server).connect().expect("a store in another schema");
    let mut watch = store.watch().expect("a watch");
    assert_eq!(watch.wait(WAIT), Ok(true), "once after it has connected");
    enqueue(&other, vec![NewJob::new(id(1), "a")]);
    assert_eq!(watch.wait(QUIET), Ok(false), "another schema is another channel");
    let when = When::After(SECOND * 3_600);
    enqueue(&store, vec![NewJob { when, ..NewJob::new(id(2), "a") }]);
    assert_eq!(watch.wait(QUIET), Ok(false), "nothing is due");
    let mut client = client(server);
    let mut transaction = client.transaction().expect("a transaction");
    store.enqueue_in(&mut transaction, &[NewJob::new(id(3), "a")]).expect("accepted");
    assert_eq!(watch.wait(QUIET), Ok(false), "nothing is committed");
    transaction.commit().expect("a commit");
    assert_eq!(watch.wait(WAIT), Ok(true));
    let many = (10..60).map(|number| NewJob::new(id(number), "a")).collect();
    enqueue(&store, many);
    assert_eq!(watch.wait(WAIT), Ok(true));
    assert_eq!(watch.wait(QUIET), Ok(false), "one notification for each transaction");
}

#[test]
fn a_watch_whose_connection_breaks_listens_again() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let mut watch = store.watch().expect("a watch");
    assert_eq!(watch.wait(WAIT), Ok(true));
    let broken = format!(
        "select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen \"{}_nudge\"'",
        store.schema()
    );
    client(server).query_one(&broken, &[]).expect("one connection is broken");
    assert_eq!(
        watch.wait(WAIT),
        Ok(true),
        "what came meanwhile may be lost: once after it has connected"
    );
    enqueue(&store, vec![NewJob::new(id(3), "a")]);
    assert_eq!(watch.wait(WAIT), Ok(true));
}

#[test]
fn a_store_behind_a_pool_of_connections_keeps_no_state_in_one() {
    let Some(server) = server() else { return };
    let schema = crate::support::schema();
    let url = format!("{}?application_name={schema}", server.url());
    let pooled = Postgres::builder(&url).schema(&schema).wakeup(Wakeup::Poll);
    let store = pooled.connect().expect("a store");
    assert!(store.watch().is_none());
    let me = open(&store, 1);
    enqueue(&store, vec![NewJob::new(id(1), "a")]);
    assert_eq!(store.poll(&poll_of(me, "a", 10)).expect("a poll").jobs.len(), 1);
    assert_eq!(store.job(id(1)).expect("an answer").expect("a job").state, JobState::Running);
    // A pool gives each transaction another connection: nothing may be prepared, set or locked beyond its end.
    // One that is being opened has done nothing yet, or is in its first transaction.
    let seen = "select lower(query) from pg_stat_activity
        where application_name = $1 and query <> '' and state = 'idle'";
    let rows = client(server).query(seen, &[&schema]).expect("what connections did last");
    let last: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert!(!last.is_empty() && last.iter().all(|query| query == "commit"), "{last:?}");
}
