//! Jobs enqueued in a transaction of the program.

use std::time::Duration;

use crate::common::{END, Folder, TestSqlite, id, jobs, open, poll_of};
use scheduler_sqlite::Sqlite;
use scheduler_sqlite::rusqlite::{Connection, Row, TransactionBehavior};
use scheduler_store::{
    ClaimRef, End, Enqueue, Enqueued, Expiry, Finish, JobFilter, Key, KeyUntil, NewJob, OnConflict,
    OnLost, Payload, Priority, Refusal, Store, StoreError, StoreTime, When,
};
use store_conformance::TestStore as _;

fn count(store: &dyn Store) -> usize {
    store.jobs(&JobFilter::default(), 100).unwrap().len()
}

#[test]
fn jobs_exist_if_and_when_the_transaction_is_committed() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let session = open(&store, 1);
    let mut db = Connection::open(folder.file()).unwrap();
    db.execute_batch("CREATE TABLE invoice (number INTEGER)").unwrap();
    for is_committed in [false, true] {
        let tx = db.transaction().unwrap();
        tx.execute("INSERT INTO invoice VALUES (17)", []).unwrap();
        let answers = store.enqueue_in(&tx, &jobs(1..3, "a").jobs).unwrap();
        assert_eq!(answers, [Enqueued::Accepted(id(1)), Enqueued::Accepted(id(2))]);
        assert_eq!(count(&store), 0);
        if is_committed {
            tx.commit().unwrap();
        } else {
            tx.rollback().unwrap();
        }
        assert_eq!(count(&store), if is_committed { 2 } else { 0 });
    }
    assert_eq!(store.poll(&poll_of(session, "a", 9)).unwrap().jobs.len(), 2);
}

#[test]
fn r3_identities_keys_and_checks_are_those_of_the_store() {
    let test = TestSqlite::fresh();
    test.store().enqueue(&jobs(1..2, "a")).unwrap();
    let store = Sqlite::open(test.folder.file()).unwrap();
    let mut db = Connection::open(test.folder.file()).unwrap();
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let with_key = |number| {
        let (until, on_conflict) = (KeyUntil::End, OnConflict::Keep);
        let key = Some(Key { text: "k".to_owned(), until, on_conflict });
        NewJob { key, ..NewJob::new(id(number), "a") }
    };
    let new = [NewJob::new(id(1), "a"), with_key(2), with_key(3), with_key(2)];
    let accepted = |number| Enqueued::Accepted(id(number));
    let expected = [accepted(1), accepted(2), Enqueued::Kept(id(2)), accepted(2)];
    assert_eq!(store.enqueue_in(&tx, &new).unwrap(), expected);
    let bad = store.enqueue_in(&tx, &[NewJob::new(id(9), "a"), NewJob::new(id(10), "a\0")]);
    assert!(matches!(bad, Err(StoreError::Refused(Refusal::Unstorable { .. }))));
    tx.commit().unwrap();
    assert_eq!(count(test.store()), 2);
}

#[test]
fn jobs_of_a_request_that_failed_are_not_kept_by_the_transaction() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let mut db = Connection::open(folder.file()).unwrap();
    db.execute_batch("CREATE TRIGGER no BEFORE INSERT ON scheduler_job WHEN new.task = 'bad' BEGIN SELECT raise(ABORT, 'no'); END")
        .unwrap();
    let tx = db.transaction().unwrap();
    let failed = store.enqueue_in(&tx, &[NewJob::new(id(1), "a"), NewJob::new(id(2), "bad")]);
    assert!(matches!(failed, Err(StoreError::Failed(_))));
    let answers = store.enqueue_in(&tx, &[NewJob::new(id(3), "a")]);
    assert_eq!(answers.unwrap(), [Enqueued::Accepted(id(3))]);
    tx.commit().unwrap();
    assert_eq!(count(&store), 1);
}

#[test]
fn a_prefix_and_a_lock_are_told_of() {
    let folder = Folder::new();
    let store = Sqlite::builder(folder.file()).table_prefix("billing_").open().unwrap();
    let mut db = Connection::open(folder.file()).unwrap();
    let tx = db.transaction().unwrap();
    assert!(store.enqueue_in(&tx, &jobs(1..2, "a").jobs).is_ok());
    tx.commit().unwrap();
    assert_eq!(count(&store), 1);
    let mut other = Connection::open(folder.file()).unwrap();
    other.busy_timeout(std::time::Duration::ZERO).unwrap();
    let held = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let tx = other.transaction().unwrap();
    let answer = store.enqueue_in(&tx, &jobs(2..3, "a").jobs);
    assert!(
        matches!(&answer, Err(StoreError::Failed(text)) if text.contains("Immediate")),
        "{answer:?}"
    );
    drop((tx, held));
}

/// Executes the statement as any client would, and returns what it answers.
fn execute(db: &Connection, (sql, json): &(String, String)) -> Vec<Enqueued> {
    let mut statement = db.prepare(sql).unwrap();
    assert_eq!(statement.parameter_count(), 1);
    let rows = statement.query_map([json], |row| {
        Ok(Enqueued::from_row(&row.get::<_, String>("id")?, &row.get::<_, String>("outcome")?))
    });
    rows.unwrap().map(|row| row.unwrap().expect("a row of the statement")).collect()
}

#[test]
fn the_statement_stores_what_the_store_itself_does() {
    let [own, other] = [Folder::new(), Folder::new()];
    let open = |folder: &Folder| Sqlite::builder(folder.file()).table_prefix("x_").open().unwrap();
    let (own, by_statement) = (open(&own), (open(&other), Connection::open(other.file()).unwrap()));
    let payload = Payload {
        version: 3,
        bytes: br#"{"text":"it's \"\u0000\"","big":18446744073709551615}"#.to_vec(),
    };
    let (until, on_conflict) = (KeyUntil::Start, OnConflict::Keep);
    let at = StoreTime::from_micros(1_700_000_000_123_456);
    let new = [
        NewJob::new(id(1), "plain"),
        NewJob {
            payload,
            queue: "mail".to_owned(),
            priority: Priority::Urgent,
            when: When::At(at),
            key: Some(Key { text: "k".to_owned(), until, on_conflict }),
            max_attempts: u32::MAX,
            on_lost: OnLost::Abandon,
            ..NewJob::new(id(2), "full")
        },
        NewJob { when: When::After(Duration::MAX), ..NewJob::new(id(3), "late") },
    ];
    own.enqueue(&Enqueue { jobs: new.to_vec(), not_after: StoreTime::MAX }).unwrap();
    let (store, db) = by_statement;
    assert_eq!(
        execute(&db, &store.statement(&new).unwrap()),
        [1, 2, 3].map(|number| Enqueued::Accepted(id(number)))
    );
    let stored = |store: &Sqlite| store.jobs(&JobFilter::default(), 10).unwrap();
    let (mut by_store, by_statement) = (stored(&own), stored(&store));
    for (job, other) in by_store.iter_mut().zip(&by_statement) {
        let ahead = other.created_at.since(job.created_at);
        assert!(
            ahead < Duration::from_secs(60),
            "the clock of SQLite is that of the system: {ahead:?}"
        );
        if job.run_at == job.created_at {
            job.run_at = other.run_at;
        }
        job.created_at = other.created_at;
    }
    assert_eq!(by_statement, by_store);
}

#[test]
fn the_statement_keeps_a_key_for_a_time() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let db = Connection::open(folder.file()).unwrap();
    let session = open(&store, 1);
    let keyed = |number, until| {
        let on_conflict = OnConflict::Replace;
        let key = Some(Key { text: "k".to_owned(), until, on_conflict });
        NewJob { key, ..NewJob::new(id(number), "a") }
    };
    let send = |new: NewJob| execute(&db, &store.statement(&[new]).unwrap());
    let run = || {
        let job = store.poll(&poll_of(session, "a", 9)).unwrap().jobs.remove(0);
        store
            .finish(&[Finish { progress: None, session, held: job.held(), end: End::Done }])
            .unwrap();
        job.id
    };
    let hour = Duration::from_secs(3_600);
    assert_eq!(send(keyed(1, KeyUntil::For(hour))), [Enqueued::Accepted(id(1))]);
    assert_eq!(send(keyed(2, KeyUntil::End)), [Enqueued::Replaced(id(1))]);
    assert_eq!(run(), id(1));
    assert_eq!(send(keyed(2, KeyUntil::End)), [], "the key is kept");
    let jobs = [keyed(2, KeyUntil::End)].to_vec();
    let enqueued = store.enqueue(&Enqueue { jobs, not_after: END });
    assert_eq!(enqueued, Ok(vec![Enqueued::Kept(id(1))]));
    db.execute("UPDATE scheduler_key SET until = 0", []).unwrap();
    assert_eq!(send(keyed(2, KeyUntil::For(Duration::ZERO))), [Enqueued::Accepted(id(2))]);
    assert_eq!(run(), id(2));
    assert_eq!(send(keyed(3, KeyUntil::End)), [Enqueued::Accepted(id(3))]);
}

#[test]
fn the_statement_has_the_expiry_and_the_greatest_delay_of_a_job() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let db = Connection::open(folder.file()).unwrap();
    let second = Duration::from_secs(1);
    let ask = |number, wait| {
        let on_conflict = OnConflict::Debounce(second * 60);
        let key = Some(Key { text: "k".to_owned(), until: KeyUntil::Start, on_conflict });
        let (when, expires) = (When::After(second * wait), Some(Expiry::After(second * 5)));
        NewJob { key, when, expires, ..NewJob::new(id(number), "a") }
    };
    let send = |new: NewJob| execute(&db, &store.statement(&[new]).unwrap());
    let waiting = || store.job(id(1)).unwrap().unwrap();
    assert_eq!(send(ask(1, 10)), [Enqueued::Accepted(id(1))]);
    let accepted = waiting().created_at;
    assert_eq!(waiting().run_at, accepted.after(second * 10));
    assert_eq!(waiting().expires_at, Some(accepted.after(second * 15)));
    assert_eq!(send(ask(2, 900)), [Enqueued::Replaced(id(1))]);
    assert_eq!(waiting().run_at, accepted.after(second * 60));
    assert!(waiting().expires_at > Some(accepted.after(second * 900)));
    let at = StoreTime::from_micros(7);
    let fixed = NewJob { expires: Some(Expiry::At(at)), ..NewJob::new(id(3), "a") };
    assert_eq!(send(fixed), [Enqueued::Accepted(id(3))]);
    assert_eq!(store.job(id(3)).unwrap().unwrap().expires_at, Some(at));
}

#[test]
fn r3_the_statement_knows_identities_and_keys() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let db = Connection::open(folder.file()).unwrap();
    let session = open(&store, 1);
    let keyed = |number, on_conflict| {
        let key = Some(Key { text: "k".to_owned(), until: KeyUntil::End, on_conflict });
        let payload = Payload { version: 1, bytes: number_text(number) };
        NewJob { key, payload, ..NewJob::new(id(number), "a") }
    };
    let send = |new: NewJob| execute(&db, &store.statement(&[new]).unwrap());
    assert_eq!(send(keyed(1, OnConflict::Keep)), [Enqueued::Accepted(id(1))]);
    assert_eq!(send(keyed(1, OnConflict::Keep)), [], "the identity is there");
    assert_eq!(send(keyed(2, OnConflict::Keep)), [], "the key is taken");
    let lost = store.poll(&poll_of(session, "a", 9)).unwrap().jobs.remove(0);
    let end = End::Lost { after: Duration::ZERO, max_lost: 3 };
    store.finish(&[Finish { progress: None, session, held: lost.held(), end }]).unwrap();
    let other = NewJob { max_attempts: 4, ..keyed(3, OnConflict::Replace) };
    assert_eq!(send(other), [Enqueued::Replaced(id(1))]);
    let job = store.job(id(1)).unwrap().unwrap();
    assert_eq!((job.attempt, job.lost, job.max_attempts, job.attempts), (0, 0, 4, Vec::new()));
    let job = store.poll(&poll_of(session, "a", 9)).unwrap().jobs.remove(0);
    assert_eq!((job.id, job.payload.bytes), (id(1), number_text(3)));
    assert_eq!(send(keyed(4, OnConflict::Replace)), [], "it runs");
    let held = ClaimRef { job: job.id, fence: job.fence };
    store.finish(&[Finish { progress: None, session, held, end: End::Done }]).unwrap();
    let resent = NewJob { is_resent: true, ..keyed(1, OnConflict::Keep) };
    assert_eq!(send(resent), [], "it has ended");
    assert_eq!(count(&store), 1);
    // A newer version has changed the tables.
    db.execute("UPDATE scheduler_meta SET version = 9, min_reader = 9", []).unwrap();
    let (sql, json) = store.statement(&[NewJob::new(id(5), "a")]).unwrap();
    assert!(db.prepare(&sql).unwrap().query_row([json], |_| Ok(())).is_err());
}

fn number_text(number: u128) -> Vec<u8> {
    number.to_string().into_bytes()
}

#[test]
fn people_select_jobs_by_their_payload() {
    let folder = Folder::new();
    let store = Sqlite::builder(folder.file()).table_prefix("x_").open().unwrap();
    let payload = Payload { version: 1, bytes: br#"{"invoice":17}"#.to_vec() };
    let when = When::At(StoreTime::from_micros(1_700_000_000_123_000));
    let jobs = vec![
        NewJob { payload, when, ..NewJob::new(id(1), "a") },
        NewJob { priority: Priority::Urgent, ..NewJob::new(id(2), "a") },
    ];
    store.enqueue(&Enqueue { jobs, not_after: StoreTime::MAX }).unwrap();
    let db = Connection::open(folder.file()).unwrap();
    let select = |condition: &str| -> Vec<String> {
        let sql = format!("SELECT id, priority, run_at FROM x_jobs WHERE {condition}");
        let mut statement = db.prepare(&sql).unwrap();
        let text = |row: &Row<'_>, at| row.get::<_, String>(at);
        let rows = statement
            .query_map([], |row| Ok([text(row, 0)?, text(row, 1)?, text(row, 2)?].join(" ")));
        rows.unwrap().map(Result::unwrap).collect()
    };
    let expected = format!("{} normal 2023-11-14 22:13:20.123", id(1));
    assert_eq!(select("payload ->> '$.invoice' = 17"), [expected]);
    let without = select("payload IS NULL");
    assert!(without.len() == 1 && without[0].contains(" urgent "), "{without:?}");
}
