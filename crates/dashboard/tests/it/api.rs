//! The answers of the API.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use scheduler::{Run, Schedule, Until};
use serde_json::Value;

use crate::support::*;

#[test]
fn a_task_is_shown_with_its_rule_its_next_runs_and_its_zone() {
    let cron = Schedule::cron("0 0 9 * * MON-FRI").zone("Europe/Berlin").tags(["reports"]);
    let served = serve(&dashboard(), builder().task("report", cron, |_| {}));
    let task = served.get("/api/v1/tasks/report").json();
    assert_eq!(task["expression"], "0 0 9 * * MON-FRI");
    assert_eq!(task["words"], "09:00, Monday to Friday");
    assert_eq!((&task["zone"], &task["tags"][0]), (&"Europe/Berlin".into(), &"reports".into()));
    assert_eq!(task["state"], "waiting");
    let upcoming = task["upcoming"].as_array().unwrap();
    assert_eq!(upcoming.len(), 10);
    assert_eq!(upcoming[0]["at"], task["next"]);
    assert!(is_nine_in_berlin(&upcoming[0]["at"]), "{upcoming:?}");
    assert!(task.get("last").is_none() && task.get("pause").is_none(), "{task}");
    // Within a year of days both changes of the clocks are marked, once each.
    let days = served.get("/api/v1/tasks/report/next?n=100").json();
    let days = days["times"].as_array().unwrap().clone();
    assert_eq!(days.len(), 100);
    assert!(days.iter().filter(|day| day.get("clockChange").is_some()).count() <= 2);
    served.stop();
}

/// True for 09:00 in Berlin, in winter or in summer, in UTC as the API has it.
pub(crate) fn is_nine_in_berlin(at: &Value) -> bool {
    at.as_str().is_some_and(|at| at.ends_with("T08:00:00Z") || at.ends_with("T07:00:00Z"))
}

#[test]
fn a_run_is_shown_with_its_error_its_causes_its_attempts_and_notes() {
    #[derive(Debug)]
    struct Failed(std::io::Error);
    impl std::fmt::Display for Failed {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("import failed")
        }
    }
    impl std::error::Error for Failed {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }
    let body = |run: &Run| {
        run.note("17 rows");
        Err::<(), _>(Failed(std::io::Error::other("disk full")))
    };
    let schedule = Schedule::fixed_rate("1h").retry(2, "1ms", "1ms");
    let served = serve(&dashboard(), builder().task("import", schedule, body));
    served.scheduler.wait_for("import", Until::failures(1), LIMIT).unwrap();
    let run = eventually(|| {
        let page = served.get("/api/v1/tasks/import/runs").json();
        let run = page["runs"][0].clone();
        run.get("lateMs").is_some().then_some(run)
    });
    assert_eq!((&run["number"], &run["cause"]), (&1.into(), &"schedule".into()));
    assert_eq!((&run["outcome"], &run["attempts"]), (&"error".into(), &3.into()));
    assert_eq!(run["error"]["message"], "import failed");
    assert_eq!(run["error"]["causes"][0], "disk full");
    assert_eq!(run["failedAttempts"].as_array().unwrap().len(), 2);
    assert_eq!(run["failedAttempts"][1]["message"], "import failed");
    assert_eq!(run["notes"].as_array().unwrap().len(), 3);
    let row = served.get("/api/v1/tasks").json()["tasks"][0].clone();
    assert_eq!((&row["streak"], &row["last"]["message"]), (&1.into(), &"import failed".into()));
    assert_eq!(row["recent"]["outcomes"], "e");
    served.stop();
}

#[test]
fn more_runs_are_kept_than_a_snapshot_has_and_come_in_pages() {
    let schedule = Schedule::fixed_rate("1ms").max_runs(150).overlap(scheduler::Overlap::QueueOne);
    let schedule = schedule.misfire(scheduler::Misfire::CatchUp);
    let body = |run: &Run| if run.number().is_multiple_of(10) { Err("tenth") } else { Ok(()) };
    let served = serve(&dashboard(), builder().task("tick", schedule, body));
    served.scheduler.wait_for("tick", Until::runs(150), LIMIT).unwrap();
    let page = eventually(|| {
        let page = served.get("/api/v1/tasks/tick/runs?limit=70").json();
        let all = served.get("/api/v1/tasks/tick/runs?limit=1000").json();
        (all["runs"].as_array().unwrap().len() == 100).then_some(page)
    });
    let numbers = |page: &serde_json::Value| -> Vec<u64> {
        page["runs"].as_array().unwrap().iter().map(|run| run["number"].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&page), (81..=150).rev().collect::<Vec<_>>());
    assert_eq!(page["hasMore"], true);
    let next = served.get("/api/v1/tasks/tick/runs?limit=70&before=81").json();
    assert_eq!(numbers(&next), (51..=80).rev().collect::<Vec<_>>());
    assert_eq!(next["hasMore"], false);
    assert_eq!(next["runs"][0]["error"]["message"], "tenth", "80 is an old one");
    let row = served.get("/api/v1/tasks/tick").json();
    assert_eq!(row["recent"]["outcomes"].as_str().unwrap().len(), 60);
    assert_eq!(row["durations"]["runs"], 100);
    served.stop();
}

#[test]
fn tasks_are_run_paused_resumed_and_cancelled() {
    let (started, starts) = mpsc::channel();
    let body = move |run: &Run| {
        started.send(()).unwrap();
        while !run.stop_requested() {
            std::thread::yield_now();
        }
        Err::<(), _>("stopped")
    };
    let served = serve(&dashboard(), builder().task("import", hourly(), body));
    assert_eq!(served.post("/api/v1/tasks/import/cancel", "").status, 409, "it does not run");
    let answer = served.post("/api/v1/tasks/import/run", "");
    assert_eq!(answer.status, 202, "{answer:?}");
    starts.recv_timeout(LIMIT).unwrap();
    let refused = served.post("/api/v1/tasks/import/run", "{}");
    assert_eq!(refused.status, 409);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert!(refused.json()["detail"].as_str().unwrap().contains("running"), "{refused:?}");
    assert_eq!(served.post("/api/v1/tasks/import/cancel", "").status, 202);
    served.scheduler.wait_for("import", Until::runs(1), LIMIT).unwrap();

    let row = served.post("/api/v1/tasks/import/pause", r#"{"reason":"migration"}"#).json();
    assert_eq!(
        (&row["pause"]["by"], &row["pause"]["reason"]),
        (&"ops".into(), &"migration".into())
    );
    assert!(row.get("next").is_none() && row.get("wouldRunAt").is_some());
    let row = served.post("/api/v1/tasks/import/pause", r#"{"forMs":60000}"#).json();
    assert!(row["pause"].get("until").is_some() && row["pause"].get("reason").is_none());
    assert_eq!(served.post("/api/v1/tasks/import/resume", "").json()["isPaused"], false);
    assert_eq!(served.post("/api/v1/tasks/import/resume", "").status, 409);
    let actions = served.get("/api/v1/actions?task=import").json();
    let actions = actions["actions"].as_array().unwrap();
    let names: Vec<&str> =
        actions.iter().map(|action| action["action"].as_str().unwrap()).collect();
    assert_eq!(names, ["resume", "pause", "pause", "cancel", "run"]);
    assert_eq!((&actions[0]["who"], &actions[0]["from"]), (&"ops".into(), &"127.0.0.1".into()));
    served.stop();
}

#[test]
fn several_tasks_are_paused_by_name_by_tag_or_all() {
    let tagged = || hourly().tags(["billing"]);
    let builder = builder().task("a", tagged(), |_| {}).task("b", tagged(), |_| {});
    let served = serve(&dashboard(), builder.task("c", hourly(), |_| {}));
    let changed = |path: &str, body: &str| served.post(path, body).json()["changed"].clone();
    assert_eq!(changed("/api/v1/tasks:pause", r#"{"names":["a","c"]}"#), 2);
    assert_eq!(changed("/api/v1/tasks:resume", r#"{"tag":"billing"}"#), 1);
    assert_eq!(changed("/api/v1/tasks:pause", r#"{"all":true,"reason":"night"}"#), 3);
    assert_eq!(served.task("b").snapshot().pause_reason.as_deref(), Some("night"));
    for wrong in ["", "{}", r#"{"all":false}"#, r#"{"tag":"a","all":true}"#, "[", r#"{"x":1}"#] {
        assert_eq!(served.post("/api/v1/tasks:pause", wrong).status, 400, "{wrong}");
    }
    assert_eq!(served.post("/api/v1/tasks:pause", r#"{"names":["none"]}"#).status, 404);
    assert_eq!(served.post("/api/v1/tasks/a/pause", r#"{"until":"tomorrow"}"#).status, 400);
    for past in [r#"{"until":"1970-01-01T00:00:00Z"}"#, r#"{"forMs":0}"#] {
        let refused = served.post("/api/v1/tasks/a/pause", past);
        assert!(refused.status == 400 && refused.body.contains("has passed"), "{refused:?}");
    }
    let both = r#"{"until":"2030-01-01T00:00:00Z","forMs":1}"#;
    assert_eq!(served.post("/api/v1/tasks/a/pause", both).status, 400);
    served.stop();
}

#[test]
fn a_disabled_task_is_enabled() {
    let schedule = hourly().set(scheduler::Attribute::Enabled, "false");
    let served = serve(&dashboard(), builder().task("old", schedule, |_| {}));
    assert_eq!(served.get("/api/v1/tasks/old").json()["state"], "disabled");
    assert_eq!(served.post("/api/v1/tasks/old/run", "").status, 409);
    assert_eq!(served.post("/api/v1/tasks/old/enable", "").json()["state"], "waiting");
    served.stop();
}

#[test]
fn texts_are_redacted_wherever_they_are_shown() {
    let secret = |_: &Run| Err::<(), _>("password=hunter2");
    let dashboard = dashboard().redact(|text| text.replace("hunter2", "…"));
    let served = serve(&dashboard, builder().task("t", Schedule::fixed_rate("1h"), secret));
    served.scheduler.wait_for("t", Until::failures(1), LIMIT).unwrap();
    served.post("/api/v1/tasks/t/pause", r#"{"reason":"hunter2"}"#);
    let paths =
        ["/tasks", "/tasks/t", "/tasks/t/runs", "/actions"].map(|path| format!("/api/v1{path}"));
    for path in paths.iter().map(|path| &**path).chain(["/actuator/scheduledtasks", "/metrics"]) {
        let body = served.get(path).body;
        assert!(!body.contains("hunter2"), "{path}: {body}");
    }
    assert!(served.get("/api/v1/tasks/t/runs").body.contains("password=…"));
    served.stop();
}

#[test]
fn the_program_hears_of_actions_and_info_says_who_asks() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (to, count) = (Arc::clone(&heard), Arc::new(AtomicUsize::new(0)));
    let dashboard = dashboard().on_action(move |action| {
        to.lock().unwrap().push([&action.by, &action.verb, &action.name].map(String::clone));
    });
    let counted = Arc::clone(&count);
    let body = move |_: &Run| {
        counted.fetch_add(1, Ordering::Relaxed);
    };
    let served = serve(&dashboard, builder().pool_size(3).task("t", hourly(), body));
    served.post("/api/v1/tasks/t/run", "");
    served.scheduler.wait_for("t", Until::runs(1), LIMIT).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert_eq!(*heard.lock().unwrap(), [["ops", "run", "t"]]);
    let info = served.get("/api/v1/info").json();
    assert_eq!((&info["application"], &info["visitor"]["name"]), (&"tests".into(), &"ops".into()));
    assert_eq!(info["sections"], serde_json::json!(["tasks"]));
    assert_eq!((&info["counts"]["tasks"], &info["pools"][0]["coreSize"]), (&1.into(), &3.into()));
    served.stop();
}

/// Asks until there is an answer: events come on a thread of their own.
pub(crate) fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1_000 {
        if let Some(answer) = ask() {
            return answer;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    panic!("it does not come");
}

#[test]
fn each_way_to_write_a_cron_expression_has_its_words() {
    let served = serve(&dashboard(), builder().task("a", hourly(), |_| ()));
    for (cron, words) in [
        ("0%200%209%20*%20*%201-5", "09:00, Monday to Friday"),
        ("0%200%209%20?%20*%20mon-fri", "09:00, Monday to Friday"),
        ("@daily", "00:00"),
    ] {
        let preview = served.get(&format!("/api/v1/tasks/a/preview?cron={cron}")).json();
        let found = preview["words"].as_str().unwrap_or_default();
        assert!(found.starts_with(words), "{cron}: {preview}");
    }
    served.stop();
}
