//! Changes by hand in a cluster: who did what, seen from any process.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::store::JobState;
use scheduler::{Clock, Event, EventKind, ManualClock, Pause, Schedule, SystemClock};
use serde_json::{Value, json};

use crate::api::eventually;
use crate::away::{Mood, Moody};
use crate::jobs::{jobs, mail, with_store};
use crate::support::*;

fn actions(served: &Served, query: &str) -> Vec<Value> {
    let answer = served.get(&format!("/api/v1/actions{query}")).json();
    answer["actions"].as_array().expect("actions").clone()
}

/// The fields of an action that are the same in each test.
fn row(action: &Value) -> [Value; 4] {
    ["who", "action", "count", "matching"].map(|field| action[field].clone())
}

#[test]
fn d22_another_process_shows_what_was_done_at_the_first_also_after_a_restart() {
    let store = Moody::new();
    let first = with_store(&dashboard(), &store, |builder| builder);
    let other = with_store(&dashboard(), &store, |builder| builder);
    let many = (0..2_000).map(|_| mail::job(json!(null)).queue("held")).collect();
    jobs(&first).pause_queue("held", &scheduler::Pause::new()).expect("it is paused");
    jobs(&first).enqueue_all(many).expect("they are accepted");
    let body = json!({ "matching": { "state": "ready", "queue": "held" } }).to_string();
    assert_eq!(first.post("/api/v1/jobs:cancel", &body).json()["count"], 2_000);
    let found = actions(&other, "");
    assert_eq!(found.len(), 1, "the program's own pause has no author: {found:?}");
    assert_eq!(
        row(&found[0]),
        [json!("ops"), json!("cancel"), json!(2_000), json!("ready, queue held")]
    );
    assert_eq!((&found[0]["node"], &found[0]["from"]), (&json!("web-1"), &json!("127.0.0.1")));
    let id = jobs(&first).list(&Default::default(), 1).expect("jobs")[0].id.to_string();
    first.post(&format!("/api/v1/jobs/{id}/delete"), "");
    first.stop();
    let again = with_store(&dashboard(), &store, |builder| builder);
    for served in [&other, &again] {
        let found = actions(served, "?task=mail&limit=1");
        assert_eq!((&found[0]["action"], &found[0]["job"]), (&json!("delete"), &json!(id)));
    }
    again.stop();
    other.stop();
}

#[test]
fn actions_come_in_pages_and_by_person_time_and_task() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| builder);
    for queue in ["a", "b", "c"] {
        served.post(&format!("/api/v1/queues/{queue}/pause"), r#"{"reason":"a test"}"#);
    }
    let first = served.get("/api/v1/actions?limit=2").json();
    let queues = |answer: &Value| -> Vec<String> {
        let actions = answer["actions"].as_array().expect("actions");
        actions.iter().map(|action| action["queue"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((queues(&first), &first["hasMore"]), (vec!["c".into(), "b".into()], &json!(true)));
    let after = first["actions"][1]["id"].as_str().expect("an identity");
    let rest = served.get(&format!("/api/v1/actions?limit=2&after={after}")).json();
    assert_eq!((queues(&rest), &rest["hasMore"]), (vec!["a".to_owned()], &json!(false)));
    assert_eq!(rest["actions"][0]["note"], "a test");
    assert_eq!(actions(&served, "?task=b").len(), 1);
    assert_eq!(actions(&served, "?by=ops").len(), 3);
    assert_eq!(actions(&served, "?by=anna").len(), 0);
    assert_eq!(actions(&served, "?since=2020-01-01T00:00:00Z").len(), 3);
    assert_eq!(actions(&served, "?since=2200-01-01T00:00:00Z").len(), 0);
    for wrong in ["since=yesterday", "after=7", "colour=red"] {
        assert_eq!(served.get(&format!("/api/v1/actions?{wrong}")).status, 400, "{wrong}");
    }
    served.stop();
}

/// Tasks in memory and in the store together.
#[test]
fn a_pause_of_all_tasks_is_one_action_with_their_number() {
    let store = Moody::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let first = with_store(&dashboard(), &store, |builder| {
        let listener = move |event: &Event| {
            if let EventKind::Action { by, what, count, reason, .. } = &event.kind {
                heard.lock().unwrap().push(format!("{by}: {what} ({count}, {reason:?})"));
            }
        };
        let builder = builder.listener(listener);
        builder.task("a", hourly(), |_| {}).task("b", hourly(), |_| {})
    });
    let other = with_store(&dashboard(), &store, |builder| builder);
    eventually(|| first.get("/api/v1/tasks/report").json()["schedule"].is_object().then_some(()));
    let paused = first.post("/api/v1/tasks:pause", r#"{"all":true,"reason":"a deploy"}"#);
    assert_eq!(paused.json()["changed"], 4, "a, b, mail, report");
    let found = eventually(|| {
        let found = actions(&other, "");
        (found[0]["count"] == 4).then_some(found)
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(row(&found[0]), [json!("ops"), json!("pause"), json!(4), json!("all")]);
    assert_eq!(found[0]["note"], "a deploy");
    let line = "ops: pause of 4 tasks: all (4, Some(\"a deploy\"))".to_owned();
    let told = || told.lock().unwrap().clone();
    eventually(|| (!told().is_empty()).then_some(()));
    assert_eq!(told(), [line]);
    first.stop();
    other.stop();
}

#[test]
fn a_change_of_a_task_in_memory_is_seen_elsewhere_also_if_the_store_was_away() {
    let store = Moody::new();
    let first = with_store(&dashboard(), &store, |builder| builder.task("purge", hourly(), |_| {}));
    let other = with_store(&dashboard(), &store, |builder| builder);
    store.set(Mood::IsAway);
    let body = r#"{"fixedRate":"10m"}"#;
    assert_eq!(first.post("/api/v1/tasks/purge/reschedule", body).status, 202);
    assert_eq!(first.post("/api/v1/tasks/purge/run", "").status, 202, "nothing waits for it");
    for (served, count) in [(&first, 2), (&other, 0)] {
        let own = served.get("/api/v1/actions?task=purge").json();
        assert_eq!(
            (own["actions"].as_array().unwrap().len(), &own["isPartial"]),
            (count, &json!(true))
        );
    }
    store.set(Mood::Answers);
    let found = eventually(|| {
        let found = actions(&other, "?task=purge");
        (found.len() == 2).then_some(found)
    });
    assert!(other.get("/api/v1/actions").json()["isPartial"].is_null());
    let verbs: Vec<_> = found.iter().map(|action| action["action"].clone()).collect();
    assert_eq!(verbs, ["run", "reschedule"]);
    assert_eq!(
        (&found[1]["before"], &found[1]["after"]),
        (&json!("every 1h, first after 1h"), &json!("every 10m"))
    );
    first.stop();
    other.stop();
}

#[test]
fn a_program_without_a_store_has_its_last_200_actions() {
    let served = serve(&dashboard(), builder().task("a", hourly(), |_| {}));
    for _ in 0..101 {
        served.post("/api/v1/tasks/a/pause", "");
        served.post("/api/v1/tasks/a/resume", "");
    }
    assert_eq!(actions(&served, "?limit=500").len(), 200);
    let first = actions(&served, "?limit=2&task=a");
    let after = first[1]["id"].as_str().expect("an identity");
    assert_eq!(actions(&served, &format!("?limit=500&after={after}")).len(), 198);
    assert_eq!(first[0]["action"], "resume");
    served.stop();
}

#[test]
fn a_request_goes_on_with_its_own_action_and_with_no_other() {
    let served = with_store(&dashboard(), &Moody::new(), |builder| builder);
    let ids: Vec<String> = (0..4)
        .map(|_| {
            let job = mail::job(json!(null)).after(LIMIT * 60);
            let id = job.id().to_string();
            jobs(&served).enqueue(job).expect("it is accepted");
            id
        })
        .collect();
    let cancel = |verb: &str, id: &str, action: Option<&str>| {
        let matching = json!({ "state": "ready", "task": "mail", "after": id });
        let body = json!({ "matching": matching, "action": action }).to_string();
        served.post(&format!("/api/v1/jobs:{verb}"), &body).json()
    };
    // The greatest identity is not before itself.
    assert_eq!(cancel("cancel", &ids[1], None)["count"], 1);
    let begun = actions(&served, "")[0]["id"].as_str().expect("an identity").to_owned();
    assert_eq!(cancel("cancel", &ids[2], Some(&begun))["count"], 1);
    let found = actions(&served, "");
    assert_eq!((found.len(), &found[0]["count"]), (1, &json!(2)));
    assert_eq!(cancel("delete", &ids[3], Some(&begun))["count"], 1, "another verb");
    let foreign = "00000000-0000-0000-0000-000000000001";
    let last = json!({ "matching": { "state": "ready" }, "action": foreign }).to_string();
    assert_eq!(served.post("/api/v1/jobs:cancel", &last).json()["count"], 1);
    let found = actions(&served, "");
    assert_eq!((found.len(), &found[2]["count"]), (3, &json!(2)), "{found:?}");
    assert!(found.iter().all(|action| action["id"] != foreign));
    served.stop();
}

#[test]
fn a_change_of_all_jobs_that_match_answers_in_time_and_goes_on_as_one_action() {
    let clock = ManualClock::at(SystemClock::new().wall());
    let store = Moody::new().stepping(&clock, Duration::from_secs(2));
    let served = with_store(&dashboard(), &store, |builder| builder.clock(Arc::new(clock)));
    let later = || mail::job(json!(null)).after(LIMIT * 60);
    jobs(&served).pause_task("mail", &Pause::new()).expect("none of them runs");
    let count = 2_500;
    jobs(&served).enqueue_all((0..count).map(|_| later()).collect()).expect("they are accepted");
    for (verb, state) in [("cancel", "ready"), ("retry", "cancelled"), ("delete", "ready")] {
        let (mut sum, mut answers, mut going_on) = (0, 0, json!({}));
        loop {
            let matching = json!({ "state": state, "after": going_on["after"] });
            let body = json!({ "matching": matching, "action": going_on["action"] });
            going_on = served.post(&format!("/api/v1/jobs:{verb}"), &body.to_string()).json();
            (sum, answers) = (sum + going_on["count"].as_u64().expect("a number"), answers + 1);
            if going_on["after"].is_null() {
                break;
            }
        }
        assert_eq!((sum, answers), (count, 2), "{verb}: of a thousand jobs in two seconds");
        assert_eq!(actions(&served, "")[0]["count"], json!(count), "{verb}");
    }
    assert_eq!(actions(&served, "").len(), 3, "each is one action");
    store.set(Mood::IsAway);
    let own: Vec<_> = actions(&served, "").iter().map(|action| action["count"].clone()).collect();
    assert_eq!(own, [json!(count), json!(count), json!(count)], "also as this process knows it");
    served.stop();
}

#[test]
fn a_pause_of_very_many_tasks_answers_in_time_and_goes_on_as_one_action() {
    let clock = ManualClock::at(SystemClock::new().wall());
    let store = Moody::new().stepping(&clock, Duration::from_secs(2));
    let served = with_store(&dashboard(), &store, |builder| {
        let daily = || Schedule::cron("0 0 9 * * *").zone("Europe/Berlin").durable();
        let names = (0..5).map(|number| format!("t{number}"));
        let builder = names.fold(builder, |builder, name| builder.task(&name, daily(), |_| {}));
        builder.task("in memory", hourly(), |_| {}).clock(Arc::new(clock))
    });
    eventually(|| served.get("/api/v1/tasks/t4").json()["schedule"].is_object().then_some(()));
    for verb in ["pause", "resume"] {
        let (mut sum, mut answers, mut going_on) = (0, 0, json!({}));
        loop {
            let body =
                json!({ "all": true, "after": going_on["after"], "action": going_on["action"] });
            going_on = served.post(&format!("/api/v1/tasks:{verb}"), &body.to_string()).json();
            (sum, answers) = (sum + going_on["changed"].as_u64().expect("a number"), answers + 1);
            if going_on["after"].is_null() {
                break;
            }
        }
        assert_eq!((sum, answers), (8, 4), "{verb}: two of seven in each, and the one in memory");
        let found = actions(&served, "").remove(0);
        assert_eq!((&found["count"], &found["action"]), (&json!(8), &json!(verb)), "{found}");
    }
    assert_eq!(actions(&served, "").len(), 2, "each is one action");
    store.set(Mood::IsAway);
    let own: Vec<_> = actions(&served, "").iter().map(|action| action["count"].clone()).collect();
    assert_eq!(own, [json!(8), json!(8)], "also as this process knows it");
    served.stop();
}

#[test]
fn a_rule_set_by_hand_has_its_author_after_a_restart() {
    let store = Moody::new();
    let daily = || Schedule::cron("0 0 9 * * *").zone("Europe/Berlin").durable();
    let with_bill =
        || with_store(&dashboard(), &store, |builder| builder.task("bill", daily(), |_| {}));
    let first = with_bill();
    eventually(|| first.get("/api/v1/tasks/bill").json()["schedule"].is_object().then_some(()));
    let rule = r#"{"cron":"0 0 6 1 * *","zone":"UTC"}"#;
    assert_eq!(first.post("/api/v1/tasks/bill/reschedule", rule).status, 202);
    first.stop();
    let again = with_bill();
    let schedule = again.get("/api/v1/tasks/bill").json()["schedule"].clone();
    assert_eq!(
        (&schedule["isOverridden"], &schedule["overriddenBy"]),
        (&json!(true), &json!("ops"))
    );
    let before = schedule["ruleBefore"].as_str().expect("the rule before");
    assert!(before.contains("0 0 9 * * *"), "{before}");
    assert!(schedule["overriddenAt"].is_string());
    let found = actions(&again, "?task=bill").remove(0);
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    assert!(
        text("before").contains("0 0 9 * * *") && text("after").contains("0 0 6 1 * *"),
        "{found}"
    );
    assert_eq!(found["schedule"], "bill");
    assert_eq!(again.post("/api/v1/tasks/bill/reschedule", r#"{"reset":true}"#).status, 202);
    let schedule = again.get("/api/v1/tasks/bill").json()["schedule"].clone();
    assert!(schedule["overriddenBy"].is_null() && schedule["ruleBefore"].is_null(), "{schedule}");
    assert_eq!(actions(&again, "?task=bill")[0]["action"], "reset");
    assert!(
        jobs(&again)
            .list(&Default::default(), 9)
            .expect("jobs")
            .iter()
            .all(|job| job.state != JobState::Parked)
    );
    again.stop();
}
