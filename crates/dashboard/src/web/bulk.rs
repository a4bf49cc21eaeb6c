//! Changes many jobs at once: those with these identities, or all that match.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::{Extension, Json};
use scheduler::store::{JobFilter, JobId, JobState, StoredJob};
use scheduler::{Jobs, JobsError};
use scheduler_api::{ChangedJobs, JobsRequest};

use super::api::Answer;
use super::guard::Caller;
use super::search::{Search, id};
use crate::app::{App, What};
use crate::problem::Problem;
use crate::store::may_have_effect;

/// The number of identities that a request may have.
const IDS_MAX: usize = 300;

/// A change of jobs.
#[derive(Clone, Copy)]
pub(super) struct Act {
    pub(super) name: &'static str,
    pub(super) one: fn(&Jobs, JobId) -> Result<(), JobsError>,
    all: fn(&Jobs, &JobFilter) -> Result<u64, JobsError>,
    is_possible: fn(JobState) -> bool,
}

pub(super) const RETRY: Act = Act {
    name: "retry",
    one: Jobs::retry,
    all: Jobs::retry_all,
    is_possible: |state| state != JobState::Running,
};
pub(super) const CANCEL: Act = Act {
    name: "cancel",
    one: Jobs::cancel,
    all: Jobs::cancel_all,
    is_possible: |state| matches!(state, JobState::Ready | JobState::Running),
};
pub(super) const DELETE: Act = Act {
    name: "delete",
    one: Jobs::delete,
    all: Jobs::delete_all,
    is_possible: |state| state != JobState::Running,
};

/// `POST /jobs:retry` and the like
pub(super) async fn many(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
    act: Act,
) -> Answer<ChangedJobs> {
    let wrong = |error| Problem::bad_request(format!("the body cannot be read: {error}"));
    let request: JobsRequest = serde_json::from_slice(&body).map_err(wrong)?;
    let by = By { app: Arc::clone(&app), caller, act };
    match (request.ids, request.matching) {
        (Some(ids), None) if ids.len() <= IDS_MAX => {
            let ids = ids.iter().map(|text| id(text)).collect::<Result<Vec<JobId>, Problem>>()?;
            let is_dry = request.dry_run;
            let count = app.store()?.ask(move |jobs| by.chosen(jobs, &ids, is_dry)).await?;
            Ok(Json(ChangedJobs { count, after: None }))
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
            let is_dry = request.dry_run;
            let done = app.store()?.ask(move |jobs| by.matching(jobs, &search, is_dry)).await?;
            let after = done.after.map(|id| id.to_string());
            Ok(Json(ChangedJobs { count: done.count, after }))
        }
        _ => Err(Problem::bad_request("say which jobs: `ids` or `matching`")),
    }
}

/// To how many jobs something was done, and behind which job to go on, if there may be more.
struct Done {
    count: u64,
    after: Option<JobId>,
}

/// An act and the visitor who asks for it.
struct By {
    app: Arc<App>,
    caller: Caller,
    act: Act,
}

impl By {
    fn chosen(&self, jobs: &Jobs, ids: &[JobId], is_dry: bool) -> Result<u64, JobsError> {
        let mut count = 0;
        for id in ids {
            let Some(job) = jobs.get(*id)? else { continue };
            if (self.act.is_possible)(job.state) && (is_dry || self.one(jobs, &job)?) {
                count += 1;
            }
        }
        Ok(count)
    }

    fn matching(&self, jobs: &Jobs, search: &Search, is_dry: bool) -> Result<Done, JobsError> {
        if search.error.is_none() && !is_dry {
            let done = (self.act.all)(jobs, &search.filter);
            if may_have_effect(&done) {
                self.note_all(search, done.as_ref().ok().copied());
            }
            return Ok(Done { count: done?, after: None });
        }
        let (mut count, mut failure) = (0, None);
        let each = |job: &StoredJob| {
            if !(self.act.is_possible)(job.state) || failure.is_some() {
                return;
            }
            let done = if is_dry { Ok(true) } else { self.command(jobs, job.id) };
            match done {
                Ok(is_done) => count += u64::from(is_done),
                Err(error) => failure = Some(error),
            }
        };
        let after = search.each(jobs, &self.app, each);
        if !is_dry {
            self.note_all(search, Some(count));
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(Done { count, after: after? }),
        }
    }

    /// Does it to one job and notes it. Returns false if the job is gone, or in another state by now.
    fn one(&self, jobs: &Jobs, job: &StoredJob) -> Result<bool, JobsError> {
        let done = self.command(jobs, job.id);
        if may_have_effect(&done) && !matches!(done, Ok(false)) {
            self.note(&job.task, Some(job.id), None);
        }
        done
    }

    fn command(&self, jobs: &Jobs, id: JobId) -> Result<bool, JobsError> {
        match (self.act.one)(jobs, id) {
            Ok(()) => Ok(true),
            Err(error) if error.is_unavailable() || error.is_failed() => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// One action for all of them; without a count if the store did not answer.
    fn note_all(&self, search: &Search, count: Option<u64>) {
        let count =
            count.map_or_else(|| "an unknown number of".to_owned(), |count| count.to_string());
        let note = format!("{count} jobs: {}", search.in_words());
        self.note(search.filter.task.as_deref().unwrap_or("*"), None, Some(&note));
    }

    fn note(&self, task: &str, job: Option<JobId>, note: Option<&str>) {
        let what = What { action: self.act.name, task, queue: None, job, note };
        self.app.note((&self.caller.who(), self.caller.from), what);
    }
}
