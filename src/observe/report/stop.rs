//! The messages of a stop: the runs it waits for, those that did not end, and the totals.

use std::time::Duration;

use super::Message;
use crate::observe::{duration, plural};

/// The most running tasks that are named.
const NAMED: usize = 10;

/// A task with a run in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StillRunning {
    pub(crate) task: String,
    pub(crate) running_for: Duration,
}

/// No new runs start, and the stop waits for those in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopping<'a> {
    pub(crate) running: &'a [StillRunning],
    pub(crate) limit: Duration,
    /// The way to end the wait early.
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

/// A reminder that runs are still in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StillWaiting<'a> {
    pub(crate) running: &'a [StillRunning],
    /// The time for which the stop still waits.
    pub(crate) left: Duration,
}

impl StillWaiting<'_> {
    pub(crate) fn message(&self) -> Message {
        let (tasks, left) = (list(self.running, " so far"), duration(self.left));
        Message::info(format!("still waiting for {tasks}; up to {left} more"))
    }
}

/// Runs that were asked to stop, and did not.
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
                "help: ask `run.stop_requested()` in long tasks, or wait longer: .await_termination(…)",
            )
    }
}

/// Runs that ended when they were asked to, after the time to stop was over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutOff<'a> {
    pub(crate) running: &'a [StillRunning],
    pub(crate) limit: Duration,
}

impl CutOff<'_> {
    pub(crate) fn message(&self) -> Message {
        let (tasks, limit) = (list(self.running, ""), duration(self.limit));
        Message::warn(format!("did not finish within {limit} and was cancelled: {tasks}"))
            .note("they were asked to stop: futures were dropped at their `.await`")
            .note("help: wait longer, .await_termination(…), or ask `Shutdown` and leave the rest to the next run")
    }
}

/// The last message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped {
    pub(crate) took: Duration,
    pub(crate) runs: u64,
    pub(crate) failures: u64,
    pub(crate) skipped: u64,
    /// True if more may have been skipped.
    pub(crate) at_least: bool,
}

impl Stopped {
    pub(crate) fn message(&self) -> Message {
        let (took, runs) = (duration(self.took), plural(self.runs, "run"));
        let failures = plural(self.failures, "failure");
        let skipped = match self.skipped {
            0 => String::new(),
            skipped if self.at_least => format!(", at least {skipped} skipped"),
            skipped => format!(", {skipped} skipped"),
        };
        Message::info(format!("stopped after {took}: {runs}, {failures}{skipped}"))
    }
}

/// The stop no longer waits for slow listeners, which do not get so many events any more.
pub(crate) fn undelivered(lost: u64, limit: Duration) -> Message {
    let (limit, events) = (duration(limit), plural(lost, "event"));
    Message::warn(format!("listeners are still busy {limit} after the last run: {events} lost"))
        .note("help: a listener is called with one event after the other; let it pass what takes long to another thread")
}

/// A scheduler was dropped before any task ran.
pub(crate) fn dropped_too_early() -> Message {
    Message::warn("the scheduler was dropped before any task ran").note(
        "help: keep it: `let scheduler = Scheduler::builder().spawn()?;`, \
         or use scheduler::start() to run until Ctrl-C",
    )
}

/// ``1 running task (`import`, 12s so far)``, the longest first.
fn list(running: &[StillRunning], so_far: &str) -> String {
    let mut sorted: Vec<&StillRunning> = running.iter().collect();
    sorted.sort_by_key(|task| std::cmp::Reverse(task.running_for));
    let named = sorted.iter().take(NAMED);
    let mut named: Vec<String> =
        named.map(|run| format!("`{}`, {}{so_far}", run.task, duration(run.running_for))).collect();
    if sorted.len() > NAMED {
        named.push(format!("and {} more", sorted.len() - NAMED));
    }
    format!("{} ({})", plural(running.len() as u64, "running task"), named.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(task: &str, millis: u64) -> StillRunning {
        StillRunning { task: task.to_owned(), running_for: Duration::from_millis(millis) }
    }

    const LIMIT: Duration = Duration::from_secs(30);

    #[test]
    fn a_stop_lists_what_it_waits_for_the_longest_first() {
        let idle = Stopping { running: &[], limit: LIMIT, hint: "Ctrl-C again to quit now" };
        assert_eq!(idle.message().to_string(), "INFO  stopping: no new runs");
        let running = [running("tick", 20), running("import", 12_000)];
        let busy = Stopping { running: &running, ..idle };
        assert_eq!(
            busy.message().to_string(),
            "INFO  stopping: no new runs; waiting up to 30s for 2 running tasks \
             (`import`, 12s so far; `tick`, 20ms so far) — Ctrl-C again to quit now"
        );
        let waiting = StillWaiting { running: &running[..1], left: Duration::from_secs(16) };
        assert_eq!(
            waiting.message().to_string(),
            "INFO  still waiting for 1 running task (`tick`, 20ms so far); up to 16s more"
        );
    }

    #[test]
    fn what_did_not_stop_is_named_and_many_are_counted() {
        let many: Vec<_> = (0..12).map(|number| running(&format!("t{number}"), number)).collect();
        let text = NotStopped { running: &many, limit: LIMIT }.message().to_string();
        let head = "ERROR not stopped within 30s: 12 running tasks (`t11`, 11ms; `t10`, 10ms; ";
        assert!(text.starts_with(head), "{text}");
        assert!(text.contains("`t2`, 2ms; and 2 more)\n      asked to stop"), "{text}");
        let hostile = [running("a\nERROR forged", 1)];
        let text = NotStopped { running: &hostile, limit: LIMIT }.message().to_string();
        assert!(text.contains(r"`a\nERROR forged`"), "{text}");
    }

    #[test]
    fn what_is_cut_off_is_named() {
        let text =
            CutOff { running: &[running("poll", 1_500)], limit: LIMIT }.message().to_string();
        let head =
            "WARN  did not finish within 30s and was cancelled: 1 running task (`poll`, 1.5s)\n";
        assert!(text.starts_with(head), "{text}");
    }

    #[test]
    fn the_last_message_has_the_totals() {
        let took = Duration::from_millis(1);
        let stopped = Stopped { took, runs: 61, failures: 0, skipped: 0, at_least: false };
        assert_eq!(stopped.message().to_string(), "INFO  stopped after 1ms: 61 runs, 0 failures");
        let stopped = Stopped { runs: 1, failures: 1, skipped: 3, ..stopped };
        assert_eq!(
            stopped.message().to_string(),
            "INFO  stopped after 1ms: 1 run, 1 failure, 3 skipped"
        );
    }
}
