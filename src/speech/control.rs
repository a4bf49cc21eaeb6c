//! Words for what is done to tasks while they are scheduled: paused, resumed, rescheduled, ended.

use std::time::Duration;

use scheduler_core::trigger::Zone;

use super::Message;
use super::words::duration;
use super::words::instant;
use crate::observe::Event;
use crate::observe::RuleKind;
use crate::observe::TaskState;

/// What is said of an event of this kind, if anything; `zone` is that of its task.
pub(super) fn words(event: &Event, zone: Zone) -> Option<Message> {
    match event {
        Event::Paused { task, note, until, .. } => {
            let until = until.map_or_else(
                || " until it is resumed".to_owned(),
                |until| format!(" until {}", instant(until, zone)),
            );
            let note = note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
            Some(Message::info(format!("task `{task}` is paused{until}{note}")))
        }
        Event::Resumed { task, .. } => Some(Message::info(format!("task `{task}` goes on"))),
        Event::Enabled { task, next, .. } => {
            let next = next.map_or_else(|| "unknown".to_owned(), |next| instant(next, zone));
            Some(Message::info(format!("task `{task}` is enabled; next run: {next}")))
        }
        Event::Rescheduled { task, rule, next, .. } => {
            let next = next.map_or_else(|| "never".to_owned(), |next| instant(next, zone));
            Some(Message::info(format!("task `{task}` now runs {rule}; next run: {next}")))
        }
        _ => None,
    }
}

/// What is said of a run whose time is over: a future is dropped, and a function can only be asked.
pub(super) fn too_long(task: &str, is_async: bool) -> Message {
    let words = Message::warn(format!("task `{task}` runs longer than its `timeout`"));
    if is_async {
        return words.note("it is dropped where it awaits; a part that does not holds its thread");
    }
    words
        .note("it was asked to stop, and holds its thread until it does")
        .note("help: let it ask `run.is_cancelled()` now and then")
}

/// What is said of a run that was cancelled.
pub(super) fn cancelled(task: &str, took: Duration) -> Message {
    let took = duration(took);
    Message::info(format!("a run of task `{task}` was cancelled after {took}"))
}

/// What is said of the end of a task, if anything: a one-time task that has run is none of them.
pub(super) fn ended(task: &str, state: TaskState, kind: Option<RuleKind>) -> Option<Message> {
    match state {
        TaskState::Failed => {
            let text = format!("task `{task}` has ended, and will not run again");
            Some(
                Message::error(text).note(
                    "by `on_error = \"stop\"`; `on_error = \"continue\"` goes on after failures",
                ),
            )
        }
        TaskState::Completed => {
            let rule = match kind {
                Some(RuleKind::Once | RuleKind::At) => return None,
                Some(RuleKind::Custom) => "trigger",
                Some(RuleKind::Cron) => "cron expression",
                _ => "schedule",
            };
            let text = format!("task `{task}` has ended: its {rule} has no further fire time");
            Some(Message::info(text))
        }
        TaskState::Cancelled => {
            Some(Message::info(format!("task `{task}` was cancelled, and will not run again")))
        }
        _ => None,
    }
}

/// What is said of the end of a task that was removed during a run, when another one has its name.
pub(super) fn ended_after_removal(task: &str) -> Message {
    Message::info(format!("the last run of the task `{task}` that was removed has ended"))
}

/// A task that was added while the scheduler runs.
pub(super) fn added(task: &str, rule: &str, is_disabled: bool) -> Message {
    let disabled = if is_disabled { "; it is disabled" } else { "" };
    Message::info(format!("task `{task}` was added: {rule}{disabled}"))
}

/// The first success of a task.
pub(super) fn first_success(first: &FirstSuccess<'_>) -> Message {
    let (task, took) = (first.task, duration(first.took));
    let how = match (first.kind, first.number) {
        (Some(RuleKind::Once | RuleKind::At), _) => {
            return Message::info(format!("task `{task}` finished its run in {took}"));
        }
        (_, 1) => "finished its first run in",
        _ => "succeeded for the first time, in",
    };
    Message::info(format!("task `{task}` {how} {took}")).of_successes()
}

/// What is said of the first success of a task.
pub(super) struct FirstSuccess<'a> {
    pub(super) task: &'a str,
    pub(super) number: u64,
    pub(super) took: Duration,
    pub(super) kind: Option<RuleKind>,
}
