//! The requests: what is refused before a handler sees it, the API, the page.
//!
//! Every request goes through the [`guard`], in this order: one host, and an allowed one; a visitor; the role; and for
//! everything that changes something, JSON that no other site has sent. Then a handler has ten seconds.
//!
//! It must never change anything by a GET, answer another site with a CORS header, redirect, or serve a file.
//!
//! | file | what |
//! |---|---|
//! | `guard` | what is refused, and the headers of all responses |
//! | `api` | what `/api/v1` says of tasks |
//! | `actions`, `rule` | what visitors do to tasks, and the rules that they write |
//! | `jobs` | jobs, queues and processes of a store |
//! | `search`, `bulk` | jobs that match, and what is done to all of them |
//! | `ops` | the actuator, metrics, health |
//! | `page` | the one document |

mod actions;
mod api;
mod bulk;
mod guard;
mod jobs;
mod ops;
mod page;
mod rule;
mod search;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};

use self::actions::Act;
use crate::app::App;
use crate::problem::Problem;

const BODY_BYTES_MAX: usize = 16 * 1_024;

/// All routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    let api = Router::new()
        .route("/info", get(api::info))
        .route("/tasks", get(api::tasks))
        .route("/timeline", get(api::timeline))
        .route("/tasks:pause", post(actions::pause_many))
        .route("/tasks:resume", post(actions::resume_many))
        .route("/tasks/{name}", get(api::task))
        .route("/tasks/{name}/runs", get(api::task_runs))
        .route("/tasks/{name}/next", get(api::task_next))
        .route("/tasks/{name}/run", on_task(Act::Run))
        .route("/tasks/{name}/pause", post(actions::pause))
        .route("/tasks/{name}/resume", on_task(Act::Resume))
        .route("/tasks/{name}/cancel", on_task(Act::Cancel))
        .route("/tasks/{name}/enable", on_task(Act::Enable))
        .route("/tasks/{name}/preview", get(actions::preview))
        .route("/tasks/{name}/reschedule", post(actions::reschedule))
        .route("/jobs", get(jobs::jobs))
        .route("/jobs:errors", get(search::errors))
        .route("/jobs:retry", on_jobs(bulk::RETRY))
        .route("/jobs:cancel", on_jobs(bulk::CANCEL))
        .route("/jobs:delete", on_jobs(bulk::DELETE))
        .route("/jobs/{id}", get(jobs::job))
        .route("/jobs/{id}/retry", on_job(bulk::RETRY))
        .route("/jobs/{id}/cancel", on_job(bulk::CANCEL))
        .route("/jobs/{id}/delete", on_job(bulk::DELETE))
        .route("/queues", get(jobs::queues))
        .route("/nodes", get(jobs::nodes))
        .route("/actions", get(api::actions))
        .route("/events", get(api::events));
    Router::new()
        .route("/", get(page::page))
        .nest("/api/v1", api)
        .route("/actuator", get(ops::index))
        .route("/actuator/health", get(ops::readyz))
        .route("/actuator/prometheus", get(ops::metrics))
        .route("/actuator/scheduledtasks", get(ops::scheduled_tasks))
        .route("/metrics", get(ops::metrics))
        .route("/healthz", get(ops::healthz))
        .route("/readyz", get(ops::readyz))
        .fallback(fallback)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn_with_state(Arc::clone(&app), guard::admit))
        .layer(from_fn(guard::harden))
        .with_state(app)
}

fn on_task(act: Act) -> MethodRouter<Arc<App>> {
    post(|app, name, by| actions::done(app, name, by, act))
}

fn on_job(act: bulk::Act) -> MethodRouter<Arc<App>> {
    post(move |app, id, by| jobs::act(app, id, by, act))
}

fn on_jobs(act: bulk::Act) -> MethodRouter<Arc<App>> {
    post(move |app, by, body| bulk::many(app, by, body, act))
}

/// A router that is nested under `/jobs` is asked for `/jobs/` here.
async fn fallback(app: State<Arc<App>>, request: Request) -> Response {
    match request.uri().path() {
        "" | "/" if request.method() == axum::http::Method::GET => page::page(app).await,
        _ => Problem::not_found().into_response(),
    }
}
