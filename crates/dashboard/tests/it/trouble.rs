//! Faults as the API shows them, and many jobs changed at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use scheduler::store::{JobFilter, JobState};
use scheduler::{
    Clock, NextFireTime, Pause, Schedule, SystemClock, Trigger, TriggerContext, Until, job,
};
use scheduler_dashboard::Dashboard;
use serde_json::{Value, json};

use crate::api::eventually;
use crate::away::{Mood, Moody};
use crate::jobs::{self, jobs, mail, with_store};
use crate::support::*;

#[job(name = "image")]
fn image(#[payload] number: u32) -> Result<(), String> {
    Err(format!("cannot decode image {number}.png of hunter2"))
}

#[test]
fn a_run_that_hangs_and_the_one_it_starves_say_since_when() {
    let (leave, left) = std::sync::mpsc::channel::<()>();
    let left = std::sync::Mutex::new(left);
    let builder = builder().pool_size(1);
    let builder = builder.task("hung", Schedule::fixed_rate("100ms"), move |_| {
        let _disconnected = left.lock().unwrap().recv_timeout(LIMIT);
    });
    let delayed = Schedule::fixed_rate("100ms").initial_delay("50ms");
    let served = serve(&dashboard(), builder.task("starved", delayed, |_| {}));
    let row = |name: &str| served.get(&format!("/api/v1/tasks/{name}")).json();
    eventually(|| row("starved").get("lateSince").map(drop));
    let metrics = served.get("/metrics").body;
    let waits = metrics.lines().filter(|line| line.starts_with("scheduler_pool_longest_wait_s"));
    let waits: Vec<bool> = waits.map(|line| !line.ends_with(" 0")).collect();
    assert_eq!(waits, [true], "of a pool, and not of each of its tasks");
    let hung = eventually(|| {
        let hung = row("hung");
        hung.get("stuckSince").is_some().then_some(hung)
    });
    assert_eq!(hung["state"], "running");
    assert!(hung["stuckSince"].as_str() > hung["runningSince"].as_str(), "{hung}");
    let since = || row("starved")["lateSince"].as_str().map(|text| text[..19].to_owned());
    assert_eq!(since(), since(), "it stays the first fire time");
    drop(leave);
    eventually(|| (row("starved")["counters"]["runs"] != 0).then_some(()));
    served.stop();
}

#[test]
fn the_timeline_has_a_letter_for_each_minute_of_two_hours() {
    let builder = builder()
        .task("often", Schedule::fixed_rate("10ms"), |_| Err::<(), _>("no"))
        .task("later", Schedule::fixed_rate("20m").initial_delay("10m"), |_| {})
        .task("paused", hourly(), |_| {});
    let served = serve(&dashboard(), builder);
    served.task("paused").pause().unwrap();
    served.scheduler.wait_for("often", Until::failures(1), LIMIT).unwrap();
    let row = eventually(|| {
        let timeline = served.get("/api/v1/timeline").json();
        let of = |name: &str| {
            let tasks = timeline["tasks"].as_array().unwrap();
            let row = tasks.iter().find(|row| row["name"] == name).unwrap();
            let text = |part: &str| row[part].as_str().unwrap().to_owned();
            (text("past"), text("next"))
        };
        of("often").0.ends_with('x').then(|| [of("often"), of("later"), of("paused")])
    });
    let [(past, next), later, paused] = row;
    assert_eq!((past.len(), next.len()), (60, 60));
    assert!(past.starts_with("????") && next == "n".repeat(60), "{past} {next}");
    assert_eq!(later.1.matches('n').count(), 3, "{later:?}");
    assert!(&later.1[9..10] == "n" || &later.1[10..11] == "n", "{later:?}");
    assert!(paused.0.ends_with('p') && paused.1 == "p".repeat(60), "{paused:?}");
    served.stop();
}

#[test]
fn a_durable_schedule_that_parks_a_job_at_each_tick_fails_and_its_jobs_are_one_group() {
    let often = Schedule::fixed_rate("50ms").durable();
    let served = with_store(&dashboard(), &Moody::new(), |builder| {
        builder.task("bill", often, |_| Err::<(), _>("no such account"))
    });
    let row = eventually(|| {
        let row = served.get("/api/v1/tasks/bill").json();
        (row["streak"].as_u64() >= Some(3)).then_some(row)
    });
    assert_eq!((&row["last"]["outcome"], &row["isDurable"]), (&"error".into(), &true.into()));
    assert_eq!(row["firstFailure"], "no such account");
    assert!(row["failingSince"].as_str() < row["last"]["startedAt"].as_str(), "{row}");
    served.task("bill").pause().unwrap();
    // The numbers of a queue may be of a moment before the last end.
    let parked = eventually(|| {
        let queues = served.get("/api/v1/queues").json();
        let queue = &queues["queues"][0];
        let is_still = queue["due"] == 0 && queue["later"] == 0 && queue["running"] == 0;
        let errors = served.get("/api/v1/jobs:errors?state=parked&task=bill").json();
        let groups = errors["errors"].as_array().unwrap();
        assert!(groups.len() == 1 && groups[0]["error"] == "no such account", "{errors}");
        let parked = queue["parked"].as_u64().filter(|parked| is_still && *parked >= 3);
        parked.filter(|parked| groups[0]["count"].as_u64() == Some(*parked))
    });
    let all = json!({ "matching": { "state": "parked", "task": "bill" } }).to_string();
    assert_eq!(served.post("/api/v1/jobs:delete", &all).json()["count"].as_u64(), Some(parked));
    served.stop();
}

#[job(name = "charge", retry(max = 3, base = "1h", cap = "1h"))]
fn charge(#[payload] number: u32) -> Result<(), String> {
    Err(format!("POST /charges/{number}: Service Unavailable"))
}

#[test]
fn d23_jobs_that_are_tried_again_are_counted_in_a_paused_queue_and_found_behind_a_flood() {
    let store = Moody::new();
    let served =
        with_store(&dashboard(), &store, |builder| builder.tasks(scheduler::tasks![mail, charge]));
    let jobs = jobs(&served);
    jobs.enqueue_all((0..3).map(|number| charge::job(number).queue("pay")).collect()).unwrap();
    let counts = || {
        let queues = served.get("/api/v1/queues").json();
        let queues = queues["queues"].as_array().unwrap().clone();
        let pay = queues.into_iter().find(|queue| queue["queue"] == "pay").unwrap_or_default();
        ["due", "later", "retrying"].map(|field| pay[field].as_u64().unwrap_or_default())
    };
    eventually(|| (counts() == [0, 3, 3]).then_some(()));
    // The end of the wait finds the queue paused.
    jobs.pause_queue("pay", &Pause::new()).unwrap();
    let of_pay = JobFilter { queue: Some("pay".to_owned()), ..JobFilter::default() };
    assert_eq!(jobs.retry_all(&of_pay).unwrap(), 3);
    eventually(|| (counts() == [3, 0, 3]).then_some(()));
    let later = |_| mail::job(json!(null)).after(LIMIT * 60);
    jobs.enqueue_all((0..600).map(later).collect()).unwrap();
    store.take_asked();
    let errors = served.get("/api/v1/jobs:errors?state=ready").json();
    assert_eq!(store.take_asked()["jobs"], 1, "the flood is not looked through");
    let group = &errors["errors"][0];
    assert_eq!((&group["count"], &errors["isPartial"]), (&json!(3), &json!(false)), "{errors}");
    assert_eq!(group["error"], "POST /charges/*: Service Unavailable");
    let found = served.get("/api/v1/jobs?state=ready&error=unavailable").json();
    assert_eq!(found["lookedThrough"], 3, "{found}");
    let matching = json!({ "matching": { "state": "ready", "error": "unavailable" } });
    let deleted = served.post("/api/v1/jobs:delete", &matching.to_string()).json();
    assert_eq!(deleted, json!({ "count": 3 }));
    let errors = || served.get("/api/v1/jobs:errors?state=ready").json()["errors"].clone();
    eventually(|| (errors() == json!([])).then_some(()));
    served.stop();
}

#[test]
fn a_group_of_errors_begins_with_the_first_attempt_that_has_failed_so() {
    let served =
        with_store(&dashboard(), &Moody::new(), |builder| builder.tasks(scheduler::tasks![charge]));
    let id = jobs(&served).enqueue(charge::job(7)).unwrap().id();
    let group = || {
        let errors = served.get("/api/v1/jobs:errors?state=ready").json();
        Some(errors["errors"][0].clone()).filter(serde_json::Value::is_object)
    };
    let first = eventually(group);
    assert_eq!(first["firstAt"], first["lastAt"]);
    jobs(&served).retry(id).unwrap();
    let second = eventually(|| group().filter(|group| group["lastAt"] != first["lastAt"]));
    assert_eq!((&second["firstAt"], &second["count"]), (&first["firstAt"], &json!(1)));
    served.stop();
}

#[test]
fn a_task_says_since_when_and_with_which_first_error_it_fails() {
    let count = std::sync::atomic::AtomicU32::new(0);
    let body = move |_: &scheduler::Run| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if number == 0 { Ok(()) } else { Err(format!("failure {number} of hunter2")) }
    };
    let dashboard = dashboard().keep_runs(2).redact(|text| text.replace("hunter2", "…"));
    let served = serve(&dashboard, builder().task("t", Schedule::fixed_rate("5ms"), body));
    served.scheduler.wait_for("t", Until::failures(30), LIMIT).unwrap();
    let row = eventually(|| {
        let row = served.get("/api/v1/tasks/t").json();
        (row["streak"].as_u64() >= Some(30)).then_some(row)
    });
    assert_eq!(row["firstFailure"], "failure 1 of …");
    assert!(row["failingSince"].as_str() < row["last"]["startedAt"].as_str(), "{row}");
    served.stop();
}

struct Undecided;

impl Trigger for Undecided {
    fn next_fire_time(&self, _: &TriggerContext) -> NextFireTime {
        Err("é".repeat(1_000).into())
    }
}

#[test]
fn errors_of_a_row_are_cut() {
    let builder = builder()
        .task("t", Schedule::fixed_rate("5ms"), |_| Err::<(), _>("é".repeat(1_000)))
        .task("own", Schedule::on_trigger(Undecided), |_| {});
    let served = serve(&dashboard(), builder);
    served.scheduler.wait_for("t", Until::failures(1), LIMIT).unwrap();
    let rows = eventually(|| {
        let [t, own] = ["t", "own"].map(|name| served.get(&format!("/api/v1/tasks/{name}")).json());
        (!t["last"].is_null() && !own["triggerFailure"].is_null()).then_some([t, own])
    });
    let [t, own] = &rows;
    for error in [&t["firstFailure"], &t["last"]["message"], &own["triggerFailure"]] {
        assert_eq!(error.as_str().unwrap().chars().count(), 300, "{error}");
    }
    served.stop();
}

fn with_parked() -> Served {
    let dashboard = dashboard().redact(|text| text.replace("hunter2", "…"));
    with_parked_in(&dashboard, &Moody::new())
}

/// A program with 30 jobs that were parked by one error, and 3 by another.
fn with_parked_in(dashboard: &Dashboard, store: &Moody) -> Served {
    let served =
        with_store(dashboard, store, |builder| builder.tasks(scheduler::tasks![mail, image]));
    let jobs = jobs(&served);
    jobs.enqueue_all((0..30).map(image::job).collect()).unwrap();
    jobs.enqueue_all((0..3).map(|_| mail::job(json!({ "fails": true }))).collect()).unwrap();
    eventually(|| (parked(&served, "").len() == 33).then_some(()));
    served
}

fn parked(served: &Served, more: &str) -> Vec<Value> {
    let path = format!("/api/v1/jobs?state=parked&limit=100{more}");
    served.get(&path).json()["jobs"].as_array().unwrap().clone()
}

#[test]
fn parked_jobs_are_grouped_by_their_error_and_found_by_a_part_of_it() {
    let served = with_parked();
    let errors = served.get("/api/v1/jobs:errors?state=parked").json();
    let rows = errors["errors"].as_array().unwrap();
    assert_eq!(
        (rows.len(), &rows[0]["task"], &rows[0]["error"], &rows[0]["count"]),
        (2, &"image".into(), &"cannot decode image *.png of …".into(), &30.into())
    );
    assert_eq!((&rows[1]["task"], &rows[1]["count"]), (&"mail".into(), &3.into()));
    assert!(rows[0]["firstAt"].is_string() && errors["isPartial"] == false, "{errors}");
    assert_eq!(parked(&served, "&error=IMAGE%20*.png").len(), 30);
    assert_eq!(parked(&served, "&error=image%207.png").len(), 1);
    assert_eq!(parked(&served, "&error=hunter2").len(), 0, "what is hidden is not found");

    let page = served.get("/api/v1/jobs?state=parked&error=decode&limit=20").json();
    assert_eq!((page["jobs"].as_array().unwrap().len(), &page["hasMore"]), (20, &true.into()));
    let none = served.get("/api/v1/jobs?state=parked&error=zzz").json();
    assert_eq!((&none["jobs"], &none["lookedThrough"]), (&json!([]), &json!(33)));
    let after = page["after"].as_str().unwrap();
    assert_eq!(parked(&served, &format!("&error=decode&after={after}")).len(), 10);
    served.stop();
}

#[test]
fn all_that_match_are_counted_first_and_then_retried_or_deleted() {
    let served = with_parked();
    let ask = |action: &str, body: Value| {
        served.post(&format!("/api/v1/jobs:{action}"), &body.to_string())
    };
    let matching = json!({ "state": "parked", "error": "decode image" });
    let dry = ask("retry", json!({ "matching": matching, "dryRun": true })).json();
    assert_eq!(dry, json!({ "count": 30 }));
    assert!(parked(&served, "").iter().all(|job| job["attempt"] == 1), "nothing has changed");

    assert_eq!(ask("retry", json!({ "matching": matching })).json()["count"], 30);
    eventually(|| {
        let jobs = parked(&served, "&task=image");
        (jobs.len() == 30 && jobs.iter().all(|job| job["attempt"] == 2)).then_some(())
    });
    assert!(parked(&served, "&task=mail").iter().all(|job| job["attempt"] == 1));

    let ids: Vec<Value> =
        parked(&served, "&task=mail").iter().map(|job| job["id"].clone()).collect();
    assert_eq!(
        ask("cancel", json!({ "ids": ids, "dryRun": true })).json()["count"],
        0,
        "they have ended"
    );
    assert_eq!(ask("delete", json!({ "ids": ids[..2] })).json()["count"], 2);
    assert_eq!(parked(&served, "&task=mail").len(), 1);
    let all = json!({ "matching": { "state": "parked", "task": "image" } });
    assert_eq!(ask("delete", all).json()["count"], 30);
    assert_eq!(parked(&served, "").len(), 1);

    let actions = served.get("/api/v1/actions").json();
    let actions = actions["actions"].as_array().unwrap();
    let shown = actions
        .iter()
        .map(|action| ["action", "task", "count", "matching"].map(|field| action[field].clone()));
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            json!(["delete", "image", 30, "parked, task image"]),
            json!(["delete", "*", 2, "chosen one by one"]),
            json!(["retry", "*", 30, "parked, error decode image"]),
        ]
        .map(|row| serde_json::from_value::<[Value; 4]>(row).unwrap())
    );
    served.stop();
}

#[test]
fn a_change_of_many_jobs_ends_at_the_first_failure_and_notes_how_many_are_known() {
    let looked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&looked);
    let dashboard = dashboard().redact(move |text| {
        count.fetch_add(usize::from(text.starts_with("cannot decode")), Ordering::Relaxed);
        text.to_owned()
    });
    let store = Moody::new();
    let served = with_parked_in(&dashboard, &store);
    let matching = json!({ "matching": { "state": "parked", "error": "decode image" } });
    for (mood, status, deleted, noted) in [
        (Mood::FailsAfterCommands(0), 500, 0, json!([])),
        (Mood::FailsAfterCommands(3), 500, 3, json!([3])),
        (Mood::IsAwayAfterCommands(4), 503, 4, json!([4, 3])),
        (Mood::IsAwayAfterCommands(0), 503, 0, json!([4, 3])),
    ] {
        let before = parked(&served, "").len();
        store.set(mood);
        looked.store(0, Ordering::Relaxed);
        let answer = served.post("/api/v1/jobs:delete", &matching.to_string());
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(
            looked.load(Ordering::Relaxed),
            deleted + 1,
            "{mood:?}: jobs that are looked at"
        );
        store.set(Mood::Answers);
        assert_eq!(parked(&served, "").len(), before - deleted, "{mood:?}");
        let actions = served.get("/api/v1/actions").json();
        let actions = actions["actions"].as_array().unwrap();
        let counts = actions.iter().map(|action| action["count"].clone()).collect::<Value>();
        assert_eq!(counts, noted, "{mood:?}");
    }
    served.stop();
}

#[test]
fn a_faulty_request_for_many_jobs_changes_nothing() {
    let served = with_parked();
    for (body, word) in [
        ("{}", "ids"),
        (r#"{"matching":{}}"#, "state"),
        (r#"{"matching":{"error":"x"}}"#, "state"),
        (r#"{"matching":{"state":"lost"}}"#, "no state"),
        (r#"{"matching":{"state":"parked","colour":"red"}}"#, "colour"),
        (r#"{"ids":["x"]}"#, "identity"),
        ("", "body"),
    ] {
        let answer = served.post("/api/v1/jobs:delete", body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.json()["detail"].as_str().unwrap().contains(word), "{body}: {answer:?}");
    }
    let viewer =
        [("Authorization", &*format!("Bearer {VIEWER}")), ("Content-Type", "application/json")];
    let body = r#"{"matching":{"state":"parked"}}"#;
    assert_eq!(served.send("POST", "/api/v1/jobs:delete", &viewer, body).status, 403);
    assert_eq!(parked(&served, "").len(), 33);
    served.stop();
}

#[test]
fn jobs_wait_where_no_error_is_asked_for() {
    let served = with_parked();
    let later = image::job(7).after(Duration::from_secs(3_600));
    let id = later.id();
    jobs(&served).enqueue(later).unwrap();
    let cancel = json!({ "matching": { "state": "ready" } }).to_string();
    assert_eq!(served.post("/api/v1/jobs:cancel", &cancel).json()["count"], 1);
    assert_eq!(jobs(&served).get(id).unwrap().unwrap().state, JobState::Cancelled);
    served.stop();
}

#[test]
fn runs_and_waits_of_the_last_hour_are_counted_for_each_queue() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| {
        let builder = builder.task("tick", crate::support::hourly(), |_| {});
        builder.task("failing", crate::support::hourly(), |_| Err::<(), _>("disk full"))
    });
    // The wait in a paused queue counts.
    let wait = Duration::from_millis(300);
    assert_eq!(served.post("/api/v1/queues/letters/pause", "{}").status, 202);
    jobs(&served).enqueue(mail::job(json!("ada")).queue("letters")).unwrap();
    std::thread::park_timeout(wait);
    assert_eq!(served.post("/api/v1/queues/letters/resume", "{}").status, 202);
    jobs(&served).enqueue(mail::job(json!({ "fails": true })).queue("bills")).unwrap();
    for task in ["tick", "failing"] {
        served.task(task).run_now().unwrap();
    }
    let sum = |list: &Value| -> u64 {
        let list = list.as_array().unwrap();
        assert_eq!(list.len(), 60);
        list.iter().map(|number| number.as_u64().unwrap()).sum()
    };
    let found = eventually(|| {
        let found = served.get("/api/v1/throughput").json();
        let all = &found["all"];
        (sum(&all["succeeded"]) + sum(&all["failed"]) == 4).then_some(found)
    });
    assert_eq!((sum(&found["all"]["started"]), sum(&found["all"]["failed"])), (4, 2));
    assert!(found["knownSince"].as_str() <= found["now"].as_str());
    let queues = found["queues"].as_array().unwrap();
    let names: Vec<&Value> = queues.iter().map(|queue| &queue["queue"]).collect();
    assert_eq!(names, ["bills", "letters"]);
    assert_eq!((sum(&queues[0]["failed"]), sum(&queues[0]["succeeded"])), (1, 0));
    assert_eq!((sum(&queues[1]["failed"]), sum(&queues[1]["succeeded"])), (0, 1));
    let longest = |of: &Value, name: &str| {
        of[name].as_array().unwrap().iter().filter_map(Value::as_f64).fold(0.0, f64::max)
    };
    for name in ["waitMs", "longestWaitMs"] {
        assert!(longest(&queues[1], name) >= 300.0, "{name}: {}", queues[1]);
        assert!(longest(&queues[0], name) > 0.0, "{name}: {}", queues[0]);
    }
    served.stop();
}

#[job(name = "maill")]
pub(crate) fn maill() {}

/// The newer build of `mail`, which is not deployed.
mod newer {
    use serde_json::Value;

    #[scheduler::job(name = "mail", version = 3)]
    pub(super) fn mail(#[payload] _letter: Value) {}
}

#[test]
fn r24_jobs_that_wait_for_a_newer_build_are_shown_until_they_are_gone() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| builder);
    let jobs = jobs(&served);
    let shown = || {
        let details = served.get("/readyz").json()["components"]["store"]["details"].clone();
        (served.get("/api/v1/queues").json()["unknownTasks"].clone(), details)
    };
    let job =
        newer::mail::job(json!({})).at(SystemClock::new().wall() - Duration::from_secs(3_600));
    let id = job.id();
    jobs.enqueue(job).unwrap();
    let row =
        json!([{ "task": "mail", "due": 1, "schedules": [], "version": 3, "knownVersion": 1 }]);
    eventually(|| (shown() == (row.clone(), json!({ "unknownTasks": row }))).then_some(()));
    jobs.cancel(id).unwrap();
    eventually(|| (shown() == (json!([]), Value::Null)).then_some(()));
    served.stop();
}

#[test]
fn a_task_that_no_living_process_has_is_shown_until_nothing_waits_for_it() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| builder);
    let (jobs, schedules) = (jobs(&served), served.scheduler.schedules().unwrap());
    let shown = || {
        let metrics = served.get("/metrics").body;
        let details = served.get("/readyz").json()["components"]["store"]["details"].clone();
        let queues = served.get("/api/v1/queues").json()["unknownTasks"].clone();
        (queues, details, metrics.contains("scheduler_task_unknown{task=\"maill\"} 1\n"))
    };
    let nothing = || (json!([]), Value::Null, false);
    eventually(|| (shown() == nothing()).then_some(()));
    let hour_ago = SystemClock::new().wall() - Duration::from_secs(3_600);
    let job = maill::job().at(hour_ago);
    let id = job.id();
    jobs.enqueue(job).unwrap();
    schedules.put("tenant-1", hourly(), maill::job()).unwrap();
    let row = json!([{ "task": "maill", "due": 1, "schedules": ["tenant-1"], "nearest": "mail" }]);
    // A slow moment of the machine is an answer without what the store would have said.
    eventually(|| (shown() == (row.clone(), json!({ "unknownTasks": row }), true)).then_some(()));
    assert_eq!(served.get("/readyz").status, 200, "no restart of this process would mend it");
    jobs.cancel(id).unwrap();
    schedules.remove("tenant-1").unwrap();
    eventually(|| (shown() == nothing()).then_some(()));
    served.stop();
}

#[test]
fn the_list_of_jobs_redacts_no_error_that_it_does_not_show() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let dashboard = dashboard().redact(move |text| {
        counted.fetch_add(1, Ordering::SeqCst);
        text.to_owned()
    });
    let served = with_store(&dashboard, &Moody::new(), |builder| builder);
    let id = jobs::parked(&served);
    let before = count.load(Ordering::SeqCst);
    served.get("/api/v1/jobs");
    assert_eq!(count.load(Ordering::SeqCst) - before, 1, "the error of the job");
    served.get(&format!("/api/v1/jobs/{id}"));
    assert_eq!(count.load(Ordering::SeqCst) - before, 4, "error, payload, error of the attempt");
    served.stop();
}
