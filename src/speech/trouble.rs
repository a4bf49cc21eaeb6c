//! Words for what happens beside failed runs: starvation, skips, threads, destructors, hooks, control.

use std::mem::Discriminant;
use std::mem::discriminant;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::trigger::Zone;

use super::Message;
use super::control;
use super::failures;
use super::limit::Limit;
use super::limit::Say;
use super::words::duration;
use super::words::instant;
use crate::observe::Event;
use crate::observe::Failure;
use crate::observe::Outcome;
use crate::observe::SkipReason;
use crate::observe::StopReason;
use crate::observe::TaskFacts;

/// How often news of a task are told in full before they are summed up.
const NEWS_IN_FULL: u32 = 10;

/// What was said lately of a task, a pool or a hook, each kind with its own minute.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    said: Vec<(Kind, Limit)>,
}

/// The kind of an event, and of several about the same event which one it is.
type Kind = (Discriminant<Event>, &'static str);

impl Trouble {
    /// What is to be said of an event, if anything; `facts` are those of its task.
    pub(super) fn report(
        &mut self,
        event: &Event,
        facts: Option<&Arc<TaskFacts>>,
    ) -> Option<Message> {
        let (at, zone) = (event.at()?, failures::zone(facts));
        match event {
            Event::Starved { .. } => {
                let message = starved(event)?;
                // Not each late start is looked at.
                self.limited((event, ""), (at, zone), 1, |count, within| match within {
                    None => message,
                    Some(within) => message.note(format!(
                        "at least {count} runs of this pool started late within {within}"
                    )),
                })
            }
            Event::Skipped { task, reason, fire_time, count, .. } => {
                let why = why(*reason)?;
                let last = instant(*fire_time, zone);
                self.limited((event, reason.name()), (at, zone), *count, |count, within| {
                    let within =
                        within.map_or_else(String::new, |within| format!(" within {within}"));
                    let what = match count {
                        1 => format!("its run of {last}"),
                        _ => format!("{count} runs{within}, the last that of {last}"),
                    };
                    Message::warn(format!("task `{task}` skipped {what}: {why}"))
                })
            }
            _ => {
                let is_async = facts.is_some_and(|facts| facts.is_async);
                let message = words(event, is_async).or_else(|| control::words(event, zone))?;
                self.limited((event, ""), (at, zone), 1, |count, within| match within {
                    None => message,
                    Some(within) => message.note(format!("{count} times within {within}")),
                })
            }
        }
    }

    /// Says something now, or once a minute with how often it happened and within how long.
    fn limited(
        &mut self,
        (event, which): (&Event, &'static str),
        (at, zone): (DateTime<Utc>, Zone),
        count: u64,
        words: impl FnOnce(u64, Option<String>) -> Message,
    ) -> Option<Message> {
        let kind = (discriminant(event), which);
        let index = self.said.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            self.said.push((kind, Limit::new(in_full(event))));
            self.said.len() - 1
        });
        match self.said[index].1.ask(at, count) {
            Say::InFull { untold, .. } => {
                let untold = untold.map_or_else(String::new, |untold| untold.words(zone));
                Some(words(count, None).note(untold))
            }
            Say::Summed { count, since } => {
                let within = duration((at - since).to_std().unwrap_or_default());
                Some(words(count, Some(within)))
            }
            Say::Nothing => None,
        }
    }
}

/// How often an event of this kind is told in full: what is wrong once.
fn in_full(event: &Event) -> u32 {
    match event {
        Event::Paused { .. }
        | Event::Resumed { .. }
        | Event::Rescheduled { .. }
        | Event::RunFinished { .. } => NEWS_IN_FULL,
        _ => 1,
    }
}

/// The pool or the hook that an event is about, if it is not about a task.
pub(super) fn place(event: &Event) -> Option<&str> {
    match event {
        Event::Starved { pool, .. } | Event::WorkerRefused { pool, .. } => Some(pool),
        Event::HookPanicked { hook, .. } => Some(hook),
        _ => None,
    }
}

/// Words for other events; `is_async` says what the task is.
fn words(event: &Event, is_async: bool) -> Option<Message> {
    let message = match event {
        Event::WorkerRefused { pool, reason, .. } => {
            let text = format!("pool `{pool}` could not start a thread: {reason}");
            Message::warn(text)
                .note("it goes on with the threads it has, and asks again when a task is submitted")
        }
        Event::DropPanicked { task, failure, .. } => dropped(task, failure),
        Event::TriggerFailed { task, failure, asked_again_in, .. } => {
            without_trigger(task, failure, *asked_again_in)
        }
        Event::HookPanicked { hook, failure, .. } => hooked(hook, failure),
        Event::WaitStarved { task, pool, awaited, .. } => {
            let text = format!(
                "task `{task}` waits for `{awaited}`, which finds no free thread in pool `{pool}`"
            );
            Message::warn(text).note(format!(
                "help: let one task not wait for another, or raise `{}`",
                size_key(pool)
            ))
        }
        Event::StopAsked { run, why: StopReason::Timeout, .. } => {
            control::too_long(run.task_name(), is_async)
        }
        Event::RunFinished { run, outcome: Outcome::Cancelled, took, .. } => {
            control::cancelled(run.task_name(), *took)
        }
        _ => return None,
    };
    Some(message)
}

fn starved(event: &Event) -> Option<Message> {
    let Event::Starved { task, pool, late, busy, longest, .. } = event else { return None };
    let (late, key) = (duration(*late), size_key(pool));
    let threads = match busy {
        1 => format!("the only thread of pool `{pool}`"),
        _ => format!("all {busy} threads of pool `{pool}`"),
    };
    let (are, is) = if *busy == 1 { ("is", "seems to be") } else { ("are", "seem to be") };
    let head = format!("task `{task}` started {late} late: {threads}");
    let raise = format!("raise `{key}` (now {busy})");
    let Some(longest) = longest else {
        let text = format!("{head} {is} busy; {raise}");
        return Some(Message::warn(text).note(
            "async tasks were in progress, of which none may block its thread: \
             let them call what blocks on a thread of its own",
        ));
    };
    let running_for = duration(longest.running_for);
    let longest = &longest.task;
    Some(Message::warn(format!(
        "{head} {are} busy, longest: `{longest}` for {running_for}; {raise}"
    )))
}

/// The setting for the size of a pool, as it is written in a file.
fn size_key(pool: &str) -> String {
    match pool {
        "default" => "scheduler.pool.size".to_owned(),
        _ if pool.chars().all(is_bare) => format!("scheduler.pools.{pool}.size"),
        _ => format!("scheduler.pools.{pool:?}.size"),
    }
}

/// Whether it can be part of a key without quotation marks.
fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// Why runs were skipped; a pause or another rule was somebody's wish, and nothing to warn of.
fn why(reason: SkipReason) -> Option<&'static str> {
    match reason {
        SkipReason::Overlap => Some("the run before was still in progress"),
        SkipReason::Misfire => Some(
            "its time had passed before it could run: \
             all threads were busy, or the process stood still",
        ),
        SkipReason::Paused | SkipReason::Rescheduled => None,
    }
}

fn dropped(task: &str, failure: &Failure) -> Message {
    Message::error(format!(
        "a destructor of task `{task}` panicked: {}; the scheduler goes on",
        failure.message()
    ))
    .note(at(failure))
}

fn hooked(hook: &str, failure: &Failure) -> Message {
    Message::error(format!("a {hook} panicked: {}; the scheduler goes on", failure.message()))
        .note(at(failure))
}

fn without_trigger(task: &str, failure: &Failure, asked_again_in: Duration) -> Message {
    let verb = if failure.is_panic() { "panicked" } else { "failed" };
    let text = format!("the trigger of task `{task}` {verb}: {}", failure.message());
    let wait = duration(asked_again_in);
    Message::error(text)
        .note(at(failure))
        .note(format!("it is asked again in {wait}; no run starts before it answers"))
}

fn at(failure: &Failure) -> String {
    failure.place().map_or_else(String::new, |place| format!("at {place}"))
}
