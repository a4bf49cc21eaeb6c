//! Endpoints for other programs: the actuator, metrics, health.

use std::sync::Arc;

use axum::extract::{OriginalUri, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use scheduler::{Jobs, JobsError};
use serde::Serialize;

use super::guard::Caller;
use crate::app::App;
use crate::by_name::by_name;
use crate::health::{Status, StoreDetails};
use crate::problem::Problem;
use crate::prometheus::InStore;
use crate::times::now;
use crate::{actuator, health, prometheus};

/// `GET /actuator`
pub(crate) async fn index(uri: OriginalUri, headers: HeaderMap) -> Response {
    // A proxy that terminates TLS sets this header.
    let scheme = headers.get("x-forwarded-proto").filter(|scheme| scheme.as_bytes() == b"https");
    let scheme = if scheme.is_some() { "https" } else { "http" };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let prefix = forwarded_prefix(&headers);
    let base = format!("{scheme}://{host}{prefix}{}", uri.path().trim_end_matches('/'));
    in_actuator(&headers, &actuator::index(&base))
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
pub(crate) async fn scheduled_tasks(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    in_actuator(&headers, &actuator::scheduled_tasks(&app))
}

/// `GET /metrics`, `GET /actuator/prometheus`
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let found = match app.store() {
        Ok(store) => {
            store.look_if_old().await;
            let look = |jobs: &Jobs| -> Result<_, JobsError> {
                let (depths, pauses) = (jobs.depths()?, jobs.pauses()?);
                let unknown = jobs.unknown_tasks(&depths)?;
                Ok((InStore { depths, pauses, unknown }, Some(jobs.sessions()?)))
            };
            // A store that answers with an error is up.
            let ask = move |jobs: &Jobs| match look(jobs) {
                Err(error) if error.is_failed() => Ok((InStore::default(), None)),
                found => found,
            };
            store.ask_briefly(ask).await
        }
        Err(_) => None,
    };
    // Programs that are scraped know the names of processes that die while no page is open.
    if let Some((_, Some(sessions))) = &found {
        app.seen.look(now(), sessions, &app.recorder.taken_over());
    }
    let text = prometheus::text(&app, found.map(|(found, _)| found));
    ([(CONTENT_TYPE, prometheus::CONTENT_TYPE)], text).into_response()
}

/// `GET /healthz`
pub(crate) async fn healthz() -> Json<Status> {
    Json(Status { status: "UP" })
}

/// `GET /readyz`, `GET /actuator/health`
pub(crate) async fn readyz(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    uri: OriginalUri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let has_details = caller.visitor.is_some() || caller.is_local;
    let is_store_up = match app.store() {
        Ok(store) => Some(store.ask_briefly(|jobs| Ok(jobs.is_up())).await.unwrap_or_default()),
        Err(_) => None,
    };
    // Probes come often, and see no details: the store is asked for these when a person may look.
    let store_details = match app.store() {
        Ok(store) if has_details && is_store_up == Some(true) => {
            let ask = |jobs: &Jobs| Ok((jobs.unknown_tasks(&jobs.depths()?)?, jobs.pauses()?));
            let (unknown, pauses) = store.ask_briefly(ask).await.unwrap_or_default();
            StoreDetails::new(unknown.iter().map(by_name).collect::<Result<_, _>>()?, pauses)
        }
        _ => StoreDetails::default(),
    };
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
    ([(CONTENT_TYPE, actuator::content_type(accept))], Json(body)).into_response()
}
