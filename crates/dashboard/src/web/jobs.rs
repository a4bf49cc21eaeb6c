//! `/api/v1/jobs`, `/queues` and `/nodes`. A program without a store answers 404.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use scheduler::store::{Fence, JobFilter, JobId, JobState, StoredJob};
use scheduler::{Jobs, JobsError};
use scheduler_api::{EditRequest, Job, Nodes, Queues};

use super::api::{Accepted, Answer};
use super::bulk::Act;
use super::guard::Caller;
use super::search::{Search, id};
use crate::app::{App, What};
use crate::by_name::by_name;
use crate::problem::Problem;
use crate::store::may_have_effect;
use crate::times::{instant, now};
use crate::view;

const JOBS_MAX: usize = 500;
/// The number of running jobs that are looked at for the processes that have them.
const RUNNING_MAX: u32 = 1_000;

/// `GET /jobs?state=parked&queue=…&task=…&key=…&schedule=…&error=…&limit=50&after=…`
pub(crate) async fn jobs(
    State(app): State<Arc<App>>,
    Query(filter): Query<scheduler_api::JobFilter>,
) -> Answer<scheduler_api::Jobs> {
    let limit = filter.limit.map_or(50, |limit| usize::try_from(limit).unwrap_or(JOBS_MAX));
    let limit = limit.clamp(1, JOBS_MAX);
    let (search, asking) = (Search::of(filter)?, Arc::clone(&app));
    let ask = move |jobs: &Jobs| search.page(jobs, &asking, limit);
    let (jobs, after) = app.store()?.ask(ask).await?;
    let jobs = jobs.into_iter().map(|job| view::job(&app, job)).collect::<Result<_, _>>()?;
    let (has_more, after) = (after.is_some(), after.map(|id| id.to_string()));
    Ok(Json(scheduler_api::Jobs { now: instant(now()), jobs, has_more, after }))
}

/// `GET /jobs/{id}`
pub(crate) async fn job(
    State(app): State<Arc<App>>,
    Path(text): Path<String>,
    caller: Extension<Caller>,
) -> Answer<Job> {
    let id = id(&text)?;
    let job = app.store()?.ask(move |jobs| jobs.get(id)).await?;
    let job = job.ok_or_else(|| none(id))?;
    Ok(Json(view::job_detail(&app, &caller.who(), job)?))
}

fn none(id: JobId) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        format!("there is no job {id}; one that has ended is kept for its retention only"),
    )
}

/// `GET /queues`
pub(crate) async fn queues(State(app): State<Arc<App>>) -> Answer<Queues> {
    let ask = |jobs: &Jobs| {
        let depths = jobs.depths()?;
        let unknown = jobs.unknown_tasks(&depths)?;
        Ok((depths, jobs.pauses()?, unknown))
    };
    let (depths, pauses, unknown) = app.store()?.ask(ask).await?;
    Ok(Json(Queues {
        now: instant(now()),
        queues: view::queues(&app, &depths, &pauses)?,
        unknown_tasks: unknown.iter().map(by_name).collect::<Result<_, _>>()?,
    }))
}

/// `GET /nodes`
pub(crate) async fn nodes(State(app): State<Arc<App>>) -> Answer<Nodes> {
    let filter = JobFilter { state: Some(JobState::Running), ..JobFilter::default() };
    let ask = move |jobs: &Jobs| Ok((jobs.sessions()?, jobs.list(&filter, RUNNING_MAX)?));
    let (sessions, running) = app.store()?.ask(ask).await?;
    let (nodes, orphans) = view::nodes(&sessions, &running)?;
    let gone = app.seen.look(now(), &sessions, &app.recorder.taken_over());
    Ok(Json(Nodes { now: instant(now()), nodes, orphans, gone }))
}

/// `POST /jobs/{id}/retry` and the like: answers with the job as it is then, or with `isDeleted`.
pub(super) async fn act(
    State(app): State<Arc<App>>,
    Path(text): Path<String>,
    Extension(caller): Extension<Caller>,
    act: Act,
) -> Accepted<Job> {
    let id = id(&text)?;
    let noted = Arc::clone(&app);
    let ask = move |jobs: &Jobs| -> Result<Option<(StoredJob, bool)>, JobsError> {
        let Some(job) = jobs.get(id)? else { return Ok(None) };
        let done = (act.one)(jobs, id);
        // It is noted here, because the visitor may be gone before the answer.
        if may_have_effect(&done) {
            let what =
                What { action: act.name, task: &job.task, queue: None, job: Some(id), note: None };
            noted.note((&caller.who(), caller.from), what);
        }
        done?;
        let now = jobs.get(id)?;
        Ok(Some(now.map_or((job, true), |now| (now, false))))
    };
    let (job, is_deleted) = app.store()?.ask(ask).await?.ok_or_else(|| none(id))?;
    let row = Job { is_deleted: is_deleted.then_some(true), ..view::job(&app, job)? };
    Ok((StatusCode::ACCEPTED, Json(row)))
}

/// `POST /jobs/{id}/edit`: answers with the job as it is then. A visitor who does not see the whole payload would overwrite
/// what is hidden.
pub(super) async fn edit(
    State(app): State<Arc<App>>,
    Path(text): Path<String>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Accepted<Job> {
    let id = id(&text)?;
    let wrong = |error| Problem::bad_request(format!("the body cannot be read: {error}"));
    let request: EditRequest = serde_json::from_slice(&body).map_err(wrong)?;
    let mut job = app.store()?.ask(move |jobs| jobs.get(id)).await?.ok_or_else(|| none(id))?;
    if !view::sees_payload(&app, &caller.who(), &job) {
        let detail = "a part of the payload is hidden from you, and would be lost";
        return Err(Problem::forbidden(detail));
    }
    let mut payload = job.payload.clone();
    payload.bytes = request.payload.into_bytes();
    payload.version = request.version.unwrap_or_else(|| payload.version.max(1));
    job.fence = request.fence.map_or(job.fence, Fence);
    let noted = Arc::clone(&app);
    let ask = move |jobs: &Jobs| -> Result<Option<StoredJob>, JobsError> {
        let done = jobs.edit(&job, &payload);
        // It is noted here, because the visitor may be gone before the answer.
        if may_have_effect(&done) {
            let what =
                What { action: "edit", task: &job.task, queue: None, job: Some(id), note: None };
            noted.note((&caller.who(), caller.from), what);
        }
        done?;
        jobs.get(id)
    };
    let job = app.store()?.ask(ask).await?.ok_or_else(|| none(id))?;
    Ok((StatusCode::ACCEPTED, Json(view::job(&app, job)?)))
}
