//! New jobs as one text, for statements of SQL.

use serde::ser::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::column::{Kind, Value};
use crate::error::{Refusal, StoreError};
use crate::job::NewJob;
use crate::job_columns::{NEW_JOB_COLUMNS, NewColumn};

/// A JSON array of the jobs, for a store whose [`statement`](crate::Store::statement) takes it.
///
/// Instants and waits are microseconds, priorities are numbers from 0, and the payload is a string that has the JSON of the
/// payload, so that no database writes it in another way.
///
/// # Errors
///
/// [`NewJob::check`] refuses a job, or a payload is no text.
pub fn statement_json(jobs: &[NewJob]) -> Result<String, StoreError> {
    for job in jobs {
        job.check()?;
        std::str::from_utf8(&job.payload.bytes).map_err(|_| Refusal::Unstorable {
            field: "payload",
            reason: "it is no text".to_owned(),
        })?;
    }
    let rows: Vec<_> = jobs.iter().map(Row).collect();
    Ok(serde_json::to_string(&rows).unwrap_or_default())
}

/// A job in a statement.
struct Row<'a>(&'a NewJob);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(NEW_JOB_COLUMNS.iter().map(|column| (column.name, json(column, self.0))))
    }
}

fn json(column: &NewColumn, job: &NewJob) -> Json {
    match (column.get)(job) {
        Value::Int(flag) if matches!(column.kind, Kind::Flag | Kind::Choice(_)) => {
            (flag != 0).into()
        }
        Value::Int(number) => number.into(),
        Value::Uuid(id) => id.to_string().into(),
        Value::Text(text) => text.into(),
        Value::Bytes(bytes) if !bytes.is_empty() => String::from_utf8_lossy(&bytes).into(),
        Value::Bytes(_) | Value::Null => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{JobId, Key, KeyUntil, OnConflict, Payload, StoreTime, Uuid, When};

    fn new(number: u128) -> NewJob {
        NewJob::new(JobId::from_uuid(Uuid::from_u128(number)), "a")
    }

    #[test]
    fn a_job_is_one_object_with_all_that_a_store_keeps_of_it() {
        let json = statement_json(&[new(1)]).expect("it can be stored");
        let expected = "[{\"id\":\"00000000-0000-0000-0000-000000000001\",\"task\":\"a\",\"payload\":null,\"version\":0,\
            \"queue\":\"default\",\"priority\":1,\"at\":null,\"wait\":0,\"key\":null,\"until_start\":false,\
            \"replace\":false,\"max_attempts\":1,\"abandon\":false,\"traceparent\":null,\"resent\":false,\"key_for\":null}]";
        assert_eq!(json, expected);
        assert_eq!(statement_json(&[]), Ok("[]".to_owned()));
        let at = NewJob { when: When::At(StoreTime::from_micros(-7)), ..new(1) };
        let json = statement_json(&[new(1), at]).expect("it can be stored");
        assert!(json.contains("},{") && json.contains("\"at\":-7,\"wait\":0"), "{json}");
        let late = NewJob { when: When::After(Duration::MAX), ..new(1) };
        let json = statement_json(&[late]).expect("it can be stored");
        assert!(json.contains("\"wait\":300000000000000000"), "{json}");
    }

    #[test]
    fn no_text_of_a_job_ends_its_string() {
        let payload = Payload { version: 1, bytes: br#""a\u0000""#.to_vec() };
        let (until, on_conflict) = (KeyUntil::Start, OnConflict::Replace);
        let key = Some(Key { text: "\"},{\\\n".to_owned(), until, on_conflict });
        let json = statement_json(&[NewJob { payload, key, ..new(1) }]).expect("it can be stored");
        assert!(json.contains(r#""payload":"\"a\\u0000\"""#), "{json}");
        assert!(json.contains(r#""key":"\"},{\\\n","until_start":true,"replace":true"#), "{json}");
    }

    #[test]
    fn a_job_that_no_store_keeps_is_refused() {
        let payload = Payload { version: 1, bytes: vec![255] };
        let refused = statement_json(&[NewJob { payload, ..new(1) }]).expect_err("no text");
        assert_eq!(refused.to_string(), "payload: it is no text");
        assert!(statement_json(&[NewJob { queue: String::new(), ..new(1) }]).is_err());
    }
}
