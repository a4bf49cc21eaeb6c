//! `/api/v1/jobs` and `/queues`, and changes of many jobs.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use scheduler::store::{
    Action, BulkOutcome, Fence, JobAction, JobId, JobState, JobWait, Signature, StoredJob,
    TargetKind, WaitReason,
};
use scheduler::{Jobs, JobsError};
use scheduler_api::{ChangedJobs, EditRequest, Job, JobsRequest, Queues};

use crate::app::App;
use crate::looks::{LIMIT, PATIENCE};
use crate::problem::Problem;
use crate::store::may_have_effect;
use crate::times::{instant, millis};
use crate::view;
use crate::view::by_name;
use crate::web::api::{Accepted, Answer};
use crate::web::guard::Caller;
use crate::web::parse;
use crate::web::search::{self, FoundJobs, Search, id, waits};

const JOBS_MAX: usize = 500;
/// The number of identities that a request may have.
const IDS_MAX: usize = 300;

/// A change of jobs.
#[derive(Clone, Copy)]
pub(super) struct JobOperation {
    action: JobAction,
    one: fn(&Jobs, JobId) -> Result<(), JobsError>,
    is_possible: fn(JobState) -> bool,
}

pub(super) const RETRY: JobOperation = JobOperation {
    action: JobAction::Retry,
    one: Jobs::retry,
    is_possible: |state| state != JobState::Running,
};
pub(super) const CANCEL: JobOperation = JobOperation {
    action: JobAction::Cancel,
    one: Jobs::cancel,
    is_possible: |state| matches!(state, JobState::Ready | JobState::Running),
};
pub(super) const DELETE: JobOperation = JobOperation {
    action: JobAction::Delete,
    one: Jobs::delete,
    is_possible: |state| state != JobState::Running,
};

/// `GET /jobs?state=parked&queue=…&task=…&key=…&schedule=…&error=…&limit=50&after=…`
pub(super) async fn jobs(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Query(filter): Query<scheduler_api::JobFilter>,
) -> Answer<scheduler_api::Jobs> {
    let limit = filter.limit.map_or(50, |limit| usize::try_from(limit).unwrap_or(JOBS_MAX));
    let limit = limit.clamp(1, JOBS_MAX);
    let (search, asking) = (Search::of(filter)?, Arc::clone(&app));
    let ask = move |jobs: &Jobs| search.page(jobs, &asking, limit);
    let found = app.store()?.search(caller.who().name(), ask).await?;
    let FoundJobs { jobs, after, looked_through, waits } = found;
    know_nodes(&app, &jobs, &waits).await?;
    let row = |job| view::job(&app, job, &waits);
    let jobs = jobs.into_iter().map(row).collect::<Result<_, _>>()?;
    let (has_more, after) = (after.is_some(), after.map(|id| id.to_string()));
    Ok(Json(scheduler_api::Jobs {
        now: instant(app.store_now()),
        jobs,
        has_more,
        after,
        looked_through,
    }))
}

/// `GET /jobs/{id}`
pub(super) async fn job(
    State(app): State<Arc<App>>,
    Path(text): Path<String>,
    caller: Extension<Caller>,
) -> Answer<Job> {
    let id = id(&text)?;
    let ask = move |jobs: &Jobs| {
        let job: Vec<StoredJob> = jobs.get(id)?.into_iter().collect();
        Ok((waits(jobs, &job)?, job))
    };
    let (waits, job) = app.store()?.ask(ask).await?;
    know_nodes(&app, &job, &waits).await?;
    let job = job.into_iter().next().ok_or_else(|| none(id))?;
    Ok(Json(view::job_detail(&app, &caller.who(), job, &waits)?))
}

/// Lets the names of the processes that run these jobs be known, and what those lack that do not.
async fn know_nodes(app: &App, jobs: &[StoredJob], waits: &[JobWait]) -> Result<(), Problem> {
    let is_wanted = |wait: &JobWait| wait.reason == WaitReason::NoProcess;
    if jobs.iter().any(|job| job.session.is_some()) || waits.iter().any(is_wanted) {
        app.store()?.look_if_old().await;
    }
    Ok(())
}

fn none(id: JobId) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        format!("there is no job {id}; one that has ended is kept for its retention only"),
    )
}

/// `GET /queues`
pub(super) async fn queues(State(app): State<Arc<App>>) -> Answer<Queues> {
    let store = app.store()?;
    store.look_if_old().await;
    let known = store.known_depths();
    // The first one has nothing to show meanwhile.
    let seen = store.depths(if known.answer.is_some() { PATIENCE } else { LIMIT }).await;
    let count_failure = seen.failure.as_ref().map(|problem| problem.detail().to_owned());
    let (depths, as_of) = seen.or_unanswered()?;
    let unknown = store.unknown_tasks(&depths);
    let long_from = store.long_from(&depths).await;
    let pauses = store.pauses();
    let mut queues = view::queues(&app, &store.queues(&depths), &depths, &pauses)?;
    for job in queues.iter_mut().flat_map(|queue| &mut queue.tasks) {
        let from = long_from.get(&job.task).map(|from| millis(*from));
        job.has_long_run = from.is_some() && job.depth.oldest_running_ms > from;
    }
    for (depth, wait) in store.limited(LIMIT).await {
        let of_queue = queues.iter_mut().filter(|queue| queue.queue == depth.queue);
        let jobs = of_queue.flat_map(|queue| &mut queue.tasks);
        for job in jobs.filter(|job| job.task == depth.task) {
            (job.held, job.oldest_open_ms) = (Some(depth.held), wait.map(millis));
        }
    }
    Ok(Json(Queues {
        now: instant(app.store_now()),
        as_of: instant(as_of - app.clock_offset()),
        queues,
        unknown_tasks: unknown.iter().map(by_name).collect::<Result<_, _>>()?,
        paused_partitions: view::paused_partitions(&app, &pauses),
        count_failure,
    }))
}

/// `POST /jobs/{id}/retry` and the like: answers with the job as it is then, or with `isDeleted`.
pub(super) async fn act(
    State(app): State<Arc<App>>,
    Path(text): Path<String>,
    Extension(caller): Extension<Caller>,
    act: JobOperation,
) -> Accepted<Job> {
    let id = id(&text)?;
    let noting = Arc::clone(&app);
    let ask = move |jobs: &Jobs| -> Result<Option<(StoredJob, bool)>, JobsError> {
        let Some(job) = jobs.get(id)? else { return Ok(None) };
        let signature = noting.signature((&caller.who(), caller.from));
        let done = (act.one)(&jobs.signed(&signature), id);
        report(&noting, &signature, act.action.verb(), &job, done)?;
        let now = jobs.get(id)?;
        Ok(Some(now.map_or((job, true), |now| (now, false))))
    };
    let store = app.store()?;
    let (job, is_deleted) = store.ask(ask).await?.ok_or_else(|| none(id))?;
    store.expire();
    let row = Job { is_deleted: is_deleted.then_some(true), ..view::job(&app, job, &[])? };
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
    let request: EditRequest = parse(&body)?;
    let mut job = app.store()?.ask(move |jobs| jobs.get(id)).await?.ok_or_else(|| none(id))?;
    if !view::sees_payload(&app, &caller.who(), &job) {
        let detail = "a part of the payload is hidden from you, and would be lost";
        return Err(Problem::forbidden(detail));
    }
    let mut payload = job.payload.clone();
    payload.bytes = request.payload.into_bytes();
    payload.version = request.version.unwrap_or_else(|| payload.version.max(1));
    job.fence = request.fence.map_or(job.fence, Fence);
    let noting = Arc::clone(&app);
    let ask = move |jobs: &Jobs| -> Result<Option<StoredJob>, JobsError> {
        let signature = noting.signature((&caller.who(), caller.from));
        let done = jobs.signed(&signature).edit(&job, &payload);
        report(&noting, &signature, "edit", &job, done)?;
        jobs.get(id)
    };
    let job = app.store()?.ask(ask).await?.ok_or_else(|| none(id))?;
    Ok((StatusCode::ACCEPTED, Json(view::job(&app, job, &[])?)))
}

/// Reports a change of a job unless the store has refused it. The thread that asks the store calls this, because the visitor may
/// be gone before the answer.
fn report(
    app: &App,
    signature: &Signature,
    verb: &str,
    job: &StoredJob,
    done: Result<(), JobsError>,
) -> Result<(), JobsError> {
    if may_have_effect(&done) {
        let mut action = Action::new(signature, verb, TargetKind::Job, &job.id.to_string());
        action.task = Some(job.task.clone());
        app.report(&action);
    }
    done
}

/// `POST /jobs:retry` and the like
pub(super) async fn many(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
    act: JobOperation,
) -> Answer<ChangedJobs> {
    let request: JobsRequest = parse(&body)?;
    let action = app.going_on(request.action.as_deref(), caller.who().name(), act.action.verb());
    let signature = app.signature((&caller.who(), caller.from));
    let by = |words: &str, task: Option<&str>| ManyJobs {
        app: Arc::clone(&app),
        signature: signature.clone().in_action(action, words, task),
        act,
    };
    let done = |count, after: Option<JobId>| {
        let (action, after) = (after.map(|_| action.to_string()), after.map(|id| id.to_string()));
        Ok(Json(ChangedJobs { count, after, action }))
    };
    match (request.ids, request.matching) {
        (Some(ids), None) if ids.len() <= IDS_MAX => {
            let ids = ids.iter().map(|text| id(text)).collect::<Result<Vec<JobId>, Problem>>()?;
            let (is_dry, by) = (request.dry_run, by("chosen one by one", None));
            let count = app.store()?.ask(move |jobs| by.chosen(jobs, &ids, is_dry)).await;
            app.store()?.expire();
            done(count?, None)
        }
        (Some(_), None) => {
            Err(Problem::bad_request(format!("`ids` are more than {IDS_MAX}; say what `matching`")))
        }
        (None, Some(filter)) => {
            if filter.limit.is_some() {
                return Err(Problem::bad_request(
                    "`limit` is for the list: all that match are changed",
                ));
            }
            let search = Search::of(filter)?;
            if search.filter.state.is_none() {
                return Err(Problem::bad_request("`matching` needs a `state`"));
            }
            let (is_dry, by) =
                (request.dry_run, by(&search.in_words(), search.filter.task.as_deref()));
            let (task, queue) = (search.filter.task.clone(), search.filter.queue.clone());
            let found = app.store()?.ask(move |jobs| by.matching(jobs, &search, is_dry)).await;
            app.store()?.expire();
            let found = found?;
            if found.done == 0 {
                check_names(&app, task, queue).await?;
            }
            done(found.done, found.last)
        }
        _ => Err(Problem::bad_request("say which jobs: `ids` or `matching`")),
    }
}

/// Refuses a mistyped name of a task or a queue: no job matched.
async fn check_names(
    app: &App,
    task: Option<String>,
    queue: Option<String>,
) -> Result<(), Problem> {
    let store = app.store()?;
    store.look_if_old().await;
    let depths = store.depths(PATIENCE).await.answer;
    let depths = depths.as_ref().map_or(&[][..], |(depths, _)| depths);
    let mut tasks = store.tasks(depths);
    tasks.extend(app.tasks.list().iter().map(|task| task.name().to_owned()));
    let queues = store.queues(depths);
    for (kind, name, known) in [("task", task, tasks), ("queue", queue, queues)] {
        let known = known.iter().map(String::as_str);
        if let Some(misspelt) = name.and_then(|name| Problem::misspelt(kind, &name, known)) {
            return Err(misspelt);
        }
    }
    Ok(())
}

/// An act on many jobs, which is one action of the visitor who asks for it.
struct ManyJobs {
    app: Arc<App>,
    signature: Signature,
    act: JobOperation,
}

impl ManyJobs {
    fn chosen(&self, jobs: &Jobs, ids: &[JobId], is_dry: bool) -> Result<u64, JobsError> {
        let (mut count, signed) = (0, jobs.signed(&self.signature));
        let mut change = || {
            for id in ids {
                let Some(job) = jobs.get(*id)? else { continue };
                let is_done = (self.act.is_possible)(job.state)
                    && (is_dry || self.command(&signed, job.id)?);
                count += u64::from(is_done);
            }
            Ok(())
        };
        let changed = change();
        self.note(count, is_dry);
        changed.map(|()| count)
    }

    fn matching(
        &self,
        jobs: &Jobs,
        search: &Search,
        is_dry: bool,
    ) -> Result<BulkOutcome, JobsError> {
        let signed = jobs.signed(&self.signature);
        if search.error.is_none() && !is_dry {
            let done = signed.change_all(self.act.action, &search.filter, search::LIMIT);
            self.note(done_of(&done), false);
            return done;
        }
        let mut count = 0;
        let walked = search.each(jobs, &self.app, |job| {
            let is_done =
                (self.act.is_possible)(job.state) && (is_dry || self.command(&signed, job.id)?);
            count += u64::from(is_done);
            Ok(())
        });
        self.note(count, is_dry);
        Ok(BulkOutcome { done: count, last: walked? })
    }

    /// Does it to one job. Returns false if the job is gone, or in another state by now.
    fn command(&self, jobs: &Jobs, id: JobId) -> Result<bool, JobsError> {
        match (self.act.one)(jobs, id) {
            Ok(()) => Ok(true),
            Err(error) if error.is_unavailable() || error.is_failed() => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Reports the action. The store has it by the commands.
    fn note(&self, count: u64, is_dry: bool) {
        if count > 0 && !is_dry {
            let mut action =
                Action::new(&self.signature, self.act.action.verb(), TargetKind::Jobs, "");
            action.count = count;
            self.app.note(action, count);
        }
    }
}

/// The number of jobs that were changed, also by a request that then failed.
fn done_of(done: &Result<BulkOutcome, JobsError>) -> u64 {
    match done {
        Ok(BulkOutcome { done, .. }) | Err(JobsError::Stopped { done, .. }) => *done,
        Err(_) => 0,
    }
}
