//! The dashboard inside a server of the program's own.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use scheduler::{Scheduler, Tasks};
use scheduler_dashboard::{Dashboard, Visitor};
use serde_json::Value;
use tower::ServiceExt;

use crate::support::*;

/// A user whom the program knows.
#[derive(Clone)]
struct User(String);

async fn sign_in(mut request: Request, next: Next) -> Response {
    let name = request.headers().get("x-user").and_then(|name| name.to_str().ok());
    if let Some(name) = name.map(str::to_owned) {
        request.extensions_mut().insert(User(name));
    }
    next.run(request).await
}

fn mounted(prefix: &str) -> (Scheduler, Router) {
    // The token has no effect, before `authorize` or after it.
    let dashboard =
        Dashboard::new().operator("early", OPERATOR).allow_host("shop.example").authorize(|head| {
            let user = head.extensions.get::<User>()?;
            Some(match &*user.0 {
                "anna" => Visitor::operator("anna"),
                other => Visitor::viewer(other),
            })
        });
    let dashboard = dashboard.operator("late", OPERATOR);
    let scheduler = builder().task("a/b", hourly(), |_| {}).listener(dashboard.listener());
    let scheduler = scheduler.spawn().unwrap();
    let router = nested(&dashboard, scheduler.tasks(), prefix);
    (scheduler, router)
}

fn nested(dashboard: &Dashboard, tasks: Tasks, prefix: &str) -> Router {
    Router::new().nest_service(prefix, dashboard.router(tasks).unwrap()).layer(from_fn(sign_in))
}

async fn ask(router: &Router, method: &str, path: &str, user: &str) -> (StatusCode, String) {
    let request = Request::builder().method(method).uri(path).header("host", "shop.example");
    let request = request.header("content-type", "application/json").header("x-user", user);
    let request = request.header("sec-fetch-site", "same-origin");
    let answer = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (head, body) = answer.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    (head.status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn it_works_under_any_prefix_with_the_users_of_the_program() {
    for prefix in ["/jobs", "/admin/jobs", "/a/b/c"] {
        let (scheduler, router) = mounted(prefix);
        for path in [prefix.to_owned(), format!("{prefix}/")] {
            let (status, page) = ask(&router, "GET", &path, "ben").await;
            assert_eq!(status, StatusCode::OK, "{path}");
            assert!(page.contains("<!doctype html>") && page.contains("data-auth=\"program\""));
        }
        let (status, row) =
            ask(&router, "POST", &format!("{prefix}/api/v1/tasks/a%2Fb/pause"), "anna").await;
        assert_eq!(status, StatusCode::ACCEPTED, "{row}");
        let row: Value = serde_json::from_str(&row).unwrap();
        assert_eq!((&row["name"], &row["pause"]["by"]), (&"a/b".into(), &"anna".into()));
        let path = format!("{prefix}/actuator");
        let (_, index) = ask(&router, "GET", &path, "ben").await;
        assert!(index.contains(&format!("http://shop.example{prefix}/actuator/health")), "{index}");
        scheduler.shutdown_async().await.unwrap();
    }
}

/// Mounted by `nest`, whose routes are those of the outer router.
#[tokio::test]
async fn it_is_guarded_in_the_same_way_when_it_is_nested() {
    let dashboard = dashboard().allow_host("shop.example");
    let scheduler = builder().listener(dashboard.listener()).spawn().unwrap();
    let router = Router::new().nest("/jobs", dashboard.router(scheduler.tasks()).unwrap());
    let status = async |path: &str| ask(&router, "GET", path, "nobody").await.0;
    for (path, wanted) in [("", 200), ("/readyz", 200), ("/api/v1/tasks", 401), ("/metrics", 401)] {
        assert_eq!(status(&format!("/jobs{path}")).await, wanted, "{path}");
    }
    assert_eq!(status("/jobs//api/v1/tasks").await, 401);
    scheduler.shutdown_async().await.unwrap();
}

#[tokio::test]
async fn the_program_decides_who_sees_and_who_acts() {
    let (scheduler, router) = mounted("/jobs");
    let (status, body) = ask(&router, "POST", "/jobs/api/v1/tasks/a%2Fb/run", "ben").await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    for path in ["/jobs", "/jobs/api/v1/info", "/jobs/metrics", "/jobs/actuator/health"] {
        let request = Request::builder().uri(path).header("host", "shop.example");
        let answer = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path}");
        let request = Request::builder().uri(path).header("host", "evil.example");
        let request = request.header("x-user", "anna").body(Body::empty()).unwrap();
        let answer = router.clone().oneshot(request).await.unwrap();
        // Probes and scrapers name an address that no list has.
        let is_for_machines = path.ends_with("metrics") || path.ends_with("health");
        let wanted = if is_for_machines { StatusCode::OK } else { StatusCode::FORBIDDEN };
        assert_eq!(answer.status(), wanted, "{path}");
    }
    let (status, body) = ask(&router, "GET", "/jobs/readyz", "").await;
    assert_eq!(
        (status, &*body),
        (
            StatusCode::OK,
            r#"{"status":"UP","components":{"scheduler":{"status":"UP","details":{}}}}"#
        )
    );
    scheduler.shutdown_async().await.unwrap();
}

#[test]
fn a_token_that_could_be_guessed_or_not_be_sent_is_refused() {
    let scheduler = builder().spawn().unwrap();
    let refused = |token: &str| {
        let dashboard = Dashboard::new().viewer("wall", VIEWER).operator("ops", token);
        let error = dashboard.router(scheduler.tasks()).unwrap_err().to_string();
        let served = dashboard.serve(scheduler.tasks(), "127.0.0.1:0").unwrap_err().to_string();
        assert_eq!(error, served);
        assert!(error.contains("the token of \"ops\" has ") && error.contains("help: "), "{error}");
        error
    };
    for short in ["", "0123456789abcde"] {
        assert!(refused(short).contains("fewer than 16 bytes"));
    }
    for odd in ["\n", "é", "%", "&", " ", "\0"] {
        let error = refused(&format!("0123456789abcdef{odd}0"));
        assert!(error.contains("could not be sent") && !error.contains("0123"), "{error}");
    }
    assert!(
        Dashboard::new().operator("ops", "aZ09-._~+/=aZ09==").router(scheduler.tasks()).is_ok()
    );
    scheduler.shutdown().unwrap();
}

#[tokio::test]
async fn no_visitor_gets_in_where_none_was_let_in() {
    let scheduler = builder().spawn().unwrap();
    let router = Dashboard::new().router(scheduler.tasks()).unwrap();
    let request = Request::builder().uri("/api/v1/info").header("host", "localhost");
    let request = request.header("authorization", "Bearer ").body(Body::empty()).unwrap();
    assert_eq!(router.oneshot(request).await.unwrap().status(), StatusCode::UNAUTHORIZED);
    scheduler.shutdown_async().await.unwrap();
}

/// `serve` blocks for a moment, but builds no runtime inside the program's.
#[tokio::test]
async fn it_is_served_from_inside_a_runtime_too() {
    let scheduler = builder().spawn().unwrap();
    let server = dashboard().serve(scheduler.tasks(), "127.0.0.1:0").unwrap();
    assert_ne!(server.address().port(), 0);
    server.stop();
    scheduler.shutdown_async().await.unwrap();
}

/// The kubelet and Prometheus name the address of the pod, or a service of the cluster.
#[tokio::test]
async fn probes_and_scrapers_may_name_any_host() {
    let dashboard = dashboard().public_metrics();
    let scheduler = builder().listener(dashboard.listener()).spawn().unwrap();
    let router = Router::new().nest("/jobs", dashboard.router(scheduler.tasks()).unwrap());
    for host in ["10.0.0.7:8181", "shop.prod.svc.cluster.local"] {
        let status = async |path: &str| {
            let request = Request::builder().uri(path).header("host", host);
            let request = request.body(Body::empty()).unwrap();
            router.clone().oneshot(request).await.unwrap().status()
        };
        for path in ["/jobs/healthz", "/jobs/readyz", "/jobs/metrics"] {
            assert_eq!(status(path).await, StatusCode::OK, "{host} {path}");
        }
        assert_eq!(status("/jobs/api/v1/tasks").await, StatusCode::FORBIDDEN, "{host}");
    }
    scheduler.shutdown_async().await.unwrap();
}
