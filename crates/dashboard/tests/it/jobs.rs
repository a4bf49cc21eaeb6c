//! Jobs, queues, nodes and durable schedules, of a store.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::store::{JobFilter, JobState};
use scheduler::{
    Builder, Jobs, JobsError, NodeOptions, Pause, Schedule, Schedules, Until, job, tasks,
};
use scheduler_dashboard::Dashboard;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::{eventually, is_nine_in_berlin};
use crate::away::{Mood, Moody};
use crate::live::Stream;
use crate::support::*;

#[job(name = "mail")]
pub(crate) fn mail(#[payload] letter: Value) -> Result<(), String> {
    match letter {
        Value::Object(letter) if letter["fails"] == true => Err("mailbox full: hunter2".to_owned()),
        _ => Ok(()),
    }
}

fn durable() -> Schedule {
    Schedule::cron("0 0 9 * * *").zone("Europe/Berlin").durable()
}

/// A program with a store, in which a job was parked.
pub(crate) fn with_store(
    dashboard: &Dashboard,
    store: &Moody,
    tasks: impl FnOnce(Builder) -> Builder,
) -> Served {
    let node = NodeOptions::default().label("web-1").build("1.2.3");
    let node = node.renew_every(Duration::from_millis(50));
    let builder = tasks(builder().tasks(tasks![mail]).task("report", durable(), |_| {}));
    serve(dashboard, builder.store(store.clone()).node(node))
}

pub(crate) fn jobs(served: &Served) -> Jobs {
    served.scheduler.jobs().expect("a store")
}

fn schedules(served: &Served) -> Schedules {
    served.scheduler.schedules().expect("a store")
}

/// Enqueues a job that fails, and waits until it is parked.
pub(crate) fn parked(served: &Served) -> String {
    let jobs = jobs(served);
    let job = mail::job(json!({ "fails": true, "iban": "DE02", "to": "zoe" })).key("mail-1");
    let id = job.id();
    jobs.enqueue(job).unwrap();
    eventually(|| (jobs.get(id).unwrap()?.state == JobState::Parked).then_some(()));
    id.to_string()
}

#[test]
fn a_parked_job_is_found_shown_retried_and_deleted() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&heard);
    let dashboard = dashboard().redact(|text| text.replace("hunter2", "…")).on_action(move |act| {
        to.lock()
            .unwrap()
            .push([&act.by, &act.verb, act.task.as_ref().unwrap(), &act.name].map(String::clone));
    });
    let served = with_store(&dashboard, &Moody::new(), |builder| builder);
    let id = parked(&served);
    assert_eq!(
        served.get("/api/v1/info").json()["sections"],
        json!(["tasks", "jobs", "queues", "nodes"])
    );

    let list = served.get("/api/v1/jobs?state=parked&task=mail&queue=default").json();
    let row = &list["jobs"][0];
    assert_eq!(
        (&row["id"], &row["state"], &row["key"]),
        (&id.as_str().into(), &"parked".into(), &"mail-1".into())
    );
    assert_eq!(
        (&row["attempt"], &row["maxAttempts"], &row["lost"]),
        (&1.into(), &1.into(), &0.into())
    );
    assert_eq!(row["error"], "mailbox full: …");
    assert!(row.get("payload").is_none() && row["finishedAt"].is_string(), "{row}");
    assert_eq!(list["hasMore"], false);
    for nothing in ["state=ready", "task=report", "queue=mail", "key=x", "schedule=report"] {
        let found = served.get(&format!("/api/v1/jobs?{nothing}")).json();
        assert_eq!(found["jobs"], json!([]), "{nothing}");
    }

    let path = format!("/api/v1/jobs/{id}");
    let detail = served.get(&path).json();
    assert_eq!(detail["payload"]["version"], 1);
    assert!(detail["payload"]["text"].as_str().unwrap().contains("\"iban\": \"DE02\""), "{detail}");
    let attempts = detail["attempts"].as_array().expect("its attempts");
    let [first] = &attempts[..] else { panic!("one attempt: {attempts:?}") };
    assert_eq!((&first["number"], &first["outcome"]), (&1.into(), &"failed".into()));
    assert_eq!((&first["error"], &first["node"]), (&"mailbox full: …".into(), &"web-1".into()));
    assert!(first["startedAt"].is_string() && first["endedAt"].is_string(), "{first}");
    assert!(first["tookMs"].as_f64().is_some_and(|took| took >= 0.0), "{first}");
    assert!(row.get("attempts").is_none(), "those are of a job by itself: {row}");
    assert_eq!(served.post(&format!("{path}/cancel"), "").status, 409, "it has ended");

    let retried = served.post(&format!("{path}/retry"), "");
    assert_eq!(retried.status, 202, "{retried:?}");
    eventually(|| {
        let job = served.get(&path).json();
        let attempts = job["attempts"].as_array().map_or(0, Vec::len);
        (job["state"] == "parked" && (job["attempt"] == 2) && attempts == 2).then_some(())
    });
    let deleted = served.post(&format!("{path}/delete"), "");
    assert_eq!((deleted.status, &deleted.json()["isDeleted"]), (202, &true.into()));
    let gone = served.get(&path);
    assert_eq!(gone.status, 404);
    assert!(gone.json()["detail"].as_str().unwrap().contains("retention"), "{gone:?}");
    assert_eq!(served.post(&format!("{path}/retry"), "").status, 404);

    let heard = heard.lock().unwrap();
    assert_eq!(*heard, [["ops", "retry", "mail", &*id], ["ops", "delete", "mail", &*id]]);
    let actions = served.get("/api/v1/actions?task=mail").json();
    assert_eq!(
        (&actions["actions"][0]["action"], &actions["actions"][0]["job"]),
        (&"delete".into(), &id.into())
    );
    drop(heard);
    served.stop();
}

#[test]
fn the_payload_of_a_parked_job_is_edited() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&heard);
    let dashboard = dashboard().on_action(move |act| {
        to.lock().unwrap().push([act.by.clone(), act.verb.clone()]);
    });
    let served = with_store(&dashboard, &Moody::new(), |builder| builder);
    let id = parked(&served);
    let path = format!("/api/v1/jobs/{id}");
    let before = served.get(&path).json();
    let edit = |body: Value| served.post(&format!("{path}/edit"), &body.to_string());
    let fence = before["fence"].as_u64().unwrap();
    for (body, status, word) in [
        (json!({ "payload": "{" }), 400, "the payload is no JSON"),
        (json!({ "payload": 1 }), 400, "invalid type"),
        (json!({ "payload": "1", "version": -1 }), 400, "invalid value"),
        (json!({ "payload": "1", "fence": fence + 1 }), 409, "claimed since it was read"),
    ] {
        let refused = edit(body);
        assert_eq!(refused.status, status, "{refused:?}");
        assert!(refused.json()["detail"].as_str().unwrap().contains(word), "{refused:?}");
    }
    let edited = edit(json!({ "payload": "{\"fails\": true}", "version": 2, "fence": fence }));
    assert_eq!((edited.status, &edited.json()["state"]), (202, &"parked".into()), "{edited:?}");
    let stored = jobs(&served).get(id.parse().unwrap()).unwrap().unwrap();
    assert_eq!((&*stored.payload.text(), stored.payload.version), ("{\"fails\": true}", 2));
    // As long as the page shows.
    let long = json!({ "fails": false, "text": "x".repeat(60_000) }).to_string();
    assert_eq!(edit(json!({ "payload": long, "version": 1 })).status, 202);
    served.post(&format!("{path}/retry"), "");
    eventually(|| (served.get(&path).json()["state"] == "done").then_some(()));
    assert_eq!(edit(json!({ "payload": "1" })).status, 409, "it is done");
    assert_eq!(*heard.lock().unwrap(), [["ops", "edit"], ["ops", "edit"], ["ops", "retry"]]);
    served.stop();
}

#[test]
fn a_payload_that_a_visitor_does_not_see_whole_is_not_edited() {
    let served =
        with_store(&dashboard().hide_payload_fields(["iban"]), &Moody::new(), |builder| builder);
    let id = parked(&served);
    let refused = served.post(&format!("/api/v1/jobs/{id}/edit"), "{\"payload\": \"1\"}");
    assert_eq!(refused.status, 403, "{refused:?}");
    let stored = jobs(&served).get(id.parse().unwrap()).unwrap().unwrap();
    assert!(stored.payload.text().contains("DE02"));
    let plain = mail::job(json!({ "fails": true }));
    let id = plain.id();
    jobs(&served).enqueue(plain).unwrap();
    eventually(|| (jobs(&served).get(id).unwrap()?.state == JobState::Parked).then_some(()));
    let edited = served.post(&format!("/api/v1/jobs/{id}/edit"), "{\"payload\": \"1\"}");
    assert_eq!(edited.status, 202, "{edited:?}");
    served.stop();
}

#[test]
fn a_command_about_many_jobs_that_fails_says_with_how_many_it_was_done() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| builder);
    let later = || mail::job(json!({})).after(Duration::from_secs(3_600));
    jobs(&served).enqueue_all((0..2_500).map(|_| later()).collect()).unwrap();
    let filter = JobFilter { task: Some("mail".to_owned()), ..JobFilter::default() };
    let mut done = Vec::new();
    for answers in 0..2 {
        store.set(Mood::FailsAfterCommands(answers));
        match jobs(&served).cancel_all(&filter) {
            Err(JobsError::Stopped { done: some, error }) => {
                let error = JobsError::Stopped { done: some, error };
                assert!(error.is_failed() && !error.is_unavailable());
                assert!(error.to_string().starts_with(&format!("stopped after {some} jobs: ")));
                done.push(some);
            }
            Err(error) => assert!(error.is_failed(), "{error}"),
            Ok(all) => done.push(all),
        }
    }
    store.set(Mood::Answers);
    done.push(jobs(&served).cancel_all(&filter).unwrap());
    assert!(done.contains(&1_000) && done.iter().sum::<u64>() == 2_500, "{done:?}");
    served.stop();
}

#[derive(Default, Serialize, Deserialize)]
struct Transfer {
    iban: String,
}

#[job(name = "transfer")]
fn transfer(#[payload] transfer: Transfer) {
    drop(transfer.iban);
}

/// The same kind in another build.
mod other_build {
    #[scheduler::job(name = "transfer")]
    pub(super) fn transfer(#[payload] payload: serde_json::Value) {
        drop(payload);
    }
}

#[test]
fn a_hidden_value_stands_in_no_error() {
    const IBAN: u64 = 12_345_678_901;
    let dashboard = dashboard().hide_payload_fields(["iban"]);
    let served = with_store(&dashboard, &Moody::new(), |builder| builder.tasks(tasks![transfer]));
    let jobs = jobs(&served);
    let job = other_build::transfer::job(json!({ "iban": IBAN }));
    let id = job.id();
    jobs.enqueue(job).unwrap();
    eventually(|| jobs.get(id).unwrap()?.error);
    let tasks =
        ["/tasks", "/tasks/transfer", "/tasks/transfer/runs", "/jobs", "/jobs:errors?state=ready"];
    let tasks = tasks.map(|path| format!("/api/v1{path}"));
    let detail = format!("/api/v1/jobs/{id}");
    for path in tasks.iter().chain([&detail]) {
        for token in [VIEWER, OPERATOR] {
            let bearer = [("Authorization", &*format!("Bearer {token}"))];
            let answer = served.send("GET", path, &bearer, "");
            assert!(!answer.body.contains(&IBAN.to_string()), "{path}: {answer:?}");
        }
    }
    let shown = served.get(&detail).json();
    let error = shown["error"].as_str().expect("why");
    assert!(error.contains("Transfer` at line 1 column 19"), "{error}");
    served.stop();
}

#[test]
fn jobs_come_in_pages_and_faulty_questions_are_refused_in_words() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| builder);
    let later = || mail::job(json!(null)).after(std::time::Duration::from_secs(3_600));
    jobs(&served).enqueue_all((0..7).map(|_| later()).collect()).unwrap();
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = served.get(&format!("/api/v1/jobs?limit=3&after={after}")).json();
        let list = page["jobs"].as_array().unwrap();
        seen.extend(list.iter().map(|job| job["id"].as_str().unwrap().to_owned()));
        after = seen.last().unwrap().clone();
        if page["hasMore"] == false {
            break;
        }
        assert_eq!(list.len(), 3);
    }
    assert_eq!(seen.len(), 7);
    assert!(seen.is_sorted_by(|a, b| a > b), "{seen:?}");
    for (wrong, word) in [
        ("/jobs?state=lost", "there are ready, running, done, parked, cancelled"),
        ("/jobs?after=7", "no identity"),
        ("/jobs/7", "no identity"),
        ("/jobs?stat=ready", "unknown field"),
        ("/jobs?limit=x", "invalid digit"),
        ("/tasks/report/runs?limit=x", "invalid digit"),
    ] {
        let answer = served.get(&format!("/api/v1{wrong}"));
        assert!(answer.status == 400 && answer.body.contains(word), "{wrong}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{wrong}");
    }
    served.stop();
}

#[test]
fn viewers_see_jobs_without_payloads_and_change_nothing() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| builder);
    let id = parked(&served);
    let viewer =
        [("Authorization", &*format!("Bearer {VIEWER}")), ("Content-Type", "application/json")];
    let path = format!("/api/v1/jobs/{id}");
    let answer = served.send("GET", &path, &viewer, "");
    assert!(!answer.body.contains("DE02") && !answer.body.contains("zoe"), "{answer:?}");
    assert_eq!(answer.json()["payload"], json!({ "version": 1, "bytes": 39, "isHidden": true }));
    for action in ["retry", "cancel", "delete"] {
        let path = format!("{path}/{action}");
        assert_eq!(served.send("POST", &path, &viewer, "").status, 403);
        let foreign = [
            viewer[1],
            ("Authorization", &*format!("Bearer {OPERATOR}")),
            ("Origin", "http://evil.example"),
        ];
        assert_eq!(served.send("POST", &path, &foreign, "").status, 403);
        assert_eq!(served.send("POST", &path, &foreign[1..2], "").status, 415);
    }
    assert_eq!(served.get("/api/v1/actions").json()["actions"], json!([]));
    served.stop();
}

#[test]
fn a_program_says_who_sees_which_payloads_and_which_fields_no_visitor_sees() {
    let dashboard = dashboard()
        .show_payloads(|visitor, task| task == "mail" && visitor.name() == "wall")
        .hide_payload_fields(["IBAN"])
        .redact(|text| text.replace("zoe", "…"));
    let served = with_store(&dashboard, &Moody::new(), |builder| builder);
    let path = format!("/api/v1/jobs/{}", parked(&served));
    assert_eq!(served.get(&path).json()["payload"]["isHidden"], true);
    let viewer = [("Authorization", &*format!("Bearer {VIEWER}"))];
    let shown = served.send("GET", &path, &viewer, "").json();
    let text = shown["payload"]["text"].as_str().unwrap();
    let payload: Value = serde_json::from_str(text).unwrap();
    assert_eq!(payload, json!({ "fails": true, "iban": "hidden", "to": "…" }));
    served.stop();
}

#[test]
fn queues_have_their_depths_and_nodes_the_jobs_they_have() {
    let (begin, begun) = std::sync::mpsc::channel();
    let body = move |run: &scheduler::Run| {
        begin.send(()).unwrap();
        while !run.stop_requested() {
            std::thread::yield_now();
        }
    };
    let served =
        with_store(&dashboard(), &Moody::new(), |builder| builder.task("slow", durable(), body));
    parked(&served);
    jobs(&served)
        .enqueue(mail::job(json!(null)).after(std::time::Duration::from_secs(60)).queue("later"))
        .unwrap();
    assert_eq!(
        eventually(|| {
            let answer = served.post("/api/v1/tasks/slow/run", "");
            (answer.status != 404).then_some(answer.status)
        }),
        202
    );
    begun.recv_timeout(LIMIT).unwrap();
    let queues = served.get("/api/v1/queues").json();
    let [first, second] = &queues["queues"].as_array().unwrap()[..] else { panic!("{queues}") };
    assert_eq!(
        (&first["queue"], &first["running"], &first["parked"]),
        (&"default".into(), &1.into(), &1.into())
    );
    assert_eq!(first["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&second["queue"], &second["later"], &second["due"]),
        (&"later".into(), &1.into(), &0.into())
    );
    let nodes = served.get("/api/v1/nodes").json();
    let node = &nodes["nodes"][0];
    assert_eq!(
        (&node["label"], &node["build"], &node["hasRunOut"]),
        (&"web-1".into(), &"1.2.3".into(), &false.into())
    );
    assert_eq!((&node["jobs"][0]["task"], &nodes["orphans"]), (&"slow".into(), &json!([])));
    let id = node["jobs"][0]["id"].as_str().unwrap();
    assert_eq!(served.get(&format!("/api/v1/jobs/{id}")).json()["session"], node["session"]);
    assert_eq!(served.post(&format!("/api/v1/jobs/{id}/delete"), "").status, 409, "it runs");
    assert_eq!(served.post(&format!("/api/v1/jobs/{id}/cancel"), "").status, 202);
    eventually(|| {
        (served.get(&format!("/api/v1/jobs/{id}")).json()["state"] == "cancelled").then_some(())
    });
    served.stop();
}

#[test]
fn without_a_store_there_are_tasks_only() {
    let served = serve(&dashboard(), builder().task("a", hourly(), |_| {}));
    assert_eq!(served.get("/api/v1/info").json()["sections"], json!(["tasks"]));
    for path in ["jobs", "queues", "nodes"] {
        let answer = served.get(&format!("/api/v1/{path}"));
        assert!(
            answer.status == 404 && answer.body.contains("Scheduler::builder().store"),
            "{answer:?}"
        );
    }
    assert!(served.get("/api/v1/tasks/a").json().get("isDurable").is_none());
    served.stop();
}

#[test]
fn a_durable_task_is_paused_resumed_and_run_in_the_store() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| builder);
    let row = eventually(|| {
        let row = served.get("/api/v1/tasks/report").json();
        row.get("schedule").is_some().then_some(row)
    });
    assert_eq!(
        (&row["expression"], &row["words"]),
        (&"0 0 9 * * *".into(), &"09:00, every day".into())
    );
    assert_eq!(
        (&row["isDurable"], &row["schedule"]["isOverridden"]),
        (&true.into(), &false.into())
    );
    let upcoming = row["upcoming"].as_array().unwrap();
    assert_eq!((upcoming.len(), &upcoming[0]["at"]), (10, &row["next"]));
    assert!(is_nine_in_berlin(&row["next"]) && row["zone"] == "Europe/Berlin", "{row}");

    let paused =
        served.post("/api/v1/tasks/report/pause", r#"{"reason":"migration","forMs":3600000}"#);
    assert_eq!(paused.status, 202, "{paused:?}");
    let paused = paused.json();
    assert_eq!(
        (&paused["pause"]["by"], &paused["pause"]["reason"]),
        (&"ops".into(), &"migration".into())
    );
    assert!(
        paused["state"] == "paused"
            && paused.get("next").is_none()
            && paused.get("wouldRunAt").is_some()
    );
    let schedule = schedules(&served).list().unwrap().remove(0);
    assert_eq!(schedule.pause.expect("a pause").by, "ops", "it holds for all processes");
    assert_eq!(served.post("/api/v1/tasks/report/run", "").status, 202, "also while it is paused");
    served.scheduler.wait_for("report", Until::runs(1), LIMIT).unwrap();
    let resumed = served.post("/api/v1/tasks/report/resume", "").json();
    assert!(resumed["isPaused"] == false && resumed["next"].is_string(), "{resumed}");
    assert_eq!(served.post("/api/v1/tasks:pause", r#"{"all":true}"#).json()["changed"], 2);
    assert_eq!(served.post("/api/v1/tasks:resume", r#"{"names":["report"]}"#).json()["changed"], 1);
    let actions = served.get("/api/v1/actions?task=report").json();
    let names: Vec<&str> = actions["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| action["action"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["resume", "resume", "run", "pause"], "without those of several tasks");
    served.stop();
}

#[test]
fn rules_are_looked_at_before_they_are_changed() {
    let served =
        with_store(&dashboard(), &Moody::new(), |builder| builder.task("sweep", hourly(), |_| {}));
    eventually(|| served.get("/api/v1/tasks/report").json().get("schedule").cloned());
    for task in ["report", "sweep"] {
        let path = format!("/api/v1/tasks/{task}");
        let preview =
            served.get(&format!("{path}/preview?cron=0%2030%2017%20*%20*%20FRI&zone=Asia/Tokyo"));
        assert_eq!(preview.status, 200, "{preview:?}");
        let preview = preview.json();
        assert_eq!(
            (&preview["words"], &preview["zone"]),
            (&"17:30, Friday".into(), &"Asia/Tokyo".into())
        );
        assert_eq!(preview["times"].as_array().unwrap().len(), 5);
        let body = r#"{"cron":"0 30 17 * * FRI","zone":"Asia/Tokyo"}"#;
        let answer = served.post(&format!("{path}/reschedule"), body);
        assert_eq!(answer.status, 202, "{answer:?}");
        let row = served.get(&path).json();
        assert_eq!(row["zone"], "Asia/Tokyo", "that of the rule which was set by hand");
        assert_eq!((&row["words"], &row["next"]), (&preview["words"], &preview["times"][0]["at"]));
        assert_eq!(row["upcoming"][0], preview["times"][0]);
        let next = served.get(&format!("{path}/next?n=5")).json();
        assert_eq!((&next["times"], &next["zone"]), (&preview["times"], &preview["zone"]));
        for (name, query, body) in [
            ("fixedRate", "fixedRate=90m", r#"{"fixedRate":"90m"}"#),
            ("fixedDelay", "fixedDelay=90m", r#"{"fixedDelay":"90m"}"#),
        ] {
            let preview = served.get(&format!("{path}/preview?{query}")).json();
            let row = served.post(&format!("{path}/reschedule"), body).json();
            assert_eq!(
                (&row["words"], &row["periodMs"]),
                (&preview["words"], &5_400_000.0.into()),
                "{name}"
            );
            let at = |text: &Value| {
                text.as_str()
                    .unwrap()
                    .parse::<scheduler::chrono::DateTime<scheduler::chrono::Utc>>()
                    .unwrap()
            };
            let apart = (at(&row["next"]) - at(&preview["times"][0]["at"])).num_seconds();
            assert!((0..60).contains(&apart), "{task} {name}: {preview} {row}");
        }
        let actions = served.get(&format!("/api/v1/actions?task={task}")).json();
        let of = |field: &str| actions["actions"][1][field].as_str().unwrap().to_owned();
        let (before, after) = (of("before"), of("after"));
        assert!(
            before.contains("17:30, Friday") && after.contains("every 1h 30m"),
            "{before} {after}"
        );
    }
    // Without a zone it is the present one, also after another kind of rule.
    let row = served.get("/api/v1/tasks/report").json();
    assert_eq!(
        (&row["schedule"]["isOverridden"], &row["kind"]),
        (&true.into(), &"fixed_delay".into())
    );
    let row = served.post("/api/v1/tasks/report/reschedule", r#"{"reset":true}"#).json();
    assert_eq!(
        (&row["schedule"]["isOverridden"], &row["words"]),
        (&false.into(), &"09:00, every day".into())
    );
    let preview = served.get("/api/v1/tasks/report/preview?cron=0%200%206%20*%20*%20*").json();
    assert_eq!(preview["zone"], "Europe/Berlin");
    let refused = served.post("/api/v1/tasks/sweep/reschedule", r#"{"reset":true}"#);
    assert_eq!(refused.status, 409, "{refused:?}");
    served.stop();
}

#[test]
fn faulty_rules_are_refused_in_words_and_change_nothing() {
    let served =
        with_store(&dashboard(), &Moody::new(), |builder| builder.task("sweep", hourly(), |_| {}));
    eventually(|| served.get("/api/v1/tasks/report").json().get("schedule").cloned());
    let faulty = [
        (r#"{"cron":"0 0 25 * * *"}"#, "hour `25` is out of range"),
        (r#"{"cron":"0 0 9 * *"}"#, "6 are needed"),
        (r#"{"cron":"0 0 9 * * *","zone":"Europe/Berln"}"#, "Europe/Berlin"),
        (r#"{"cron":"-"}"#, "`-`"),
        (r#"{"fixedRate":"0s"}"#, "zero"),
        (r#"{"fixedRate":"1000"}"#, "unit"),
        (r#"{"cron":"${PATH}"}"#, "placeholders"),
        (r#"{"cron":"@daily","fixedRate":"1h"}"#, "one rule"),
        ("", "one rule"),
        (r#"{"kron":"@daily"}"#, "kron"),
        (r#"{"at":"tomorrow"}"#, "instant"),
        (r#"{"fixedRate":"1ns"}"#, "millisecond"),
        (r#"{"fixedDelay":"999us"}"#, "millisecond"),
    ];
    for task in ["report", "sweep"] {
        let before = served.get(&format!("/api/v1/tasks/{task}")).json()["rule"].clone();
        for (body, word) in faulty {
            let answer = served.post(&format!("/api/v1/tasks/{task}/reschedule"), body);
            assert_eq!(answer.status, 400, "{body}: {answer:?}");
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains(word), "{body}: {detail}");
            assert!(!detail.contains(".rs"), "no place in the dashboard's own source: {detail}");
        }
        assert_eq!(served.get(&format!("/api/v1/tasks/{task}")).json()["rule"], before);
    }
    assert_eq!(served.get("/api/v1/actions").json()["actions"], json!([]));
    served.stop();
}

#[test]
fn a_task_that_runs_already_is_not_run_beside_itself() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| {
        builder.task("slow", durable(), |run| {
            while !run.stop_requested() {
                std::thread::yield_now();
            }
        })
    });
    eventually(|| (served.post("/api/v1/tasks/slow/run", "").status == 202).then_some(()));
    let refused = served.post("/api/v1/tasks/slow/run", "");
    assert!(refused.status == 409 && refused.body.contains("in the way"), "{refused:?}");
    let id =
        served.get("/api/v1/jobs?task=slow").json()["jobs"][0]["id"].as_str().unwrap().to_owned();
    served.post(&format!("/api/v1/jobs/{id}/cancel"), "");
    eventually(|| {
        (jobs(&served).list(&JobFilter::default(), 1).unwrap()[0].state == JobState::Cancelled)
            .then_some(())
    });
    served.stop();
}

#[test]
fn a_store_that_is_away_takes_its_own_sections_away_and_no_others() {
    let store = Moody::new();
    let served =
        with_store(&dashboard(), &store, |builder| builder.task("other", hourly(), |_| {}));
    let id = parked(&served);
    eventually(|| served.get("/api/v1/tasks/report").json().get("schedule").cloned());
    store.set(Mood::IsAway);
    let job = format!("/jobs/{id}");
    // Counts that are known stay, with the reason why there are no newer ones.
    let queues = || served.get("/api/v1/queues").body;
    eventually(|| queues().contains("connection refused").then_some(()));
    for path in ["/jobs", "/nodes", &job] {
        let answer = served.get(&format!("/api/v1{path}"));
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert!(answer.body.contains("connection refused"), "{answer:?}");
    }
    for path in ["/tasks/report/pause", "/tasks/report/run", &format!("/jobs/{id}/retry")] {
        assert_eq!(served.post(&format!("/api/v1{path}"), "").status, 503, "{path}");
    }
    assert_eq!(served.get("/api/v1/info").status, 200);
    assert_eq!(served.post("/api/v1/tasks/other/pause", "").status, 202);
    // The row says nothing that may have changed meanwhile.
    let row = eventually(|| {
        let rows = served.get("/api/v1/tasks").json();
        let row = rows["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == "report")
            .cloned()?;
        row.get("storeFailure").is_some().then_some(row)
    });
    assert!(row.get("next").is_none() && row.get("schedule").is_none(), "{row}");
    store.set(Mood::Answers);
    eventually(|| served.get("/api/v1/tasks/report").json().get("schedule").cloned());
    assert_eq!(served.get("/api/v1/jobs").status, 200);
    served.stop();
}

#[test]
fn a_store_that_answers_with_an_error_is_not_away_and_says_why() {
    let store = Moody::new();
    let served =
        with_store(&dashboard(), &store, |builder| builder.task("other", hourly(), |_| {}));
    let id = parked(&served);
    store.set(Mood::Fails);
    for path in ["/jobs", "/queues", "/nodes", &format!("/jobs/{id}")] {
        let answer = served.get(&format!("/api/v1{path}"));
        assert_eq!(answer.status, 500, "{answer:?}");
        assert!(
            answer.body.contains("answered with an error: permission denied (42501)"),
            "{answer:?}"
        );
    }
    let chosen = format!(r#"{{"ids": ["{id}"]}}"#);
    for (path, body) in [
        (format!("/jobs/{id}/retry"), ""),
        ("/tasks/report/pause".to_owned(), ""),
        ("/tasks:pause".to_owned(), r#"{"all": true}"#),
        ("/jobs:retry".to_owned(), &*chosen),
    ] {
        let answer = served.post(&format!("/api/v1{path}"), body);
        assert_eq!(answer.status, 500, "{path}: {answer:?}");
        assert!(!answer.body.contains("not answer"), "{path}: {answer:?}");
    }
    served.stop();
}

#[test]
fn changes_in_the_store_come_live_also_the_end_of_a_pause() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| builder);
    eventually(|| served.get("/api/v1/tasks/report").json().get("schedule").cloned());
    let mut stream = Stream::open(&served);
    // As another process does it.
    schedules(&served).pause("report", &Pause::new().by("other").reason("by hand")).unwrap();
    let row = stream.row("report", |row| row["isPaused"] == true);
    assert_eq!((&row["pause"]["by"], &row["state"]), (&"other".into(), &"paused".into()));
    served.post("/api/v1/tasks/report/pause", r#"{"forMs":500}"#);
    let row = stream.row("report", |row| row["isPaused"] == false);
    assert!(row["next"].is_string() && row.get("pause").is_none(), "{row}");
    served.stop();
}

#[test]
fn the_program_names_its_zone() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| builder.zone("Australia/Eucla"));
    assert_eq!(served.scheduler.tasks().zone().name(), "Australia/Eucla");
    let info = served.get("/api/v1/info").json();
    assert_eq!(info["zone"], "Australia/Eucla");
}
