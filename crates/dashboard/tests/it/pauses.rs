//! Pauses of kinds of jobs and of queues.

use std::sync::{Arc, Mutex};

use scheduler::Pause;
use scheduler::store::{Action, JobState, PauseScope, TargetKind};
use serde_json::{Value, json};

use crate::api::eventually;
use crate::away::Moody;
use crate::jobs::{jobs, mail, with_store};
use crate::live::Stream;
use crate::support::*;

#[test]
fn a_kind_of_job_is_paused_and_resumed_as_any_task() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| builder);
    let mut stream = Stream::open(&served);
    let paused = served.post("/api/v1/tasks/mail/pause", r#"{"reason":"mail is down"}"#);
    assert_eq!(paused.status, 202, "{}", paused.body);
    let row = paused.json();
    assert_eq!((&row["isPaused"], &row["state"]), (&json!(true), &json!("paused")));
    assert_eq!(row["pause"]["reason"], "mail is down");
    let live = stream.row("mail", |row| row["isPaused"] == true);
    assert_eq!(live["pause"]["by"], "ops");
    let job = mail::job(json!(null));
    let id = job.id();
    jobs(&served).enqueue(job).expect("jobs are still accepted");
    let pauses = jobs(&served).pauses().unwrap();
    assert_eq!(pauses[0].scope, PauseScope::Task("mail".to_owned()));
    let metrics = served.get("/metrics").body;
    assert!(metrics.contains("scheduler_task_paused{task=\"mail\"} 1"), "{metrics}");
    assert_eq!(jobs(&served).get(id).unwrap().expect("it is there").state, JobState::Ready);
    let queues = served.get("/api/v1/queues").json();
    assert_eq!(queues["queues"][0]["tasks"][0]["pause"]["reason"], "mail is down");
    assert_eq!(queues["queues"][0].get("pause"), None, "the queue is not paused");
    let resumed = served.post("/api/v1/tasks/mail/resume", "");
    assert_eq!((resumed.status, &resumed.json()["isPaused"]), (202, &json!(false)));
    assert_eq!(served.post("/api/v1/tasks/mail/resume", "").status, 409, "it is resumed");
    assert_eq!(jobs(&served).pauses().unwrap(), []);
    served.stop();
}

#[test]
fn a_queue_is_paused_and_resumed_and_noted() {
    let heard: Arc<Mutex<Vec<Action>>> = Arc::default();
    let to = Arc::clone(&heard);
    let dashboard = dashboard().on_action(move |act| {
        to.lock().unwrap().push(act.clone());
    });
    let served = with_store(&dashboard, &Moody::new(), |builder| builder);
    let body = r#"{"reason":"mail is down","forMs":3600000}"#;
    let paused = served.post("/api/v1/queues/to%2Fmail/pause", body);
    assert_eq!(paused.status, 202, "{}", paused.body);
    assert_eq!((&paused.json()["queue"], &paused.json()["due"]), (&json!("to/mail"), &json!(0)));
    assert!(paused.json()["pause"]["until"].is_string(), "{}", paused.json());
    let queues = served.get("/api/v1/queues").json();
    let mut rows = queues["queues"].as_array().unwrap().iter();
    let row = rows.find(|row| row["queue"] == "to/mail").expect("also without a job");
    assert_eq!(row["pause"]["reason"], "mail is down");
    let gauge = |value: u8| format!("scheduler_queue_paused{{queue=\"to/mail\"}} {value}\n");
    assert!(served.get("/metrics").body.contains(&gauge(1)), "also without a job");
    jobs(&served).enqueue(mail::job(json!(null)).queue("to/mail")).unwrap();
    assert!(served.get("/metrics").body.contains(&gauge(1)), "{}", served.get("/metrics").body);
    let actions = served.get("/api/v1/actions").json();
    assert_eq!(actions["actions"][0]["queue"], "to/mail");
    assert_eq!(served.post("/api/v1/queues/to%2Fmail/resume", "").status, 202);
    let metrics = || Some(served.get("/metrics").body).filter(|text| !text.contains(&gauge(1)));
    eventually(metrics);
    let again = served.post("/api/v1/queues/to%2Fmail/resume", "");
    assert_eq!(again.status, 409);
    assert!(again.body.contains("queue `to/mail` is not paused"), "{}", again.body);
    let both = heard.lock().unwrap().clone();
    let of = |index: usize| (&*both[index].verb, both[index].kind, &*both[index].name);
    assert_eq!(of(0), ("pause", TargetKind::Queue, "to/mail"));
    assert_eq!((&*both[0].reason, &both[0].task), ("mail is down", &None));
    assert_eq!((of(1), both.len()), (("resume", TargetKind::Queue, "to/mail"), 2));
    let viewer =
        [("Authorization", &*format!("Bearer {VIEWER}")), ("Content-Type", "application/json")];
    assert_eq!(served.send("POST", "/api/v1/queues/mail/pause", &viewer, "").status, 403);
    served.stop();
}

#[test]
fn a_pause_ends_at_the_last_instant_that_a_store_keeps() {
    let tasks = |builder: scheduler::Builder| builder.task("local", hourly(), |_| {});
    let served = with_store(&dashboard(), &Moody::new(), tasks);
    for path in ["tasks/local", "tasks/mail", "queues/mail"] {
        let paused = served.post(&format!("/api/v1/{path}/pause"), r#"{"forMs":1000000000000000}"#);
        assert_eq!(paused.status, 202, "{}", paused.body);
        assert_eq!(paused.json()["pause"]["until"], "9999-12-31T23:59:59.999999Z", "{path}");
    }
    served.stop();
}

#[test]
fn the_details_of_readiness_have_paused_kinds_of_jobs_and_queues() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| builder);
    let details = || served.get("/readyz").json()["components"]["store"]["details"].clone();
    // A slow moment of the machine is an answer without what the store would have said.
    let becomes = |wanted: Value| eventually(|| (details() == wanted).then_some(()));
    for path in ["tasks/mail", "queues/letters"] {
        assert_eq!(served.post(&format!("/api/v1/{path}/pause"), "").status, 202);
    }
    becomes(json!({ "pausedTasks": ["mail"], "pausedQueues": ["letters"] }));
    assert_eq!(served.get("/readyz").status, 200, "a pause was decided");
    assert_eq!(served.post("/api/v1/tasks/mail/resume", "").status, 202);
    becomes(json!({ "pausedQueues": ["letters"] }));
    assert_eq!(served.post("/api/v1/queues/letters/resume", "").status, 202);
    becomes(Value::Null);
    served.stop();
}

#[test]
fn all_tasks_are_paused_and_resumed_at_once_also_kinds_of_jobs() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| builder);
    let schedules = served.scheduler.schedules().unwrap();
    eventually(|| schedules.list().unwrap().pop());
    let changed = served.post("/api/v1/tasks:pause", r#"{"all":true}"#).json();
    let all = served.get("/api/v1/tasks").json()["tasks"].as_array().unwrap().len();
    assert_eq!(changed["changed"], all);
    assert_eq!(jobs(&served).pauses().unwrap().len(), 1);
    let resumed = served.post("/api/v1/tasks:resume", r#"{"all":true}"#).json();
    assert_eq!(resumed["changed"], all);
    assert_eq!(jobs(&served).pauses().unwrap(), []);
    schedules.pause("report", &Pause::new()).unwrap();
    let resumed = served.post("/api/v1/tasks:resume", r#"{"all":true}"#).json();
    assert_eq!(resumed["changed"], 1, "also if another process has paused it just now");
    let resumed = served.post("/api/v1/tasks:resume", r#"{"all":true}"#).json();
    assert_eq!(resumed["changed"], 0, "none is paused");
    served.stop();
}

#[test]
fn the_end_of_a_pause_has_its_reason_in_the_actions() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| {
        builder.task("local", crate::support::hourly(), |_| {})
    });
    eventually(|| {
        (!served.get("/api/v1/nodes").json()["nodes"].as_array()?.is_empty()).then_some(())
    });
    let notes = || served.get("/api/v1/actions").json()["actions"][0]["note"].clone();
    for path in
        ["tasks/mail", "tasks/local", "queues/default", "nodes/web-1", "tasks/mail/partitions"]
    {
        let ask = |action: &str| {
            let body = json!({ "partition": "ada", "reason": format!(" {action} {path} ") });
            let body = match path.ends_with("partitions") {
                true => body,
                false => json!({ "reason": body["reason"] }),
            };
            let answer = served.post(&format!("/api/v1/{path}/{action}"), &body.to_string());
            assert_eq!(answer.status, 202, "{answer:?}");
        };
        for action in ["pause", "resume"] {
            ask(action);
            eventually(|| (notes() == format!("{action} {path}")).then_some(()));
        }
    }
    served.stop();
}
