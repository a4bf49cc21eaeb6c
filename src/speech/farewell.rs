//! Words for the stop: who is waited for and for how long, who did not stop, what it all came to.

use std::time::Duration;

use super::Message;
use super::words::duration;
use super::words::plural;

/// How many running tasks are named before the rest is only counted.
const NAMED: usize = 10;

/// A task of which a run is in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StillRunning {
    pub(crate) task: String,
    pub(crate) running_for: Duration,
}

/// No new runs start, and those in progress are waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopping<'a> {
    pub(crate) running: &'a [StillRunning],
    pub(crate) limit: Duration,
    /// What a person can do who does not want to wait.
    pub(crate) hint: &'a str,
}

impl Stopping<'_> {
    pub(crate) fn message(&self) -> Message {
        let mut text = "stopping: no new runs".to_owned();
        if !self.running.is_empty() {
            let (limit, tasks) = (duration(self.limit), list(self.running, " so far"));
            text.push_str(&format!("; waiting up to {limit} for {tasks}"));
            if !self.hint.is_empty() {
                text.push_str(&format!(" — {}", self.hint));
            }
        }
        Message::info(text)
    }
}

/// Runs are still in progress after a good part of the time to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StillWaiting<'a> {
    pub(crate) running: &'a [StillRunning],
    /// How much longer they are waited for.
    pub(crate) left: Duration,
}

impl StillWaiting<'_> {
    pub(crate) fn message(&self) -> Message {
        let (tasks, left) = (list(self.running, " so far"), duration(self.left));
        Message::info(format!("still waiting for {tasks}; up to {left} more"))
    }
}

/// The time to stop is over, and these had not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotStopped<'a> {
    pub(crate) running: &'a [StillRunning],
    pub(crate) limit: Duration,
}

impl NotStopped<'_> {
    pub(crate) fn message(&self) -> Message {
        let (tasks, limit) = (list(self.running, ""), duration(self.limit));
        Message::error(format!("not stopped within {limit}: {tasks}"))
            .note("asked to stop without effect; what still runs ends with the process")
            .note(
                "help: ask `run.is_cancelled()` in long tasks, or wait longer: .await_termination(…)",
            )
    }
}

/// The last words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped {
    pub(crate) took: Duration,
    pub(crate) runs: u64,
    pub(crate) failures: u64,
    pub(crate) skipped: u64,
}

impl Stopped {
    pub(crate) fn message(&self) -> Message {
        let (took, runs) = (duration(self.took), plural(self.runs, "run"));
        let failures = plural(self.failures, "failure");
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!(", {skipped} skipped"),
        };
        Message::info(format!("stopped after {took}: {runs}, {failures}{skipped}"))
    }
}

/// For a scheduler that was dropped before it could be of use.
pub(crate) fn dropped_too_early() -> Message {
    Message::warn("the scheduler was dropped before any task ran").note(
        "help: keep it: `let scheduler = Scheduler::builder().spawn()?;`, \
         or use scheduler::start() to run until Ctrl-C",
    )
}

/// `1 running task (`import`, 12s so far)`: those that have run for longest first.
fn list(running: &[StillRunning], so_far: &str) -> String {
    let mut sorted: Vec<&StillRunning> = running.iter().collect();
    sorted.sort_by_key(|each| std::cmp::Reverse(each.running_for));
    let named = sorted.iter().take(NAMED);
    let mut named: Vec<String> = named
        .map(|each| format!("`{}`, {}{so_far}", each.task, duration(each.running_for)))
        .collect();
    if sorted.len() > NAMED {
        named.push(format!("and {} more", sorted.len() - NAMED));
    }
    format!("{} ({})", plural(running.len() as u64, "running task"), named.join("; "))
}
