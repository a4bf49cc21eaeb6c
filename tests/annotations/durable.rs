//! Durable schedules and jobs on the model store.
//!
//! No node takes jobs here: those that are enqueued stay.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use scheduler::chrono::{DateTime, TimeDelta, Utc};
use scheduler::store::{
    self, EnqueueIn, Enqueued, JobFilter, JobState, Model, NewJob, Store, StoreError, StoreTime,
};
use scheduler::{
    Clock, EnqueueError, Job, Jobs, JobsError, NodeOptions, OnLost, Pause, Priority, Schedule,
    Scheduler, Schedules, StartError, SystemClock, TaskList, job, scheduled, tasks,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

type Checked = Result<(), Box<dyn Error>>;

#[job(name = "send-invoice", retry(max = 4), queue = "mail", priority = "low", on_lost = "abandon")]
fn send_invoice(#[payload] number: u32) {
    assert!(number > 0);
}

#[job(name = "sweep")]
fn sweep() {}

#[job(name = "weigh")]
fn weigh(#[payload] grams: f64) {
    assert!(grams >= 0.0);
}

#[derive(Serialize, Deserialize, Clone, Default)]
struct Parcel {
    grams: Option<f32>,
    sides: Vec<(f64, Side)>,
    prices: std::collections::BTreeMap<String, f64>,
}

#[derive(Serialize, Deserialize, Clone)]
enum Side {
    Flat,
    Round { radius: f64 },
}

#[job(name = "post")]
fn post(#[payload] parcel: Parcel) {
    drop(parcel);
}

/// JSON has no such number: it would be written as `null`, and read as none, or not at all.
#[test]
fn a_payload_that_would_come_back_as_another_is_not_accepted() -> Checked {
    let scheduler = Scheduler::builder().tasks(tasks![weigh, post]).store(Model::new()).spawn()?;
    let jobs = scheduler.jobs()?;
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let parcel = Parcel::default();
        let parcels = [
            Parcel { grams: Some(bad as f32), ..parcel.clone() },
            Parcel { sides: vec![(bad, Side::Flat)], ..parcel.clone() },
            Parcel { sides: vec![(1.0, Side::Round { radius: bad })], ..parcel.clone() },
            Parcel { prices: [("EUR".to_owned(), bad)].into(), ..parcel },
        ];
        for job in [weigh::job(bad)].into_iter().chain(parcels.map(post::job)) {
            let refused = jobs.enqueue(job).expect_err("no number of JSON");
            assert!(matches!(refused, EnqueueError::NotAccepted(_)), "{refused}");
            let text = refused.to_string();
            assert!(text.contains("its payload cannot be encoded: JSON has no "), "{text}");
        }
    }
    jobs.enqueue(weigh::job(1.5))?;
    let sides = vec![(1.0, Side::Round { radius: 2.0 })];
    jobs.enqueue(post::job(Parcel { sides, ..Parcel::default() }))?;
    scheduler.shutdown()?;
    Ok(())
}

#[job(name = "order")]
#[expect(clippy::needless_pass_by_value, reason = "both forms of the argument")]
fn order(jobs: &Jobs, again: Jobs) -> Result<(), EnqueueError> {
    jobs.enqueue(sweep::job())?;
    again.enqueue(send_invoice::job(1)).map(drop)
}

#[scheduled(cron = "0 0 3 * * *", zone = "UTC", durable, name = "nightly")]
fn nightly() {}

#[scheduled(fixed_rate = "1h", initial_delay = "1h", durable, name = "every-hour")]
fn every_hour() {}

struct Opaque;

impl serde::Serialize for Opaque {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it is secret"))
    }
}

impl<'de> serde::Deserialize<'de> for Opaque {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

#[job(name = "opaque")]
fn opaque(#[payload] _it: Opaque) {}

/// The functions of this file.
fn all() -> TaskList {
    tasks![send_invoice, sweep, order, nightly, opaque]
}

/// Names that are used after both imports are those of one type, or this does not compile.
#[allow(unused_imports, reason = "only some names are looked up")]
mod both_imported {
    use scheduler::store::*;
    use scheduler::*;

    pub(super) fn of(job: Job, schedule: Schedule) -> (Job, Schedule) {
        (job, schedule)
    }

    pub(super) fn kept(jobs: &[StoredJob], schedules: &[StoredSchedule]) -> (usize, usize) {
        (jobs.len(), schedules.len())
    }
}

#[test]
fn a_job_and_a_schedule_are_one_type_each_beside_those_of_the_store() -> Checked {
    let (scheduler, jobs, _) = started(&[])?;
    let (job, schedule) = both_imported::of(sweep::job(), Schedule::fixed_rate("1h"));
    jobs.enqueue(job.key("once"))?;
    scheduler.schedules()?.put("hourly", schedule, sweep::job())?;
    let kept = jobs.list(&JobFilter::default(), 10)?;
    let mut schedules = scheduler.schedules()?.list()?;
    // The program's own are registered meanwhile.
    schedules.retain(|schedule| schedule.definition.name == "hourly");
    assert_eq!(both_imported::kept(&kept, &schedules), (1, 1));
    scheduler.shutdown()?;
    Ok(())
}

/// A scheduler on a store whose clock runs, and what it enqueues.
fn started(set: &[(&str, &str)]) -> Result<(Scheduler, Jobs, Model), Box<dyn Error>> {
    let clock = SystemClock::new();
    let model = Model::with_clock(move || store::StoreTime::from(clock.wall()));
    let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
    let builder = set.iter().fold(builder, |builder, (key, value)| builder.set(*key, *value));
    // Jobs stay as they are enqueued: this process serves a queue that no job is in.
    let node = NodeOptions::default().queues(["none"]);
    let scheduler = builder.tasks(all()).store(model.clone()).node(node).spawn()?;
    let jobs = scheduler.jobs()?;
    Ok((scheduler, jobs, model))
}

#[test]
fn a_job_is_stored_as_code_annotation_and_settings_say() -> Checked {
    let (_scheduler, jobs, _) = started(&[("tasks.send-invoice.queue", "post")])?;
    let job = send_invoice::job(17);
    let id = job.id();
    assert_eq!(jobs.enqueue(job)?, Enqueued::Accepted(id));
    let stored = jobs.get(id)?.expect("it was accepted");
    assert_eq!((&*stored.task, &*stored.queue), ("send-invoice", "post"));
    assert_eq!((stored.priority, stored.max_attempts), (Priority::Low, 5));
    assert_eq!(stored.on_lost, OnLost::Abandon);
    assert_eq!((stored.payload.version, &*stored.payload.bytes), (1, &b"17"[..]));
    let own = send_invoice::job(18).queue("own").priority(Priority::Urgent).max_attempts(1);
    let id = own.id();
    jobs.enqueue(own)?;
    let stored = jobs.get(id)?.expect("it was accepted");
    let options = (&*stored.queue, stored.priority, stored.max_attempts);
    assert_eq!(options, ("own", Priority::Urgent, 1));
    let plain = sweep::job();
    let id = plain.id();
    jobs.enqueue(plain)?;
    assert_eq!(jobs.get(id)?.expect("it was accepted").payload.version, 0);
    Ok(())
}

#[test]
fn a_job_is_tried_once_unless_annotation_or_settings_say_otherwise() -> Checked {
    let attempts = |set: &[(&str, &str)]| -> Result<u32, Box<dyn Error>> {
        let (_scheduler, jobs, _) = started(set)?;
        let job = sweep::job();
        let id = job.id();
        jobs.enqueue(job)?;
        Ok(jobs.get(id)?.expect("it was accepted").max_attempts)
    };
    assert_eq!(attempts(&[])?, 1);
    assert_eq!(attempts(&[("defaults.retry.max", "10")])?, 11);
    assert_eq!(attempts(&[("tasks.sweep.retry.max", "2")])?, 3);
    Ok(())
}

#[test]
fn a_job_is_accepted_once_and_a_key_keeps_others_out() -> Checked {
    let (_scheduler, jobs, _) = started(&[])?;
    let first = send_invoice::job(1).key("inv-1");
    let id = first.id();
    assert_eq!(jobs.enqueue(first.clone())?, Enqueued::Accepted(id));
    assert_eq!(jobs.enqueue(first)?, Enqueued::Accepted(id));
    assert_eq!(jobs.enqueue(send_invoice::job(2).key("inv-1"))?, Enqueued::Kept(id));
    let replaces = send_invoice::job(3).replace().key("inv-1");
    assert_eq!(jobs.enqueue(replaces)?, Enqueued::Replaced(id));
    assert_eq!(jobs.get(id)?.expect("it is there").payload.bytes, b"3");
    let all = jobs.list(&JobFilter::default(), 10)?;
    assert_eq!(all.len(), 1);
    let alone = jobs.enqueue(send_invoice::job(3).replace()).expect_err("it has no key");
    assert!(alone.to_string().contains("add `.key(…)`") && !alone.is_unknown(), "{alone}");
    Ok(())
}

#[test]
fn a_job_is_due_when_the_code_says() -> Checked {
    let (_scheduler, jobs, _) = started(&[])?;
    let at: DateTime<Utc> = "2099-01-01T00:00:00Z".parse()?;
    let (one, other) = (sweep::job().at(at), sweep::job().after(Duration::from_secs(3_600)));
    let ids = [one.id(), other.id()];
    assert_eq!(jobs.enqueue_all(vec![one, other])?, ids.map(Enqueued::Accepted));
    assert_eq!(jobs.get(ids[0])?.expect("it is there").run_at.utc(), at);
    let later = jobs.get(ids[1])?.expect("it is there");
    assert_eq!(later.run_at.since(later.created_at), Duration::from_secs(3_600));
    assert_eq!(jobs.enqueue_all(Vec::new())?, []);
    Ok(())
}

#[test]
fn a_payload_that_cannot_be_encoded_is_reported_with_the_whole_batch() -> Checked {
    let (_scheduler, jobs, _) = started(&[])?;
    let error = jobs.enqueue_all(vec![sweep::job(), opaque::job(Opaque)]).expect_err("a fault");
    let EnqueueError::NotAccepted(unsent) = &error else { panic!("{error:?}") };
    assert_eq!(unsent.jobs.len(), 2);
    assert!(error.to_string().contains("`opaque`: its payload cannot be encoded: it is secret"));
    assert_eq!(jobs.list(&JobFilter::default(), 10)?, []);
    let long = jobs.enqueue(sweep::job().queue("x".repeat(251))).expect_err("it is too long");
    assert!(long.to_string().contains("at most 250 are allowed"), "{long}");
    Ok(())
}

#[test]
fn a_job_is_cancelled_retried_and_deleted_by_hand() -> Checked {
    let (_scheduler, jobs, _) = started(&[])?;
    let job = sweep::job();
    let id = job.id();
    jobs.enqueue(job)?;
    jobs.cancel(id)?;
    assert_eq!(jobs.get(id)?.expect("it is kept").state, JobState::Cancelled);
    jobs.retry(id)?;
    assert_eq!(jobs.get(id)?.expect("it is kept").state, JobState::Ready);
    let depths = jobs.depths()?;
    assert_eq!((&*depths[0].task, depths[0].due), ("sweep", 1));
    jobs.delete(id)?;
    assert_eq!(jobs.get(id)?, None);
    assert!(jobs.delete(id).expect_err("it is gone").is_not_found());
    assert!(jobs.sessions()?.len() <= 1, "that of this process, once it is open");
    Ok(())
}

#[test]
fn a_schedule_for_each_customer_is_put_changed_and_removed() -> Checked {
    let (scheduler, jobs, _) = started(&[])?;
    let schedules = scheduler.schedules()?;
    let daily = Schedule::cron("0 0 9 * * *").zone("Europe/Berlin");
    schedules.put("customer-7", daily, send_invoice::job(7).queue("own"))?;
    let found = schedules.list()?;
    let (row, made) = (&found[0], &found[0].definition);
    assert_eq!((&*made.name, &*made.task), ("customer-7", "send-invoice"));
    assert_eq!((&*made.queue, made.payload.decode::<u64>()?), ("own", 7));
    assert!(made.is_dynamic && made.max_attempts == 5 && row.override_rule.is_none());
    assert_eq!((row.period(), row.next == store::Next::Never), (None, false));
    schedules.pause("customer-7", &Pause::new().by("ada").reason("holidays"))?;
    let paused = schedules.list()?[0].pause.clone().expect("it is paused");
    assert_eq!((&*paused.by, &*paused.reason, paused.until), ("ada", "holidays", None));
    let now = || SystemClock::new().wall();
    assert!(paused.since.utc() <= now() && paused.holds(now().into()));
    let id = schedules.run_now("customer-7")?;
    assert_eq!(jobs.get(id)?.expect("it is there").task, "send-invoice");
    schedules.resume("customer-7")?;
    schedules.reschedule("customer-7", Schedule::fixed_rate("1h"))?;
    let hourly = schedules.list()?.remove(0);
    assert_eq!(hourly.rule().text, r#"{"fixed_rate":"1h"}"#);
    let hour = Duration::from_secs(3600);
    assert_eq!((hourly.period(), hourly.override_rule.is_some()), (Some(hour), true));
    let first = hourly.next_tick().expect("a rate is never unknown").utc() - now();
    assert!(first > TimeDelta::minutes(50), "the first tick comes after a period: {first}");
    schedules.reset("customer-7")?;
    assert!(schedules.list()?[0].rule().text.contains("Europe/Berlin"));
    schedules.remove("customer-7")?;
    assert!(schedules.remove("customer-7").expect_err("it is gone").is_not_found());
    Ok(())
}

#[test]
fn a_schedule_that_cannot_be_kept_is_refused_with_the_reason() -> Checked {
    let (scheduler, ..) = started(&[])?;
    let schedules = scheduler.schedules()?;
    let refused = |schedule: Schedule, job: Job| {
        schedules.put("x", schedule, job).expect_err("a fault").to_string()
    };
    let hourly = || Schedule::fixed_rate("1h");
    assert!(refused(hourly(), sweep::job().key("x")).contains("no key of its own"));
    assert!(refused(Schedule::cron("0 0 25 * * *"), sweep::job()).contains("hour"));
    assert!(refused(Schedule::cron("-"), sweep::job()).contains("`-` is no rule"));
    let stops = hourly().on_error(scheduler::OnError::Stop);
    assert!(refused(stops, sweep::job()).contains("does not go with `durable`"));
    let policy = schedules.reschedule("x", hourly().timeout("1s")).expect_err("a fault");
    assert!(policy.to_string().contains("`timeout` is no part of a rule"), "{policy}");
    Ok(())
}

#[test]
fn a_stopped_scheduler_still_enqueues() -> Checked {
    let (scheduler, jobs, _) = started(&[])?;
    let schedules = scheduler.schedules()?;
    scheduler.shutdown()?;
    jobs.enqueue(sweep::job())?;
    let gone =
        schedules.put("x", Schedule::fixed_rate("1h"), sweep::job()).expect_err("it stopped");
    assert!(!gone.to_string().is_empty());
    Ok(())
}

/// A transaction of the caller, which is rolled back unless it is committed.
struct Transaction(Vec<NewJob>, bool);

impl EnqueueIn for Transaction {
    fn enqueue(&mut self, _: &dyn Store, jobs: &[NewJob]) -> Result<Vec<Enqueued>, StoreError> {
        if self.1 {
            return Err(StoreError::Unavailable("the connection is closed".to_owned()));
        }
        self.0.extend(jobs.iter().cloned());
        Ok(jobs.iter().map(|job| Enqueued::Accepted(job.id)).collect())
    }
}

#[test]
fn a_job_is_enqueued_in_a_transaction_of_the_caller() -> Checked {
    let (_scheduler, jobs, _) = started(&[])?;
    let mut transaction = Transaction(Vec::new(), false);
    let job = sweep::job();
    let id = job.id();
    assert_eq!(jobs.enqueue_in(&mut transaction, job)?, Enqueued::Accepted(id));
    assert_eq!(transaction.0[0].task, "sweep");
    transaction.1 = true;
    let job = sweep::job();
    let error = jobs.enqueue_in(&mut transaction, job.clone()).expect_err("it is closed");
    assert!(error.is_unknown());
    assert_eq!(error.unsent().jobs, [job]);
    assert_eq!(jobs.list(&JobFilter::default(), 1)?, []);
    Ok(())
}

#[test]
fn a_stored_job_serializes_for_a_status_page() -> Checked {
    let (_scheduler, jobs, _) = started(&[])?;
    let at: DateTime<Utc> = "2099-01-01T00:00:00Z".parse()?;
    let (job, plain) = (send_invoice::job(17).at(at).key("inv-17"), sweep::job());
    let ids = [job.id(), plain.id()];
    jobs.enqueue_all(vec![job, plain])?;
    let stored = jobs.get(ids[0])?.expect("it was accepted");
    assert_eq!((stored.payload.decode::<u32>()?, &*stored.payload.text()), (17, "17"));
    assert!(stored.payload.decode::<String>().is_err());
    let shown = serde_json::to_value(&stored)?;
    assert_eq!(shown["id"], ids[0].to_string());
    assert_eq!(shown["payload"], serde_json::json!({ "version": 1, "value": 17 }));
    assert_eq!((&shown["state"], &shown["priority"]), (&"ready".into(), &"low".into()));
    assert_eq!((&shown["on_lost"], &shown["fence"]), (&"abandon".into(), &0.into()));
    assert_eq!(
        (&shown["run_at"], &shown["key"]),
        (&"2099-01-01T00:00:00Z".into(), &"inv-17".into())
    );
    assert_eq!((&shown["origin"], &shown["finished_at"]), (&Value::Null, &Value::Null));
    let plain = serde_json::to_value(jobs.get(ids[1])?.expect("it was accepted"))?;
    assert_eq!(plain["payload"], serde_json::json!({ "version": 0, "value": null }));
    assert_eq!(serde_json::to_value(jobs.depths()?)?[0]["task"], "sweep");
    assert_eq!(serde_json::from_value::<store::JobId>(shown["id"].clone())?, ids[0]);
    Ok(())
}

/// Waits for a future on this thread, with no runtime.
fn wait_for<R>(future: impl Future<Output = R>) -> R {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        let polled = future.as_mut().poll(&mut std::task::Context::from_waker(&waker));
        match polled {
            std::task::Poll::Ready(answer) => return answer,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn async_code_has_a_twin_of_each_call() -> Checked {
    let (_scheduler, jobs, _) = started(&[])?;
    wait_for(async {
        let job = sweep::job();
        let id = job.id();
        assert_eq!(jobs.enqueue_async(job).await?, Enqueued::Accepted(id));
        let answers = jobs.enqueue_all_async(vec![sweep::job(), send_invoice::job(1)]).await?;
        assert_eq!(answers.len(), 2);
        assert_eq!(jobs.enqueue_all_async(Vec::new()).await?, []);
        let refused = jobs.enqueue_async(sweep::job().key("")).await.expect_err("no key is empty");
        assert_eq!(refused.unsent().jobs.len(), 1);
        let filter = JobFilter { task: Some("sweep".to_owned()), ..JobFilter::default() };
        assert_eq!(jobs.list_async(&filter, 10).await?, jobs.list(&filter, 10)?);
        let due =
            |depths: Vec<store::QueueDepth>| depths.iter().map(|depth| depth.due).sum::<u64>();
        assert_eq!((due(jobs.depths_async().await?), due(jobs.depths()?)), (3, 3));
        // The session of this process may be opened between the two.
        assert!(jobs.sessions_async().await?.len() <= jobs.sessions()?.len());
        let none = "00000000-0000-0000-0000-000000000009".parse().expect("an identity");
        let paused = jobs.pause_node_async(none, &Pause::new()).await;
        assert!(paused.expect_err("there is no such session").is_not_found());
        let resumed = jobs.resume_node_async(none).await;
        assert!(resumed.expect_err("there is no such session").is_not_found());
        jobs.cancel_async(id).await?;
        assert_eq!(jobs.get_async(id).await?.expect("it is kept").state, JobState::Cancelled);
        assert_eq!(jobs.wait_async(id, Duration::ZERO).await?.state, JobState::Cancelled);
        let ended = jobs.cancel_async(id).await.expect_err("it has ended");
        assert!(matches!(ended, JobsError::NotDone(store::CommandOutcome::NotInState(_))));
        jobs.retry_async(id).await?;
        let waiting = jobs.get_async(id).await?.expect("it is kept");
        jobs.edit_async(&waiting, &waiting.payload.with(&Value::Null)?).await?;
        assert_eq!(&*jobs.get(id)?.expect("it is kept").payload.text(), "null");
        assert_eq!(jobs.cancel_all_async(&filter).await?, 2);
        assert_eq!(jobs.retry_all_async(&filter).await?, 2);
        jobs.delete_async(id).await?;
        assert_eq!(jobs.delete_all_async(&filter).await?, 1);
        let gone = jobs.wait_async(id, Duration::ZERO).await.expect_err("it is deleted");
        assert!(gone.is_not_found());
        jobs.pause_task_async("sweep", &Pause::new().by("ada")).await?;
        jobs.pause_queue_async("mail", &Pause::new().by("bob")).await?;
        let paused = |all: Vec<store::JobPause>| {
            all.into_iter().map(|it| (it.scope.to_string(), it.pause.by)).collect::<Vec<_>>()
        };
        let both = ["task `sweep` ada", "queue `mail` bob"];
        let text = |(scope, by): (String, String)| format!("{scope} {by}");
        let found: Vec<String> = paused(jobs.pauses_async().await?).into_iter().map(text).collect();
        assert_eq!(found, both);
        jobs.resume_task_async("sweep").await?;
        jobs.resume_queue_async("mail").await?;
        assert_eq!(jobs.pauses_async().await?, []);
        Ok(())
    })
}

#[job(name = "asks")]
fn asks(jobs: &Jobs, schedules: &Schedules, again: Schedules) {
    drop((jobs.clone(), schedules.clone(), again));
}

#[test]
fn async_code_has_a_twin_of_each_call_about_schedules() -> Checked {
    let (scheduler, jobs, _) = started(&[])?;
    let schedules = scheduler.schedules()?;
    wait_for(async {
        let hourly = || Schedule::fixed_rate("1h").initial_delay("1h");
        schedules.put_async("x", hourly(), sweep::job()).await?;
        schedules.pause_async("x", &Pause::new().by("ada")).await?;
        let mine = |all: Vec<store::StoredSchedule>| {
            all.into_iter().find(|schedule| schedule.definition.name == "x").expect("it is there")
        };
        let paused = mine(schedules.list_async().await?).pause.expect("it is paused");
        assert_eq!(paused.by, "ada");
        schedules.resume_async("x").await?;
        let id = schedules.run_now_async("x").await?;
        assert_eq!(jobs.get_async(id).await?.expect("it is made").task, "sweep");
        schedules.reschedule_async("x", Schedule::fixed_rate("2h")).await?;
        assert!(mine(schedules.list()?).rule().text.contains("2h"));
        schedules.reset_async("x").await?;
        assert!(mine(schedules.list()?).rule().text.contains("1h"));
        schedules.remove_async("x").await?;
        let gone = schedules.remove_async("x").await.expect_err("it is removed");
        assert!(gone.is_not_found());
        Ok(())
    })
}

#[test]
fn a_task_takes_the_schedules_as_an_argument() {
    let mut sim = scheduler::testing::Sim::at("2026-01-01T00:00:00Z").with_store().task(asks);
    sim.jobs().enqueue(asks::job()).expect("it is stored");
    let ended = sim.drain_jobs(Duration::from_secs(60));
    assert_eq!(ended[0].state, JobState::Done);
}

fn faults(error: &StartError) -> String {
    error.to_string()
}

#[test]
fn a_durable_task_needs_a_store() {
    let builder = || Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
    let error = builder().tasks(tasks![nightly, sweep]).spawn().expect_err("there is no store");
    let text = faults(&error);
    assert!(text.contains("`durable` needs a store, which keeps its jobs"), "{text}");
    assert!(text.contains("a job needs a store"), "{text}");
    let line = "Scheduler::builder().store(Sqlite::open(\"jobs.db\")?)";
    assert!(text.contains(line), "{text}");
    let error = builder().tasks(tasks![order]).spawn().expect_err("there is no store");
    let wanted = "wants `&scheduler::Jobs`, which is not managed";
    assert!(faults(&error).contains(wanted), "{error}");
    let plain = builder().tasks(tasks![]).spawn().expect("it starts");
    let none = plain.jobs().expect_err("there is no store");
    assert!(none.to_string().contains(line), "{none}");
    let switched_off = builder().set("tasks.nightly.durable", "false").tasks(tasks![nightly]);
    drop(switched_off.spawn().expect("it needs no store"));
}

#[test]
fn faults_of_durable_tasks_come_at_the_start() {
    let start = |schedule: Schedule| {
        let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
        let builder = builder.tasks(tasks![]).store(Model::new());
        let started = builder.task("task", schedule.durable(), |_| {}).spawn();
        started.map(drop).expect_err("a fault").to_string()
    };
    let stops = Schedule::fixed_rate("1s").on_error(scheduler::OnError::Stop);
    assert!(start(stops).contains("`on_error` does not go with `durable`"));
    struct Never;
    impl scheduler::Trigger for Never {
        fn next_fire_time(&self, _: &scheduler::TriggerContext) -> scheduler::NextFireTime {
            Ok(None)
        }
    }
    let text = start(Schedule::on_trigger(Never));
    assert!(text.contains("`durable` is of no use beside a trigger of its own"), "{text}");
    let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
    let builder = builder.tasks(tasks![sweep]).store(Model::new());
    let error = builder.set("tasks.sweep.cron", "@daily").spawn().expect_err("a job has no rule");
    assert!(error.to_string().contains("is no option of a job"), "{error}");
}

#[test]
fn a_durable_task_is_controlled_through_the_store() -> Checked {
    let (scheduler, _, _) = started(&[])?;
    let nightly = scheduler.tasks().get("nightly")?;
    assert_eq!(nightly.snapshot().facts.kind, scheduler::RuleKind::Cron);
    assert!(
        nightly
            .run_now()
            .is_err_and(|error| error.to_string().contains("see `Schedules::run_now`"))
    );
    let added = scheduler.tasks().add("later", Schedule::fixed_rate("1h").durable(), |_| {});
    assert!(
        added.expect_err("it is durable").to_string().contains("scheduler.schedules()?.put(…)")
    );
    Ok(())
}

/// A scheduler of these tasks on this store, and what it says.
fn said_by(store: &Model, tasks: scheduler::TaskList) -> (Scheduler, Receiver<String>) {
    let (sender, messages) = channel();
    let builder = Scheduler::builder().environment([("PATH", "")]).store(store.clone());
    let builder = builder.tasks(tasks).messages(move |message| {
        // The receiver is dropped after the first ones.
        drop(sender.send(message.to_string()));
    });
    (builder.spawn().expect("a right scheduler"), messages)
}

#[test]
fn the_banner_shows_when_durable_tasks_run_as_far_as_rules_tell() -> Checked {
    let (scheduler, messages) = said_by(&Model::new(), tasks![nightly, every_hour, sweep]);
    let banner = messages.recv()?;
    let next = |task: &str| {
        let row = banner.lines().find(|line| line.trim_start().starts_with(task));
        row.and_then(|row| row.split_once("  next: ")).map(|(_, next)| next.to_owned())
    };
    let nightly = next("nightly").expect("a row");
    let end = " 03:00:00 +00:00, in ";
    assert!(nightly.contains(end) && nightly.ends_with(", unless the store says otherwise"));
    assert_eq!(next("every-hour").as_deref(), Some("when the store says"));
    assert_eq!(next("sweep").as_deref(), Some("when one is enqueued"));
    scheduler.shutdown()?;
    Ok(())
}

#[test]
fn the_store_says_at_the_start_when_durable_schedules_fire() -> Checked {
    let clock = SystemClock::new();
    let model = Model::with_clock(move || store::StoreTime::from(clock.wall()));
    let registered = |task: &str, messages: &Receiver<String>| {
        let start = format!("INFO  task `{task}`: ");
        messages.iter().find(|message| message.starts_with(&start)).expect("it is registered")
    };
    let (scheduler, messages) = said_by(&model, tasks![nightly]);
    let new = registered("nightly", &messages);
    assert!(new.contains("is registered in the store; next ") && new.contains(" 03:00:00 +00:00"));
    scheduler.schedules()?.pause("nightly", &Pause::new().by("ada").reason("the night is long"))?;
    scheduler.shutdown()?;
    let (scheduler, messages) = said_by(&model, tasks![nightly]);
    let paused = registered("nightly", &messages);
    assert_eq!(paused, "INFO  task `nightly`: is registered in the store; paused");
    scheduler.schedules()?.resume("nightly")?;
    let hourly = Schedule::cron("0 30 * * * *").zone("UTC");
    scheduler.tasks().schedules()?.reschedule("nightly", hourly)?;
    scheduler.shutdown()?;
    let (scheduler, messages) = said_by(&model, tasks![nightly, every_hour]);
    let by_hand = registered("nightly", &messages);
    assert!(by_hand.contains(":30:00 +00:00"), "{by_hand}");
    let rate = registered("every-hour", &messages);
    assert!(rate.contains("is registered in the store; next "), "{rate}");
    scheduler.shutdown()?;
    Ok(())
}

#[test]
fn a_durable_task_that_is_disabled_is_enabled_by_its_settings_only() -> Checked {
    let (scheduler, ..) = started(&[("tasks.nightly.enabled", "false")])?;
    let nightly = scheduler.tasks().get("nightly")?;
    assert_eq!(nightly.snapshot().state, scheduler::TaskState::Disabled);
    let refused = nightly.enable().expect_err("its schedule is not registered").to_string();
    assert!(refused.contains("`enabled = true` in its settings"), "{refused}");
    assert_eq!(nightly.snapshot().state, scheduler::TaskState::Disabled);
    assert!(scheduler.schedules()?.list()?.is_empty());
    Ok(())
}

#[test]
fn the_next_ticks_of_schedules_are_known_also_when_they_are_paused() -> Checked {
    let (scheduler, _, model) = started(&[])?;
    let schedules = scheduler.tasks().schedules()?;
    assert!(scheduler.tasks().get("nightly")?.is_durable());
    let long = Schedule::cron("0 0 9 * * *").zone("Europe/Berlin");
    schedules.put("daily", long, sweep::job())?;
    let hour = || Schedule::fixed_rate("1h").initial_delay("1h");
    schedules.put("hourly", hour(), sweep::job())?;
    schedules.put(
        "bounded",
        hour().until(model.now().utc() + Duration::from_secs(9_000)),
        sweep::job(),
    )?;
    schedules.put("slow", Schedule::fixed_delay("1h").initial_delay("2h"), sweep::job())?;
    schedules.pause("daily", &Pause::new().by("ops"))?;
    let upcoming = |name: &str| -> Result<Vec<DateTime<Utc>>, Box<dyn Error>> {
        let all = schedules.list()?;
        let schedule =
            all.iter().find(|schedule| schedule.definition.name == name).ok_or("none")?;
        Ok(schedules.upcoming(schedule, 3))
    };
    let now = model.now().utc();
    let daily = upcoming("daily")?;
    let zone: scheduler::Zone = "Europe/Berlin".parse()?;
    let nine = |at: &DateTime<Utc>| zone.local(*at).format("%H:%M:%S").to_string() == "09:00:00";
    assert!(daily.len() == 3 && daily.iter().all(nine) && daily[0] > now, "{daily:?}");
    let hourly = upcoming("hourly")?;
    assert_eq!(hourly[2] - hourly[0], scheduler::chrono::TimeDelta::hours(2));
    assert!(hourly[0] > now && hourly[0] <= now + Duration::from_secs(3_600));
    assert_eq!(upcoming("bounded")?.len(), 2);
    assert_eq!(upcoming("slow")?.len(), 1);
    Ok(())
}

#[test]
fn a_value_of_json_is_a_payload() {
    fn is_payload<T: scheduler::Payload>() {}
    is_payload::<Value>();
    assert_eq!(StoreTime::default(), store::StoreTime::from(DateTime::UNIX_EPOCH));
}

#[test]
fn all_jobs_that_a_filter_selects_are_cancelled_retried_and_deleted() -> Checked {
    let (_scheduler, jobs, _) = started(&[])?;
    let (other, many) = (send_invoice::job(1), 1_001);
    let id = other.id();
    jobs.enqueue_all((0..many).map(|_| sweep::job()).chain([other]).collect())?;
    let of = |state| JobFilter { task: Some("sweep".into()), state, ..JobFilter::default() };
    assert_eq!(jobs.cancel_all(&of(None))?, many);
    assert_eq!(jobs.cancel_all(&of(None))?, 0);
    assert_eq!(jobs.retry_all(&of(Some(JobState::Parked)))?, 0);
    assert_eq!(jobs.retry_all(&of(Some(JobState::Cancelled)))?, many);
    assert_eq!(jobs.depths()?.iter().map(|depth| depth.due).sum::<u64>(), many + 1);
    assert_eq!(jobs.delete_all(&of(None))?, many);
    assert_eq!(jobs.get(id)?.expect("it was not meant").state, JobState::Ready);
    Ok(())
}

#[test]
fn a_handle_asks_for_the_time_of_a_store_whose_clock_was_set() -> Checked {
    let clock = SystemClock::new();
    let ahead = Arc::new(AtomicI64::new(0));
    let of_store = Arc::clone(&ahead);
    let model = Model::with_clock(move || {
        let hours = u64::try_from(of_store.load(SeqCst)).expect("it only goes ahead");
        store::StoreTime::from(clock.wall()).after(Duration::from_secs(3_600 * hours))
    });
    let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
    let scheduler = builder.tasks(all()).store(model).spawn()?;
    let jobs = scheduler.jobs()?;
    scheduler.shutdown()?;
    // No node hears the store's clock any more.
    ahead.store(5, SeqCst);
    let job = sweep::job();
    let id = job.id();
    assert_eq!(jobs.enqueue(job)?, Enqueued::Accepted(id));
    ahead.store(10, SeqCst);
    jobs.cancel(id)?;
    ahead.store(15, SeqCst);
    assert_eq!(jobs.delete_all(&JobFilter::default())?, 1);
    Ok(())
}

/// Starts with these settings and without messages. Returns the error, or the dry run.
fn with_settings(toml: &str, environment: &[(&str, &str)]) -> Result<String, String> {
    let builder = Scheduler::builder().tasks(all()).store(Model::new()).messages(|_| {});
    let builder = builder.node(NodeOptions::default().lease(Duration::from_secs(20)).label("code"));
    let environment = environment.iter().copied().chain([("PATH", "")]);
    let builder = builder.settings("scheduler.toml", toml).environment(environment);
    builder.dry_run().map(|report| report.to_string()).map_err(|error| error.to_string())
}

#[test]
fn settings_of_the_node_count_more_than_the_code() -> Checked {
    let toml = "[scheduler.node]\nlease = \"10s\"\npoll-every = \"500ms\"\nqueues = [\"mail\", \"default\"]\n";
    let report = with_settings(toml, &[("SCHEDULER_NODE_LEASE", "12s")])?;
    let line = |key: &str| {
        let found = report.lines().find(|line| line.trim_start().starts_with(key));
        let words: Vec<&str> = found.expect("it is listed").split_whitespace().collect();
        words[1..].join(" ")
    };
    assert_eq!(line("scheduler.node.lease"), "12s env SCHEDULER_NODE_LEASE");
    assert_eq!(line("scheduler.node.poll-every"), "500ms scheduler.toml:3");
    assert_eq!(line("scheduler.node.queues"), "mail, default scheduler.toml:4");
    assert_eq!(line("scheduler.node.label"), "code builder.node(…)");
    assert_eq!(line("scheduler.node.reap-every"), "15s default");
    let clock = SystemClock::new();
    let model = Model::with_clock(move || store::StoreTime::from(clock.wall()));
    let builder =
        Scheduler::builder().tasks(all()).environment([("SCHEDULER_NODE_LABEL", "web-1")]);
    let scheduler = builder.messages(|_| {}).store(model.clone()).spawn()?;
    while scheduler.jobs()?.sessions()?.is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(scheduler.jobs()?.sessions()?[0].label, "web-1");
    scheduler.shutdown()?;
    Ok(())
}

#[test]
fn wrong_settings_of_the_node_are_all_refused_with_their_places() {
    let toml = "[scheduler.node]\nlaese = \"10s\"\npoll-every = \"soon\"\nconcurrency = \"many\"\nqueues = \"a,,b\"\n";
    let faults = with_settings(toml, &[("SCHEDULER_NODE_REAP_EVERY", "0s")]).expect_err("faults");
    for expected in [
        "scheduler.toml:2: unknown setting `scheduler.node.laese`; did you mean `scheduler.node.lease`?",
        "`scheduler.node.poll-every`: ",
        "for example `scheduler.node.poll-every = \"1s\"`",
        "`scheduler.node.concurrency`: `many` is not a whole number of runs",
        "`scheduler.node.queues`: `a,,b` has a queue without a name",
        "`scheduler.node.reap-every`: ",
    ] {
        assert!(faults.contains(expected), "{expected}\n{faults}");
    }
    let short = with_settings("scheduler.node.lease = \"1ms\"\n", &[]).expect_err("a fault");
    assert!(short.contains("the node: a lease of 1ms cannot work"), "{short}");
    assert!(short.contains("help: write for example `scheduler.node.lease = \"15s\"`"), "{short}");
}
