//! The requests: what is refused before a handler sees it, the API, the page.
//!
//! Every request goes through the [`guard`], in this order: one host, and an allowed one; a visitor; the role; and for
//! everything that changes something, JSON that no other site has sent. Then a handler has ten seconds.
//!
//! It must never change anything by a GET, answer another site with a CORS header, redirect, or serve a file.
//!
//! | file | what |
//! |---|---|
//! | `compress` | answers for clients that accept gzip |
//! | `guard` | what is refused, and the headers of all responses |
//! | `api` | what `/api/v1` says of tasks |
//! | `actions`, `rule` | what visitors do to tasks, and the rules that they write |
//! | `jobs` | jobs, queues and processes of a store |
//! | `queues` | pauses of queues |
//! | `search`, `bulk` | jobs that match, and what is done to all of them |
//! | `ops` | the actuator, metrics, health |
//! | `page` | the one document |
//! | `routes`, `openapi` | all routes, and their description |

mod actions;
mod api;
mod bulk;
mod compress;
mod guard;
mod jobs;
mod openapi;
mod ops;
mod page;
mod queues;
mod routes;
mod rule;
mod search;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use self::routes::Route;
use crate::app::App;
use crate::problem::Problem;

/// Room for a payload that is edited: as many characters as the page shows, written as JSON.
const BODY_BYTES_MAX: usize = 512 * 1_024;

/// All routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    let routes = routes::all();
    let description = openapi::document(&routes);
    let described = get(async move || ([(CONTENT_TYPE, "application/json")], description));
    let router = Router::new().route("/", get(page::page)).route("/openapi.json", described);
    let add = |router: Router<Arc<App>>, route: Route| router.route(route.path, route.handler);
    let router = routes.into_iter().fold(router, add);
    router
        .fallback(fallback)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn_with_state(Arc::clone(&app), guard::admit))
        .layer(from_fn(compress::compress))
        .layer(from_fn(guard::add_security_headers))
        .with_state(app)
}

/// A router that is nested under `/jobs` is asked for `/jobs/` here.
async fn fallback(app: State<Arc<App>>, request: Request) -> Response {
    match request.uri().path() {
        "" | "/" if request.method() == axum::http::Method::GET => page::page(app).await,
        _ => Problem::not_found().into_response(),
    }
}
