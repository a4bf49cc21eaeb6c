//! Words for trouble that is not a failed run: starvation, skips, threads, destructors, hooks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::trigger::Zone;

use super::Message;
use super::limit::Limit;
use super::limit::Say;
use super::words::duration;
use super::words::instant;
use crate::observe::Event;
use crate::observe::Failure;
use crate::observe::SkipReason;

/// What was said of trouble lately, each kind with its own minute.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    said: BTreeMap<(&'static str, Arc<str>), Limit>,
}

impl Trouble {
    /// What is to be said of an event, if anything; `zone` is that of its task.
    pub(super) fn report(&mut self, event: &Event, zone: Zone) -> Option<Message> {
        match event {
            Event::Starved { pool, at, .. } => {
                let message = starved(event)?;
                // Not each late start is looked at.
                self.limited(("starved", pool), (*at, zone), 1, |count, within| match within {
                    None => message,
                    Some(within) => message.note(format!(
                        "at least {count} runs of this pool started late within {within}"
                    )),
                })
            }
            Event::Skipped { task, reason, fire_time, count, at } => {
                let why = why(*reason)?;
                let last = instant(*fire_time, zone);
                self.limited((reason.name(), task), (*at, zone), *count, |count, within| {
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
                let (kind, whose, at, message) = of_the_engine(event)?;
                self.limited((kind, &whose), (at, zone), 1, |count, within| match within {
                    None => message,
                    Some(within) => message.note(format!("{count} times within {within}")),
                })
            }
        }
    }

    /// Forgets a task that has ended.
    pub(super) fn forget(&mut self, task: &str) {
        let is_of_task = |kind| matches!(kind, "overlap" | "misfire" | "drop" | "wait" | "trigger");
        self.said.retain(|(kind, whose), _| !(is_of_task(*kind) && **whose == *task));
    }

    /// Says something now, or once a minute with how often it happened and within how long.
    fn limited(
        &mut self,
        (kind, whose): (&'static str, &Arc<str>),
        (at, zone): (DateTime<Utc>, Zone),
        count: u64,
        words: impl FnOnce(u64, Option<String>) -> Message,
    ) -> Option<Message> {
        let limit = self.said.entry((kind, Arc::clone(whose))).or_insert_with(|| Limit::new(1));
        match limit.ask(at, count) {
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

/// Words for trouble that the engine reports, by its kind and whose it is.
fn of_the_engine(event: &Event) -> Option<(&'static str, Arc<str>, DateTime<Utc>, Message)> {
    let (kind, whose, at, message) = match event {
        Event::WorkerRefused { pool, reason, at } => {
            let text = format!("pool `{pool}` could not start a thread: {reason}");
            let message = Message::warn(text).note(
                "it goes on with the threads it has, and asks again when a task is submitted",
            );
            ("refused", Arc::clone(pool), at, message)
        }
        Event::DropPanicked { task, failure, at } => {
            ("drop", Arc::clone(task), at, dropped(task, failure))
        }
        Event::TriggerFailed { task, failure, asked_again_in, at } => {
            ("trigger", Arc::clone(task), at, without_trigger(task, failure, *asked_again_in))
        }
        Event::HookPanicked { hook, failure, at } => {
            ("hook", Arc::from(*hook), at, hooked(hook, failure))
        }
        Event::WaitStarved { task, pool, awaited, at } => {
            let text = format!(
                "task `{task}` waits for `{awaited}`, which finds no free thread in pool `{pool}`"
            );
            let message = Message::warn(text).note(format!(
                "help: let one task not wait for another, or raise `{}`",
                size_key(pool)
            ));
            ("wait", Arc::clone(task), at, message)
        }
        _ => return None,
    };
    Some((kind, whose, *at, message))
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
