//! Why a run started late: which runs held the threads of its pool when it was due.
//!
//! Nothing is recorded in advance. A late start is rare, so it may look at all tasks.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{Event, EventKind, Longest, TaskFacts, TaskSnapshot};

/// From what lateness on a late start is explained.
pub(crate) const LATE: Duration = Duration::from_secs(1);

/// A run that started late.
#[derive(Clone, Debug)]
pub(crate) struct LateStart {
    pub(crate) task: Arc<TaskFacts>,
    pub(crate) pool: Arc<str>,
    /// How many threads the pool has.
    pub(crate) threads: usize,
    pub(crate) late: Duration,
    /// Whether it was late by the monotonic clock, too: no process was suspended, and no clock set.
    pub(crate) is_by_both_clocks: bool,
    /// When it started.
    pub(crate) at: DateTime<Utc>,
}

/// What was in progress in the pool when the run was due.
#[derive(Default)]
struct Busy {
    /// Runs that held a thread.
    threads: usize,
    /// Futures, which hold a thread only if they block it.
    futures: usize,
    longest: Option<Longest>,
}

/// The time in which a run was in progress, as far as it is over.
struct Span {
    from: DateTime<Utc>,
    to: DateTime<Utc>,
}

impl LateStart {
    /// Returns `Starved` if all threads were busy when the run was due.
    ///
    /// A process that was suspended, a clock that was set, and a task that waits for its own run before
    /// are late for other reasons. Waits between attempts count as busy, although they hold no thread.
    /// Futures are suspected only where nothing else explains it, and none of them is named: most wait
    /// all the time, without a thread.
    pub(crate) fn explain(&self, tasks: &[TaskSnapshot]) -> Option<Event> {
        let busy = self.busy(tasks);
        let is_certain = busy.threads >= self.threads;
        let is_suspected =
            self.is_by_both_clocks && busy.threads.saturating_add(busy.futures) >= self.threads;
        let longest = busy.longest.filter(|_| is_certain);
        (is_certain || is_suspected).then(|| {
            let (pool, late, busy) = (Arc::clone(&self.pool), self.late, self.threads);
            Event::of(self.at, &self.task, EventKind::Starved { pool, late, busy, longest })
        })
    }

    fn busy(&self, tasks: &[TaskSnapshot]) -> Busy {
        let due = self.at - self.late;
        let mut busy = Busy::default();
        for task in tasks.iter().filter(|task| task.facts.pool == self.pool) {
            let in_progress = |span: &Span| (span.from..span.to).contains(&due);
            let spans: Vec<Span> = self.spans(task).filter(in_progress).collect();
            // Two at once are of a task that does not wait for itself (`overlap = "allow"`).
            if task.facts.name == self.task.name && spans.len() < 2 {
                continue;
            }
            if task.facts.is_async {
                busy.futures = busy.futures.saturating_add(spans.len());
                continue;
            }
            busy.threads = busy.threads.saturating_add(spans.len());
            for Span { from, to } in spans {
                let running_for = (to - from).to_std().unwrap_or_default();
                if busy.longest.as_ref().is_none_or(|longest| longest.running_for < running_for) {
                    busy.longest = Some(Longest::new(Arc::clone(&task.facts.name), running_for));
                }
            }
        }
        busy
    }

    /// The runs of a task, those in progress as if they ended now.
    fn spans(&self, task: &TaskSnapshot) -> impl Iterator<Item = Span> {
        let to = self.at;
        let since = task.running_since.into_iter();
        let running = since.flat_map(move |from| (0..task.running).map(move |_| Span { from, to }));
        let ended = task
            .last_runs
            .iter()
            .map(move |run| Span { from: run.started_at, to: (run.started_at + run.took).min(to) });
        running.chain(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::sample;

    /// A task of the pool `default` with runs from and to these seconds; the last may be in progress.
    fn task(name: &str, ended: &[(u64, u64)], running_since: Option<u64>) -> TaskSnapshot {
        let mut task = sample::snapshot(name);
        task.last_runs = ended.iter().map(|(from, to)| sample::record(*from, *to)).collect();
        task.running = usize::from(running_since.is_some());
        task.running_since = running_since.map(|second| sample::at(second * 1_000));
        task
    }

    /// A run of `tick` that was due at second 10 and started at second 14.
    fn explain(threads: usize, tasks: &[TaskSnapshot]) -> Option<(usize, Option<Longest>)> {
        let (late, at) = (Duration::from_secs(4), sample::at(14_000));
        let (task, pool, is_by_both_clocks) = (sample::facts("tick"), "default".into(), true);
        let start = LateStart { task, pool, threads, late, is_by_both_clocks, at };
        let by_one = LateStart { is_by_both_clocks: false, ..start.clone() };
        let EventKind::Starved { busy, longest, .. } = start.explain(tasks)?.kind else { panic!() };
        // If a thread may have been free, a clock that was set explains it as well.
        assert_eq!(by_one.explain(tasks).is_some(), longest.is_some());
        Some((busy, longest))
    }

    fn longest(task: &str, seconds: u64) -> Option<Longest> {
        Some(Longest::new(task.into(), Duration::from_secs(seconds)))
    }

    #[test]
    fn the_longest_of_those_that_held_the_threads_is_named() {
        let import = task("import", &[(0, 1), (2, 14)], None);
        let sweep = task("sweep", &[], Some(9));
        let idle = task("idle", &[(0, 9), (11, 12)], None);
        let tasks = [sweep, import, idle];
        assert_eq!(explain(1, &tasks), Some((1, longest("import", 12))));
        assert_eq!(explain(2, &tasks), Some((2, longest("import", 12))));
        assert_eq!(explain(3, &tasks), None, "a thread was free when it was due");
    }

    fn future(name: &str, ended: &[(u64, u64)], running_since: Option<u64>) -> TaskSnapshot {
        let mut task = task(name, ended, running_since);
        let mut facts = task.facts.as_ref().clone();
        facts.is_async = true;
        task.facts = Arc::new(facts);
        task
    }

    #[test]
    fn futures_that_may_have_blocked_their_threads_are_suspected_and_not_named() {
        let (fetch, import) = (future("fetch", &[], Some(2)), task("import", &[], Some(2)));
        let tasks = [fetch, import];
        assert_eq!(explain(1, &tasks), Some((1, longest("import", 12))), "that is certain");
        assert_eq!(explain(2, &tasks), Some((2, None)));
        assert_eq!(explain(3, &tasks), None);
        assert_eq!(explain(1, &[future("fetch", &[(0, 9)], Some(13))]), None);
    }

    #[test]
    fn a_task_that_does_not_wait_for_itself_can_hold_all_threads() {
        let tick = || task("tick", &[(2, 14)], Some(9));
        assert_eq!(explain(2, &[tick()]), Some((2, longest("tick", 12))));
        assert_eq!(explain(3, &[tick()]), None);
        let import = task("import", &[], Some(1));
        assert_eq!(explain(3, &[tick(), import]), Some((3, longest("import", 13))));
        assert_eq!(explain(2, &[future("tick", &[(2, 14)], Some(9))]), Some((2, None)));
    }

    #[test]
    fn a_task_that_waited_for_itself_was_not_starved() {
        assert_eq!(explain(1, &[task("tick", &[(2, 14)], Some(14))]), None);
    }

    #[test]
    fn other_pools_do_not_matter() {
        let mut import = task("import", &[], Some(2));
        assert_eq!(explain(1, &[import.clone()]), Some((1, longest("import", 12))));
        let mut facts = TaskSnapshot::clone(&import).facts.as_ref().clone();
        facts.pool = "io".into();
        import.facts = Arc::new(facts);
        assert_eq!(explain(1, &[import]), None);
    }
}
