//! New jobs as one text, for statements of SQL.

use serde::Serialize;

use crate::error::{Refusal, StoreError};
use crate::id::JobId;
use crate::job::{KeyUntil, NewJob, OnConflict, OnLost, When};
use crate::time::micros;

/// The longest wait in a text: longer than any instant of a store, and short enough to be added to one.
const WAIT_MAX: i64 = 300_000_000_000_000_000;

/// A JSON array of the jobs, for a store whose [`statement`](crate::Store::statement) takes it.
///
/// Instants and waits are microseconds, priorities are numbers from 0, and the payload is a string that has the JSON of the
/// payload, so that no database writes it in another way.
///
/// # Errors
///
/// [`NewJob::check`] refuses a job, or a payload is no text.
pub fn statement_json(jobs: &[NewJob]) -> Result<String, StoreError> {
    let rows = jobs.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    Ok(serde_json::to_string(&rows).unwrap_or_default())
}

/// A job in a statement. The names are those that the database reads.
#[derive(Serialize)]
struct Row<'a> {
    id: JobId,
    task: &'a str,
    payload: Option<&'a str>,
    version: u32,
    queue: &'a str,
    priority: u8,
    at: Option<i64>,
    wait: i64,
    key: Option<&'a str>,
    until_start: bool,
    replace: bool,
    max_attempts: u32,
    abandon: bool,
    traceparent: Option<&'a str>,
    resent: bool,
    key_for: Option<i64>,
}

fn row(job: &NewJob) -> Result<Row<'_>, Refusal> {
    job.check()?;
    let wait = |wait| micros(wait).min(WAIT_MAX);
    let (key, bytes) = (job.key.as_ref(), &job.payload.bytes);
    let no_text = |_| Refusal::Unstorable { field: "payload", reason: "it is no text".to_owned() };
    Ok(Row {
        id: job.id,
        task: &job.task,
        payload: Some(std::str::from_utf8(bytes).map_err(no_text)?).filter(|text| !text.is_empty()),
        version: job.payload.version,
        queue: &job.queue,
        priority: job.priority.rank(),
        at: if let When::At(at) = job.when { Some(at.as_micros()) } else { None },
        wait: if let When::After(length) = job.when { wait(length) } else { 0 },
        key: key.map(|key| &*key.text),
        until_start: key.is_some_and(|key| key.until == KeyUntil::Start),
        replace: key.is_some_and(|key| key.on_conflict == OnConflict::Replace),
        max_attempts: job.max_attempts.max(1),
        abandon: job.on_lost == OnLost::Abandon,
        traceparent: job.traceparent.as_deref(),
        resent: job.is_resent,
        key_for: key.and_then(|key| match key.until {
            KeyUntil::For(length) => Some(wait(length)),
            KeyUntil::End | KeyUntil::Start => None,
        }),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{JobId, Key, Payload, StoreTime, Uuid};

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
