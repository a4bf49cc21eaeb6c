//! Jobs and processes of a cluster, as each of its processes shows them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use scheduler::store::{Model, SessionId, Store, StoreTime, StoredJob};
use scheduler::{Clock, NodeOptions, Pause, SystemClock, job, tasks};
use scheduler_store::{Enqueue, Finish, JobProgress, NewJob, Poll, Renew, TaskRoom};
use serde_json::{Value, json};

use crate::api::eventually;
use crate::away::Moody;
use crate::jobs::{jobs, mail, with_store};
use crate::nodes::{metric, open};
use crate::support::*;

/// A job of a task that no process here has, which this session runs.
fn claim(store: &dyn Store, session: SessionId, number: u32) -> StoredJob {
    let id = format!("00000000-0000-4000-8000-{number:012}").parse().unwrap();
    let mut job = NewJob::new(id, "thumbnail");
    job.queue = "images".to_owned();
    store.enqueue(&Enqueue { jobs: vec![job], not_after: StoreTime::MAX }).unwrap();
    let task = TaskRoom { task: "thumbnail".into(), room: 1, version: 0 };
    let poll = Poll {
        session,
        tasks: [task].into(),
        queues: None,
        limit: 1,
        abandon_limit: 0,
        lost_limit: 0,
        with_leases: false,
        not_after: StoreTime::MAX,
    };
    store.poll(&poll).unwrap().jobs.remove(0)
}

#[test]
fn a_running_job_has_the_name_of_the_process_that_runs_it() {
    let store = Moody::new();
    let session = open(&store, 2, "web-2");
    let id = claim(&store, session, 7).id;
    let served = with_store(&dashboard(), &store, |builder| builder);
    let shown = eventually(|| {
        let shown = served.get(&format!("/api/v1/jobs/{id}")).json();
        shown["node"].is_string().then_some(shown)
    });
    assert_eq!((&shown["node"], &shown["state"]), (&json!("web-2"), &json!("running")));
    let listed = served.get("/api/v1/jobs?state=running").json();
    assert_eq!(listed["jobs"][0]["node"], "web-2");
    served.stop();
}

#[test]
fn the_progress_of_a_run_is_shown_and_redacted_as_errors_are() {
    let store = Moody::new();
    let session = open(&store, 2, "web-2");
    let held = claim(&store, session, 7).held();
    let progress = vec![(held, JobProgress::new(0.4, "page 3 of hunter2").unwrap())];
    let (lease, not_after) = (Duration::from_secs(3_600), StoreTime::MAX);
    let renew = Renew { session, lease, clock_offset: None, progress, not_after };
    assert!(store.renew(&renew).unwrap().is_complete);
    let dashboard = dashboard().redact(|text| text.replace("hunter2", "…"));
    let served = with_store(&dashboard, &store, |builder| builder);
    let shown = served.get(&format!("/api/v1/jobs/{}", held.job)).json();
    let expected = json!({ "fraction": 0.4, "text": "page 3 of …" });
    assert_eq!(shown["progress"], expected, "{shown}");
    assert_eq!(served.get("/api/v1/jobs?state=running").json()["jobs"][0]["progress"], expected);
    served.stop();
}

#[test]
fn processes_are_listed_by_their_names() {
    let store = Moody::new();
    for (number, label) in [(2, "web-3"), (3, "web-2"), (4, "web-4")] {
        open(&store, number, label);
    }
    let served = with_store(&dashboard(), &store, |builder| builder);
    let names = eventually(|| {
        let nodes = served.get("/api/v1/nodes").json()["nodes"].as_array()?.clone();
        let names: Vec<Value> = nodes.iter().map(|node| node["label"].clone()).collect();
        (names.len() == 4).then_some(names)
    });
    assert_eq!(names, ["web-1", "web-2", "web-3", "web-4"]);
    served.stop();
}

#[test]
fn a_pause_in_the_store_is_a_metric_of_its_task() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| builder);
    let paused = |task: &str| metric(&served, &format!("scheduler_task_paused{{task=\"{task}\"}}"));
    eventually(|| served.get("/api/v1/tasks/report").json().get("schedule").cloned());
    assert_eq!(["report", "mail"].map(paused), [Some(0.0); 2]);
    // As another process does it.
    served.scheduler.schedules().unwrap().pause("report", &Pause::new()).unwrap();
    jobs(&served).pause_task("mail", &Pause::new()).unwrap();
    eventually(|| (["report", "mail"].map(paused) == [Some(1.0); 2]).then_some(()));
    served.stop();
}

#[test]
fn errors_of_jobs_to_be_tried_again_say_when_they_were() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| builder);
    let job = mail::job(json!({ "fails": true })).max_attempts(3).key("again");
    let id = job.id();
    jobs(&served).enqueue(job).unwrap();
    let again = eventually(|| {
        let again = jobs(&served).get(id).unwrap()?;
        again.error.is_some().then_some(again)
    });
    assert_eq!(again.state.word(), "ready");
    let errors = served.get("/api/v1/jobs:errors?state=ready").json();
    let group = &errors["errors"][0];
    let at = |name: &str| {
        group[name]
            .as_str()
            .map(|at| at.parse::<scheduler::chrono::DateTime<scheduler::chrono::Utc>>().unwrap())
    };
    assert!(at("firstAt").is_some() && at("firstAt") == at("lastAt"), "{errors}");
    served.stop();
}

/// A process that has just begun, beside one that has run jobs of these lengths, and now runs one for so long: true if it calls that
/// one long.
fn is_long(lengths: &[u64], running: u64) -> bool {
    let ahead = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&ahead);
    let wall = move || {
        let ahead = clock.load(Ordering::Relaxed).unsigned_abs();
        StoreTime::from(SystemClock::new().wall()).after(Duration::from_secs(ahead))
    };
    let store = Model::with_clock(wall);
    let pass = |seconds: u64| ahead.fetch_add(seconds.cast_signed(), Ordering::Relaxed);
    let session = open(&store, 2, "web-2");
    for (number, length) in (10..).zip(lengths) {
        let held = claim(&store, session, number).held();
        pass(*length);
        let end = scheduler_store::End::Done;
        store.finish(&[Finish { progress: None, session, held, end }]).unwrap();
    }
    claim(&store, session, 7);
    pass(running);
    let node = NodeOptions::default().label("web-1");
    let served = serve(&dashboard(), builder().tasks(tasks![mail]).store(store).node(node));
    let task = eventually(|| {
        let queues = served.get("/api/v1/queues").json();
        let images = queues["queues"].as_array()?.iter().find(|row| row["queue"] == "images")?;
        Some(images["tasks"][0].clone())
    });
    served.stop();
    assert!(task["oldestRunningMs"].as_f64() >= Some(running as f64 * 1e3), "{task}");
    task["hasLongRun"] == true
}

#[test]
fn a_run_is_long_by_the_last_ones_of_the_cluster_which_a_new_process_knows() {
    assert!(is_long(&[1; 5], 61), "more than a minute, and ten times as long as any");
    assert!(!is_long(&[1; 5], 50), "less than a minute");
    assert!(!is_long(&[1, 30, 1, 1, 1], 250), "one took 30 s");
    assert!(is_long(&[1, 30, 1, 1, 1], 310));
    assert!(!is_long(&[1; 4], 500), "few are known");
    assert!(is_long(&[1; 4], 610));
    assert!(!is_long(&[900; 2], 3_600), "two nights of a quarter of an hour");
    assert!(is_long(&[], 610) && !is_long(&[], 500), "none is known");
}

#[job(name = "image", version = 2, upgrade = upgraded)]
fn image(#[payload] number: u32) -> Result<(), String> {
    Err(format!("no image {number}"))
}

fn upgraded(mut old: Value) -> Result<u32, String> {
    serde_json::from_value(old["number"].take()).map_err(|_| "no number".to_owned())
}

#[test]
fn a_payload_that_the_process_could_not_decode_is_refused() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| builder.tasks(tasks![mail, image]));
    let job = image::job(7);
    let id = job.id();
    jobs(&served).enqueue(job).unwrap();
    eventually(|| (jobs(&served).get(id).unwrap()?.state.word() == "parked").then_some(()));
    let edit = |payload: &str, version: u32| {
        let body = json!({ "payload": payload, "version": version }).to_string();
        let answer = served.post(&format!("/api/v1/jobs/{id}/edit"), &body);
        (answer.status, answer.json()["detail"].as_str().unwrap_or_default().to_owned())
    };
    let (status, detail) = edit("\"DE02 1203\"", 2);
    assert_eq!(status, 400, "{detail}");
    assert!(detail.contains("cannot be decoded: ") && detail.contains("line 1"), "{detail}");
    assert!(!detail.contains("DE02"), "{detail}");
    let (status, detail) = edit("{\"nummer\": 8}", 1);
    assert!(status == 400 && detail.contains("no number"), "{status} {detail}");
    assert_eq!(jobs(&served).get(id).unwrap().unwrap().payload.bytes, b"7", "it is as before");
    for (payload, version) in [("8", 2), ("{\"number\": 8}", 1), ("\"of a newer build\"", 3)] {
        assert_eq!(edit(payload, version).0, 202, "{payload}");
    }
    // No process here has the task.
    let session = open(&store, 2, "web-2");
    let other = claim(&store, session, 7);
    let park = scheduler_store::End::Park { error: "no".to_owned() };
    store.finish(&[Finish { progress: None, session, held: other.held(), end: park }]).unwrap();
    let body = json!({ "payload": "\"text\"" }).to_string();
    assert_eq!(served.post(&format!("/api/v1/jobs/{}/edit", other.id), &body).status, 202);
    served.stop();
}

mod newer {
    #[scheduler::job(name = "image", version = 9)]
    pub(super) fn image(#[payload] _number: u64) {}
}

#[job(name = "imgae")]
fn imgae() {}

#[test]
fn a_job_that_no_process_can_run_says_what_they_lack() {
    let node = NodeOptions::default().label("web-1").queues(["default"]);
    let builder = builder().tasks(tasks![image]).store(Moody::new()).node(node);
    let served = serve(&dashboard(), builder);
    let why = |job: scheduler::Job| {
        let id = jobs(&served).enqueue(job).unwrap().id();
        served.get(&format!("/api/v1/jobs/{id}")).json()["waits"]["text"].clone()
    };
    eventually(|| served.get("/api/v1/nodes").json()["nodes"][0]["label"].as_str().map(drop));
    assert_eq!(why(imgae::job()), "no living process has the task imgae");
    assert_eq!(
        why(newer::image::job(1)),
        "its payload has version 9, and no living process knows more than 2"
    );
    assert_eq!(
        why(image::job(1).queue("slow")),
        "web-1 has its task, but no such process serves queue slow"
    );
    served.stop();
}
