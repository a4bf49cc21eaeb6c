//! `/api/v1/limits`, and the limits and partitions of one kind of job.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use scheduler::store::{Action, LimitScope, PartitionDepth, Signature, StoredLimit, TargetKind};
use scheduler::{Jobs, JobsError, Limit, Pause};
use scheduler_api::{LimitRequest, Limits, PartitionRequest, PauseRequest, TaskLimits};

use crate::app::App;
use crate::looks::PATIENCE;
use crate::problem::Problem;
use crate::store::may_have_effect;
use crate::times::{instant, now};
use crate::view;
use crate::web::actions::{pause_of, reason_of};
use crate::web::api::{Accepted, Answer};
use crate::web::guard::Caller;
use crate::web::parse;

/// The number of partitions that are shown.
const PARTITIONS_MAX: u32 = 50;

/// `GET /limits`
pub(super) async fn limits(State(app): State<Arc<App>>) -> Answer<Limits> {
    let rows = app.store()?.ask(Jobs::limits).await?;
    let limits = rows.iter().filter_map(|row| view::limit(&app, row)).collect();
    Ok(Json(Limits { limits }))
}

/// `GET /tasks/{name}/limits`
pub(super) async fn of_task(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Answer<TaskLimits> {
    let task = kind_of(&app, name).await?;
    let asked = task.clone();
    let ask = move |jobs: &Jobs| look(jobs, &asked);
    // It counts all due jobs of the task, as a search does.
    let found = app.store()?.search(caller.who().name(), ask).await?;
    Ok(Json(shown(&app, task, &found)?))
}

/// The limits of all tasks, and the partitions of one.
type Found = (Vec<StoredLimit>, Vec<PartitionDepth>);

fn look(jobs: &Jobs, task: &str) -> Result<Found, JobsError> {
    Ok((jobs.limits()?, jobs.partitions(task, PARTITIONS_MAX)?))
}

fn shown(app: &App, task: String, (limits, partitions): &Found) -> Result<TaskLimits, Problem> {
    let own = limits.iter().filter(|row| row.task == task);
    let limits = own.filter_map(|row| view::limit(app, row)).collect();
    let partitions = partitions.iter().map(|depth| view::partition(app, depth)).collect();
    Ok(TaskLimits { now: instant(now()), task, limits, partitions })
}

/// The kind of job or the durable task that is meant: one of this process, or of another one by its whole name.
async fn kind_of(app: &App, name: String) -> Result<String, Problem> {
    let store = app.store()?;
    let unknown = match app.tasks.get(&name) {
        Ok(task) if task.is_durable() => return Ok(task.name().to_owned()),
        Ok(task) => {
            let detail = format!("no store keeps jobs of `{}`: it has no limits", task.name());
            return Err(Problem::new(StatusCode::CONFLICT, detail));
        }
        Err(unknown) => unknown,
    };
    store.look_if_old().await;
    let depths = store.depths(PATIENCE).await.answer;
    let is_known = store.tasks(depths.as_ref().map_or(&[], |(depths, _)| depths)).contains(&name);
    if is_known { Ok(name) } else { Err(unknown.into()) }
}

/// `POST /tasks/{name}/limit`: answers with the limits as they are then.
pub(super) async fn change(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Accepted<TaskLimits> {
    let request: LimitRequest = parse(&body)?;
    let reason = request.reason.as_deref().unwrap_or_default().trim().to_owned();
    let limit = limit_of(request, caller.who().name())?;
    let task = kind_of(&app, name).await?;
    let signature = app.signature((&caller.who(), caller.from)).reason(&reason);
    let change = Change { app: Arc::clone(&app), signature, task: task.clone(), limit };
    let store = app.store()?;
    let found = store.call(move |jobs| change.make(jobs)).await??;
    store.expire_limits();
    Ok((StatusCode::ACCEPTED, Json(shown(&app, task, &found)?)))
}

/// The limit that is asked for, with the jobs that it counts; none to have those of the code again.
fn limit_of(request: LimitRequest, by: &str) -> Result<Option<(LimitScope, Limit)>, Problem> {
    let LimitRequest { scope, running, rate, burst, waiting, ordered, reason, reset } = request;
    if reset == Some(true) {
        return match (scope, running.or(burst).or(waiting), &rate, &ordered) {
            (None, None, None, None) => Ok(None),
            _ => Err(Problem::bad_request("`reset` stands alone: it restores both limits")),
        };
    }
    let scope = LimitScope::BOTH.into_iter().find(|each| Some(each.word()) == scope.as_deref());
    let unclear =
        "`scope` is `all` for all jobs of the task, or `each` for those of each partition";
    let scope = scope.ok_or_else(|| Problem::bad_request(unclear))?;
    let limit = match scope {
        LimitScope::All => Limit::all(),
        LimitScope::Each => Limit::each(),
    };
    let limit = limit.by(by).reason(reason.unwrap_or_default().trim());
    let limit = running.into_iter().fold(limit, Limit::running);
    let limit = rate.into_iter().fold(limit, Limit::rate);
    let limit = burst.into_iter().fold(limit, Limit::burst);
    let limit = waiting.into_iter().fold(limit, Limit::waiting);
    let limit = match ordered.map(|rule| rule.parse()) {
        None => limit,
        Some(Ok(rule)) => limit.ordered().on_park(rule),
        Some(Err(_)) => return Err(Problem::bad_request("`ordered` is `go_on` or `hold`")),
    };
    Ok(Some((scope, limit)))
}

/// A change of the limits of a task.
struct Change {
    app: Arc<App>,
    signature: Signature,
    task: String,
    limit: Option<(LimitScope, Limit)>,
}

impl Change {
    /// The thread that asks the store reports it, because the visitor may be gone before the answer.
    fn make(self, jobs: &Jobs) -> Result<Found, Problem> {
        let (task, signed) = (&*self.task, jobs.signed(&self.signature));
        let before = jobs.limits()?;
        let has_own = |row: &StoredLimit| row.task == task && row.by_hand.is_some();
        let (verb, scope, done) = match self.limit {
            Some((scope, limit)) => ("limit", Some(scope), signed.set_limit(task, limit)),
            None if before.iter().any(has_own) => ("reset", None, signed.reset_limit(task)),
            None => {
                let detail = format!("the limits of `{task}` are those of its code");
                return Err(Problem::new(StatusCode::CONFLICT, detail));
            }
        };
        let found = done.is_ok().then(|| look(jobs, task));
        if may_have_effect(&done) {
            let mut action = Action::new(&self.signature, verb, TargetKind::Task, task);
            let after = found.as_ref().and_then(|found| found.as_ref().ok());
            action.before = words(&before, task, scope);
            action.after = after.map(|(after, _)| words(after, task, scope)).unwrap_or_default();
            self.app.report(&action);
        }
        done?;
        Ok(found.unwrap_or_else(|| look(jobs, task))?)
    }
}

/// The limits that count for a task, as the store writes them into its actions: `each: 5 running`.
fn words(limits: &[StoredLimit], task: &str, scope: Option<LimitScope>) -> String {
    let is_meant =
        |row: &&StoredLimit| row.task == task && scope.is_none_or(|scope| scope == row.scope);
    let words = |row: &StoredLimit| format!("{}: {}", row.scope.word(), row.limit());
    limits.iter().filter(is_meant).map(words).collect::<Vec<_>>().join("; ")
}

/// `POST /tasks/{name}/partitions/pause`
pub(super) async fn pause_partition(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Accepted<TaskLimits> {
    let PartitionRequest { partition, reason, until, for_ms } = parse(&body)?;
    let request = PauseRequest { reason, until, for_ms, ..PauseRequest::default() };
    let pause = pause_of(&app, &request, caller.who().name())?;
    let change = (Some(pause), reason_of(&request));
    change_partition(&app, (name, named(partition)?), &caller, change).await
}

/// `POST /tasks/{name}/partitions/resume`
pub(super) async fn resume_partition(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Accepted<TaskLimits> {
    let PartitionRequest { partition, reason, .. } = parse(&body)?;
    let request = PauseRequest { reason, ..PauseRequest::default() };
    let change = (None, reason_of(&request));
    change_partition(&app, (name, named(partition)?), &caller, change).await
}

fn named(partition: Option<String>) -> Result<String, Problem> {
    let missing = "`partition` is missing: it is empty for the one without a name";
    partition.ok_or_else(|| Problem::bad_request(missing))
}

/// Pauses a partition, or resumes it.
async fn change_partition(
    app: &Arc<App>,
    (name, partition): (String, String),
    caller: &Caller,
    (pause, reason): (Option<Pause>, Option<String>),
) -> Accepted<TaskLimits> {
    let task = kind_of(app, name).await?;
    let reason = reason.as_deref().unwrap_or_default();
    let signature = app.signature((&caller.who(), caller.from)).reason(reason);
    let (told, of) = (Arc::clone(app), task.clone());
    let ask = move |jobs: &Jobs| -> Result<_, JobsError> {
        let signed = jobs.signed(&signature);
        let (verb, done) = match &pause {
            Some(pause) => ("pause", signed.pause_partition(&of, &partition, pause)),
            None => ("resume", signed.resume_partition(&of, &partition)),
        };
        if may_have_effect(&done) {
            let mut action = Action::new(&signature, verb, TargetKind::Partition, &partition);
            action.task = Some(of.clone());
            told.report(&action);
        }
        done?;
        look(jobs, &of)
    };
    let found = app.store()?.ask(ask).await?;
    Ok((StatusCode::ACCEPTED, Json(shown(app, task, &found)?)))
}
