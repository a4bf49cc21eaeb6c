//! The description of the API, against what the program answers.

use serde_json::{Value, json};

use crate::api::eventually;
use crate::away::Moody;
use crate::jobs::{jobs, mail, with_store};
use crate::support::{Served, dashboard, hourly};

/// The faults of a value, by a schema of the description.
fn faults(document: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let schema = document.pointer(&name[1..]).unwrap_or_else(|| panic!("no schema {name}"));
        return faults(document, schema, value, place);
    }
    let is_right = match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        None => true,
        Some(other) => panic!("{place}: the type {other}"),
    };
    if !is_right {
        return vec![format!("{place}: {value} is no {}", schema["type"])];
    }
    let mut found = Vec::new();
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(faults(document, &schema["items"], item, &format!("{place}[{index}]")));
    }
    let Some(properties) = schema["properties"].as_object() else { return found };
    let required = schema["required"].as_array().expect("a list");
    let missing = required.iter().filter(|name| value.get(name.as_str().unwrap()).is_none());
    found.extend(missing.map(|name| format!("{place}: {name} is missing")));
    for (name, value) in value.as_object().expect("an object") {
        match properties.get(name) {
            Some(schema) => {
                found.extend(faults(document, schema, value, &format!("{place}.{name}")));
            }
            None => found.push(format!("{place}: {name} is not described")),
        }
    }
    found
}

fn served() -> Served {
    let builder = |builder: scheduler::Builder| {
        let failing = scheduler::Schedule::fixed_rate("1h").initial_delay("0s");
        let builder = builder.task("failing", failing, |_| Err::<(), _>("disk full"));
        builder.task("tick", hourly(), |run| run.note("17 rows")).task(
            "off",
            hourly().enabled(false),
            |_| (),
        )
    };
    let served = with_store(&dashboard(), &Moody::new(), builder);
    jobs(&served).enqueue(mail::job(json!({ "fails": true }))).expect("a job");
    eventually(|| (served.get("/api/v1/queues").json()["queues"][0]["parked"] == 1).then_some(()));
    served
}

/// The body with which a route does something.
fn body(path: &str) -> Value {
    match path {
        "/api/v1/tasks/{name}/pause" => json!({ "reason": "outage", "forMs": 3_600_000 }),
        "/api/v1/tasks/{name}/reschedule" => json!({ "cron": "0 0 9 * * MON-FRI" }),
        "/api/v1/tasks:pause" | "/api/v1/tasks:resume" => json!({ "names": ["tick"] }),
        path if path.contains("jobs:") => {
            json!({ "matching": { "state": "parked" }, "dryRun": true })
        }
        path if path.ends_with("/limit") => json!({ "scope": "all", "running": 5 }),
        path if path.contains("/partitions/") => json!({ "partition": "a" }),
        path if path.ends_with("/edit") => json!({ "payload": "1" }),
        _ => json!({}),
    }
}

#[test]
fn every_route_answers_as_it_is_described() {
    let served = served();
    let document = served.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let job = served.get("/api/v1/jobs").json()["jobs"][0]["id"].as_str().unwrap().to_owned();
    let paths = document["paths"].as_object().expect("paths");
    assert!(paths.len() > 30, "{}", paths.len());
    // A job that is deleted is gone, so that comes last.
    let mut operations: Vec<_> = paths
        .iter()
        .flat_map(|(path, verbs)| verbs.as_object().unwrap().iter().map(move |verb| (path, verb)))
        .filter(|(path, _)| *path != "/api/v1/events")
        .collect();
    operations.sort_by_key(|(path, _)| path.ends_with("{id}/delete"));
    for (path, (verb, operation)) in operations {
        let name = match &**path {
            path if path.ends_with("/enable") => "off",
            path if path.contains("/nodes/") => "web-1",
            path if path.contains("/limit") || path.contains("/partitions/") => "mail",
            _ => "tick",
        };
        let mut url = path.replace("{name}", name).replace("{id}", &job);
        if url.ends_with("/preview") {
            url.push_str("?fixedRate=5s");
        }
        let answer = match &**verb {
            "get" => served.get(&url),
            _ => served.post(&url, &body(path).to_string()),
        };
        let responses = &operation["responses"];
        let status = answer.status.to_string();
        assert!(answer.status != 404 && answer.status != 405, "{path}: {answer:?}");
        let kind = answer.header("content-type").unwrap_or_default().to_owned();
        let described = responses.get(&status).unwrap_or(&responses["default"]);
        let content = described["content"].as_object().expect("content");
        let schema = content.iter().find(|(described, _)| kind.starts_with(described.as_str()));
        let (_, content) = schema.unwrap_or_else(|| panic!("{path} answers {kind}: {answer:?}"));
        if kind.contains("json") {
            let found = faults(&document, &content["schema"], &answer.json(), path);
            assert!(found.is_empty(), "{found:#?}");
        }
        let changes = verb.as_str() == "post";
        assert!(!changes || [200, 202, 409].contains(&answer.status), "{path}: {answer:?}");
    }
    served.stop();
}

#[test]
fn a_task_and_a_job_with_everything_are_as_described() {
    let served = served();
    let document = served.get("/openapi.json").json();
    let schema = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let failing = eventually(|| {
        let runs = served.get("/api/v1/tasks/failing/runs").json();
        runs["runs"][0]["error"].is_object().then_some(runs)
    });
    assert_eq!(faults(&document, &schema("Runs"), &failing, "runs"), Vec::<String>::new());
    served.post("/api/v1/tasks/tick/pause", "{\"reason\":\"outage\",\"forMs\":60000}");
    let tick = served.get("/api/v1/tasks/tick").json();
    assert_eq!(tick["pause"]["reason"], "outage");
    assert_eq!(faults(&document, &schema("Task"), &tick, "tick"), Vec::<String>::new());
    // The check itself finds what is wrong.
    let mut wrong = tick;
    wrong["running"] = "one".into();
    wrong["surprise"] = 1.into();
    wrong.as_object_mut().unwrap().remove("name");
    assert_eq!(faults(&document, &schema("Task"), &wrong, "tick").len(), 3);
    served.stop();
}

#[test]
fn the_description_is_for_visitors_and_says_what_a_request_may_have() {
    let served = served();
    assert_eq!(served.send("GET", "/openapi.json", &[], "").status, 401);
    let document = served.get("/openapi.json").json();
    let pause = &document["paths"]["/api/v1/tasks/{name}/pause"]["post"];
    assert_eq!(pause["operationId"], "post_tasks_name_pause");
    let schema = &document["components"]["schemas"]["PauseRequest"];
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["action", "after", "all", "forMs", "names", "reason", "tag", "until"]);
    assert_eq!(schema["additionalProperties"], false);
    // A field that is not described is refused, as the description says.
    let unknown = served.post("/api/v1/tasks/tick/pause", "{\"reasons\":\"x\"}");
    assert_eq!(unknown.status, 400, "{unknown:?}");
    served.stop();
}
