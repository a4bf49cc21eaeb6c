//! The endpoints of Spring Boot's actuator, in its shapes: the index, `scheduledtasks`, `health`.
//!
//! In the shape of Boot 4: the four arrays are always there, what is absent is left out, and nothing is added, so that
//! strict clients decode it. Disabled tasks are not there. One-time tasks, which Spring does not show, are in `custom`.

use scheduler::{Outcome, RuleKind, TaskSnapshot, TaskState};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::times::instant;

pub(crate) const CONTENT_TYPE_V3: &str = "application/vnd.spring-boot.actuator.v3+json";
const CONTENT_TYPE_V2: &str = "application/vnd.spring-boot.actuator.v2+json";

/// The content type for what a client accepts.
pub(crate) fn content_type(accept: &str) -> &'static str {
    if accept.contains(CONTENT_TYPE_V3) || accept.contains("*/*") || accept.is_empty() {
        CONTENT_TYPE_V3
    } else if accept.contains(CONTENT_TYPE_V2) {
        CONTENT_TYPE_V2
    } else if accept.contains("application/json") {
        "application/json"
    } else {
        CONTENT_TYPE_V3
    }
}

/// The index. `base` is the address of the actuator.
pub(crate) fn index(base: &str) -> Value {
    let link = |path: &str| json!({ "href": format!("{base}{path}"), "templated": false });
    json!({ "_links": {
        "self": link(""),
        "health": link("/health"),
        "prometheus": link("/prometheus"),
        "scheduledtasks": link("/scheduledtasks"),
    } })
}

/// All tasks, by kind.
pub(crate) fn scheduled_tasks(app: &App) -> Value {
    let mut lists: [Vec<Value>; 4] = Default::default();
    for task in app.list() {
        if task.state == TaskState::Disabled {
            continue;
        }
        let (index, shown) = match task.facts.kind {
            // It has no rule.
            RuleKind::None => continue,
            RuleKind::Cron => (0, cron(&task)),
            RuleKind::FixedDelay => (2, periodic(&task)),
            RuleKind::FixedRate => (3, periodic(&task)),
            _ => (1, custom(&task)),
        };
        lists[index].push(with_executions(app, &task, shown));
    }
    let [cron, custom, fixed_delay, fixed_rate] = lists;
    json!({
        "cron": cron, "custom": custom, "fixedDelay": fixed_delay, "fixedRate": fixed_rate,
    })
}

fn cron(task: &TaskSnapshot) -> Map<String, Value> {
    let expression = task.expression.as_deref().unwrap_or(&task.facts.rule);
    Map::from_iter([("expression".to_owned(), expression.into())])
}

fn periodic(task: &TaskSnapshot) -> Map<String, Value> {
    let millis = |length: Option<std::time::Duration>| {
        Value::from(u64::try_from(length.unwrap_or_default().as_millis()).unwrap_or(u64::MAX))
    };
    let initial_delay = ("initialDelay".to_owned(), millis(task.initial_delay));
    Map::from_iter([initial_delay, ("interval".to_owned(), millis(task.facts.period))])
}

fn custom(task: &TaskSnapshot) -> Map<String, Value> {
    Map::from_iter([("trigger".to_owned(), Value::from(&*task.facts.rule))])
}

fn with_executions(app: &App, task: &TaskSnapshot, mut shown: Map<String, Value>) -> Value {
    let target = task.facts.function.as_deref().unwrap_or(task.name());
    shown.insert("runnable".to_owned(), json!({ "target": target.replace("::", ".") }));
    if let Some(next) = task.next {
        shown.insert("nextExecution".to_owned(), json!({ "time": instant(next) }));
    }
    if let Some(last) = last_execution(app, task) {
        shown.insert("lastExecution".to_owned(), last);
    }
    shown.into()
}

fn last_execution(app: &App, task: &TaskSnapshot) -> Option<Value> {
    if let Some(since) = task.running_since {
        return Some(json!({ "status": "STARTED", "time": instant(since) }));
    }
    let run = task.last_runs.first()?;
    let (time, status) = (instant(run.started_at), status(&run.outcome));
    let mut last = json!({ "status": status, "time": time });
    if let Some(failure) = run.outcome.failure() {
        last["exception"] = json!({ "type": failure.kind() });
        if !failure.message().is_empty() {
            last["exception"]["message"] = app.options.redacted(failure.message()).into();
        }
    } else if status == "ERROR" {
        last["exception"] = json!({ "type": run.outcome.name() });
    }
    Some(last)
}

/// Spring knows no other ends; one that was cancelled is an error there, too.
fn status(outcome: &Outcome) -> &'static str {
    if outcome.is_success() { "SUCCESS" } else { "ERROR" }
}
