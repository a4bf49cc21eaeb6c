//! Jobs, queues and the processes that share them.

use std::collections::BTreeMap;
use std::time::Duration;

use scheduler::Zone;
use scheduler::store::{
    Depth, JobState, OnLost, Priority, SessionId, SessionInfo, StoreTime, StoredJob, utc,
};
use serde_json::{Map, Value, json};

use super::object::put;
use crate::access::Visitor;
use crate::app::App;
use crate::times::{instant, local, millis};

/// How much of an error the list shows.
const MESSAGE_CHARS_MAX: usize = 300;
/// How much of a payload is shown.
const PAYLOAD_CHARS_MAX: usize = 64 * 1_024;

/// A job of the list.
pub(crate) fn job(app: &App, job: &StoredJob) -> Value {
    let mut row = facts(app.zone, job);
    let error = job.error.as_deref().map(|error| app.options.redacted(error));
    let error = error.map(|error| error.chars().take(MESSAGE_CHARS_MAX).collect::<String>());
    put(&mut row, "error", error);
    row.into()
}

/// A job by itself, as this visitor may see it.
pub(crate) fn job_detail(app: &App, visitor: &Visitor, job: &StoredJob) -> Value {
    let mut row = facts(app.zone, job);
    put(&mut row, "error", job.error.as_deref().map(|error| app.options.redacted(error)));
    put(&mut row, "payload", payload(app, visitor, job));
    row.into()
}

fn facts(zone: Zone, job: &StoredJob) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert("id".into(), job.id.to_string().into());
    row.insert("task".into(), (*job.task).into());
    row.insert("queue".into(), (*job.queue).into());
    row.insert("state".into(), job.state.word().into());
    row.insert("priority".into(), priority(job.priority).into());
    row.insert("onLost".into(), on_lost(job.on_lost).into());
    row.insert("attempt".into(), job.attempt.into());
    row.insert("maxAttempts".into(), job.max_attempts.into());
    row.insert("lost".into(), job.lost.into());
    row.insert("undecoded".into(), job.undecoded.into());
    row.insert("fence".into(), job.fence.0.into());
    row.insert("isCancelRequested".into(), job.is_cancel_requested.into());
    put(&mut row, "key", job.key.as_deref());
    put(&mut row, "session", job.session.map(|session| session.to_string()));
    if let Some(origin) = &job.origin {
        row.insert("schedule".into(), (*origin.schedule).into());
        row.insert("missed".into(), origin.missed.into());
        time(&mut row, zone, "tick", origin.tick);
    }
    time(&mut row, zone, "runAt", Some(job.run_at));
    time(&mut row, zone, "createdAt", Some(job.created_at));
    time(&mut row, zone, "startedAt", job.started_at);
    time(&mut row, zone, "finishedAt", job.finished_at);
    row
}

/// The argument, if the visitor may see it: as JSON, or as a text if it is none. `None` if the job has none.
fn payload(app: &App, visitor: &Visitor, job: &StoredJob) -> Option<Value> {
    let bytes = &job.payload.bytes;
    if job.payload.version == 0 && bytes.is_empty() {
        return None;
    }
    let mut shown = json!({ "version": job.payload.version, "bytes": bytes.len() });
    if !(app.options.shows_payload)(visitor, &job.task) {
        shown["isHidden"] = true.into();
        return Some(shown);
    }
    let text = match serde_json::from_slice::<Value>(bytes) {
        Ok(mut value) => {
            hide(&mut value, &app.options.hidden_fields);
            format!("{value:#}")
        }
        // What cannot be read has no fields that could be hidden.
        Err(_) if !app.options.hidden_fields.is_empty() => {
            shown["isHidden"] = true.into();
            return Some(shown);
        }
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    };
    let text = app.options.redacted(&text);
    let cut: String = text.chars().take(PAYLOAD_CHARS_MAX).collect();
    shown["isCut"] = (cut.len() < text.len()).into();
    shown["text"] = cut.into();
    Some(shown)
}

/// Takes the values of these fields away, wherever they are.
fn hide(value: &mut Value, names: &[String]) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| hide(value, names)),
        Value::Object(object) => {
            for (name, value) in object {
                if names.iter().any(|hidden| hidden.eq_ignore_ascii_case(name)) {
                    *value = "hidden".into();
                } else {
                    hide(value, names);
                }
            }
        }
        _ => {}
    }
}

/// The queues, each with its tasks.
pub(crate) fn queues(depths: &[Depth]) -> Vec<Value> {
    let mut queues = BTreeMap::<&str, Vec<&Depth>>::new();
    for depth in depths {
        queues.entry(&depth.queue).or_default().push(depth);
    }
    let queue = |(name, depths): (&str, Vec<&Depth>)| {
        let sum = |count: fn(&Depth) -> u64| depths.iter().map(|depth| count(depth)).sum::<u64>();
        let counts =
            [sum(|it| it.due), sum(|it| it.later), sum(|it| it.running), sum(|it| it.parked)];
        let oldest = depths.iter().filter_map(|depth| depth.oldest).max();
        let mut queue = depth_row(("queue", name), counts, oldest);
        let task = |it: &&Depth| {
            let counts = [it.due, it.later, it.running, it.parked];
            Value::from(depth_row(("task", &it.task), counts, it.oldest))
        };
        queue.insert("tasks".into(), depths.iter().map(task).collect());
        Value::from(queue)
    };
    queues.into_iter().map(queue).collect()
}

fn depth_row(
    (kind, name): (&str, &str),
    counts: [u64; 4],
    oldest: Option<Duration>,
) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert(kind.into(), name.into());
    for (name, count) in ["due", "later", "running", "parked"].into_iter().zip(counts) {
        row.insert(name.into(), count.into());
    }
    put(&mut row, "oldestMs", oldest.map(millis));
    row
}

/// The processes, each with the jobs that it has; and the jobs whose process is gone.
pub(crate) fn nodes(
    zone: Zone,
    sessions: &[SessionInfo],
    running: &[StoredJob],
) -> (Vec<Value>, Vec<Value>) {
    let mut held = BTreeMap::<Option<SessionId>, Vec<Value>>::new();
    for job in running {
        let mut row = Map::new();
        row.insert("id".into(), job.id.to_string().into());
        row.insert("task".into(), (*job.task).into());
        row.insert("attempt".into(), job.attempt.into());
        time(&mut row, zone, "startedAt", job.started_at);
        held.entry(job.session).or_default().push(row.into());
    }
    let node = |session: &SessionInfo| {
        let mut row = Map::new();
        row.insert("session".into(), session.id.to_string().into());
        row.insert("label".into(), (*session.label).into());
        row.insert("build".into(), (*session.build).into());
        row.insert("hasRunOut".into(), session.has_run_out.into());
        time(&mut row, zone, "openedAt", Some(session.opened_at));
        row.insert("jobs".into(), held.remove(&Some(session.id)).unwrap_or_default().into());
        Value::from(row)
    };
    let nodes = sessions.iter().map(node).collect();
    (nodes, held.into_values().flatten().collect())
}

/// The word of a state, as stores have it.
pub(crate) fn state_of(word: &str) -> Option<JobState> {
    JobState::ALL.into_iter().find(|state| state.word() == word)
}

fn time(row: &mut Map<String, Value>, zone: Zone, name: &str, at: Option<StoreTime>) {
    let Some(at) = at.map(utc) else { return };
    row.insert(name.to_owned(), instant(at).into());
    row.insert(format!("{name}Local"), local(at, zone).into());
}

fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::Low => "low",
        Priority::Normal => "normal",
        Priority::High => "high",
        Priority::Urgent => "urgent",
    }
}

fn on_lost(on_lost: OnLost) -> &'static str {
    match on_lost {
        OnLost::Rerun => "rerun",
        OnLost::Abandon => "abandon",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_hidden_wherever_they_are() {
        let mut value =
            json!({ "to": "x", "Iban": { "a": 1 }, "list": [{ "iban": "DE", "n": 1 }] });
        hide(&mut value, &["iban".to_owned()]);
        let hidden = json!({ "to": "x", "Iban": "hidden", "list": [{ "iban": "hidden", "n": 1 }] });
        assert_eq!(value, hidden);
    }
}
