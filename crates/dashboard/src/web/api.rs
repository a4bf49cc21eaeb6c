//! Requests about tasks and the dashboard; the crate documents them.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::{Extension, Json};
use scheduler::TaskSnapshot;
use scheduler::chrono::{DateTime, Utc};
use scheduler::store::{ActionFilter, StoreTime};
use scheduler_api::{
    Actions, ActionsQuery, Counts, History, Info, NextQuery, NextTimes, Runs, RunsQuery, Streams,
    Task, Tasks, Throughput, Timeline,
};

use super::guard::Caller;
use crate::access::{Role, Visitor};
use crate::app::App;
use crate::health;
use crate::live;
use crate::live::WATCHERS_MAX;
use crate::problem::Problem;
use crate::times::{instant, marked, now};
use crate::view::by_name;
use crate::view::{self, Page};

const RUNS_MAX: usize = 1_000;
const NEXT_MAX: usize = 100;
const ACTIONS_MAX: usize = 500;
/// The number of next fire times that a task shows.
const UPCOMING: usize = 10;
/// The sections of the page; all but the first need a store.
const SECTIONS: [&str; 4] = ["tasks", "jobs", "queues", "nodes"];

pub(super) type Answer<T> = Result<Json<T>, Problem>;
/// The answer to a request that was accepted.
pub(super) type Accepted<T> = Result<(StatusCode, Json<T>), Problem>;

/// `GET /info`
pub(super) async fn info(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Answer<Info> {
    let visitor = caller.visitor.as_ref();
    let role = visitor.map_or(Role::Viewer, Visitor::role);
    let (open, dropped) = app.hub.counts();
    let sections = if app.store().is_ok() { &SECTIONS[..] } else { &SECTIONS[..1] };
    let outage = match app.store() {
        Ok(store) => store.outage().await,
        Err(_) => None,
    };
    let is_opening = app.store().is_ok_and(|store| store.is_opening(app.started_at));
    let store_is_opening = outage.as_ref().map(|_| is_opening).filter(|is| *is);
    let (store_failure, store_down_since) = outage.unzip();
    let critical = health::critical(&app);
    let runs_per_task = if app.recorder.has_heard() { app.recorder.keeps() } else { 20 };
    Ok(Json(Info {
        application: app.options.title.to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sections: sections.iter().copied().map(str::to_owned).collect(),
        now: instant(now()),
        zone: app.tasks.zone().name().to_owned(),
        started_at: instant(app.started_at),
        visitor: scheduler_api::Visitor {
            name: visitor.map_or("", Visitor::name).to_owned(),
            role: role.name().to_owned(),
            may_act: role == Role::Operator && !app.options.is_read_only,
        },
        is_read_only: app.options.is_read_only,
        history: History { runs_per_task: runs_per_task as u64, lost_events: app.recorder.lost() },
        counts: counts(&app.list()),
        down: critical.into_iter().filter(|task| !task.is_up).map(|task| task.name).collect(),
        pools: app.tasks.pools().iter().map(by_name).collect::<Result<_, _>>()?,
        streams: Streams { open: open as u64, dropped },
        clock_offset_ms: Some(app.clock_offset().num_milliseconds() as f64)
            .filter(|offset| *offset != 0.0),
        store_failure,
        store_down_since: store_down_since.map(instant),
        store_is_opening,
    }))
}

fn counts(tasks: &[TaskSnapshot]) -> Counts {
    let count =
        |test: fn(&TaskSnapshot) -> bool| tasks.iter().filter(|task| test(task)).count() as u64;
    Counts {
        tasks: tasks.len() as u64,
        running: count(|task| task.running > 0),
        paused: count(|task| task.is_paused),
        failing: count(|task| task.streak > 0),
    }
}

/// `GET /tasks`
pub(super) async fn tasks(State(app): State<Arc<App>>) -> Json<Tasks> {
    app.refresh_schedules().await;
    let tasks = app.list().iter().map(|task| view::row(&app, task)).collect();
    Json(Tasks { now: instant(now()), tasks, store_now: Some(instant(app.store_now())) })
}

/// `GET /timeline`
pub(super) async fn timeline(State(app): State<Arc<App>>) -> Json<Timeline> {
    app.refresh_schedules().await;
    Json(view::timeline(&app))
}

/// `GET /throughput`
pub(super) async fn throughput(State(app): State<Arc<App>>) -> Json<Throughput> {
    Json(view::throughput(&app))
}

/// `GET /tasks/{name}`
pub(super) async fn task(State(app): State<Arc<App>>, Path(name): Path<String>) -> Answer<Task> {
    let control = app.tasks.get(&name)?;
    app.refresh_schedules().await;
    Ok(Json(view::detail(&app, &control, UPCOMING)))
}

/// `GET /tasks/{name}/runs?limit=100&before=17`
pub(super) async fn task_runs(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(query): Query<RunsQuery>,
) -> Answer<Runs> {
    let task = app.tasks.get(&name)?.snapshot();
    let limit = query.limit.map_or(100, |limit| usize::try_from(limit).unwrap_or(RUNS_MAX));
    let limit = limit.clamp(1, RUNS_MAX);
    let page = Page { limit, before: query.before.unwrap_or(u64::MAX) };
    Ok(Json(view::runs(&app, &task, page)))
}

/// `GET /tasks/{name}/next?n=10`
pub(super) async fn task_next(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(query): Query<NextQuery>,
) -> Answer<NextTimes> {
    let control = app.tasks.get(&name)?;
    app.refresh_schedules().await;
    let task = control.snapshot();
    let count = query.n.map_or(UPCOMING, |count| usize::try_from(count).unwrap_or(NEXT_MAX));
    let count = count.min(NEXT_MAX);
    let (times, zone) = view::next_times(&app, &control, &task, count);
    Ok(Json(NextTimes {
        task: control.name().to_owned(),
        zone: zone.name().to_owned(),
        times: marked(&times, now(), zone),
    }))
}

/// `GET /actions?task=…&by=…&since=…&after=…&limit=50`: addresses are for operators.
pub(super) async fn actions(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<ActionsQuery>,
) -> Answer<Actions> {
    let limit = query.limit.map_or(100, |limit| usize::try_from(limit).unwrap_or(ACTIONS_MAX));
    let limit = limit.clamp(1, ACTIONS_MAX);
    let filter = filter_of(&app, query)?;
    let (asked, count) = (filter.clone(), u32::try_from(limit + 1).unwrap_or(u32::MAX));
    let stored = match app.store() {
        Ok(store) => Some(store.ask_briefly(move |jobs| jobs.actions(&asked, count)).await),
        Err(_) => None,
    };
    let is_partial = matches!(stored, Some(None)).then_some(true);
    let stored = stored.flatten();
    let mut actions = stored.unwrap_or_else(|| app.audit.list(&filter, limit + 1));
    let has_more = actions.len() > limit;
    actions.truncate(limit);
    let shows_from = caller.who().role() >= Role::Operator;
    let actions = actions.iter().map(|action| view::action(&app, action, shows_from)).collect();
    Ok(Json(Actions { actions, has_more, is_partial }))
}

fn filter_of(app: &App, query: ActionsQuery) -> Result<ActionFilter, Problem> {
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    let since = text(query.since).map(|since| since.parse::<DateTime<Utc>>()).transpose();
    let since = since
        .map_err(|_| Problem::bad_request("`since` is no instant such as 2026-03-30T14:00:00Z"))?;
    let after = text(query.after).map(|after| after.parse()).transpose();
    let age = query.within_ms.map(Duration::from_millis);
    let since = since.map(StoreTime::from);
    Ok(ActionFilter {
        since: since.or(age.map(|age| StoreTime::from(app.store_now()).before(age))),
        by: text(query.by),
        task: text(query.task),
        after: after.map_err(|_| Problem::bad_request("`after` is no identity of an action"))?,
    })
}

/// `GET /events`, with `Last-Event-ID` to go on
pub(super) async fn events(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    match live::watch(&app, &caller.who(), seen).await {
        Some(response) => Ok(response),
        None => {
            let detail = format!("{WATCHERS_MAX} pages watch already, which is the most");
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail))
        }
    }
}
