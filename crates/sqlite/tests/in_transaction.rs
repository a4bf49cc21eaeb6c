//! Jobs enqueued in a transaction of the program.

use crate::common::{Folder, TestSqlite, id, jobs, open, poll_of};
use scheduler_sqlite::rusqlite::{Connection, TransactionBehavior};
use scheduler_sqlite::{InTransaction, Sqlite};
use scheduler_store::{
    EnqueueIn as _, Enqueued, JobFilter, Key, KeyUntil, NewJob, OnConflict, Refusal, Store,
    StoreError,
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
        let answers = store.in_transaction(&tx).enqueue(&jobs(1..3, "a").jobs).unwrap();
        assert_eq!(answers, [Enqueued::Accepted, Enqueued::Accepted]);
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
    let mut db = Connection::open(test.folder.file()).unwrap();
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let with_key = |number| {
        let (until, on_conflict) = (KeyUntil::End, OnConflict::Keep);
        let key = Some(Key { text: "k".to_owned(), until, on_conflict });
        NewJob { key, ..NewJob::new(id(number), "a") }
    };
    let mut transaction = InTransaction::new(&tx);
    let answers =
        transaction.enqueue(&[NewJob::new(id(1), "a"), with_key(2), with_key(3), with_key(2)]);
    let (accepted, kept) = (Enqueued::Accepted, Enqueued::Kept(id(2)));
    assert_eq!(answers.unwrap(), [accepted, accepted, kept, accepted]);
    let bad = transaction.enqueue(&[NewJob::new(id(9), "a"), NewJob::new(id(10), "a\0")]);
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
    let mut transaction = store.in_transaction(&tx);
    let failed = transaction.enqueue(&[NewJob::new(id(1), "a"), NewJob::new(id(2), "bad")]);
    assert!(matches!(failed, Err(StoreError::Unavailable(_))));
    assert_eq!(transaction.enqueue(&[NewJob::new(id(3), "a")]).unwrap(), [Enqueued::Accepted]);
    tx.commit().unwrap();
    assert_eq!(count(&store), 1);
}

#[test]
fn a_prefix_and_a_lock_are_told_of() {
    let folder = Folder::new();
    let store = Sqlite::builder(folder.file()).table_prefix("billing_").open().unwrap();
    let mut db = Connection::open(folder.file()).unwrap();
    let tx = db.transaction().unwrap();
    assert!(
        InTransaction::new(&tx).enqueue(&jobs(1..2, "a").jobs).is_err(),
        "no tables of the default prefix"
    );
    assert!(store.in_transaction(&tx).enqueue(&jobs(1..2, "a").jobs).is_ok());
    tx.commit().unwrap();
    assert_eq!(count(&store), 1);
    let mut other = Connection::open(folder.file()).unwrap();
    other.busy_timeout(std::time::Duration::ZERO).unwrap();
    let held = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let tx = other.transaction().unwrap();
    let answer = store.in_transaction(&tx).enqueue(&jobs(2..3, "a").jobs);
    assert!(
        matches!(&answer, Err(StoreError::Unavailable(text)) if text.contains("Immediate")),
        "{answer:?}"
    );
    drop((tx, held));
}
