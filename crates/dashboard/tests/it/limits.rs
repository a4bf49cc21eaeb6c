//! Limits of kinds of jobs, their partitions, and why a job waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::store::{Action, JobId};
use scheduler::{Limit, Shutdown, job};
use serde_json::{Value, json};

use crate::api::eventually;
use crate::away::{Mood, Moody};
use crate::jobs::{jobs, mail, with_store};
use crate::nodes::metric;
use crate::support::*;

/// It runs until the program stops.
#[job(name = "send", each(running = 1), limit(rate = "9/1h", burst = 9), partition = tenant)]
pub(crate) async fn send(#[payload] tenant: String, shutdown: Shutdown) {
    println!("to {tenant}");
    shutdown.requested().await;
}

fn served(dashboard: &scheduler_dashboard::Dashboard, store: &Moody) -> Served {
    with_store(dashboard, store, |builder| builder.tasks(scheduler::tasks![mail, send]))
}

fn accepted(served: &Served, job: scheduler::Job) -> JobId {
    jobs(served).enqueue(job).expect("it is stored").id()
}

/// A job of `ada` runs, one waits.
pub(crate) fn one_waits(served: &Served) -> JobId {
    accepted(served, send::job("ada".to_owned()));
    let runs =
        || Some(()).filter(|()| served.get("/api/v1/jobs?state=running").body.contains("ada"));
    eventually(runs);
    accepted(served, send::job("ada".to_owned()))
}

#[test]
fn a_job_that_waits_says_why_in_the_list_and_alone() {
    let store = Moody::new();
    let served = served(&dashboard().redact(|text| text.replace("secret", "…")), &store);
    let id = one_waits(&served);
    let later = accepted(&served, mail::job(json!(1)).after(Duration::from_secs(3_600)));
    let full = json!({
        "reason": "full", "scope": "each", "running": 1, "limit": 1, "text": "1 of 1 jobs of its partition run",
    });
    let alone = |id: JobId| served.get(&format!("/api/v1/jobs/{id}")).json();
    assert_eq!((&alone(id)["waits"], &alone(id)["partition"]), (&full, &json!("ada")));
    let due_at = alone(later)["runAt"].clone();
    assert_eq!(
        (&alone(later)["waits"]["reason"], &alone(later)["waits"]["dueAt"]),
        (&json!("later"), &due_at)
    );
    store.take_asked();
    let list = served.get("/api/v1/jobs").json();
    assert_eq!(store.take_asked().get("waits"), Some(&1), "one question for the whole page");
    let of = |id: JobId| {
        let mut rows = list["jobs"].as_array().unwrap().iter();
        rows.find(|row| row["id"] == id.to_string()).unwrap()["waits"].clone()
    };
    assert_eq!((of(id), of(later)["reason"].clone()), (full, json!("later")));
    let running = served.get("/api/v1/jobs?state=running").json();
    assert_eq!(running["jobs"][0].get("waits"), None);
    assert_eq!(store.take_asked().get("waits"), None, "none of these jobs is ready");
    served.post("/api/v1/tasks/send/pause", r#"{"reason":"a secret"}"#);
    let paused = alone(id)["waits"].clone();
    assert_eq!(
        (&paused["reason"], &paused["scope"], &paused["name"]),
        (&json!("paused"), &json!("task"), &json!("send"))
    );
    assert_eq!(paused["text"], "task `send` is paused by ops: a …");
    assert_eq!(
        (&paused["pause"]["by"], &paused["pause"]["reason"]),
        (&json!("ops"), &json!("a …"))
    );
    served.stop();
}

#[test]
fn the_limits_of_a_kind_and_its_partitions_are_listed() {
    let served = served(&dashboard(), &Moody::new());
    one_waits(&served);
    let other = accepted(&served, send::job("bob".to_owned()));
    eventually(|| (jobs(&served).get(other).unwrap()?.started_at.is_some()).then_some(()));
    let found = served.get("/api/v1/tasks/send/limits").json();
    let limits = json!([
        { "task": "send", "scope": "all", "code": { "text": "9 starts in 3600s, 9 at once", "rate": "9/3600s", "burst": 9 } },
        { "task": "send", "scope": "each", "code": { "text": "1 running", "running": 1 } },
    ]);
    let partitions = json!([
        { "partition": "ada", "due": 1, "running": 1 }, { "partition": "bob", "due": 0, "running": 1 },
    ]);
    assert_eq!(
        (&found["task"], &found["limits"], &found["partitions"]),
        (&json!("send"), &limits, &partitions)
    );
    assert_eq!(served.get("/api/v1/limits").json()["limits"], limits, "also of all tasks");
    let none = served.get("/api/v1/tasks/mail/limits").json();
    assert_eq!((&none["limits"], &none["partitions"]), (&json!([]), &json!([])));
    assert_eq!(served.get("/api/v1/tasks/sent/limits").status, 404);
    served.stop();
}

#[test]
fn a_limit_is_set_and_restored_by_hand_by_operators_and_noted() {
    let heard: Arc<Mutex<Vec<Action>>> = Arc::default();
    let to = Arc::clone(&heard);
    let dashboard = dashboard().on_action(move |act| to.lock().unwrap().push(act.clone()));
    let local = |builder: scheduler::Builder| {
        builder.tasks(scheduler::tasks![send]).task("local", hourly(), |_| {})
    };
    let served = with_store(&dashboard, &Moody::new(), local);
    let post = |task: &str, body: Value| {
        served.post(&format!("/api/v1/tasks/{task}/limit"), &body.to_string())
    };
    let set = post(
        "send",
        json!({ "scope": "each", "running": 4, "rate": "60/1m", "burst": 2, "reason": " slow " }),
    );
    assert_eq!(set.status, 202, "{set:?}");
    let each = set.json()["limits"][1].clone();
    let by_hand = json!({
        "text": "4 running, 60 starts in 60s, 2 at once", "running": 4, "rate": "60/60s", "burst": 2, "by": "ops", "reason": "slow",
    });
    assert_eq!((&each["byHand"], &each["code"]["running"]), (&by_hand, &json!(1)));
    // The form sends back what it has shown.
    let again = json!({ "scope": "each", "rate": each["byHand"]["rate"] });
    assert_eq!(post("send", again).status, 202);
    for (body, word) in [
        (json!({}), "`scope` is `all`"),
        (json!({ "scope": "every", "running": 1 }), "`scope` is `all`"),
        (json!({ "scope": "each" }), "it limits nothing"),
        (json!({ "scope": "each", "running": 0 }), "running"),
        (json!({ "scope": "each", "rate": "many" }), "rate"),
        (json!({ "scope": "each", "burst": 2 }), "rate"),
        (json!({ "reset": true, "running": 1 }), "`reset` stands alone"),
        (json!({ "runing": 1 }), "unknown field"),
    ] {
        let refused = post("send", body.clone());
        assert!(
            (400..500).contains(&refused.status) && refused.body.contains(word),
            "{body}: {refused:?}"
        );
    }
    assert_eq!(
        post("local", json!({ "scope": "all", "running": 1 })).status,
        409,
        "no store keeps its jobs"
    );
    assert_eq!(post("sent", json!({ "scope": "all", "running": 1 })).status, 404);
    let reset = post("send", json!({ "reset": true, "reason": "fast again" }));
    assert_eq!((reset.status, reset.json()["limits"][1].get("byHand")), (202, None), "{reset:?}");
    let refused = post("send", json!({ "reset": true }));
    assert!(refused.status == 409 && refused.body.contains("those of its code"), "{refused:?}");
    let viewer =
        [("Authorization", &*format!("Bearer {VIEWER}")), ("Content-Type", "application/json")];
    assert_eq!(
        served.send("POST", "/api/v1/tasks/send/limit", &viewer, r#"{"reset":true}"#).status,
        403
    );

    let actions = served.get("/api/v1/actions?task=send").json()["actions"].clone();
    let row = |index: usize| {
        let of = |name: &str| actions[index][name].as_str().unwrap_or_default().to_owned();
        ["action", "who", "task", "before", "after", "note"].map(of)
    };
    let by_rate = "each: 60 starts in 60s, 6 at once";
    assert_eq!(row(0), ["reset", "ops", "send", by_rate, "each: 1 running", "fast again"]);
    let four = "each: 4 running, 60 starts in 60s, 2 at once";
    assert_eq!(row(1), ["limit", "ops", "send", four, by_rate, ""]);
    assert_eq!(row(2), ["limit", "ops", "send", "each: 1 running", four, "slow"]);
    let heard = heard.lock().unwrap();
    let words = |act: &Action| [&act.verb, &act.name, &act.before, &act.after].map(Clone::clone);
    assert_eq!(words(&heard[0]), ["limit", "send", "each: 1 running", four]);
    assert_eq!((heard.len(), &*heard[2].verb), (3, "reset"));
    drop(heard);
    served.stop();
}

#[test]
fn a_kind_of_another_process_has_its_limits_too() {
    let store = Moody::new();
    let worker = served(&dashboard(), &store);
    let web = serve(&dashboard(), builder().store(store.clone()));
    let set = eventually(|| {
        let body = r#"{"scope":"all","running":3}"#;
        Some(web.post("/api/v1/tasks/send/limit", body)).filter(|answer| answer.status == 202)
    });
    assert_eq!(set.json()["limits"][0]["byHand"]["running"], 3);
    let limits = jobs(&worker).limits().unwrap();
    assert!(limits.iter().any(|row| row.by_hand.as_ref().is_some_and(|hand| hand.by == "ops")));
    assert_eq!(web.get("/api/v1/tasks/end/limits").status, 404, "by its whole name");
    web.stop();
    worker.stop();
}

/// A limit that another process has, or that the store could not be asked for at first, is seen by the next look.
#[test]
fn a_limit_is_seen_though_an_earlier_look_had_none() {
    let store = Moody::new();
    let web = serve(&dashboard(), builder().store(store.clone()));
    let is_limited =
        |served: &Served| served.get("/metrics").body.contains("scheduler_limited_jobs{");
    assert!(!is_limited(&web));
    store.set(Mood::IsAway);
    assert!(!is_limited(&web));
    store.set(Mood::Answers);
    let worker = served(&dashboard(), &store);
    one_waits(&worker);
    eventually(|| is_limited(&web).then_some(()));
    web.stop();
    worker.stop();
}

#[test]
fn metrics_have_the_due_jobs_that_limits_hold_back() {
    let metrics = |served: &Served| served.get("/metrics").body;
    let store = Moody::new();
    let served = served(&dashboard(), &store);
    one_waits(&served);
    let sample = |name: &str, state: &str, count: u32| {
        format!(
            "scheduler_limited_{name}{{queue=\"default\",task=\"send\",state=\"{state}\"}} {count}\n"
        )
    };
    let is_held = |text: &String| {
        [
            ("jobs", "open", 0),
            ("jobs", "held", 1),
            ("partitions", "open", 0),
            ("partitions", "held", 1),
        ]
        .iter()
        .all(|(name, state, count)| text.contains(&sample(name, state, *count)))
    };
    eventually(|| Some(metrics(&served)).filter(is_held));
    let queues = served.get("/api/v1/queues").json();
    assert_eq!(queues["queues"][0]["tasks"][0]["held"], json!(1), "{queues}");
    jobs(&served).set_limit("mail", Limit::all().running(1)).unwrap();
    store.take_asked();
    // A look that was on its way answers at first.
    eventually(|| {
        metrics(&served);
        let asked = store.take_asked();
        let depths = asked.get("limit_depths")?;
        assert_eq!((asked.get("limits"), depths), (None, &1), "one for all");
        Some(())
    });
    served.stop();
}

#[test]
fn an_order_is_set_by_hand() {
    let served = served(&dashboard(), &Moody::new());
    let body = json!({ "scope": "each", "running": 1, "ordered": "hold" }).to_string();
    let set = served.post("/api/v1/tasks/send/limit", &body).json();
    let each = &set["limits"][1]["byHand"];
    let text = "1 running, in order, none behind a parked one";
    assert_eq!((&each["ordered"], &each["text"]), (&json!("hold"), &json!(text)));
    for (body, word) in [
        (json!({ "scope": "each", "running": 1, "ordered": "yes" }), "`go_on` or `hold`"),
        (json!({ "scope": "each", "running": 2, "ordered": "go_on" }), "needs `running = 1`"),
        (json!({ "reset": true, "ordered": "hold" }), "`reset` stands alone"),
    ] {
        let refused = served.post("/api/v1/tasks/send/limit", &body.to_string());
        assert!(refused.status == 400 && refused.body.contains(word), "{body}: {refused:?}");
    }
    served.stop();
}

#[test]
fn a_partition_is_paused_and_resumed_and_noted() {
    let served = served(&dashboard().redact(|text| text.replace("secret", "…")), &Moody::new());
    let post = |act: &str, body: Value| {
        served.post(&format!("/api/v1/tasks/send/partitions/{act}"), &body.to_string())
    };
    let paused = post("pause", json!({ "partition": "ada", "reason": "a secret" }));
    assert_eq!(paused.status, 202, "{paused:?}");
    let id = accepted(&served, send::job("ada".to_owned()));
    let other = accepted(&served, send::job("bob".to_owned()));
    eventually(|| (jobs(&served).get(other).unwrap()?.started_at.is_some()).then_some(()));
    let waits = served.get(&format!("/api/v1/jobs/{id}")).json()["waits"].clone();
    assert_eq!(waits["text"], "partition `ada` of `send` is paused by ops: a …");
    assert_eq!((&waits["scope"], &waits["name"]), (&json!("partition"), &json!("ada")));
    let found = served.get("/api/v1/tasks/send/limits").json()["partitions"][0].clone();
    assert_eq!((&found["partition"], &found["pause"]["by"]), (&json!("ada"), &json!("ops")));
    assert_eq!(found["pause"]["reason"], "a …");
    let paused = eventually(|| {
        let answer = served.get("/api/v1/queues").json();
        Some(answer["pausedPartitions"][0].clone()).filter(Value::is_object)
    });
    let [partition, task, by] = [&paused["partition"], &paused["task"], &paused["pause"]["by"]];
    assert_eq!((partition, task, by), (&json!("ada"), &json!("send"), &json!("ops")));
    assert_eq!(paused["pause"]["reason"], "a …");
    assert_eq!(metric(&served, "scheduler_task_paused_partitions{task=\"send\"}"), Some(1.0));
    for body in [json!({}), json!({ "partition": "ada", "until": "soon" }), json!({ "names": [] })]
    {
        assert_eq!(post("pause", body.clone()).status, 400, "{body}");
    }
    assert_eq!(
        served.post("/api/v1/tasks/sent/partitions/pause", r#"{"partition":"a"}"#).status,
        404
    );
    assert_eq!(post("resume", json!({ "partition": "ada" })).status, 202);
    eventually(|| (jobs(&served).get(id).unwrap()?.started_at.is_some()).then_some(()));
    let actions = served.get("/api/v1/actions?task=send").json()["actions"].clone();
    let of = |index: usize| ["action", "who", "task"].map(|name| actions[index][name].clone());
    assert_eq!(of(0), [json!("resume"), json!("ops"), json!("send")]);
    assert_eq!(of(1), [json!("pause"), json!("ops"), json!("send")]);
    assert_eq!(actions[0]["partition"], "ada");
    served.stop();
}

#[test]
fn jobs_that_expire_are_counted_by_their_task() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| builder);
    let long_ago = scheduler::chrono::DateTime::UNIX_EPOCH;
    for _ in 0..2 {
        jobs(&served).enqueue(mail::job(json!({})).expires_at(long_ago)).unwrap();
    }
    let name = "scheduler_jobs_expired_total{task=\"mail\"}";
    eventually(|| metric(&served, name).filter(|count| *count == 2.0));
    served.stop();
}

#[job(name = "book", each(running = 1, ordered), partition = account, retry(max = 3, base = "1h", cap = "1h"))]
fn book(#[payload] account: u32) -> Result<(), String> {
    Err(format!("{account} is locked"))
}

/// Its place in the order is when it was due first.
#[test]
fn a_job_that_is_tried_again_in_its_order_is_due_at_its_next_attempt() {
    let tasks = |builder: scheduler::Builder| builder.tasks(scheduler::tasks![book]);
    let served = with_store(&dashboard(), &Moody::new(), tasks);
    let id = accepted(&served, book::job(7));
    let shown = eventually(|| {
        let shown = served.get(&format!("/api/v1/jobs/{id}")).json();
        (shown["state"] == "ready" && shown["attempt"] == 1).then_some(shown)
    });
    assert_eq!(shown["waits"]["reason"], "later");
    assert_eq!(shown["runAt"], shown["waits"]["dueAt"]);
    served.stop();
}
