//! Checks of a request before its handler.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY, TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use scheduler::store::{Action, TargetKind};
use tokio::time::{sleep, timeout};

use crate::access::{Denied, Role, Visitor};
use crate::access::{is_cross_origin, is_direct};
use crate::app::App;
use crate::problem::Problem;

/// The time that a handler, and the body that it waits for, may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// The greatest length of a text of axum's own.
const REFUSAL_BYTES_MAX: usize = 4 * 1_024;

/// With these headers a client asks for another method than it says.
const OVERRIDES: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];

/// Headers that two servers in a row might read in two ways.
const ONCE: [HeaderName; 3] =
    [AUTHORIZATION, CONTENT_TYPE, HeaderName::from_static("sec-fetch-site")];

/// The visitor of a request, for handlers: `None` where none is needed.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) visitor: Option<Visitor>,
    pub(crate) from: Option<IpAddr>,
    /// True if only this machine can have sent the request.
    pub(crate) is_local: bool,
}

impl Caller {
    /// The visitor, for the list of actions.
    pub(super) fn who(&self) -> Visitor {
        self.visitor.clone().unwrap_or_else(|| Visitor::viewer("unknown"))
    }
}

/// Refuses a request, or lets a handler have it.
pub(super) async fn admit(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    match enter(&app, &head).await {
        Ok(caller) => head.extensions.insert(caller),
        Err(problem) => return problem.into_response(),
    };
    let answer = next.run(Request::from_parts(head, body));
    match timeout(DEADLINE, answer).await {
        Ok(response) => as_problem(response).await,
        Err(_) => {
            Problem::new(StatusCode::REQUEST_TIMEOUT, "the request took too long").into_response()
        }
    }
}

/// Turns what axum refuses by itself, as a text or without a word, into a [`Problem`].
async fn as_problem(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().ends_with(b"json"));
    if status.as_u16() < 400 || is_json {
        return response;
    }
    let (head, body) = response.into_parts();
    let text = to_bytes(body, REFUSAL_BYTES_MAX).await.unwrap_or_default();
    let detail = match status {
        StatusCode::METHOD_NOT_ALLOWED => "the method is not allowed here".into(),
        _ => String::from_utf8_lossy(&text),
    };
    let mut problem = Problem::new(status, detail).into_response();
    problem.headers_mut().extend(head.headers.get(ALLOW).map(|methods| (ALLOW, methods.clone())));
    problem
}

/// Adds the headers of all responses; a handler may have set a policy of its own.
pub(super) async fn add_security_headers(request: Request, next: Next) -> Response {
    const POLICY: &str =
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    let fixed: [(HeaderName, &str); 5] = [
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Finds out who asks, and whether he may.
async fn enter(app: &App, head: &Parts) -> Result<Caller, Problem> {
    reject_smuggling(head)?;
    let host = match app.hosts.check(head) {
        Err(_) if is_probe(app, head) => String::new(),
        host => host?,
    };
    let from = client(app, head);
    let known = app.authenticator.visitor(head, from);
    if known.is_guessed {
        let signature = app.signature((&Visitor::viewer("unknown"), from));
        let signature = signature.reason("ten wrong tokens within a minute");
        app.note(Action::new(&signature, "wrong_tokens", TargetKind::Task, "*"), 0);
    }
    if !known.after.is_zero() {
        sleep(known.after).await;
    }
    let is_local = app.is_local && is_direct(&head.headers, &host);
    let visitor = match known.visitor {
        Ok(visitor) => Some(visitor),
        Err(_) if is_public(app, head.uri.path(), is_local) => None,
        Err(denied) => return Err(refusal(app, denied)),
    };
    let caller = Caller { visitor, from, is_local };
    if !head.method.is_safe() {
        check_change(app, head, &host, &caller)?;
    }
    Ok(caller)
}

/// Refuses a change by a visitor without the role, or from another site.
fn check_change(app: &App, head: &Parts, host: &str, caller: &Caller) -> Result<(), Problem> {
    if app.options.is_read_only {
        return Err(Problem::forbidden("this dashboard is read-only"));
    }
    if caller.visitor.as_ref().is_some_and(|visitor| visitor.role() < Role::Operator) {
        return Err(Problem::forbidden("your role is `viewer`, which may only look"));
    }
    if is_cross_origin(&head.headers, host) {
        return Err(foreign(head, host));
    }
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if head.method == Method::POST
        && !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
    {
        let detail = "help: send Content-Type: application/json, also without a body";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    Ok(())
}

/// The address of the client: the address of the connection, or the last one that a trusted proxy names and that is none itself.
fn client(app: &App, head: &Parts) -> Option<IpAddr> {
    let connected = head.extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip().to_canonical();
    let Some(is_proxy) = &app.options.is_proxy else { return Some(connected) };
    let named =
        head.headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let named: Vec<&str> = named.flat_map(|list| list.split(',')).collect();
    let named = named.iter().rev().map_while(|text| text.trim().parse::<IpAddr>().ok());
    let mut client = connected;
    for next in named.map(|address| address.to_canonical()) {
        if !is_proxy(client) {
            break;
        }
        client = next;
    }
    Some(client)
}

/// A proxy that does not pass `Host` makes all requests look as if another site had made them.
fn foreign(head: &Parts, host: &str) -> Problem {
    let origin = head.headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    let shown = |text: &str| {
        text.chars().filter(|letter| !letter.is_control()).take(100).collect::<String>()
    };
    let (origin, host) = (shown(origin.unwrap_or("null")), shown(host));
    Problem::forbidden(format!(
        "the request comes from another site: Origin is {origin:?}, Host is {host:?}\n\
         help: a proxy in front has to pass Host, and Dashboard::allow_host has to name it"
    ))
}

/// Refuses what two servers in a row might read in two ways. hyper hides the length of a request that also has an encoding, so
/// none may have one.
fn reject_smuggling(head: &Parts) -> Result<(), Problem> {
    if head.headers.contains_key(TRANSFER_ENCODING) {
        let detail = "help: send the body with Content-Length, and without Transfer-Encoding";
        return Err(Problem::new(StatusCode::LENGTH_REQUIRED, detail));
    }
    if head.headers.get_all(CONTENT_LENGTH).iter().count() > 1 {
        return Err(Problem::bad_request("the request says in two ways how long it is"));
    }
    if let Some(name) = ONCE.iter().find(|name| head.headers.get_all(*name).iter().count() > 1) {
        return Err(Problem::bad_request(format!("the request has the header {name} twice")));
    }
    if OVERRIDES.iter().any(|name| head.headers.contains_key(*name)) {
        return Err(Problem::bad_request("the method of a request cannot be overridden"));
    }
    Ok(())
}

/// Probes and scrapers name an address of the network, which no list has. On a loopback address, where metrics need no token
/// and browsers are near, the name is checked all the same.
fn is_probe(app: &App, head: &Parts) -> bool {
    let path = head.uri.path();
    let is_for_machines = matches!(
        path,
        "/healthz" | "/readyz" | "/metrics" | "/actuator/health" | "/actuator/prometheus"
    );
    head.method == Method::GET && is_for_machines && !app.is_local
}

/// Paths that need no visitor.
fn is_public(app: &App, path: &str, is_local: bool) -> bool {
    match path {
        "/healthz" | "/readyz" => true,
        "/actuator/health" | "/actuator/prometheus" | "/metrics" => {
            is_local || app.options.has_public_metrics
        }
        // The page has nothing in it; a program that knows its users decides also about the page.
        "" | "/" => app.authenticator.is_by_token(),
        _ => false,
    }
}

fn refusal(app: &App, denied: Denied) -> Problem {
    let (status, detail) = match denied {
        Denied::TooMany => (StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens; wait a minute"),
        Denied::Wrong => (StatusCode::UNAUTHORIZED, "the token is wrong"),
        Denied::Missing if app.authenticator.is_by_token() => (
            StatusCode::UNAUTHORIZED,
            "a token is needed\nhelp: send Authorization: Bearer <token>; the program sets it by \
             Dashboard::operator or prints a link with it",
        ),
        Denied::Missing => {
            (StatusCode::UNAUTHORIZED, "the program does not know you; sign in first")
        }
    };
    Problem::new(status, detail)
}
