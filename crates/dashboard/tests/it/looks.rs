//! Questions to the store, however many pages and programs look; and answers that do not come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use scheduler::chrono::{DateTime, Utc};
use scheduler::{NodeOptions, Schedule};
use scheduler_dashboard::Dashboard;
use serde_json::{Value, json};

use crate::api::eventually;
use crate::away::{Mood, Moody};
use crate::jobs::{jobs, mail, with_store};
use crate::live::Stream;
use crate::support::*;

/// As a program has it, which keeps answers for as long as it does by default.
fn by_default() -> Dashboard {
    dashboard().cache_ttl(Duration::from_secs(3_600))
}

fn metrics(served: &Served) -> String {
    served.get("/metrics").body
}

fn value(metrics: &str, name: &str) -> Option<f64> {
    let line = metrics.lines().find(|line| line.starts_with(name))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

fn at(text: &Value) -> DateTime<Utc> {
    text.as_str().and_then(|text| text.parse().ok()).expect("an instant")
}

#[test]
fn all_pages_and_scrapes_share_one_look_at_the_store() {
    let store = Moody::new();
    let served = with_store(&by_default(), &store, |builder| builder);
    let _pages: Vec<Stream> = (0..5).map(|_| Stream::open(&served)).collect();
    let states = ["parked", "ready"].map(|state| format!("/api/v1/jobs:errors?state={state}"));
    for path in ["/api/v1/queues", "/api/v1/nodes", "/metrics", &states[0], &states[1]] {
        eventually(|| (served.get(path).status == 200).then_some(()));
    }
    store.take_asked();
    for _ in 0..20 {
        for path in [
            "/api/v1/info",
            "/api/v1/tasks",
            "/api/v1/tasks/report",
            "/api/v1/timeline",
            "/api/v1/queues",
            "/api/v1/nodes",
            "/api/v1/jobs:errors?state=parked",
            "/api/v1/jobs:errors?state=ready",
            "/metrics",
            "/readyz",
            "/actuator/health",
        ] {
            assert_eq!(served.get(path).status, 200, "{path}");
        }
    }
    assert!(
        store.take_asked().is_empty(),
        "nothing is asked within the time for which answers are kept"
    );
    // A change by a visitor is seen at once.
    assert_eq!(served.post("/api/v1/queues/mail/pause", "").status, 202);
    store.take_asked();
    let queues = served.get("/api/v1/queues").json();
    let paused = queues["queues"].as_array().unwrap().iter().find(|row| row["queue"] == "mail");
    assert!(paused.unwrap()["pause"].is_object(), "{queues}");
    assert!(store.take_asked().values().all(|count| *count == 1));
    served.stop();
}

#[test]
fn a_count_that_does_not_end_leaves_the_last_one_with_its_age_and_is_the_only_one() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| builder);
    jobs(&served).pause_queue("default", &scheduler::Pause::new()).unwrap();
    jobs(&served).enqueue(mail::job(json!({}))).unwrap();
    let due =
        |text: &str| value(text, "scheduler_jobs{queue=\"default\",task=\"mail\",state=\"due\"}");
    eventually(|| due(&metrics(&served)).filter(|due| *due == 1.0));
    let before = served.get("/api/v1/queues").json();
    store.set(Mood::CountsSlowly);
    store.take_asked();
    let asked = (0..4).map(|_| {
        let text = metrics(&served);
        assert_eq!(
            (due(&text), value(&text, "scheduler_store_up")),
            (Some(1.0), Some(1.0)),
            "{text}"
        );
        assert!(value(&text, "scheduler_store_look_age_seconds").is_some(), "{text}");
        let queues = served.get("/api/v1/queues");
        assert_eq!((queues.status, served.get("/readyz").status), (200, 200));
        queues.json()
    });
    let last = asked.collect::<Vec<Value>>().pop().unwrap();
    assert_eq!(last["queues"][0]["due"], 1);
    assert!(
        at(&before["asOf"]) <= at(&last["asOf"]) && at(&last["asOf"]) < at(&last["now"]),
        "{last}"
    );
    // None, if one was out before.
    let asked = store.take_asked().get("depths").copied().unwrap_or_default();
    assert!(asked <= 1, "{asked}: at most one is out at a time");
    store.set(Mood::Answers);
    let is_newer = |queues: Value| at(&queues["asOf"]) > at(&last["asOf"]);
    eventually(|| is_newer(served.get("/api/v1/queues").json()).then_some(()));
    served.stop();
}

#[test]
fn nothing_stands_for_numbers_that_are_not_known() {
    let store = Moody::new();
    store.set(Mood::CountsSlowly);
    let served = with_store(&dashboard(), &store, |builder| builder);
    eventually(|| (served.get("/readyz").status == 200).then_some(()));
    let text = metrics(&served);
    for name in ["scheduler_jobs", "scheduler_store_look_age_seconds", "scheduler_queue_paused"] {
        assert_eq!(value(&text, name), None, "{text}");
    }
    store.set(Mood::Answers);
    eventually(|| value(&metrics(&served), "scheduler_store_look_age_seconds"));
    served.stop();
}

#[test]
fn a_store_that_answers_and_renews_no_lease_is_not_up_and_says_why() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| builder);
    eventually(|| (served.get("/readyz").status == 200).then_some(()));
    assert!(served.get("/api/v1/info").json().get("storeFailure").is_none());
    store.set(Mood::RefusesWrites);
    let ready = eventually(|| {
        let ready = served.get("/readyz");
        (ready.status == 503).then(|| ready.json())
    });
    let details = &ready["components"]["store"]["details"];
    assert!(details["reason"].as_str().unwrap().contains("disk is full"), "{ready}");
    assert_eq!(value(&metrics(&served), "scheduler_store_up"), Some(0.0));
    let info = served.get("/api/v1/info").json();
    assert!(info["storeFailure"].as_str().unwrap().contains("disk is full"), "{info}");
    let since = || served.get("/api/v1/info").json()["storeDownSince"].clone();
    assert!(at(&since()) <= at(&info["now"]) && since() == info["storeDownSince"], "{info}");
    assert_eq!(served.get("/api/v1/queues").status, 200, "it answers questions");
    store.set(Mood::Answers);
    eventually(|| (served.get("/readyz").status == 200).then_some(()));
    served.stop();
}

/// Its disk is full: what it would fire is not known, whatever its rows say.
#[test]
fn a_durable_task_promises_no_run_while_its_process_fires_no_ticks() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| {
        builder.task("feed", Schedule::fixed_rate("1h").durable(), |_| {})
    });
    let row = || {
        let tasks = served.get("/api/v1/tasks").json()["tasks"].clone();
        tasks.as_array().unwrap().iter().find(|row| row["name"] == "feed").unwrap().clone()
    };
    eventually(|| row()["next"].is_string().then_some(()));
    store.set(Mood::RefusesWrites);
    let down = eventually(|| Some(row()).filter(|row| row["storeFailure"].is_string()));
    assert!(down["storeFailure"].as_str().unwrap().contains("disk is full"), "{down}");
    assert!(down["next"].is_null(), "{down}");
    assert_eq!(served.get("/api/v1/tasks/feed/next").json()["times"], json!([]));
    store.set(Mood::Answers);
    let up = eventually(|| Some(row()).filter(|row| row["next"].is_string()));
    assert!(up["storeFailure"].is_null(), "{up}");
    served.stop();
}

/// A program with jobs through which a search looks until the test lets it go on, and how to let one go on.
fn with_slow_searches() -> (Served, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let ((begun, begins), (go, goes)) = (mpsc::channel(), mpsc::channel::<()>());
    let goes = std::sync::Mutex::new(goes);
    let dashboard = dashboard().redact(move |text| {
        if text.contains("mailbox full") {
            begun.send(()).unwrap();
            let _disconnected = goes.lock().unwrap().recv();
        }
        text.to_owned()
    });
    let served = with_store(&dashboard, &Moody::new(), |builder| builder);
    let id = crate::jobs::parked(&served);
    drop(id);
    (served, begins, go)
}

#[test]
fn searches_take_no_place_of_readiness_and_metrics_and_a_visitor_has_one() {
    let (served, begins, go) = with_slow_searches();
    let served = std::sync::Arc::new(served);
    let search = || {
        let served = std::sync::Arc::clone(&served);
        let thread = thread::Builder::new().spawn(move || {
            let token = format!("Bearer {VIEWER}");
            let path = "/api/v1/jobs?state=parked&error=zzz";
            served.send("GET", path, &[("Authorization", &token)], "").status
        });
        thread.unwrap()
    };
    let searches: Vec<_> = (0..12).map(|_| search()).collect();
    begins.recv_timeout(LIMIT).unwrap();
    for _ in 0..3 {
        let text = metrics(&served);
        assert_eq!(served.get("/readyz").status, 200);
        assert_eq!(value(&text, "scheduler_store_up"), Some(1.0));
        assert_eq!(served.get("/api/v1/queues").status, 200);
    }
    assert!(begins.try_recv().is_err(), "a second search of one visitor has begun");
    drop(go);
    let statuses: Vec<u16> = searches.into_iter().map(|search| search.join().unwrap()).collect();
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    assert_eq!(search().join().unwrap(), 200, "the places are free again");
    std::sync::Arc::into_inner(served).unwrap().stop();
}

#[test]
fn a_queue_is_known_by_the_tasks_that_name_it_and_a_mistyped_name_has_the_nearest_one() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| {
        let report = Schedule::fixed_rate("1h").initial_delay("1h").durable().queue("reports");
        builder.task("monthly", report, |_| {})
    });
    let queues = eventually(|| {
        let queues = served.get("/api/v1/queues").json();
        let names: Vec<_> =
            queues["queues"].as_array()?.iter().map(|row| row["queue"].clone()).collect();
        (names == ["default", "reports"]).then_some(queues)
    });
    assert_eq!(
        (&queues["queues"][1]["due"], &queues["queues"][1]["tasks"]),
        (&json!(0), &json!([]))
    );
    let refused = served.post("/api/v1/queues/raports/pause", "");
    assert_eq!(refused.status, 404);
    let detail = "no queue named `raports`; did you mean `reports`?";
    assert_eq!(refused.json()["detail"], detail);
    assert_eq!(served.post("/api/v1/queues/reports/pause", "").status, 202, "no job is in it");
    assert_eq!(served.post("/api/v1/queues/of-another-program/pause", "").status, 202);
    let many = |filter: Value| {
        let body = json!({ "matching": filter }).to_string();
        let answer = served.post("/api/v1/jobs:retry", &body);
        (answer.status, answer.json()["detail"].as_str().map(str::to_owned))
    };
    let of_task = many(json!({ "state": "parked", "task": "montly" }));
    assert_eq!(of_task, (404, Some("no task named `montly`; did you mean `monthly`?".to_owned())));
    let of_queue = many(json!({ "state": "parked", "queue": "raports" }));
    assert_eq!(of_queue, (404, Some(detail.to_owned())));
    assert_eq!(many(json!({ "state": "parked", "task": "monthly" })), (200, None));
    served.stop();
}

#[test]
fn a_durable_task_fails_no_more_once_no_job_of_it_has_failed_whoever_mended_that() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| builder);
    let streaks = || {
        let row = served.get("/api/v1/tasks/mail").json();
        let metrics = metrics(&served);
        let of_metrics = value(&metrics, "scheduler_task_streak{task=\"mail\"}").unwrap();
        (row["streak"].as_u64().unwrap(), row.get("failingSince").is_some(), of_metrics)
    };
    let id = crate::jobs::parked(&served);
    eventually(|| (streaks() == (1, true, 1.0)).then_some(()));
    let mut stream = Stream::open(&served);
    stream.row("mail", |row| row["streak"] == 1);
    // As another process does it, or a person by SQL.
    jobs(&served).delete(id.parse().unwrap()).unwrap();
    eventually(|| (streaks() == (0, false, 0.0)).then_some(()));
    stream.row("mail", |row| row["streak"] == 0);
    crate::jobs::parked(&served);
    eventually(|| (streaks().0 == 2).then_some(()));
    served.stop();
}

/// Two processes with the same durable task, which runs in the first one only.
fn two_processes(store: &Moody) -> [Served; 2] {
    ["here", "elsewhere"].map(|queue| {
        let body = |_: &scheduler::Run| match FAILS.load(Ordering::SeqCst) {
            true => Err("no such account"),
            false => Ok(()),
        };
        let rate = Schedule::fixed_rate("50ms").durable().queue("here");
        let node = NodeOptions::default().queues([queue]).poll_every(Duration::from_millis(20));
        let builder = builder().task("bill", rate, body).store(store.clone()).node(node);
        serve(&dashboard(), builder)
    })
}

static FAILS: AtomicBool = AtomicBool::new(false);

#[test]
fn a_process_that_never_ran_a_durable_task_tells_its_last_run_all_the_same() {
    let store = Moody::new();
    let [here, elsewhere] = two_processes(&store);
    let row = || elsewhere.get("/api/v1/tasks/bill").json();
    let succeeded = eventually(|| row()["last"]["outcome"].as_str().map(|_| row()));
    assert_eq!(
        (&succeeded["last"]["outcome"], &succeeded["streak"]),
        (&json!("success"), &json!(0))
    );
    assert!(succeeded["lastSuccess"].is_string(), "{succeeded}");
    FAILS.store(true, Ordering::SeqCst);
    let failing = eventually(|| Some(row()).filter(|row| row["streak"].as_u64() >= Some(3)));
    let last = &failing["last"];
    assert_eq!((&last["outcome"], &last["message"]), (&json!("error"), &json!("no such account")));
    let streak = || value(&metrics(&elsewhere), "scheduler_task_streak{task=\"bill\"}");
    assert!(streak() >= Some(3.0));
    assert_eq!(failing["counters"]["runs"], 0, "of this process");
    FAILS.store(false, Ordering::SeqCst);
    eventually(|| (row()["streak"] == 0 && streak() == Some(0.0)).then_some(()));
    here.stop();
    elsewhere.stop();
}

/// A process with the kind of job `mail`, which serves one queue.
fn with_queue(store: &Moody, queue: &str) -> Served {
    let node = NodeOptions::default().queues([queue]).poll_every(Duration::from_millis(20));
    serve(&dashboard(), builder().tasks(scheduler::tasks![mail]).store(store.clone()).node(node))
}

#[test]
fn a_kind_of_job_has_the_same_failures_in_a_row_in_each_process_and_after_a_restart() {
    let store = Moody::new();
    let [one, two] = ["one", "two"].map(|queue| with_queue(&store, queue));
    let send = |from: &Served, queue: &str, fails: bool| {
        let id =
            jobs(from).enqueue(mail::job(json!({ "fails": fails })).queue(queue)).unwrap().id();
        eventually(|| jobs(from).get(id).unwrap()?.finished_at);
    };
    let seen = |served: &Served| {
        let streak = value(&metrics(served), "scheduler_task_streak{task=\"mail\"}");
        let row = served.get("/api/v1/tasks/mail").json();
        (row["streak"].clone(), row["failingSince"].clone(), row["last"].clone(), streak)
    };
    let agree = |all: &[&Served], failures: u64| {
        eventually(|| {
            let seen: Vec<_> = all.iter().map(|served| seen(served)).collect();
            let is_right = |(streak, since, _, metric): &(Value, Value, Value, Option<f64>)| {
                let is_failing = failures > 0;
                (*streak == failures && *metric == Some(failures as f64))
                    && (since.is_string() == is_failing && *since == seen[0].1)
            };
            seen.iter().all(is_right).then_some(seen)
        })
    };
    for queue in ["one", "two", "one"] {
        send(&one, queue, true);
    }
    agree(&[&one, &two], 3);
    let mut stream = Stream::open(&two);
    stream.row("mail", |row| row["streak"] == 3);
    send(&one, "one", true);
    agree(&[&one, &two], 4);
    stream.row("mail", |row| row["streak"] == 4);
    one.stop();
    // It has run none of them.
    let third = with_queue(&store, "three");
    let seen = agree(&[&third, &two], 4);
    assert_eq!(seen[0].2["message"], "mailbox full: hunter2", "{seen:?}");
    send(&two, "three", false);
    agree(&[&third, &two], 0);
    stream.row("mail", |row| row["streak"] == 0);
    send(&two, "two", true);
    agree(&[&third, &two], 1);
    third.stop();
    two.stop();
}

#[test]
fn a_live_row_that_failed_elsewhere_is_sent_again_once_that_is_mended_elsewhere() {
    let store = Moody::new();
    let [here, elsewhere] = ["here", "elsewhere"].map(|queue| with_queue(&store, queue));
    let send = |fails: bool| {
        let job = mail::job(json!({ "fails": fails })).queue("elsewhere");
        jobs(&elsewhere).enqueue(job).unwrap();
    };
    // Nothing but the stream asks this process.
    let mut stream = Stream::open(&here);
    send(true);
    stream.row("mail", |row| row["streak"] == 1);
    send(false);
    let row = stream.row("mail", |row| row["streak"] == 0);
    assert!(row.get("failingSince").is_none(), "{row}");
    here.stop();
    elsewhere.stop();
}

#[test]
fn a_schedule_whose_job_is_tried_again_fails_from_the_second_failed_attempt_on_in_each_process() {
    let store = Moody::new();
    let retry = Schedule::fixed_rate("1h").durable().queue("here");
    let retry = retry.retry(8, "1h", "1h");
    let [here, elsewhere] = ["here", "elsewhere"].map(|queue| {
        let node = NodeOptions::default().queues([queue]).poll_every(Duration::from_millis(20));
        let count = std::sync::atomic::AtomicU32::new(1);
        let body = move |_: &scheduler::Run| match count.fetch_add(1, Ordering::SeqCst) {
            number @ ..3 => Err(format!("no answer, {number}")),
            _ => Ok(()),
        };
        let builder = builder().task("sync", retry.clone(), body).store(store.clone()).node(node);
        serve(&dashboard(), builder)
    });
    let seen = |served: &Served| {
        let text = metrics(served);
        let streak = value(&text, "scheduler_task_streak{task=\"sync\"}").unwrap();
        (served.get("/api/v1/tasks/sync").json(), streak)
    };
    let job = || {
        let queues = served_queue(&here);
        (queues["retrying"] == 1).then(|| here.get("/api/v1/jobs?task=sync").json())
    };
    let id = eventually(|| {
        let id = job()?["jobs"][0]["id"].as_str()?.to_owned();
        (seen(&here).1 == 0.0).then_some(id)
    });
    let mut stream = Stream::open(&elsewhere);
    let again = || assert_eq!(here.post(&format!("/api/v1/jobs/{id}/retry"), "").status, 202);
    again();
    stream.row("sync", |row| row["streak"] == 2);
    for served in [&here, &elsewhere] {
        let (row, streak) = eventually(|| Some(seen(served)).filter(|(_, streak)| *streak == 2.0));
        assert_eq!((&row["streak"], streak), (&json!(2), 2.0));
        assert_eq!(
            (&row["firstFailure"], &row["last"]["message"]),
            (&json!("no answer, 1"), &json!("no answer, 2"))
        );
        assert_eq!(row["last"]["outcome"], "error");
        assert!(at(&row["failingSince"]) < at(&row["last"]["startedAt"]), "{row}");
    }
    again();
    stream.row("sync", |row| row["streak"] == 0);
    for served in [&here, &elsewhere] {
        eventually(|| (seen(served).1 == 0.0).then_some(()));
    }
    here.stop();
    elsewhere.stop();
}

/// The numbers of the first queue.
fn served_queue(served: &Served) -> Value {
    served.get("/api/v1/queues").json()["queues"][0].clone()
}
