//! Pauses of queues, for all processes.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use scheduler::store::{JobPause, PauseScope};
use scheduler::{Jobs, JobsError, Pause};
use scheduler_api::Queue;

use super::actions::{pause_of, read};
use super::api::Accepted;
use super::guard::Caller;
use crate::app::{App, What};
use crate::problem::Problem;
use crate::store::may_have_effect;
use crate::view;

/// `POST /queues/{name}/pause`
pub(super) async fn pause(
    State(app): State<Arc<App>>,
    Path(queue): Path<String>,
    Extension(by): Extension<Caller>,
    body: Bytes,
) -> Accepted<Queue> {
    let pause = pause_of(&read(&body)?, by.who().name())?;
    done(&app, queue, by, Some(pause)).await
}

/// `POST /queues/{name}/resume`
pub(super) async fn resume(
    State(app): State<Arc<App>>,
    Path(queue): Path<String>,
    Extension(by): Extension<Caller>,
) -> Accepted<Queue> {
    done(&app, queue, by, None).await
}

/// Pauses a queue, or resumes it; answers with its row.
async fn done(app: &Arc<App>, queue: String, by: Caller, pause: Option<Pause>) -> Accepted<Queue> {
    let (noted, name) = (Arc::clone(app), queue.clone());
    let ask = move |jobs: &Jobs| -> Result<_, JobsError> {
        let was_paused = is_paused(&jobs.pauses()?, &name);
        if pause.is_none() && !was_paused {
            return Ok(None);
        }
        let done = match &pause {
            Some(pause) => jobs.pause_queue(&name, pause),
            None => jobs.resume_queue(&name),
        };
        // It is noted here, because the visitor may be gone before the answer.
        if may_have_effect(&done) {
            let action = if pause.is_some() { "pause" } else { "resume" };
            let note = pause.as_ref().and_then(|pause| pause.reason.as_deref());
            let what = What { action, task: "*", queue: Some(&name), job: None, note };
            noted.note((&by.who(), by.from), what);
        }
        done?;
        Ok(Some((jobs.depths()?, jobs.pauses()?)))
    };
    let answer = app.store()?.ask(ask).await?;
    let Some((depths, pauses)) = answer else {
        let detail = format!("queue `{queue}` is not paused");
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    };
    let rows = view::queues(app, &depths, &pauses)?;
    let row = rows.into_iter().find(|row| row.queue == queue);
    let row = row.unwrap_or_else(|| Queue { queue, ..Queue::default() });
    Ok((StatusCode::ACCEPTED, Json(row)))
}

fn is_paused(pauses: &[JobPause], queue: &str) -> bool {
    pauses.iter().any(|paused| match &paused.scope {
        PauseScope::Queue(name) => name == queue,
        PauseScope::Task(_) => false,
    })
}
