//! Each call on a store that was opened after the start.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use cluster::{Lab, eventually};
use scheduler::store::{EnqueueIn, JobFilter, Postgres, Sqlite, Store, tokio_postgres};
use scheduler::{EnqueueError, Job, Jobs, Pause, Schedule, Scheduler, Schedules, job};
use tokio::runtime::{Builder, Runtime};

use crate::NODE;
use crate::support::LIMIT;

#[job(name = "kept")]
fn kept(#[payload] _: BTreeMap<String, u64>) {}

fn new() -> Job {
    kept::job(BTreeMap::new())
}

/// The calls with their answers.
type Answers = Vec<(&'static str, Result<(), String>)>;

fn said<T, E: Display>(answer: Result<T, E>) -> Result<(), String> {
    answer.map(drop).map_err(|error| error.to_string())
}

/// A process whose store is opened when the test says so.
struct Shop {
    scheduler: Scheduler,
    is_there: Arc<AtomicBool>,
    runtime: Runtime,
}

impl Shop {
    fn new<S: Store>(open: impl Fn() -> S + Send + 'static) -> Self {
        let is_there = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&is_there);
        let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
        let builder = builder.enqueue_only().store_later(move || match asked.load(SeqCst) {
            true => Ok(open()),
            false => Err("away"),
        });
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { scheduler: builder.spawn().expect("it starts"), is_there, runtime }
    }

    fn jobs(&self) -> Jobs {
        self.scheduler.jobs().expect("a handle")
    }

    fn open(&self) {
        self.is_there.store(true, SeqCst);
        eventually(LIMIT, "the store is open", || self.jobs().is_up().then_some(()));
    }

    /// Makes each call of `Jobs`.
    fn of_jobs(&self) -> Answers {
        let (jobs, job, filter) = (self.jobs(), new(), JobFilter::default());
        let (id, pause) = (job.id(), Pause::new().by("a test"));
        let edited = || {
            let job = jobs.get(id)?.expect("it was enqueued");
            jobs.edit(&job, &job.payload.with(&BTreeMap::from([("n", 1)])).expect("JSON"))
        };
        vec![
            ("enqueue", said(jobs.enqueue(job))),
            ("enqueue_all", said(jobs.enqueue_all(vec![new(), new()]))),
            ("statement", said(jobs.statement(new()))),
            ("statement_all", said(jobs.statement_all(vec![new(), new()]))),
            ("get", said(jobs.get(id))),
            ("wait", said(jobs.wait(id, Duration::ZERO))),
            ("list", said(jobs.list(&filter, 10))),
            ("edit", said(edited())),
            ("cancel", said(jobs.cancel(id))),
            ("retry", said(jobs.retry(id))),
            ("delete", said(jobs.delete(id))),
            ("cancel_all", said(jobs.cancel_all(&filter))),
            ("retry_all", said(jobs.retry_all(&filter))),
            ("delete_all", said(jobs.delete_all(&filter))),
            ("depths", said(jobs.depths())),
            ("sessions", said(jobs.sessions())),
            ("pause_task", said(jobs.pause_task("kept", &pause))),
            ("pause_queue", said(jobs.pause_queue("default", &pause))),
            ("pauses", said(jobs.pauses())),
            ("resume_task", said(jobs.resume_task("kept"))),
            ("resume_queue", said(jobs.resume_queue("default"))),
        ]
    }

    /// Makes each async call of `Jobs`.
    async fn of_jobs_async(&self) -> Answers {
        let (jobs, job, filter) = (self.jobs(), new(), JobFilter::default());
        let (id, pause) = (job.id(), Pause::new().by("a test"));
        let edited = async {
            let job = jobs.get_async(id).await?.expect("it was enqueued");
            let payload = job.payload.with(&BTreeMap::from([("n", 1)])).expect("JSON");
            jobs.edit_async(&job, &payload).await
        };
        vec![
            ("enqueue_async", said(jobs.enqueue_async(job).await)),
            ("enqueue_all_async", said(jobs.enqueue_all_async(vec![new(), new()]).await)),
            ("get_async", said(jobs.get_async(id).await)),
            ("wait_async", said(jobs.wait_async(id, Duration::ZERO).await)),
            ("list_async", said(jobs.list_async(&filter, 10).await)),
            ("edit_async", said(edited.await)),
            ("cancel_async", said(jobs.cancel_async(id).await)),
            ("retry_async", said(jobs.retry_async(id).await)),
            ("delete_async", said(jobs.delete_async(id).await)),
            ("cancel_all_async", said(jobs.cancel_all_async(&filter).await)),
            ("retry_all_async", said(jobs.retry_all_async(&filter).await)),
            ("delete_all_async", said(jobs.delete_all_async(&filter).await)),
            ("depths_async", said(jobs.depths_async().await)),
            ("sessions_async", said(jobs.sessions_async().await)),
            ("pause_task_async", said(jobs.pause_task_async("kept", &pause).await)),
            ("pause_queue_async", said(jobs.pause_queue_async("default", &pause).await)),
            ("pauses_async", said(jobs.pauses_async().await)),
            ("resume_task_async", said(jobs.resume_task_async("kept").await)),
            ("resume_queue_async", said(jobs.resume_queue_async("default").await)),
        ]
    }

    /// Makes each call of `Schedules`.
    fn of_schedules(&self) -> Answers {
        let schedules: Schedules = self.scheduler.schedules().expect("a handle");
        let (rule, pause) = (|| Schedule::cron("@daily"), Pause::new().by("a test"));
        vec![
            ("put", said(schedules.put("customer-1", rule(), new()))),
            ("list", said(schedules.list())),
            ("pause", said(schedules.pause("customer-1", &pause))),
            ("resume", said(schedules.resume("customer-1"))),
            ("run_now", said(schedules.run_now("customer-1"))),
            ("reschedule", said(schedules.reschedule("customer-1", Schedule::cron("@hourly")))),
            ("reset", said(schedules.reset("customer-1"))),
            ("remove", said(schedules.remove("customer-1"))),
        ]
    }

    /// Makes each async call of `Schedules`.
    async fn of_schedules_async(&self) -> Answers {
        let schedules: Schedules = self.scheduler.schedules().expect("a handle");
        let (rule, pause) = (|| Schedule::cron("@daily"), Pause::new().by("a test"));
        let name = "customer-2";
        vec![
            ("put_async", said(schedules.put_async(name, rule(), new()).await)),
            ("list_async", said(schedules.list_async().await)),
            ("pause_async", said(schedules.pause_async(name, &pause).await)),
            ("resume_async", said(schedules.resume_async(name).await)),
            ("run_now_async", said(schedules.run_now_async(name).await)),
            ("reschedule_async", said(schedules.reschedule_async(name, rule()).await)),
            ("reset_async", said(schedules.reset_async(name).await)),
            ("remove_async", said(schedules.remove_async(name).await)),
        ]
    }

    fn of_all(&self) -> Answers {
        let mut answers = self.of_jobs();
        answers.extend(self.runtime.block_on(self.of_jobs_async()));
        answers.extend(self.of_schedules());
        answers.extend(self.runtime.block_on(self.of_schedules_async()));
        answers
    }

    /// Enqueues a job, and two, in a transaction.
    fn of_transaction(&self, transaction: &mut impl EnqueueIn) -> [Result<(), EnqueueError>; 2] {
        let jobs = self.jobs();
        [
            jobs.enqueue_in(transaction, new()).map(drop),
            jobs.enqueue_all_in(transaction, vec![new(), new()]).map(drop),
        ]
    }

    fn stored(&self) -> usize {
        self.jobs().list(&JobFilter::default(), 100).expect("an answer").len()
    }
}

/// Before the store is open nothing is done, and that is certain.
fn assert_not_open(answers: &Answers) {
    for (call, answer) in answers {
        let error = answer.as_ref().expect_err(call);
        assert!(error.contains("it has not been opened yet"), "{call}: {error}");
    }
}

fn assert_not_accepted(answers: [Result<(), EnqueueError>; 2]) {
    for answer in answers {
        let error = answer.expect_err("the store is not open");
        assert!(matches!(error, EnqueueError::NotAccepted(_)), "{error}");
        assert!(error.to_string().contains("it has not been opened yet"), "{error}");
    }
}

fn assert_open(answers: &Answers) {
    for (call, answer) in answers {
        assert_eq!(*answer, Ok(()), "{call}");
    }
}

#[test]
fn each_call_on_a_sqlite_store_that_was_opened_later() {
    let lab = Lab::sqlite(NODE);
    let file = lab.store().trim_start_matches("sqlite:").to_owned();
    drop(lab.open());
    let shop = Shop::new(move || Sqlite::open(&file).expect("a store"));
    let mut connection = lab.connection();
    assert_not_open(&shop.of_all());
    let mut transaction = connection.transaction().expect("a transaction");
    assert_not_accepted(shop.of_transaction(&mut transaction));
    drop(transaction);

    shop.open();
    assert_open(&shop.of_all());
    let before = shop.stored();
    let mut transaction = connection.transaction().expect("a transaction");
    assert_eq!(shop.of_transaction(&mut transaction), [Ok(()), Ok(())]);
    assert_eq!(shop.stored(), before, "not before the commit");
    transaction.commit().expect("it is committed");
    assert_eq!(shop.stored(), before + 3);
    shop.scheduler.shutdown().expect("it stops");
}

#[test]
fn each_call_on_a_postgresql_store_that_was_opened_later() {
    let Some(lab) = Lab::on_postgres(NODE) else { return };
    let ((mut client, schema), url) = (lab.client(), lab.url());
    let (to, of_shop) = (url.clone(), schema.clone());
    let open = move || Postgres::builder(&to).schema(&*of_shop).connect().expect("a store");
    drop(lab.open());
    let shop = Shop::new(open);
    assert_not_open(&shop.of_all());
    let mut transaction = client.transaction().expect("a transaction");
    assert_not_accepted(shop.of_transaction(&mut transaction));
    drop(transaction);

    shop.open();
    assert_open(&shop.of_all());
    let before = shop.stored();
    let mut transaction = client.transaction().expect("a transaction");
    assert_eq!(shop.of_transaction(&mut transaction), [Ok(()), Ok(())]);
    assert_eq!(shop.stored(), before, "not before the commit");
    transaction.commit().expect("it is committed");
    shop.runtime.block_on(async {
        let connected = tokio_postgres::connect(&url, tokio_postgres::NoTls).await;
        let (mut client, connection) = connected.expect("a connection");
        tokio::spawn(connection);
        let jobs = shop.jobs();
        let mut transaction = client.transaction().await.expect("a transaction");
        jobs.enqueue_in_async(&mut transaction, new()).await.expect("accepted");
        jobs.enqueue_all_in_async(&mut transaction, vec![new()]).await.expect("accepted");
        transaction.commit().await.expect("it is committed");
    });
    assert_eq!(shop.stored(), before + 5);
    shop.scheduler.shutdown().expect("it stops");
}
