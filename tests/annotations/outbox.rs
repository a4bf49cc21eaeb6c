//! Jobs in a transaction of the program, on SQLite. The example `outbox_axum` is on PostgreSQL.

use std::error::Error;

use scheduler::store::rusqlite::{Connection, TransactionBehavior};
use scheduler::store::{Enqueued, JobFilter, Model, Sqlite, StoredJob};
use scheduler::{EnqueueError, Jobs, NodeOptions, OnLost, Priority, Scheduler, job, tasks};
use tempfile::TempDir;

type Checked = Result<(), Box<dyn Error>>;

#[job(name = "send-invoice", retry(max = 4), queue = "mail", priority = "low", on_lost = "abandon")]
fn send_invoice(#[payload] number: u32) {
    assert!(number > 0);
}

/// A scheduler whose store is the file with the table of the orders. It runs nothing.
fn shop(set: &[(&str, &str)]) -> Result<(TempDir, Connection, Scheduler, Jobs), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("shop.db");
    let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
    let builder = set.iter().fold(builder, |builder, (key, value)| builder.set(*key, *value));
    let node = NodeOptions::default().queues(["none"]);
    let builder = builder.tasks(tasks![send_invoice]).node(node).store(Sqlite::open(&file)?);
    let scheduler = builder.spawn()?;
    let db = Connection::open(&file)?;
    db.execute_batch("create table orders (number integer)")?;
    let jobs = scheduler.jobs()?;
    Ok((folder, db, scheduler, jobs))
}

fn stored(jobs: &Jobs) -> Result<Vec<StoredJob>, Box<dyn Error>> {
    Ok(jobs.list(&JobFilter::default(), 10)?)
}

#[test]
fn the_statement_has_what_annotation_settings_and_code_say() -> Checked {
    let settings = [("tasks.send-invoice.queue", "post"), ("tasks.send-invoice.retry.max", "1")];
    let (_folder, mut db, _scheduler, jobs) = shop(&settings)?;
    let at =
        "2099-01-01T00:00:00Z".parse::<scheduler::chrono::DateTime<scheduler::chrono::Utc>>()?;
    let job = send_invoice::job(17).priority(Priority::Urgent).key("inv-17").at(at);
    let id = job.id();
    let (sql, json) = jobs.statement(job.clone())?;
    let transaction = db.transaction()?;
    let (row, outcome): (String, String) =
        transaction.query_row(&sql, [&json], |row| Ok((row.get("id")?, row.get("outcome")?)))?;
    assert_eq!(Enqueued::from_row(&row, &outcome), Some(Enqueued::Accepted(id)));
    assert_eq!(stored(&jobs)?, []);
    transaction.commit()?;
    let by_statement = stored(&jobs)?.remove(0);
    assert_eq!((&*by_statement.queue, by_statement.max_attempts), ("post", 2));
    assert_eq!((by_statement.priority, by_statement.on_lost), (Priority::Urgent, OnLost::Abandon));
    assert_eq!(by_statement.key.as_deref(), Some("inv-17"));
    // All else is as by the call.
    jobs.delete(id)?;
    jobs.enqueue(job)?;
    let mut by_call = stored(&jobs)?.remove(0);
    by_call.created_at = by_statement.created_at;
    assert_eq!(by_statement, by_call);
    Ok(())
}

#[test]
fn a_statement_has_several_jobs() -> Checked {
    let (_folder, db, _scheduler, jobs) = shop(&[])?;
    let (sql, json) = jobs.statement_all((1..=3).map(send_invoice::job).collect())?;
    let count = db.prepare(&sql)?.query_map([json], |_| Ok(()))?.count();
    assert_eq!((count, stored(&jobs)?.len()), (3, 3));
    let refused = jobs.statement(send_invoice::job(4).key("")).expect_err("no key is empty");
    assert!(refused.to_string().contains("key: it is empty"), "{refused}");
    Ok(())
}

#[test]
fn a_transaction_of_rusqlite_is_one_as_it_is() -> Checked {
    let (_folder, mut db, _scheduler, jobs) = shop(&[])?;
    for is_committed in [false, true] {
        let mut transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("insert into orders values (17)", [])?;
        let batch = vec![send_invoice::job(17).key("17"), send_invoice::job(17).key("17")];
        let first = batch[0].id();
        let answers = jobs.enqueue_all_in(&mut transaction, batch)?;
        assert_eq!(answers, [Enqueued::Accepted(first), Enqueued::Kept(first)]);
        let other = jobs.enqueue_in(&mut transaction, send_invoice::job(18).key("17").replace())?;
        assert_eq!((other, other.id()), (Enqueued::Replaced(first), first));
        assert_eq!(stored(&jobs)?, []);
        if is_committed {
            transaction.commit()?;
        } else {
            transaction.rollback()?;
        }
        let orders: u32 = db.query_row("select count(*) from orders", [], |row| row.get(0))?;
        assert_eq!((orders, stored(&jobs)?.len()), if is_committed { (1, 1) } else { (0, 0) });
    }
    Ok(())
}

#[test]
fn a_transaction_of_another_database_is_refused() -> Checked {
    let (_folder, mut db, ..) = shop(&[])?;
    let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
    let elsewhere = builder.tasks(tasks![send_invoice]).store(Model::new()).spawn()?;
    let (jobs, job) = (elsewhere.jobs()?, send_invoice::job(1));
    let refused = jobs.enqueue_in(&mut db.transaction()?, job.clone()).expect_err("it is SQLite");
    let text = refused.to_string();
    assert!(text.contains("the transaction is one of SQLite, and the jobs are kept in "), "{text}");
    assert!(matches!(&refused, EnqueueError::NotAccepted(unsent) if unsent.jobs == [job]));
    let refused = jobs.statement(send_invoice::job(2)).expect_err("it is in memory");
    assert!(refused.to_string().contains("no database that others write to"), "{refused}");
    assert_eq!(stored(&jobs)?, []);
    Ok(())
}
