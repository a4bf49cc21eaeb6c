//! The requests: refusals before a handler, the API, the page.
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
//! | `actions` | what visitors do to tasks and queues, and the rules that they write |
//! | `jobs`, `search` | jobs, queues and processes of a store; jobs that match |
//! | `limits` | limits of kinds of jobs, and their partitions |
//! | `ops` | the actuator, metrics, health |
//! | `page` | the one document |
//! | `routes`, `openapi` | all routes, and their description |

use std::io::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, VARY,
};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Frame;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::problem::Problem;
use crate::web::routes::Route;

mod actions;
mod api;
mod guard;
mod jobs;
mod limits;
mod nodes;
mod openapi;
mod ops;
mod page;
mod routes;
mod search;

/// Room for a payload that is edited: as many characters as the page shows, written as JSON.
const BODY_BYTES_MAX: usize = 512 * 1_024;

/// The body of a request.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let wrong = |error| Problem::bad_request(format!("the body cannot be read: {error}"));
    serde_json::from_slice(body).map_err(wrong)
}

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
        .layer(from_fn(compress))
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

/// A shorter answer fits into one packet as it is.
const MIN_COMPRESSED_LEN: usize = 1_024;

/// Compresses the answer to a request.
async fn compress(request: Request, next: Next) -> Response {
    let is_accepted = accepts_gzip(request.headers());
    let (mut head, body) = next.run(request).await.into_parts();
    if !is_accepted || head.headers.contains_key(CONTENT_ENCODING) {
        return Response::from_parts(head, body);
    }
    let content_type = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let body = if content_type == Some(b"text/event-stream") {
        Body::new(GzipEventStream { events: body, encoder: Some(encoder()) })
    } else {
        // Handlers have their answers as a whole, so this neither waits nor fails.
        let Ok(text) = to_bytes(body, usize::MAX).await else {
            return Response::new(Body::empty());
        };
        if text.len() < MIN_COMPRESSED_LEN {
            return Response::from_parts(head, text.into());
        }
        Body::from(compressed(&text))
    };
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    Response::from_parts(head, body)
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let texts = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|text| text.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|item| {
        let (name, quality) = item.split_once(';').unwrap_or((item, ""));
        let quality = quality.trim().strip_prefix("q=").and_then(|text| text.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case("gzip") && quality != Some(0.0)
    })
}

/// The fastest level: the others gain little, and the thread has other clients.
fn encoder() -> GzEncoder<Vec<u8>> {
    GzEncoder::new(Vec::new(), Compression::fast())
}

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = encoder();
    // A vector takes everything.
    encoder.write_all(text).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// A stream of events: each leaves the encoder at once, and any other frame ends it.
struct GzipEventStream {
    events: Body,
    /// `None` after the end.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl hyper::body::Body for GzipEventStream {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = ready!(Pin::new(&mut self.events).poll_frame(context)).transpose()?;
        let Some(encoder) = &mut self.encoder else { return Poll::Ready(None) };
        let written = match frame.and_then(|frame| frame.into_data().ok()) {
            Some(event) => {
                let written = encoder.write_all(&event).and_then(|()| encoder.flush());
                written.map(|()| std::mem::take(encoder.get_mut()))
            }
            None => self.encoder.take().map_or(Ok(Vec::new()), GzEncoder::finish),
        };
        let frame = written.map(|bytes| Frame::data(Bytes::from(bytes))).map_err(axum::Error::new);
        Poll::Ready(Some(frame))
    }
}
