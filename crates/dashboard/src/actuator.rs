//! The endpoints of Spring Boot's actuator, in its shapes: the index, `scheduledtasks`, `health`.
//!
//! The shape is Boot 4's, so that strict clients decode it: four arrays, absent values left out, nothing added. Disabled
//! tasks are left out. One-time tasks, which Spring does not show, are in `custom`.

use std::time::Duration;

use scheduler::{Outcome, RuleKind, TaskSnapshot, TaskState};
use serde::Serialize;

use crate::app::App;
use crate::times::instant;

pub(crate) const CONTENT_TYPE_V3: &str = "application/vnd.spring-boot.actuator.v3+json";
const CONTENT_TYPE_V2: &str = "application/vnd.spring-boot.actuator.v2+json";

/// The content type for what a client accepts.
pub(crate) fn content_type(accept: &str) -> &'static str {
    if accept.contains(CONTENT_TYPE_V3) || accept.contains("*/*") || accept.is_empty() {
        CONTENT_TYPE_V3
    } else if accept.contains(CONTENT_TYPE_V2) {
        CONTENT_TYPE_V2
    } else if accept.contains("application/json") {
        "application/json"
    } else {
        CONTENT_TYPE_V3
    }
}

/// The index.
#[derive(Serialize)]
pub(crate) struct Index {
    #[serde(rename = "_links")]
    links: Links,
}

#[derive(Serialize)]
struct Links {
    #[serde(rename = "self")]
    index: Link,
    health: Link,
    prometheus: Link,
    scheduledtasks: Link,
}

#[derive(Serialize)]
struct Link {
    href: String,
    templated: bool,
}

/// The index of the actuator at this address.
pub(crate) fn index(base: &str) -> Index {
    let link = |path: &str| Link { href: format!("{base}{path}"), templated: false };
    Index {
        links: Links {
            index: link(""),
            health: link("/health"),
            prometheus: link("/prometheus"),
            scheduledtasks: link("/scheduledtasks"),
        },
    }
}

/// All tasks, by kind.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduledTasks {
    cron: Vec<Task>,
    custom: Vec<Task>,
    fixed_delay: Vec<Task>,
    fixed_rate: Vec<Task>,
}

/// A task with the fields of its kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    #[serde(flatten)]
    rule: Rule,
    runnable: Runnable,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_execution: Option<NextExecution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_execution: Option<LastExecution>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Rule {
    Cron {
        expression: String,
    },
    #[serde(rename_all = "camelCase")]
    Periodic {
        initial_delay: u64,
        interval: u64,
    },
    Custom {
        trigger: String,
    },
}

#[derive(Serialize)]
struct Runnable {
    target: String,
}

#[derive(Serialize)]
struct NextExecution {
    time: String,
}

#[derive(Serialize)]
struct LastExecution {
    status: &'static str,
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<Exception>,
}

#[derive(Serialize)]
struct Exception {
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// All tasks that have a rule and are not disabled.
pub(crate) fn scheduled_tasks(app: &App) -> ScheduledTasks {
    let mut tasks = ScheduledTasks::default();
    for task in app.list().iter().filter(|task| task.state != TaskState::Disabled) {
        let list = match task.facts.kind {
            RuleKind::None => continue,
            RuleKind::Cron => &mut tasks.cron,
            RuleKind::FixedDelay => &mut tasks.fixed_delay,
            RuleKind::FixedRate => &mut tasks.fixed_rate,
            _ => &mut tasks.custom,
        };
        let target = task.facts.function.as_deref().unwrap_or(task.name());
        list.push(Task {
            rule: rule(task),
            runnable: Runnable { target: target.replace("::", ".") },
            next_execution: task.next.map(|next| NextExecution { time: instant(next) }),
            last_execution: last_execution(app, task),
        });
    }
    tasks
}

fn rule(task: &TaskSnapshot) -> Rule {
    let millis = |length: Option<Duration>| {
        u64::try_from(length.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
    };
    match task.facts.kind {
        RuleKind::Cron => Rule::Cron {
            expression: task.expression.as_deref().unwrap_or(&task.facts.rule).to_owned(),
        },
        RuleKind::FixedDelay | RuleKind::FixedRate => Rule::Periodic {
            initial_delay: millis(task.initial_delay),
            interval: millis(task.facts.period),
        },
        _ => Rule::Custom { trigger: task.facts.rule.to_string() },
    }
}

fn last_execution(app: &App, task: &TaskSnapshot) -> Option<LastExecution> {
    if let Some(since) = task.running_since {
        let (status, time) = ("STARTED", instant(since));
        return Some(LastExecution { status, time, exception: None });
    }
    let run = task.last_runs.first()?;
    let status = status(&run.outcome);
    let exception = match run.outcome.failure() {
        Some(failure) => {
            let message = Some(failure.message()).filter(|message| !message.is_empty());
            let message = message.map(|message| app.options.redacted(message));
            Some(Exception { kind: failure.kind().to_owned(), message })
        }
        None => (status == "ERROR")
            .then(|| Exception { kind: run.outcome.name().to_owned(), message: None }),
    };
    Some(LastExecution { status, time: instant(run.started_at), exception })
}

/// Spring has two outcomes: a cancelled run is an error.
fn status(outcome: &Outcome) -> &'static str {
    if outcome.is_success() { "SUCCESS" } else { "ERROR" }
}
