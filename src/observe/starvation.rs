//! Why a run started late: which runs held the threads of its pool when it was due.
//!
//! A late start is rare, so it may look at all tasks. Recorded in advance is only how long each future was polled.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{Event, EventKind, Longest, TaskFacts};

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
    /// When it started.
    pub(crate) at: DateTime<Utc>,
}

/// The threads that a task has held lately: one for each run of a plain function, and for each poll of a future.
#[derive(Clone, Debug)]
pub(crate) struct ThreadUse {
    pub(crate) task: Arc<TaskFacts>,
    pub(crate) held: Vec<Held>,
}

/// From when to when a thread was held; until now if it still is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) from: DateTime<Utc>,
    pub(crate) to: DateTime<Utc>,
}

impl LateStart {
    /// Returns `Starved` if all threads were busy when the run was due.
    ///
    /// A process that was suspended, a clock that was set, and a task that waits for its own run before are late for other
    /// reasons. Waits between attempts count as busy, although they hold no thread.
    pub(crate) fn explain(&self, tasks: &[ThreadUse]) -> Option<Event> {
        let due = self.at - self.late;
        let (mut threads, mut longest) = (0, None::<Longest>);
        for ThreadUse { task, held } in tasks.iter().filter(|it| it.task.pool == self.pool) {
            let is_held = |held: &&Held| (held.from..held.to).contains(&due);
            let held: Vec<&Held> = held.iter().filter(is_held).collect();
            // Two at once are of a task that does not wait for itself (`overlap = "allow"`).
            if task.name == self.task.name && held.len() < 2 {
                continue;
            }
            threads += held.len();
            for Held { from, to } in held {
                let running_for = (*to - *from).to_std().unwrap_or_default();
                if longest.as_ref().is_none_or(|longest| longest.running_for < running_for) {
                    longest = Some(Longest::new(task, running_for));
                }
            }
        }
        let longest = longest.filter(|_| threads >= self.threads)?;
        let (pool, late, busy) = (Arc::clone(&self.pool), self.late, self.threads);
        Some(Event::of(self.at, &self.task, EventKind::Starved { pool, late, busy, longest }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::sample;

    /// A task of the pool `default` that has held threads from and to these seconds.
    fn task(name: &str, held: &[(u64, u64)]) -> ThreadUse {
        let at = |second: u64| sample::at(second * 1_000);
        let held = held.iter().map(|(from, to)| Held { from: at(*from), to: at(*to) });
        ThreadUse { task: sample::facts(name), held: held.collect() }
    }

    /// A run of `tick` that was due at second 10 and started at second 14.
    fn explain(threads: usize, tasks: &[ThreadUse]) -> Option<(usize, String, u64)> {
        let (late, at) = (Duration::from_secs(4), sample::at(14_000));
        let (task, pool) = (sample::facts("tick"), "default".into());
        let start = LateStart { task, pool, threads, late, at };
        let EventKind::Starved { busy, longest, .. } = start.explain(tasks)?.kind else { panic!() };
        Some((busy, longest.task.to_string(), longest.running_for.as_secs()))
    }

    #[test]
    fn the_longest_of_those_that_held_the_threads_is_named() {
        let import = task("import", &[(0, 1), (2, 14)]);
        let sweep = task("sweep", &[(9, 14)]);
        let idle = task("idle", &[(0, 9), (11, 12)]);
        let tasks = [sweep, import, idle];
        assert_eq!(explain(1, &tasks), Some((1, "import".to_owned(), 12)));
        assert_eq!(explain(2, &tasks), Some((2, "import".to_owned(), 12)));
        assert_eq!(explain(3, &tasks), None, "a thread was free when it was due");
    }

    #[test]
    fn a_task_that_does_not_wait_for_itself_can_hold_all_threads() {
        let tick = || task("tick", &[(2, 14), (9, 14)]);
        assert_eq!(explain(2, &[tick()]), Some((2, "tick".to_owned(), 12)));
        assert_eq!(explain(3, &[tick()]), None);
        let import = task("import", &[(1, 14)]);
        assert_eq!(explain(3, &[tick(), import]), Some((3, "import".to_owned(), 13)));
    }

    #[test]
    fn a_task_that_waited_for_itself_was_not_starved() {
        assert_eq!(explain(1, &[task("tick", &[(2, 14)])]), None);
    }

    #[test]
    fn other_pools_do_not_matter() {
        let mut import = task("import", &[(2, 14)]);
        assert!(explain(1, &[import.clone()]).is_some());
        let mut facts = TaskFacts::clone(&import.task);
        facts.pool = "io".into();
        import.task = Arc::new(facts);
        assert_eq!(explain(1, &[import]), None);
    }
}
