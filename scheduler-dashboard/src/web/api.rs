//! `/api/v1`: see the essay of the crate.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use scheduler::{Pause, TaskControl, Zone};
use serde::Deserialize;
use serde_json::{Value, json};

use super::guard::Caller;
use crate::access::{Role, Visitor};
use crate::app::{App, What};
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
/// What the dashboard has. Jobs, queues and sessions of a store will be further ones.
const SECTIONS: [&str; 1] = ["tasks"];

type Answer = Result<Json<Value>, Problem>;
type Done = Result<(StatusCode, Json<Value>), Problem>;

/// `GET /info`
pub(crate) async fn info(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Json<Value> {
    let zone = Zone::system().unwrap_or(Zone::UTC);
    let (now, tasks) = (now(), app.list());
    let count =
        |test: fn(&scheduler::TaskSnapshot) -> bool| tasks.iter().filter(|task| test(task)).count();
    let role = caller.visitor.as_ref().map_or(Role::Viewer, Visitor::role);
    let may_act = role == Role::Operator && !app.options.is_read_only;
    let (streams, dropped) = app.hub.counts();
    Json(json!({
        "application": app.options.title,
        "version": env!("CARGO_PKG_VERSION"),
        "sections": SECTIONS,
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
    let rows: Vec<Value> = app.list().iter().map(|task| view::row(&app, task)).collect();
    Json(json!({ "now": instant(now()), "tasks": rows }))
}

/// `GET /tasks/{name}`
pub(crate) async fn task(State(app): State<Arc<App>>, Path(name): Path<String>) -> Answer {
    let control = app.tasks.get(&name)?;
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
    let task = control.snapshot();
    let times = view::next(&control, &task, query.n.unwrap_or(UPCOMING).min(NEXT_MAX));
    Ok(Json(json!({ "task": control.name(), "zone": task.facts.zone.name(), "times": times })))
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

/// `GET /events`
pub(crate) async fn events(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    match live::watch(&app).await {
        Some(response) => Ok(response),
        None => {
            let detail = format!("{WATCHERS_MAX} pages watch already, which is the most");
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail))
        }
    }
}

/// `POST /tasks/{name}/run`
pub(crate) async fn run(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    caller: Extension<Caller>,
) -> Done {
    let act = |task: &TaskControl| task.run_now().map(drop);
    done(&app, &name, &caller, ("run", None), act)
}

/// `POST /tasks/{name}/resume`
pub(crate) async fn resume(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    caller: Extension<Caller>,
) -> Done {
    done(&app, &name, &caller, ("resume", None), TaskControl::resume)
}

/// `POST /tasks/{name}/cancel`: the runs in progress, not the task.
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    caller: Extension<Caller>,
) -> Done {
    done(&app, &name, &caller, ("cancel", None), TaskControl::cancel_run)
}

/// `POST /tasks/{name}/enable`
pub(crate) async fn enable(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    caller: Extension<Caller>,
) -> Done {
    done(&app, &name, &caller, ("enable", None), TaskControl::enable)
}

/// The body of a pause; all parts are optional.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PauseBody {
    note: Option<String>,
    until: Option<String>,
    for_ms: Option<u64>,
    names: Option<Vec<String>>,
    tag: Option<String>,
    all: Option<bool>,
}

impl PauseBody {
    fn read(body: &Bytes) -> Result<Self, Problem> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        let error = |error| Problem::bad_request(format!("the body cannot be read: {error}"));
        serde_json::from_slice(body).map_err(error)
    }

    fn pause(&self, who: &str) -> Result<Pause, Problem> {
        let mut pause = Pause::new().by(who);
        if let Some(note) = self.note.as_deref().map(str::trim).filter(|note| !note.is_empty()) {
            pause = pause.note(note);
        }
        let until = match (&self.until, self.for_ms) {
            (Some(_), Some(_)) => {
                return Err(Problem::bad_request("`until` and `forMs` exclude each other"));
            }
            (Some(until), None) => {
                let wrong = "`until` is no instant such as 2026-03-30T14:00:00Z";
                Some(until.parse().map_err(|_| Problem::bad_request(wrong))?)
            }
            (None, Some(length)) => {
                let wrong = || Problem::bad_request("`forMs` is too long");
                let length = scheduler::chrono::TimeDelta::from_std(Duration::from_millis(length));
                let until = length.ok().and_then(|length| now().checked_add_signed(length));
                Some(until.ok_or_else(wrong)?)
            }
            (None, None) => None,
        };
        Ok(match until {
            Some(until) => pause.until(until),
            None => pause,
        })
    }

    /// The tasks that are meant: those with the names, with the tag, or all.
    fn tasks(&self, app: &App) -> Result<Vec<TaskControl>, Problem> {
        match (&self.names, &self.tag, self.all) {
            (Some(names), None, None) => {
                names.iter().map(|name| Ok(app.tasks.get(name)?)).collect()
            }
            (None, Some(tag), None) => Ok(app.tasks.tagged(tag).tasks().to_vec()),
            (None, None, Some(true)) => {
                let tasks = app.list();
                Ok(tasks.iter().filter_map(|task| app.tasks.get(task.name()).ok()).collect())
            }
            _ => Err(Problem::bad_request("say which tasks: `names`, `tag` or `all`")),
        }
    }
}

/// `POST /tasks/{name}/pause`
pub(crate) async fn pause(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    caller: Extension<Caller>,
    body: Bytes,
) -> Done {
    let body = PauseBody::read(&body)?;
    let pause = body.pause(who(&caller).name())?;
    let act = |task: &TaskControl| task.pause_with(&pause);
    done(&app, &name, &caller, ("pause", body.note.as_deref()), act)
}

/// `POST /tasks:pause`
pub(crate) async fn pause_many(
    State(app): State<Arc<App>>,
    caller: Extension<Caller>,
    body: Bytes,
) -> Answer {
    let body = PauseBody::read(&body)?;
    let pause = body.pause(who(&caller).name())?;
    let what = ("pause", body.note.as_deref());
    Ok(many(&app, &caller, body.tasks(&app)?, what, |task| task.pause_with(&pause)))
}

/// `POST /tasks:resume`
pub(crate) async fn resume_many(
    State(app): State<Arc<App>>,
    caller: Extension<Caller>,
    body: Bytes,
) -> Answer {
    let tasks = PauseBody::read(&body)?.tasks(&app)?;
    Ok(many(&app, &caller, tasks, ("resume", None), TaskControl::resume))
}

fn who(caller: &Caller) -> Visitor {
    caller.visitor.clone().unwrap_or_else(|| Visitor::viewer("unknown"))
}

/// Does something to a task; answers with its row.
fn done(
    app: &App,
    name: &str,
    caller: &Caller,
    (action, note): (&'static str, Option<&str>),
    act: impl Fn(&TaskControl) -> Result<(), scheduler::ControlError>,
) -> Done {
    let control = app.tasks.get(name)?;
    act(&control)?;
    let what = What { action, task: control.name(), note };
    app.note((&who(caller), caller.from), what);
    Ok((StatusCode::ACCEPTED, Json(view::row(app, &control.snapshot()))))
}

/// Does something to tasks; answers with the number of those that it changed.
fn many(
    app: &App,
    caller: &Caller,
    tasks: Vec<TaskControl>,
    (action, note): (&'static str, Option<&str>),
    act: impl Fn(&TaskControl) -> Result<(), scheduler::ControlError>,
) -> Json<Value> {
    let changed: Vec<TaskControl> = tasks.into_iter().filter(|task| act(task).is_ok()).collect();
    for task in &changed {
        app.note((&who(caller), caller.from), What { action, task: task.name(), note });
    }
    Json(json!({ "changed": changed.len() }))
}
