//! Endpoints for other programs: the actuator, metrics, health.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{OriginalUri, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use scheduler::{Outcome, RuleKind, TaskSnapshot, TaskState};
use serde::Serialize;

use crate::app::App;
use crate::health::{Status, StoreDetails};
use crate::looks::PATIENCE;
use crate::problem::Problem;
use crate::prometheus::StoreAnswer;
use crate::times::instant;
use crate::view::by_name;
use crate::web::guard::Caller;
use crate::{health, prometheus};

/// `GET /actuator`
pub(super) async fn index(uri: OriginalUri, headers: HeaderMap) -> Response {
    // A proxy that terminates TLS sets this header.
    let scheme = headers.get("x-forwarded-proto").filter(|scheme| scheme.as_bytes() == b"https");
    let scheme = if scheme.is_some() { "https" } else { "http" };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let prefix = forwarded_prefix(&headers);
    let base = format!("{scheme}://{host}{prefix}{}", uri.path().trim_end_matches('/'));
    in_actuator(&headers, &links(&base))
}

/// The path below which a proxy serves this one, if it says one.
fn forwarded_prefix(headers: &HeaderMap) -> &str {
    let prefix = headers.get("x-forwarded-prefix").and_then(|prefix| prefix.to_str().ok());
    let prefix = prefix.unwrap_or_default().trim_end_matches('/');
    let is_of_path = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/%".contains(&byte);
    let is_path = prefix.starts_with('/') && !prefix.starts_with("//");
    if is_path && prefix.bytes().all(is_of_path) { prefix } else { "" }
}

/// `GET /actuator/scheduledtasks`
pub(super) async fn scheduled_tasks(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    in_actuator(&headers, &tasks_by_kind(&app))
}

/// `GET /metrics`, `GET /actuator/prometheus`
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let found = match app.store() {
        Ok(store) => {
            store.look_if_old().await;
            let is_up = store.outage().await.is_none();
            let depths = store.depths(PATIENCE).await.answer;
            let limited = store.limited(PATIENCE).await;
            let pauses = store.failure().is_none().then(|| store.pauses());
            let sessions = store.failure().is_none().then(|| store.sessions());
            let unknown = depths.as_ref().map(|(depths, _)| store.unknown_tasks(depths));
            Some(StoreAnswer {
                is_up,
                depths,
                limited,
                pauses,
                sessions: sessions.unwrap_or_default(),
                unknown: unknown.unwrap_or_default(),
            })
        }
        Err(_) => None,
    };
    let text = prometheus::text(&app, found);
    ([(CONTENT_TYPE, prometheus::CONTENT_TYPE)], text).into_response()
}

/// `GET /healthz`
pub(super) async fn healthz() -> Json<Status> {
    Json(Status { status: "UP" })
}

/// `GET /readyz`, `GET /actuator/health`
pub(super) async fn readyz(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    uri: OriginalUri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let has_details = caller.visitor.is_some() || caller.is_local;
    let outage = match app.store() {
        Ok(store) => Some(store.outage().await.map(|(reason, _)| reason)),
        Err(_) => None,
    };
    // Probes come often, and see no details: the store is asked for these when a person may look.
    let store_details = match app.store() {
        Ok(store) if has_details => {
            store.look_if_old().await;
            let depths = store.depths(PATIENCE).await.answer;
            let unknown = depths.map(|(depths, _)| store.unknown_tasks(&depths));
            let unknown = unknown.iter().flatten().map(by_name).collect::<Result<_, _>>()?;
            StoreDetails::new(outage.clone().flatten(), unknown, store.pauses())
        }
        _ => StoreDetails::default(),
    };
    let is_store_up = outage.map(|outage| outage.is_none());
    let (tasks, is_stopping) = (health::critical(&app), app.tasks.is_stopping());
    let ready = health::Ready { tasks, is_store_up, store_details, is_stopping };
    let report = health::report(&ready, has_details);
    let status = if ready.is_up() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let response = if uri.path().ends_with("/actuator/health") {
        in_actuator(&headers, &report)
    } else {
        Json(report).into_response()
    };
    Ok((status, response).into_response())
}

fn in_actuator(headers: &HeaderMap, body: &impl Serialize) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    ([(CONTENT_TYPE, content_type(accept))], Json(body)).into_response()
}

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

/// The index.
#[derive(Serialize)]
struct Index {
    #[serde(rename = "_links")]
    links: Links,
}

#[derive(Serialize)]
struct Links {
    #[serde(rename = "self")]
    index: Link,
    health: Link,
    prometheus: Link,
    scheduledtasks: Link,
}

#[derive(Serialize)]
struct Link {
    href: String,
    templated: bool,
}

/// The index of the actuator at this address.
fn links(base: &str) -> Index {
    let link = |path: &str| Link { href: format!("{base}{path}"), templated: false };
    Index {
        links: Links {
            index: link(""),
            health: link("/health"),
            prometheus: link("/prometheus"),
            scheduledtasks: link("/scheduledtasks"),
        },
    }
}

/// All tasks, by kind.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScheduledTasks {
    cron: Vec<ActuatorTask>,
    custom: Vec<ActuatorTask>,
    fixed_delay: Vec<ActuatorTask>,
    fixed_rate: Vec<ActuatorTask>,
}

/// A task with the fields of its kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ActuatorTask {
    #[serde(flatten)]
    rule: ActuatorRule,
    runnable: Runnable,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_execution: Option<NextExecution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_execution: Option<LastExecution>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ActuatorRule {
    Cron {
        expression: String,
    },
    #[serde(rename_all = "camelCase")]
    Periodic {
        initial_delay: u64,
        interval: u64,
    },
    Custom {
        trigger: String,
    },
}

#[derive(Serialize)]
struct Runnable {
    target: String,
}

#[derive(Serialize)]
struct NextExecution {
    time: String,
}

#[derive(Serialize)]
struct LastExecution {
    status: &'static str,
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<Exception>,
}

#[derive(Serialize)]
struct Exception {
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// All tasks that have a rule and are not disabled.
fn tasks_by_kind(app: &App) -> ScheduledTasks {
    let mut tasks = ScheduledTasks::default();
    for task in app.list().iter().filter(|task| task.state != TaskState::Disabled) {
        let list = match task.facts.kind {
            RuleKind::None => continue,
            RuleKind::Cron => &mut tasks.cron,
            RuleKind::FixedDelay => &mut tasks.fixed_delay,
            RuleKind::FixedRate => &mut tasks.fixed_rate,
            _ => &mut tasks.custom,
        };
        let target = task.facts.function.as_deref().unwrap_or(task.name());
        list.push(ActuatorTask {
            rule: rule(task),
            runnable: Runnable { target: target.replace("::", ".") },
            next_execution: task.next.map(|next| NextExecution { time: instant(next) }),
            last_execution: last_execution(app, task),
        });
    }
    tasks
}

fn rule(task: &TaskSnapshot) -> ActuatorRule {
    let millis = |length: Option<Duration>| {
        u64::try_from(length.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
    };
    match task.facts.kind {
        RuleKind::Cron => ActuatorRule::Cron {
            expression: task.expression.as_deref().unwrap_or(&task.facts.rule).to_owned(),
        },
        RuleKind::FixedDelay | RuleKind::FixedRate => ActuatorRule::Periodic {
            initial_delay: millis(task.initial_delay),
            interval: millis(task.facts.period),
        },
        _ => ActuatorRule::Custom { trigger: task.facts.rule.to_string() },
    }
}

fn last_execution(app: &App, task: &TaskSnapshot) -> Option<LastExecution> {
    if let Some(since) = task.running_since {
        let (status, time) = ("STARTED", instant(since));
        return Some(LastExecution { status, time, exception: None });
    }
    let run = task.last_runs.first()?;
    let status = status(&run.outcome);
    let exception = match run.outcome.failure() {
        Some(failure) => {
            let message = Some(failure.message()).filter(|message| !message.is_empty());
            let message = message.map(|message| app.options.redacted(message));
            Some(Exception { kind: failure.kind().to_owned(), message })
        }
        None => (status == "ERROR")
            .then(|| Exception { kind: run.outcome.name().to_owned(), message: None }),
    };
    Some(LastExecution { status, time: instant(run.started_at), exception })
}

/// Spring has two outcomes: a cancelled run is an error.
fn status(outcome: &Outcome) -> &'static str {
    if outcome.is_success() { "SUCCESS" } else { "ERROR" }
}
