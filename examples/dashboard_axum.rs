//! The dashboard in the program's own web server, behind its own authentication.
//!
//! ```sh
//! cargo run -p examples --example dashboard_axum
//! ```
//!
//! Open http://localhost:8080/admin/jobs as `anna` (who may do everything) or `ben` (who may look), both with the
//! password `demo`; anybody else is refused. A pause shows who paused. The variable `PORT` gives another port.

use axum::Router;
use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use scheduler::{Scheduler, scheduled};
use scheduler_dashboard::{Dashboard, Visitor};
use tokio::net::TcpListener;

/// A user who has signed in.
#[derive(Clone)]
struct User {
    name: &'static str,
    is_admin: bool,
}

/// `Basic` and the names with the password, in Base64. A real program has its sessions here.
const USERS: [(&str, User); 2] = [
    ("Basic YW5uYTpkZW1v", User { name: "anna", is_admin: true }),
    ("Basic YmVuOmRlbW8=", User { name: "ben", is_admin: false }),
];

#[scheduled(fixed_rate = "5s")]
fn report() {
    println!("the report");
}

/// The layer of the program that every page of the administration is behind.
async fn sign_in(headers: HeaderMap, mut request: Request, next: Next) -> Response {
    let sent = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let user = USERS.into_iter().find(|(key, _)| Some(*key) == sent);
    let Some((_, user)) = user else {
        let ask = [(WWW_AUTHENTICATE, "Basic realm=\"admin\"")];
        return (StatusCode::UNAUTHORIZED, ask, "who are you?\n").into_response();
    };
    request.extensions_mut().insert(user);
    next.run(request).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::var("PORT").map_or(Ok(8080), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let dashboard = Dashboard::new()
        .authorize(|head| {
            let user = head.extensions.get::<User>()?;
            Some(if user.is_admin {
                Visitor::operator(user.name)
            } else {
                Visitor::viewer(user.name)
            })
        })
        .on_action(|action| println!("{}: {action}", action.by));
    let scheduler = Scheduler::builder().listener(dashboard.listener()).spawn()?;

    let admin = dashboard.router(scheduler.tasks())?;
    let admin = Router::new().nest_service("/admin/jobs", admin);
    let app = Router::new().route("/", get("the shop\n")).merge(admin.layer(from_fn(sign_in)));
    println!("listening on http://{}/admin/jobs", listener.local_addr()?);
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    // Pages that watch live keep their connections open: they are not waited for.
    tokio::select! {
        served = axum::serve(listener, app) => served?,
        () = stop => {}
    }
    scheduler.shutdown_async().await?;
    Ok(())
}
