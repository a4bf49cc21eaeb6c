//! `/api/v1/nodes`, and pauses of processes.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use scheduler::store::{Action, SessionInfo, TargetKind};
use scheduler::{Jobs, JobsError, Pause};
use scheduler_api::{Node, Nodes};

use crate::app::App;
use crate::problem::Problem;
use crate::store::{may_have_effect, running_jobs};
use crate::view;
use crate::web::actions::{pause_of, read, reason_of};
use crate::web::api::{Accepted, Answer};
use crate::web::guard::Caller;

/// `GET /nodes`
pub(super) async fn nodes(State(app): State<Arc<App>>) -> Answer<Nodes> {
    let store = app.store()?;
    store.look_if_old().await;
    let (running, as_of) = store.running().await.or_unanswered()?;
    Ok(Json(view::nodes(&app, &store.sessions(), &running, as_of - app.clock_offset())))
}

/// `POST /nodes/{name}/pause`
pub(super) async fn pause(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Extension(by): Extension<Caller>,
    body: Bytes,
) -> Accepted<Node> {
    let request = read(&body)?;
    let pause = pause_of(&app, &request, by.who().name())?;
    change(&app, name, by, (Some(pause), reason_of(&request))).await
}

/// `POST /nodes/{name}/resume`
pub(super) async fn resume(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Extension(by): Extension<Caller>,
    body: Bytes,
) -> Accepted<Node> {
    change(&app, name, by, (None, reason_of(&read(&body)?))).await
}

/// Pauses a process, or resumes it; answers with its row.
async fn change(
    app: &Arc<App>,
    name: String,
    by: Caller,
    (pause, reason): (Option<Pause>, Option<String>),
) -> Accepted<Node> {
    let told = Arc::clone(app);
    let signature =
        app.signature((&by.who(), by.from)).reason(reason.as_deref().unwrap_or_default());
    let ask = move |jobs: &Jobs| -> Result<Result<_, Problem>, JobsError> {
        let sessions = jobs.sessions()?;
        let node = match found(&sessions, &name) {
            Ok(node) if pause.is_none() && node.pause.is_none() => {
                let detail = format!("node `{}` is not paused", node.label);
                return Ok(Err(Problem::new(StatusCode::CONFLICT, detail)));
            }
            Ok(node) => node,
            Err(problem) => return Ok(Err(problem)),
        };
        let signed = jobs.signed(&signature);
        let done = match &pause {
            Some(pause) => signed.pause_node(node.id, pause),
            None => signed.resume_node(node.id),
        };
        // It is reported here, because the visitor may be gone before the answer.
        if may_have_effect(&done) {
            let action = if pause.is_some() { "pause" } else { "resume" };
            told.report(&Action::new(&signature, action, TargetKind::Node, &node.label));
        }
        done?;
        Ok(Ok((node.id.to_string(), jobs.sessions()?, running_jobs(jobs)?)))
    };
    let answer = app.store()?.ask(ask).await;
    app.store()?.expire();
    let (id, sessions, running) = answer??;
    let rows = view::nodes(app, &sessions, &running, app.store_now()).nodes.into_iter();
    let row = rows.into_iter().find(|row| row.session == id);
    let ended = || Problem::new(StatusCode::CONFLICT, "the process has ended meanwhile");
    Ok((StatusCode::ACCEPTED, Json(row.ok_or_else(ended)?)))
}

/// The session of a process, by its name or by itself.
fn found<'a>(sessions: &'a [SessionInfo], name: &str) -> Result<&'a SessionInfo, Problem> {
    let open = || sessions.iter().filter(|session| session.ended.is_none());
    if let Some(session) = open().find(|session| session.id.to_string() == name) {
        return Ok(session);
    }
    let mut named = open().filter(|session| session.label == name);
    match (named.next(), named.next()) {
        (Some(one), None) => Ok(one),
        (Some(one), Some(other)) => {
            let detail = format!(
                "several processes are called `{name}`\nhelp: name a session, such as {} or {}",
                one.id, other.id
            );
            Err(Problem::new(StatusCode::CONFLICT, detail))
        }
        (None, _) => {
            let mut labels: Vec<_> = open().map(|session| &*session.label).collect();
            labels.sort_unstable();
            labels.dedup();
            let near = scheduler_expr::nearest(name, labels.iter().copied());
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the processes are: {}", labels.join(", ")),
            };
            let detail = format!("no process is called `{name}`\nhelp: {help}");
            Err(Problem::new(StatusCode::NOT_FOUND, detail))
        }
    }
}
