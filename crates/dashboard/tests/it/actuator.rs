//! The shapes of Spring Boot 4, decoded strictly: a field that is unknown or missing is an error.

use std::sync::mpsc;

use scheduler::{NextFireTime, Run, Schedule, Trigger, TriggerContext, Until};
use serde::Deserialize;
use serde_json::Value;

use crate::support::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ScheduledTasks {
    cron: Vec<Cron>,
    custom: Vec<Custom>,
    fixed_delay: Vec<Periodic>,
    fixed_rate: Vec<Periodic>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Cron {
    expression: String,
    runnable: Runnable,
    #[serde(default, deserialize_with = "present")]
    next_execution: Option<Time>,
    #[serde(default, deserialize_with = "present")]
    last_execution: Option<Last>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Periodic {
    initial_delay: u64,
    interval: u64,
    runnable: Runnable,
    #[serde(default, deserialize_with = "present")]
    next_execution: Option<Time>,
    #[serde(default, deserialize_with = "present")]
    last_execution: Option<Last>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Custom {
    trigger: String,
    runnable: Runnable,
    #[serde(default, deserialize_with = "present")]
    next_execution: Option<Time>,
    #[serde(default, deserialize_with = "present")]
    last_execution: Option<Last>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Runnable {
    target: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Time {
    time: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Last {
    status: Status,
    time: String,
    #[serde(default, deserialize_with = "present")]
    exception: Option<Exception>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Status {
    Started,
    Success,
    Error,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    r#type: String,
    #[serde(default, deserialize_with = "present")]
    message: Option<String>,
}

/// A value that is there is not `null`.
fn present<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

fn decode(served: &Served) -> ScheduledTasks {
    let answer = served.get("/actuator/scheduledtasks");
    let kind = "application/vnd.spring-boot.actuator.v3+json";
    assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)));
    let tasks: ScheduledTasks =
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    for time in times(&answer.json()) {
        assert!(
            time.ends_with('Z') && time.parse::<chrono::DateTime<chrono::Utc>>().is_ok(),
            "{time}"
        );
    }
    tasks
}

/// All values of the name `time`.
fn times(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().flat_map(times).collect(),
        Value::Object(values) => {
            let own = values.get("time").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(values.values().flat_map(times)).collect()
        }
        _ => Vec::new(),
    }
}

use scheduler::chrono;

#[derive(Debug)]
struct Never;

impl Trigger for Never {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        Ok(Some(
            context.last_scheduled().unwrap_or(chrono::DateTime::UNIX_EPOCH)
                + chrono::TimeDelta::days(36_500),
        ))
    }

    fn describe(&self) -> String {
        "Backoff { base: 1s }".to_owned()
    }
}

#[test]
fn tasks_that_never_ran_are_in_the_array_of_their_kind() {
    let builder = builder()
        .task("report", Schedule::cron("0 0 9 * * MON-FRI").zone("Europe/Berlin"), |_| {})
        .task("rate", Schedule::fixed_rate("3s").initial_delay("1h"), |_| {})
        .task("delay", Schedule::fixed_delay("5s").initial_delay("2h"), |_| {})
        .task("adaptive", Schedule::on_trigger(Never), |_| {})
        .task("once", Schedule::once("1h"), |_| {})
        .task("off", hourly().set(scheduler::Attribute::Enabled, "false"), |_| {});
    let served = serve(&dashboard(), builder);
    let tasks = decode(&served);
    assert_eq!(tasks.cron[0].expression, "0 0 9 * * MON-FRI");
    assert_eq!(tasks.cron[0].runnable.target, "report");
    assert!(tasks.cron[0].next_execution.is_some() && tasks.cron[0].last_execution.is_none());
    assert_eq!(
        (tasks.fixed_rate[0].initial_delay, tasks.fixed_rate[0].interval),
        (3_600_000, 3_000)
    );
    assert_eq!(
        (tasks.fixed_delay[0].initial_delay, tasks.fixed_delay[0].interval),
        (7_200_000, 5_000)
    );
    assert!(tasks.fixed_rate[0].next_execution.is_some());
    assert_eq!(tasks.fixed_rate[0].runnable.target, "rate");
    assert!(tasks.fixed_delay[0].next_execution.is_some());
    assert_eq!(tasks.custom[0].trigger, "Backoff { base: 1s }");
    assert!(tasks.custom[1].trigger.starts_with("once"), "{tasks:?}");
    assert_eq!(tasks.custom[1].runnable.target, "once");
    assert_eq!((tasks.custom.len(), tasks.fixed_rate.len()), (2, 1), "no disabled one");
    assert!(tasks.custom[0].last_execution.is_none() && tasks.custom[1].next_execution.is_some());
    served.stop();
}

#[test]
fn without_tasks_all_four_arrays_are_there() {
    let served = serve(&dashboard(), builder());
    let tasks = decode(&served);
    assert!(tasks.cron.is_empty() && tasks.custom.is_empty());
    assert!(tasks.fixed_delay.is_empty() && tasks.fixed_rate.is_empty());
    served.stop();
}

#[test]
fn running_ok_failed_without_a_message_panicked_and_cancelled_have_their_shapes() {
    let (started, starts) = mpsc::channel();
    let wait = move |run: &Run| {
        started.send(()).unwrap();
        while !run.stop_requested() {
            std::thread::yield_now();
        }
    };
    let at_once = || Schedule::fixed_rate("1h");
    let builder = builder()
        .task("running", at_once(), wait)
        .task("ok", at_once(), |_| {})
        .task("silent", at_once(), |_| Err::<(), _>(""))
        .task("failed", at_once(), |_| Err::<(), _>("connection refused"))
        .task("panics", at_once(), |run| assert!(run.number() == 0, "no"))
        .task("cancelled", hourly(), |_| {});
    let served = serve(&dashboard(), builder);
    for name in ["silent", "failed", "panics"] {
        served.scheduler.wait_for(name, Until::failures(1), LIMIT).unwrap();
    }
    served.scheduler.wait_for("ok", Until::runs(1), LIMIT).unwrap();
    starts.recv_timeout(LIMIT).unwrap();
    served.task("cancelled").cancel().unwrap();
    let tasks = decode(&served).fixed_rate;
    let find = |name: &str| tasks.iter().find(|task| task.runnable.target == name).unwrap();
    let last = |name: &str| find(name).last_execution.as_ref().unwrap();
    assert_eq!((&last("running").status, &last("running").exception), (&Status::Started, &None));
    assert_eq!((&last("ok").status, &last("ok").exception), (&Status::Success, &None));
    let exception = |kind: &str, message: Option<&str>| {
        Some(Exception { r#type: kind.to_owned(), message: message.map(str::to_owned) })
    };
    assert_eq!(last("silent").status, Status::Error);
    assert_eq!(last("silent").exception, exception("error", None));
    assert_eq!(last("failed").exception, exception("error", Some("connection refused")));
    assert_eq!(last("panics").exception, exception("panic", Some("no")));
    let cancelled = find("cancelled");
    assert!(cancelled.next_execution.is_none() && cancelled.last_execution.is_none());
    assert!(last("ok").time <= find("ok").next_execution.as_ref().unwrap().time);
    served.task("running").cancel_run().unwrap();
    served.stop();
}

#[test]
fn the_index_and_health_are_those_that_spring_boot_admin_reads() {
    let served = serve(&dashboard(), builder());
    let index = served.get("/actuator");
    let kind = Some("application/vnd.spring-boot.actuator.v3+json");
    assert_eq!((index.status, index.header("content-type")), (200, kind));
    let base = format!("http://{}/actuator", served.address());
    let links = index.json()["_links"].clone();
    assert_eq!(links["self"], serde_json::json!({ "href": base, "templated": false }));
    assert_eq!(links["scheduledtasks"]["href"], format!("{base}/scheduledtasks"));
    let health = served.get("/actuator/health");
    assert_eq!(
        (health.json()["status"].as_str(), health.header("content-type")),
        (Some("UP"), kind)
    );
    let token = format!("Bearer {VIEWER}");
    let v2 = "application/vnd.spring-boot.actuator.v2+json";
    for accept in [v2, "application/json"] {
        let headers = [("Authorization", &*token), ("Accept", accept)];
        let answer = served.send("GET", "/actuator/scheduledtasks", &headers, "");
        assert_eq!(answer.header("content-type"), Some(accept));
    }
    assert_eq!(served.post("/actuator/scheduledtasks", "").status, 405);
    served.stop();
}

#[test]
fn links_have_the_prefix_of_the_proxy_and_nothing_else_of_it() {
    let served = serve(&dashboard(), builder());
    let token = format!("Bearer {OPERATOR}");
    let link = |prefix: &str| {
        let headers = [("Authorization", &*token), ("X-Forwarded-Prefix", prefix)];
        let index = served.send("GET", "/actuator", &headers, "").json();
        let link = index["_links"]["health"]["href"].as_str().unwrap();
        link.strip_prefix(&format!("http://{}", served.address())).unwrap().to_owned()
    };
    assert_eq!(link("/ops"), "/ops/actuator/health");
    assert_eq!(link("/a/b/"), "/a/b/actuator/health");
    for hostile in ["", "ops", "//evil.example", "/x\"y", "/a b", "/a?b", "https://evil.example"] {
        assert_eq!(link(hostile), "/actuator/health", "{hostile}");
    }
    served.stop();
}
