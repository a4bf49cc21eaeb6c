//! Jobs and queues.

use std::collections::{BTreeMap, BTreeSet};

use scheduler::store::{
    JobAttempt as StoredAttempt, JobPause, JobProgress, JobState, JobWait, PauseScope, QueueDepth,
    SessionInfo, StoredJob, StoredPayload,
};
use scheduler_api::{Depth, Job, JobAttempt, PausedPartition, Payload, Queue, QueueTask};
use serde_json::Value;

use super::cut;
use super::limits::wait;
use super::stored_state::pause_in;
use crate::access::Visitor;
use crate::app::App;
use crate::problem::Problem;
use crate::times::{instant, millis};
use crate::view::by_name;

/// The greatest number of characters of a payload that is shown.
const PAYLOAD_CHARS_MAX: usize = 64 * 1_024;

/// A job of the list.
pub(crate) fn job(app: &App, mut job: StoredJob, waits: &[JobWait]) -> Result<Job, Problem> {
    // The program redacts no text that is not shown.
    job.attempts.clear();
    let row = row(app, job, waits)?;
    let error = row.error.as_deref().map(cut);
    Ok(Job { error, attempts: None, ..row })
}

/// A job by itself, as this visitor may see it.
pub(crate) fn job_detail(
    app: &App,
    visitor: &Visitor,
    job: StoredJob,
    waits: &[JobWait],
) -> Result<Job, Problem> {
    let payload = payload(app, visitor, &job);
    Ok(Job { payload, ..row(app, job, waits)? })
}

/// A job without its payload, which is not for all.
fn row(app: &App, mut job: StoredJob, waits: &[JobWait]) -> Result<Job, Problem> {
    let waits = waits.iter().find(|wait| wait.id == job.id);
    let sessions = app.store()?.sessions();
    let waits = waits.map(|waits| wait(app, waits, no_process(&job, &sessions))).transpose()?;
    job.payload = StoredPayload::default();
    let errors = job.attempts.iter_mut().map(|past| &mut past.error).chain(&mut job.error);
    errors.for_each(|error| *error = app.options.redacted(error));
    let shown = |it: JobProgress| JobProgress::new(it.fraction(), &app.options.redacted(it.text()));
    job.progress = job.progress.and_then(shown);
    let attempts = job.attempts.iter().map(attempt).collect::<Result<_, _>>()?;
    let origin = job.origin.as_ref();
    let of_job = sessions.iter().find(|session| Some(session.id) == job.session);
    Ok(Job {
        node: of_job.map(|session| session.label.clone()),
        run_at: Some(instant(job.due_at().utc())),
        schedule: origin.map(|origin| origin.schedule.clone()),
        tick: origin.and_then(|origin| origin.tick).map(instant),
        missed: origin.map(|origin| origin.missed),
        payload: None,
        waits,
        attempts: Some(attempts),
        ..by_name(&job)?
    })
}

/// The thing that living processes lack to run a job; none if one seems to lack nothing, or none is known.
fn no_process(job: &StoredJob, sessions: &[SessionInfo]) -> Option<String> {
    let version = |session: &SessionInfo| {
        let own = session.tasks.iter().filter(|task| task.name == job.task);
        own.map(|task| task.version).max()
    };
    let alive = || sessions.iter().filter(|session| session.is_alive());
    alive().next()?;
    let having: Vec<&SessionInfo> = alive().filter(|it| version(it).is_some()).collect();
    let Some(first) = having.first() else {
        return Some(format!("no living process has the task {}", job.task));
    };
    let serving = having.iter().filter(|session| session.serves(&job.queue));
    let Some(known) = serving.filter_map(|session| version(session)).max() else {
        return Some(format!(
            "{} has its task, but no such process serves queue {}",
            first.label, job.queue
        ));
    };
    let own = job.payload.version;
    (known < own).then(|| {
        format!("its payload has version {own}, and no living process knows more than {known}")
    })
}

fn attempt(past: &StoredAttempt) -> Result<JobAttempt, Problem> {
    let node = Some(past.node.clone()).filter(|node| !node.is_empty());
    // The clock of the store may have been set back between the two.
    let took_ms = millis(past.ended_at.since(past.started_at));
    Ok(JobAttempt { took_ms, node, ..by_name(past)? })
}

/// The argument as far as the visitor may see it, as JSON if it is that; `None` if the job has none.
fn payload(app: &App, visitor: &Visitor, job: &StoredJob) -> Option<Payload> {
    let (version, bytes) = (job.payload.version, &job.payload.bytes);
    if version == 0 && bytes.is_empty() {
        return None;
    }
    let shown = Payload { version, bytes: bytes.len() as u64, ..Payload::default() };
    let hidden = Payload { is_hidden: Some(true), ..shown.clone() };
    if !(app.options.shows_payload)(visitor, &job.task) {
        return Some(hidden);
    }
    let text = match serde_json::from_slice::<Value>(bytes) {
        Ok(mut value) => {
            hide(&mut value, &app.options.hidden_fields);
            format!("{value:#}")
        }
        // A payload that cannot be read has no fields that could be hidden.
        Err(_) if !app.options.hidden_fields.is_empty() => return Some(hidden),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    };
    let text = app.options.redacted(&text);
    let cut: String = text.chars().take(PAYLOAD_CHARS_MAX).collect();
    Some(Payload { is_cut: Some(cut.len() < text.len()), text: Some(cut), ..shown })
}

/// Returns true if nothing of the payload is hidden from this visitor.
pub(crate) fn sees_payload(app: &App, visitor: &Visitor, job: &StoredJob) -> bool {
    let bytes = &job.payload.bytes;
    payload(app, visitor, job).is_none_or(|shown| {
        let text = match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => format!("{value:#}"),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        };
        shown.text == Some(text)
    })
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

/// The queues, each with its tasks; those with these names also if they are empty.
pub(crate) fn queues(
    app: &App,
    names: &BTreeSet<String>,
    depths: &[QueueDepth],
    pauses: &[JobPause],
) -> Result<Vec<Queue>, Problem> {
    let empty = |queue: &String| Queue { queue: queue.clone(), ..Queue::default() };
    let mut queues: BTreeMap<&str, Queue> =
        names.iter().map(|queue| (&**queue, empty(queue))).collect();
    let mut tasks = BTreeMap::new();
    for paused in pauses {
        let pause = Some(pause_in(app, &paused.pause));
        match &paused.scope {
            PauseScope::Task(task) => drop(tasks.insert(&**task, pause)),
            PauseScope::Queue(queue) => {
                queues.insert(queue, Queue { pause, ..empty(queue) });
            }
            PauseScope::Partition(..) => {}
        }
    }
    for depth in depths {
        let queue = queues.entry(&depth.queue).or_insert_with(|| empty(&depth.queue));
        let [oldest_ms, oldest_running_ms] =
            [depth.oldest, depth.oldest_running].map(|age| age.map(millis));
        let of_task = Depth { oldest_ms, oldest_running_ms, ..by_name(depth)? };
        add(&mut queue.depth, &of_task);
        let pause = tasks.get(&*depth.task).cloned().flatten();
        let task = depth.task.clone();
        queue.tasks.push(QueueTask { task, depth: of_task, pause, ..QueueTask::default() });
    }
    Ok(queues.into_values().collect())
}

/// The partitions among these pauses.
pub(crate) fn paused_partitions(app: &App, pauses: &[JobPause]) -> Vec<PausedPartition> {
    let of = |paused: &JobPause| match &paused.scope {
        PauseScope::Partition(task, partition) => Some(PausedPartition {
            partition: partition.clone(),
            task: task.clone(),
            pause: pause_in(app, &paused.pause),
        }),
        PauseScope::Task(_) | PauseScope::Queue(_) => None,
    };
    pauses.iter().filter_map(of).collect()
}

fn add(sum: &mut Depth, depth: &Depth) {
    sum.due += depth.due;
    sum.later += depth.later;
    sum.retrying += depth.retrying;
    sum.running += depth.running;
    sum.parked += depth.parked;
    for (sum, age) in [
        (&mut sum.oldest_ms, depth.oldest_ms),
        (&mut sum.oldest_running_ms, depth.oldest_running_ms),
    ] {
        *sum = [*sum, age].into_iter().flatten().reduce(f64::max);
    }
}

/// The word of a state, as stores have it.
pub(crate) fn state_of(word: &str) -> Option<JobState> {
    JobState::ALL.into_iter().find(|state| state.word() == word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
