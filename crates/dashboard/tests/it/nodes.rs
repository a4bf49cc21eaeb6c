//! The processes of a cluster: lost ones, paused ones, and those whose clock is off.

use std::time::Duration;

use scheduler::chrono::{DateTime, TimeDelta, Utc};
use scheduler::store::{Model, SessionId, Store, StoreTime};
use scheduler::{Clock, NodeOptions, Schedule, SystemClock, Until, tasks};
use scheduler_store::{Close, Open, Renew, SessionTask};
use serde_json::{Value, json};

use crate::api::eventually;
use crate::away::Moody;
use crate::jobs::{jobs, mail};
use crate::support::*;

/// Opens a session of a process that is not there.
pub(crate) fn open(store: &dyn Store, number: u32, label: &str) -> SessionId {
    let id = format!("00000000-0000-4000-8000-{number:012}").parse().unwrap();
    let request = Open {
        id,
        replaces: None,
        label: label.to_owned(),
        build: "7".to_owned(),
        application: String::new(),
        tasks: [SessionTask { name: "thumbnail".to_owned(), version: 1 }].into(),
        queues: Some([From::from("images")].into()),
        concurrency: 12,
        lease: Duration::from_secs(3_600),
        not_after: StoreTime::MAX,
    };
    store.open(&request).unwrap();
    id
}

/// Its lease runs out at once.
fn end_lease(store: &dyn Store, session: SessionId) {
    let renew = Renew {
        progress: Vec::new(),
        session,
        lease: Duration::ZERO,
        clock_offset: None,
        not_after: StoreTime::MAX,
    };
    store.renew(&renew).unwrap();
}

pub(crate) fn metric(served: &Served, sample: &str) -> Option<f64> {
    let metrics = served.get("/metrics").body;
    let line = metrics.lines().find_map(|line| line.strip_prefix(sample).map(str::to_owned));
    line.map(|value| value.trim().parse().unwrap())
}

#[test]
fn a_lost_process_is_shown_with_who_found_it_and_counted_once() {
    let store = Moody::new();
    let (lost, stopped) = (open(&store, 2, "web-2"), open(&store, 3, "web-3"));
    let node = NodeOptions::default().label("web-1").lease(Duration::from_secs(1));
    let served = serve(&dashboard(), builder().store(store.clone()).node(node));
    eventually(|| (metric(&served, "scheduler_nodes{state=\"alive\"}") == Some(3.0)).then_some(()));
    assert_eq!(metric(&served, "scheduler_nodes_lost_total"), Some(0.0));
    end_lease(&store, lost);
    let close = Close { session: stopped, not_after: StoreTime::MAX };
    store.close(&close).unwrap();
    let ended = eventually(|| {
        let nodes = served.get("/api/v1/nodes").json();
        let ended = nodes["ended"].as_array()?.clone();
        (nodes["nodes"].as_array()?.len() == 1 && ended.len() == 2).then_some(ended)
    });
    let of = |label: &str| {
        let mut row = ended.iter().find(|row| row["label"] == label).unwrap().clone();
        row.as_object_mut().unwrap().remove("at").unwrap();
        row
    };
    let row = json!({ "session": lost.to_string(), "label": "web-2", "build": "7", "isLost": true, "isBack": false,
                      "jobs": 0, "foundBy": "web-1" });
    assert_eq!(of("web-2"), row);
    let row = json!({ "session": stopped.to_string(), "label": "web-3", "build": "7", "isLost": false, "isBack": false,
                      "jobs": 0 });
    assert_eq!(of("web-3"), row);
    for _ in 0..2 {
        assert_eq!(metric(&served, "scheduler_nodes_lost_total"), Some(1.0));
    }
    assert_eq!(metric(&served, "scheduler_nodes{state=\"alive\"}"), Some(1.0));
    // A process of the same name is there again.
    open(&store, 4, "web-2");
    let nodes = served.get("/api/v1/nodes").json();
    let is_back = |row: &&Value| row["isBack"] == true;
    assert_eq!(nodes["ended"].as_array().unwrap().iter().filter(is_back).count(), 1);
    served.stop();
}

#[test]
fn a_process_is_paused_and_resumed_by_its_name() {
    let store = Moody::new();
    let other = open(&store, 2, "web-2");
    let node = NodeOptions::default().label("web-1").queues(["default", "mail"]).concurrency(3);
    let builder = builder().tasks(scheduler::tasks![mail]).store(store.clone()).node(node);
    let served = serve(&dashboard(), builder);
    let row = |label: &str| {
        let nodes = served.get("/api/v1/nodes").json();
        let mut rows = nodes["nodes"].as_array().unwrap().clone().into_iter();
        rows.find(|row| row["label"] == label)
    };
    let own = eventually(|| row("web-1"));
    assert_eq!((&own["tasks"], &own["queues"]), (&json!(["mail"]), &json!(["default", "mail"])));
    assert_eq!((&own["concurrency"], &own["isClockOff"]), (&3.into(), &false.into()));
    let found = row("web-2").unwrap();
    assert_eq!((&found["concurrency"], &found["queues"]), (&12.into(), &json!(["images"])));
    let viewer =
        [("Authorization", &*format!("Bearer {VIEWER}")), ("Content-Type", "application/json")];
    for action in ["pause", "resume"] {
        let path = format!("/api/v1/nodes/web-1/{action}");
        assert_eq!(served.send("POST", &path, &viewer, "{}").status, 403, "{action}");
    }
    let pause = |name: &str| {
        let body = json!({ "reason": "a disk is replaced" }).to_string();
        served.post(&format!("/api/v1/nodes/{name}/pause"), &body)
    };
    let wrong = pause("wbe-1");
    assert!(wrong.status == 404 && wrong.body.contains("did you mean `web-1`?"), "{wrong:?}");
    let paused = pause("web-1");
    assert_eq!(paused.status, 202, "{paused:?}");
    assert_eq!(paused.json()["pause"]["reason"], "a disk is replaced");
    assert_eq!(metric(&served, "scheduler_nodes{state=\"paused\"}"), Some(1.0));
    let job = mail::job(json!("ada"));
    let id = job.id();
    jobs(&served).enqueue(job).unwrap();
    assert_eq!(row("web-1").unwrap()["pause"]["by"], "ops");
    let note = &served.get("/api/v1/actions").json()["actions"][0];
    let texts = ["action", "process", "note"].map(|name| note[name].as_str());
    assert_eq!(texts, [Some("pause"), Some("web-1"), Some("a disk is replaced")]);
    // Two processes of one name differ by their sessions.
    let twin = open(&store, 3, "web-2");
    let several = pause("web-2");
    assert!(several.status == 409 && several.body.contains(&twin.to_string()), "{several:?}");
    assert_eq!(pause(&other.to_string()).status, 202);
    let resume = |name: &str| served.post(&format!("/api/v1/nodes/{name}/resume"), "");
    let resumed = resume("web-1");
    assert!(resumed.status == 202 && resumed.json().get("pause").is_none(), "{resumed:?}");
    assert_eq!(resume("web-1").status, 409, "it is not paused");
    let state = || served.get(&format!("/api/v1/jobs/{id}")).json()["state"].clone();
    eventually(|| (state() == "done").then_some(()));
    served.stop();
}

/// The clock of the process is 59 minutes ahead of the store's.
#[test]
fn a_clock_that_is_off_is_said_of_the_process_and_not_of_its_tasks() {
    let behind = Duration::from_secs(59 * 60);
    let now = move || StoreTime::from(SystemClock::new().wall() - behind);
    let node = NodeOptions::default().label("web-1").lease(Duration::from_secs(1));
    let builder = builder().task("sweep", hourly(), |_| {}).store(Model::with_clock(now));
    let served = serve(&dashboard(), builder.node(node));
    let is_59_minutes = |millis: &Value| (millis.as_f64().unwrap() / 60_000.0).round() == 59.0;
    let own = eventually(|| {
        let own = served.get("/api/v1/nodes").json()["nodes"][0].clone();
        own.get("clockOffsetMs").is_some().then_some(own)
    });
    assert!(own["isClockOff"] == true && is_59_minutes(&own["clockOffsetMs"]), "{own}");
    assert!(is_59_minutes(&served.get("/api/v1/info").json()["clockOffsetMs"]));
    let offset = metric(&served, "scheduler_clock_offset_seconds").unwrap();
    assert!((offset - 59.0 * 60.0).abs() < 2.0, "{offset}");
    served.task("sweep").run_now().unwrap();
    served.scheduler.wait_for("sweep", Until::runs(1), LIMIT).unwrap();
    let by_store = (SystemClock::new().wall() - behind).timestamp() as f64;
    let at = eventually(|| {
        let name = "scheduler_task_last_success_timestamp_seconds{task=\"sweep\"}";
        metric(&served, name).filter(|at| *at > 0.0)
    });
    assert!((at - by_store).abs() < 60.0, "{at} by the store's clock, which shows {by_store}");
    served.stop();
}

/// The length of a pause and the age of what the store has do not depend on the clock of the process that is asked.
#[test]
fn pauses_and_ages_are_by_the_clock_of_the_store() {
    let behind = Duration::from_secs(59 * 60);
    let of_store = move || SystemClock::new().wall() - behind;
    let node = NodeOptions::default().label("web-1").lease(Duration::from_secs(1));
    let nightly = Schedule::cron("0 0 3 * * *").zone("UTC").durable();
    let builder = builder().tasks(tasks![mail]).task("nightly", nightly, |_| {});
    let store = Model::with_clock(move || StoreTime::from(of_store()));
    let served = serve(&dashboard(), builder.store(store).node(node));
    eventually(|| served.get("/api/v1/nodes").json()["nodes"][0].get("clockOffsetMs").map(drop));
    let at = |text: &Value| text.as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
    let minutes = |length: TimeDelta| (length.num_seconds() as f64 / 60.0).round();
    let (half_an_hour, until) =
        (json!({ "forMs": 1_800_000 }), of_store() + Duration::from_secs(1_800));
    for body in [half_an_hour, json!({ "until": until.to_rfc3339() })] {
        for path in ["tasks/mail", "tasks/nightly", "queues/letters", "nodes/web-1"] {
            let paused = served.post(&format!("/api/v1/{path}/pause"), &body.to_string());
            assert_eq!(paused.status, 202, "{path}: {paused:?}");
            let row = paused.json();
            let length = at(&row["pause"]["until"]) - of_store();
            assert_eq!(minutes(length), 30.0, "{path}: {row}");
            assert!(!path.starts_with("tasks") || row["isPaused"] == true, "{path}: {row}");
        }
    }
    for path in ["jobs", "queues", "nodes", "jobs:errors?state=parked"] {
        let answer = served.get(&format!("/api/v1/{path}")).json();
        for instant in [Some(&answer["now"]), answer.get("asOf")].into_iter().flatten() {
            assert_eq!(minutes(at(instant) - of_store()), 0.0, "{path}: {answer}");
        }
    }
    let actions = |age: u64| {
        let path = format!("/api/v1/actions?withinMs={age}");
        served.get(&path).json()["actions"].as_array().unwrap().len()
    };
    assert_eq!((actions(0), actions(60_000)), (0, 8));
    served.stop();
}

#[test]
fn a_clock_that_is_right_is_not_spoken_of() {
    let served = serve(&dashboard(), builder().store(Moody::new()));
    eventually(|| served.get("/api/v1/nodes").json()["nodes"].get(0).cloned());
    assert_eq!(served.get("/api/v1/info").json().get("clockOffsetMs"), None);
    assert!(metric(&served, "scheduler_clock_offset_seconds").unwrap().abs() < 2.0);
    served.stop();
}
