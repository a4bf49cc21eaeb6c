//! New jobs as one text, for statements of SQL.

use std::fmt::Write as _;

use crate::error::{Refusal, StoreError};
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
    let mut out = String::from("[");
    for (number, job) in jobs.iter().enumerate() {
        job.check()?;
        out.push_str(if number == 0 { "{" } else { ",{" });
        write_job(&mut out, job)?;
        out.push('}');
    }
    out.push(']');
    Ok(out)
}

fn write_job(out: &mut String, job: &NewJob) -> Result<(), StoreError> {
    let key = job.key.as_ref();
    let payload = payload_text(job)?;
    let (at, wait) = match job.when {
        When::Now => (None, 0),
        When::After(wait) => (None, micros(wait).min(WAIT_MAX)),
        When::At(at) => (Some(at.as_micros()), 0),
    };
    let key_for = match key.map(|key| key.until) {
        Some(KeyUntil::For(time)) => Some(micros(time).min(WAIT_MAX)),
        _ => None,
    };
    let is_replacing = key.is_some_and(|key| key.on_conflict == OnConflict::Replace);
    let fields = [
        ("id", text(&job.id.to_string())),
        ("task", text(&job.task)),
        ("payload", payload.map_or_else(null, text)),
        ("version", job.payload.version.to_string()),
        ("queue", text(&job.queue)),
        ("priority", job.priority.rank().to_string()),
        ("at", at.map_or_else(null, |at| at.to_string())),
        ("wait", wait.to_string()),
        ("key", key.map_or_else(null, |key| text(&key.text))),
        ("until_start", key.is_some_and(|key| key.until == KeyUntil::Start).to_string()),
        ("replace", is_replacing.to_string()),
        ("max_attempts", job.max_attempts.max(1).to_string()),
        ("abandon", (job.on_lost == OnLost::Abandon).to_string()),
        ("traceparent", job.traceparent.as_deref().map_or_else(null, text)),
        ("resent", job.is_resent.to_string()),
        ("key_for", key_for.map_or_else(null, |time| time.to_string())),
    ];
    let fields = fields.map(|(name, value)| format!("\"{name}\":{value}"));
    out.push_str(&fields.join(","));
    Ok(())
}

/// None if the job has no payload.
fn payload_text(job: &NewJob) -> Result<Option<&str>, Refusal> {
    if job.payload.bytes.is_empty() {
        return Ok(None);
    }
    let no_text = |_| Refusal::Unstorable { field: "payload", reason: "it is no text".to_owned() };
    std::str::from_utf8(&job.payload.bytes).map(Some).map_err(no_text)
}

fn null() -> String {
    "null".to_owned()
}

/// A string of JSON.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // A `String` takes everything.
            control if control < ' ' => drop(write!(out, "\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
    out
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
        assert!(
            json.contains(r#""key":"\"},{\\\u000a","until_start":true,"replace":true"#),
            "{json}"
        );
    }

    #[test]
    fn a_job_that_no_store_keeps_is_refused() {
        let payload = Payload { version: 1, bytes: vec![255] };
        let refused = statement_json(&[NewJob { payload, ..new(1) }]).expect_err("no text");
        assert_eq!(refused.to_string(), "payload: it is no text");
        assert!(statement_json(&[NewJob { queue: String::new(), ..new(1) }]).is_err());
    }
}
