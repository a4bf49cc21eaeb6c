//! The messages of the start, and those of the stop.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::Zone;

use crate::observe::{
    Event, EventKind, Level, RuleKind, TaskFacts, Totals, duration, instant, on_one_line, plural,
};
use crate::start::report::{Message, Messages};

/// The greatest width of a column, in characters: one long name does not widen all rows.
const WIDTH_MAX: usize = 60;

/// The most tasks that have a row.
pub(crate) const ROWS_MAX: usize = 50;

/// The message that is printed when the scheduler starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Banner<'a> {
    /// The tasks that have a row.
    pub(crate) tasks: &'a [TaskLine],
    /// The number of tasks.
    pub(crate) count: usize,
    /// The default pool first.
    pub(crate) pools: &'a [PoolLine],
    pub(crate) zone: Zone,
    pub(crate) now: DateTime<Utc>,
    /// Further facts, such as `no config file` or `async tasks: built-in executor`.
    pub(crate) remarks: &'a [String],
}

/// A task as the banner shows it.
#[derive(Clone, Debug)]
pub(crate) struct TaskLine {
    pub(crate) facts: Arc<TaskFacts>,
    pub(crate) next: Option<DateTime<Utc>>,
    /// True if its trigger failed, and is asked again.
    pub(crate) has_trigger_failed: bool,
    pub(crate) fired_by: FiredBy,
}

/// The process or the store that decides when a task runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FiredBy {
    ThisProcess,
    Store,
    /// This process only enqueues.
    OtherProcesses,
}

/// A pool as the banner shows it.
#[derive(Clone, Debug)]
pub(crate) struct PoolLine {
    pub(crate) name: String,
    pub(crate) threads: usize,
    pub(crate) prefix: String,
}

impl fmt::Display for Banner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        let rows: Vec<[String; 3]> = self.tasks.iter().map(|task| self.row(task)).collect();
        let width = |column: usize| {
            let widths = rows.iter().map(|row| row[column].chars().count());
            widths.max().unwrap_or_default().min(WIDTH_MAX)
        };
        let (names, rules) = (width(0), width(1));
        for [task, rule, next] in &rows {
            write!(f, "\n  {task:names$}  {rule:rules$}  {next}")?;
        }
        match self.count - rows.len() {
            0 => Ok(()),
            more => write!(f, "\n  … and {} more", grouped(more)),
        }
    }
}

impl Banner<'_> {
    /// Prints it; a log gets a message for the scheduler and one for each task instead.
    pub(crate) fn announce(&self, messages: &Messages) {
        let mut head = String::new();
        // A string takes every text.
        let _ = self.head(&mut head);
        let mut log: Vec<Message> = head.lines().map(|line| Message::info(line.trim())).collect();
        log.extend(self.tasks.iter().map(|task| {
            let kind = EventKind::TaskAdded { is_disabled: false, next: task.next };
            Message::about(&Event::of(self.now, &task.facts, kind), Level::Info)
        }));
        if let more @ 1.. = self.count - self.tasks.len() {
            log.push(Message::info(format!("… and {} more", grouped(more))));
        }
        messages.announce_text(self.to_string(), log);
    }

    fn head(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let (zone, offset) = (self.zone.name(), self.zone.offset_at(self.now));
        write!(f, "scheduler {}  ", env!("CARGO_PKG_VERSION"))?;
        write!(f, "{} · ", plural(self.count as u64, "task"))?;
        match self.pools {
            [pool] => write!(f, "{}", pool.threads())?,
            pools => {
                let threads = pools.iter().map(|pool| pool.threads).fold(0, usize::saturating_add);
                let threads = plural(threads as u64, "thread");
                write!(f, "{threads} in {}", plural(pools.len() as u64, "pool"))?;
            }
        }
        write!(f, " · zone {zone} (UTC{offset})")?;
        self.remarks.iter().try_for_each(|remark| write!(f, " · {}", on_one_line(remark)))?;
        if self.pools.len() > 1 {
            for pool in self.pools {
                write!(f, "\n  pool {}: {}", on_one_line(&pool.name), pool.threads())?;
            }
        }
        Ok(())
    }

    fn row(&self, task: &TaskLine) -> [String; 3] {
        let TaskLine { facts, .. } = task;
        [on_one_line(&facts.name), on_one_line(&facts.rule), self.next(task)]
    }

    fn next(&self, task: &TaskLine) -> String {
        match task.next {
            None if task.has_trigger_failed => "next: unknown until its trigger answers".to_owned(),
            None if task.facts.kind == RuleKind::Job => "next: when one is enqueued".to_owned(),
            _ if task.fired_by == FiredBy::OtherProcesses => "fired by other processes".to_owned(),
            None if task.fired_by == FiredBy::Store => "next: when the store says".to_owned(),
            None => "next: never".to_owned(),
            Some(next) if next <= self.now => "next: now".to_owned(),
            Some(next) => {
                let left = (next - self.now).to_std().unwrap_or_default();
                let unless = match task.fired_by {
                    FiredBy::Store => ", unless the store says otherwise",
                    _ => "",
                };
                let next = instant(next, task.facts.zone);
                format!("next: {next}, in {}{unless}", duration(left))
            }
        }
    }
}

impl PoolLine {
    /// `4 threads (scheduling-1 … scheduling-4)`
    fn threads(&self) -> String {
        let (threads, prefix) = (self.threads, on_one_line(&self.prefix));
        match threads {
            1 => format!("1 thread ({prefix}1)"),
            _ => format!("{threads} threads ({prefix}1 … {prefix}{threads})"),
        }
    }
}

/// A number with its thousands apart: `99,950`.
fn grouped(number: usize) -> String {
    match number / 1_000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1_000),
    }
}

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
    use crate::observe::sample;

    fn pool(name: &str, threads: usize) -> PoolLine {
        PoolLine { name: name.to_owned(), threads, prefix: format!("{name}-") }
    }

    fn task(name: &str, next: Option<u64>) -> TaskLine {
        let next = next.map(sample::at);
        let (has_trigger_failed, fired_by) = (false, FiredBy::ThisProcess);
        TaskLine { facts: sample::facts(name), next, has_trigger_failed, fired_by }
    }

    fn banner<'a>(tasks: &'a [TaskLine], pools: &'a [PoolLine]) -> Banner<'a> {
        let count = tasks.len();
        Banner { tasks, count, pools, zone: Zone::UTC, now: sample::at(0), remarks: &[] }
    }

    #[test]
    fn each_task_has_a_line_with_its_rule_and_its_next_run() {
        let tasks = [task("tick", Some(0)), task("report", Some(90_000)), task("old", None)];
        let pools = [pool("scheduling", 4)];
        let remarks = ["no config file".to_owned(), "async tasks: built-in executor".to_owned()];
        let banner = Banner { remarks: &remarks, ..banner(&tasks, &pools) };
        let expected = "scheduler 0.1.0  3 tasks · 4 threads (scheduling-1 … scheduling-4) · zone UTC (UTC+00:00) · no config file · async tasks: built-in executor
  tick    every 1s  next: now
  report  every 1s  next: Fri 2026-03-27 09:01:30 +01:00, in 1m 30s
  old     every 1s  next: never";
        assert_eq!(banner.to_string(), expected);
    }

    #[test]
    fn very_many_tasks_have_some_rows_and_a_count_of_the_others() {
        let tasks: Vec<TaskLine> = (0..2).map(|n| task(&format!("t{n}"), None)).collect();
        let all = |count| Banner { count, ..banner(&tasks, &[pool("default", 1)]) }.to_string();
        let text = all(100_000);
        assert!(text.starts_with("scheduler 0.1.0  100000 tasks · "), "{text}");
        assert!(text.ends_with("\n  t1  every 1s  next: never\n  … and 99,998 more"), "{text}");
        assert!(all(1_234_567).ends_with("… and 1,234,565 more"));
        assert!(all(3).ends_with("… and 1 more"));
        assert!(!all(2).contains('…'));
    }

    #[test]
    fn several_pools_have_a_line_each() {
        let (tasks, pools) = ([task("tick", None)], [pool("default", 4), pool("io", 1)]);
        let expected = "scheduler 0.1.0  1 task · 5 threads in 2 pools · zone UTC (UTC+00:00)
  pool default: 4 threads (default-1 … default-4)
  pool io: 1 thread (io-1)
  tick  every 1s  next: never";
        assert_eq!(banner(&tasks, &pools).to_string(), expected);
    }

    #[test]
    fn a_sum_of_threads_that_is_too_large_saturates() {
        let pools = [pool("default", usize::MAX), pool("io", usize::MAX)];
        let head = format!("scheduler 0.1.0  0 tasks · {} threads in 2 pools", usize::MAX);
        let text = banner(&[], &pools).to_string();
        assert!(text.starts_with(&head), "{text}");
    }

    #[test]
    fn a_hostile_name_forges_no_line_and_a_long_one_widens_no_other() {
        let long = "x".repeat(10 * 1024);
        let tasks = [task("a\n  b  every 1s", None), task(&long, None)];
        let text = banner(&tasks, &[pool("p\nq", 1), pool("r", 1)]).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert_eq!(lines[1], r"  pool p\nq: 1 thread (p\nq-1)");
        assert!(lines[3].starts_with(r"  a\n  b  every 1s "), "{text}");
        assert!(lines[3].len() < 120, "{text}");
    }

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
