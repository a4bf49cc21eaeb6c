//! What `/api/v1` says of tasks: see the essay of the crate.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::guard::Caller;
use crate::access::{Role, Visitor};
use crate::app::App;
use crate::audit::Action;
use crate::clock::now;
use crate::hub::WATCHERS_MAX;
use crate::live;
use crate::problem::Problem;
use crate::times::{instant, local};
use crate::view::{self, Page};

const RUNS_MAX: usize = 1_000;
const NEXT_MAX: usize = 100;
/// How many of the next fire times a task shows.
const UPCOMING: usize = 10;
/// What the dashboard has; the further ones with a store.
const SECTIONS: [&str; 4] = ["tasks", "jobs", "queues", "nodes"];

pub(super) type Answer = Result<Json<Value>, Problem>;
pub(super) type Done = Result<(StatusCode, Json<Value>), Problem>;

/// `GET /info`
pub(crate) async fn info(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Json<Value> {
    let zone = app.zone;
    let (now, tasks) = (now(), app.list());
    let count =
        |test: fn(&scheduler::TaskSnapshot) -> bool| tasks.iter().filter(|task| test(task)).count();
    let role = caller.visitor.as_ref().map_or(Role::Viewer, Visitor::role);
    let may_act = role == Role::Operator && !app.options.is_read_only;
    let (streams, dropped) = app.hub.counts();
    Json(json!({
        "application": app.options.title,
        "version": env!("CARGO_PKG_VERSION"),
        "sections": if app.store().is_ok() { &SECTIONS[..] } else { &SECTIONS[..1] },
        "now": instant(now),
        "nowLocal": local(now, zone),
        "zone": zone.name(),
        "startedAt": instant(app.started_at),
        "startedAtLocal": local(app.started_at, zone),
        "visitor": {
            "name": caller.visitor.as_ref().map_or("", Visitor::name),
            "role": role.name(),
            "mayAct": may_act,
        },
        "isReadOnly": app.options.is_read_only,
        "history": {
            "runsPerTask": if app.recorder.has_heard() { app.recorder.keeps() } else { 20 },
            "isDurable": false,
            "lostEvents": app.recorder.lost(),
        },
        "counts": {
            "tasks": tasks.len(),
            "running": count(|task| task.running > 0),
            "paused": count(|task| task.is_paused),
            "failing": count(|task| task.streak > 0),
        },
        "pools": app.tasks.pools().iter().map(|pool| json!({
            "name": &*pool.name,
            "coreSize": pool.core_size,
            "threads": pool.threads,
            "active": pool.active,
            "queued": pool.queued,
            "completed": pool.completed,
        })).collect::<Vec<_>>(),
        "streams": { "open": streams, "dropped": dropped },
    }))
}

/// `GET /tasks`
pub(crate) async fn tasks(State(app): State<Arc<App>>) -> Json<Value> {
    app.look_at_schedules().await;
    let rows: Vec<Value> = app.list().iter().map(|task| view::row(&app, task)).collect();
    Json(json!({ "now": instant(now()), "tasks": rows }))
}

/// `GET /tasks/{name}`
pub(crate) async fn task(State(app): State<Arc<App>>, Path(name): Path<String>) -> Answer {
    let control = app.tasks.get(&name)?;
    app.look_at_schedules().await;
    Ok(Json(view::detail(&app, &control, UPCOMING)))
}

#[derive(Deserialize)]
pub(crate) struct RunsQuery {
    limit: Option<usize>,
    before: Option<u64>,
}

/// `GET /tasks/{name}/runs?limit=100&before=17`
pub(crate) async fn task_runs(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(query): Query<RunsQuery>,
) -> Answer {
    let task = app.tasks.get(&name)?.snapshot();
    let limit = query.limit.unwrap_or(100).clamp(1, RUNS_MAX);
    let page = Page { limit, before: query.before.unwrap_or(u64::MAX) };
    Ok(Json(view::runs(&app, &task, page)))
}

#[derive(Deserialize)]
pub(crate) struct NextQuery {
    n: Option<usize>,
}

/// `GET /tasks/{name}/next?n=10`
pub(crate) async fn task_next(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(query): Query<NextQuery>,
) -> Answer {
    let control = app.tasks.get(&name)?;
    app.look_at_schedules().await;
    let task = control.snapshot();
    let (zone, times) =
        view::next(&app, &control, &task, query.n.unwrap_or(UPCOMING).min(NEXT_MAX));
    Ok(Json(json!({ "task": control.name(), "zone": zone.name(), "times": times })))
}

#[derive(Deserialize)]
pub(crate) struct ActionsQuery {
    task: Option<String>,
}

/// `GET /actions?task=…`
pub(crate) async fn actions(
    State(app): State<Arc<App>>,
    Query(query): Query<ActionsQuery>,
) -> Json<Value> {
    let shown = |action: &Action| {
        let mut shown = json!({
            "at": instant(action.at),
            "who": &*action.who,
            "action": action.action,
            "task": &*action.task,
        });
        if let Some(job) = action.job {
            shown["job"] = job.to_string().into();
        }
        if let Some(note) = &action.note {
            shown["note"] = app.options.redacted(note).into();
        }
        if let Some(from) = action.from {
            shown["from"] = from.to_string().into();
        }
        shown
    };
    let actions = app.audit.list(query.task.as_deref());
    Json(json!({ "actions": actions.iter().map(shown).collect::<Vec<_>>() }))
}

/// `GET /events`, with `Last-Event-ID` to go on
pub(crate) async fn events(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    match live::watch(&app, seen).await {
        Some(response) => Ok(response),
        None => {
            let detail = format!("{WATCHERS_MAX} pages watch already, which is the most");
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail))
        }
    }
}

/// Who asks: a name and a role.
pub(super) fn who(caller: &Caller) -> Visitor {
    caller.visitor.clone().unwrap_or_else(|| Visitor::viewer("unknown"))
}
