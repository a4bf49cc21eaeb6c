//! The messages of a stop.

use std::time::Duration;

use super::Message;
use crate::observe::{Totals, duration, plural};

/// The most running tasks that are named.
const NAMED: usize = 10;

/// A task with a run in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StillRunning {
    pub(crate) task: String,
    pub(crate) running_for: Duration,
}

/// No new runs start, and the stop waits for those in progress. `hint` says how to end the wait early.
pub(crate) fn stopping(running: &[StillRunning], limit: Duration, hint: &str) -> Message {
    let mut text = "stopping: no new runs".to_owned();
    if !running.is_empty() {
        let (limit, tasks) = (duration(limit), list(running, " so far"));
        text.push_str(&format!("; waiting up to {limit} for {tasks}"));
        if !hint.is_empty() {
            text.push_str(&format!(" — {hint}"));
        }
    }
    Message::info(text)
}

/// A reminder that runs are still in progress, for which the stop waits so much longer.
pub(crate) fn still_waiting(running: &[StillRunning], left: Duration) -> Message {
    let (tasks, left) = (list(running, " so far"), duration(left));
    Message::info(format!("still waiting for {tasks}; up to {left} more"))
}

/// Runs that were asked to stop, and did not.
pub(crate) fn not_stopped(running: &[StillRunning], limit: Duration) -> Message {
    let (tasks, limit) = (list(running, ""), duration(limit));
    Message::error(format!("not stopped within {limit}: {tasks}"))
        .note("asked to stop without effect; what still runs ends with the process")
        .note(
            "help: ask `run.stop_requested()` in long tasks, or wait longer: .await_termination(…)",
        )
}

/// Runs that ended when they were asked to, after the time to stop was over.
pub(crate) fn cancelled(running: &[StillRunning], limit: Duration) -> Message {
    let (tasks, limit) = (list(running, ""), duration(limit));
    Message::warn(format!("did not finish within {limit} and was cancelled: {tasks}"))
        .note("they were asked to stop: futures were dropped at their `.await`")
        .note("help: wait longer, .await_termination(…), or ask `Shutdown` and leave the rest to the next run")
}

/// The last message.
pub(crate) fn stopped(took: Duration, totals: Totals) -> Message {
    let (took, runs) = (duration(took), plural(totals.runs, "run"));
    let failures = plural(totals.failures, "failure");
    let skipped = match totals.skipped {
        0 => String::new(),
        skipped if totals.at_least => format!(", at least {skipped} skipped"),
        skipped => format!(", {skipped} skipped"),
    };
    Message::info(format!("stopped after {took}: {runs}, {failures}{skipped}"))
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
        let hint = "Ctrl-C again to quit now";
        assert_eq!(stopping(&[], LIMIT, hint).to_string(), "INFO  stopping: no new runs");
        let running = [running("tick", 20), running("import", 12_000)];
        assert_eq!(
            stopping(&running, LIMIT, hint).to_string(),
            "INFO  stopping: no new runs; waiting up to 30s for 2 running tasks \
             (`import`, 12s so far; `tick`, 20ms so far) — Ctrl-C again to quit now"
        );
        assert_eq!(
            still_waiting(&running[..1], Duration::from_secs(16)).to_string(),
            "INFO  still waiting for 1 running task (`tick`, 20ms so far); up to 16s more"
        );
    }

    #[test]
    fn runs_that_did_not_stop_are_named_and_many_are_counted() {
        let many: Vec<_> = (0..12).map(|number| running(&format!("t{number}"), number)).collect();
        let text = not_stopped(&many, LIMIT).to_string();
        let head = "ERROR not stopped within 30s: 12 running tasks (`t11`, 11ms; `t10`, 10ms; ";
        assert!(text.starts_with(head), "{text}");
        assert!(text.contains("`t2`, 2ms; and 2 more)\n      asked to stop"), "{text}");
        assert!(text.contains("help: ask `run.stop_requested()` in long tasks"), "{text}");
        let hostile = [running("a\nERROR forged", 1)];
        let text = not_stopped(&hostile, LIMIT).to_string();
        assert!(text.contains(r"`a\nERROR forged`"), "{text}");
    }

    #[test]
    fn runs_that_are_cut_off_are_named() {
        let text = cancelled(&[running("poll", 1_500)], LIMIT).to_string();
        let head =
            "WARN  did not finish within 30s and was cancelled: 1 running task (`poll`, 1.5s)\n";
        assert!(text.starts_with(head), "{text}");
    }

    #[test]
    fn the_last_message_has_the_totals() {
        let took = Duration::from_millis(1);
        let totals = Totals { runs: 61, failures: 0, skipped: 0, at_least: false };
        assert_eq!(
            stopped(took, totals).to_string(),
            "INFO  stopped after 1ms: 61 runs, 0 failures"
        );
        let totals = Totals { runs: 1, failures: 1, skipped: 3, ..totals };
        assert_eq!(
            stopped(took, totals).to_string(),
            "INFO  stopped after 1ms: 1 run, 1 failure, 3 skipped"
        );
    }
}
