//! Rows of the store and the facade as answers of `/api/v1`.
//!
//! Texts of failures, notes, pauses and payloads pass the program's `redact` before they are shown.
//!
//! | file | answers |
//! |---|---|
//! | `task` | a row of the list; a task by itself; a rule that it might get |
//! | `stored_state` | the state of a durable task in the store |
//! | `runs` | the history of a task; the last and the next hour of all tasks |
//! | `jobs` | jobs and queues |
//! | `limits` | limits of kinds of jobs; why a job waits |
//! | `nodes` | processes |
//! | `action` | changes by hand |

use axum::http::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::app::App;
use crate::problem::Problem;

pub(crate) use crate::view::action::action;
pub(crate) use crate::view::jobs::{
    job, job_detail, paused_partitions, queues, sees_payload, state_of,
};
pub(crate) use crate::view::limits::{limit, partition};
pub(crate) use crate::view::nodes::nodes;
pub(crate) use crate::view::runs::{Page, runs, throughput, timeline};
pub(crate) use crate::view::task::{detail, next_times, preview, row};

mod action;
mod jobs;
mod limits;
mod nodes;
mod runs;
mod stored_state;
mod task;

/// The greatest number of characters of an error in a row.
const ERROR_CHARS_MAX: usize = 300;

/// An error of a row, as far as the dashboard may show it.
fn shown(app: &App, error: &str) -> String {
    cut(&app.options.redacted(error))
}

fn cut(error: &str) -> String {
    error.chars().take(ERROR_CHARS_MAX).collect()
}

/// The fields of a type of the API that a row has by the same names; the others have their defaults. The row may have more: only
/// what the API describes is shown.
///
/// # Errors
///
/// When a field of the row has another form than the API describes: a fault of the dashboard, which shows no empty row instead.
pub(crate) fn by_name<T: DeserializeOwned>(row: &impl Serialize) -> Result<T, Problem> {
    let value = serde_json::to_value(row).map(in_camel_case);
    value.and_then(serde_json::from_value).map_err(|error| {
        let (_, shown) = std::any::type_name::<T>().rsplit_once("::").unwrap_or_default();
        let detail = format!("a row cannot be shown as `{shown}` of the API: {error}");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    })
}

fn in_camel_case(value: Value) -> Value {
    match value {
        Value::Array(list) => list.into_iter().map(in_camel_case).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields
                .map(|(name, value)| (scheduler_api::json_name(&name), in_camel_case(value)))
                .collect::<Map<_, _>>()
                .into()
        }
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use scheduler::store::{
        AttemptOutcome, JobAttempt, JobId, QueueDepth, SessionId, SessionInfo, StoreTime, StoredJob,
    };
    use scheduler::{Scheduler, tasks};
    use scheduler_api::{Depth, Described, Job, Node, Pool, Type};
    use serde_json::json;

    use super::*;

    /// Fails if the API describes a field that the row does not have, and that is not among these; and if one of these is a
    /// field of the row, or not described.
    #[track_caller]
    fn has_all_but<T>(row: &impl Serialize, others: &[&str])
    where
        T: Described + DeserializeOwned,
    {
        assert!(by_name::<T>(row).is_ok(), "{:?}", by_name::<T>(row).err());
        let Type::Struct(described) = T::TYPE else { panic!("no struct") };
        let row = in_camel_case(serde_json::to_value(row).unwrap());
        let described = described.fields.iter().map(|field| field.json_name());
        let missing: BTreeSet<String> = described.filter(|name| row.get(name).is_none()).collect();
        assert_eq!(missing, others.iter().map(|&name| name.to_owned()).collect());
    }

    /// The pair `UnknownTask` is compared as a whole by the tests of `/queues`.
    #[test]
    fn a_row_has_each_field_that_the_api_describes_but_those_that_are_added() {
        let at = StoreTime::from_micros(0);
        let id = "00000000-0000-0000-0000-000000000001";
        let job = StoredJob::empty(id.parse::<JobId>().unwrap());
        has_all_but::<Job>(&job, &["node", "schedule", "missed", "tick", "isDeleted", "waits"]);
        let attempt = JobAttempt::new(1, at, at, AttemptOutcome::GaveUp);
        has_all_but::<scheduler_api::JobAttempt>(&attempt, &["tookMs"]);
        let session = SessionInfo::new(id.parse::<SessionId>().unwrap(), at);
        has_all_but::<Node>(&session, &["session", "jobs", "clockOffsetMs", "isClockOff"]);
        let depth = QueueDepth::empty("mail".to_owned(), "send".to_owned());
        has_all_but::<Depth>(&depth, &["oldestMs", "oldestRunningMs"]);
        let scheduler = Scheduler::builder().environment([("PATH", "")]).settings("none.toml", "");
        let scheduler = scheduler.messages(|_| {}).tasks(tasks![]).spawn().unwrap();
        has_all_but::<Pool>(&scheduler.tasks().pools()[0], &[]);
        scheduler.shutdown().unwrap();
    }

    #[test]
    fn a_row_of_another_form_is_an_error_and_no_empty_row() {
        let row = |due: Value| {
            by_name::<scheduler_api::UnknownTask>(
                &json!({ "task": "mail", "due": due, "known_version": 7 }),
            )
        };
        let meant = scheduler_api::UnknownTask {
            task: "mail".to_owned(),
            due: 2,
            known_version: Some(7),
            ..Default::default()
        };
        assert_eq!(row(json!(2)), Ok(meant));
        let problem = row(json!("two")).unwrap_err();
        assert_eq!(problem.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(problem.detail().contains("`UnknownTask` of the API"), "{}", problem.detail());
        assert!(by_name::<Job>(&None::<StoredJob>).is_err());
    }
}
