//! Explains a late run by the runs that held the threads.
//!
//! A late run is rare, so it may look at all tasks. Recorded in advance is only how long each future was polled.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{Longest, TaskFacts};

/// The least lateness that is explained, and the least time for which a reported poll blocks its thread.
pub(crate) const LATE: Duration = Duration::from_secs(1);

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

/// Returns who held a thread for longest, if all threads of a pool were held at a moment when a run of `task` waited.
///
/// A process that was suspended, a clock that was set, and a task that waits for its own run before are late for other
/// reasons. Waits between attempts count as busy, although they hold no thread.
pub(crate) fn longest_of_all(
    threads: usize,
    task: &TaskFacts,
    moment: DateTime<Utc>,
    uses: &[ThreadUse],
) -> Option<Longest> {
    let (mut busy, mut longest) = (0, None::<Longest>);
    for ThreadUse { task: holder, held } in
        uses.iter().filter(|holder| holder.task.pool == task.pool)
    {
        let is_held = |held: &&Held| (held.from..held.to).contains(&moment);
        let held: Vec<&Held> = held.iter().filter(is_held).collect();
        // Two at once are of a task that does not wait for itself (`overlap = "allow"`).
        if holder.name == task.name && held.len() < 2 {
            continue;
        }
        busy += held.len();
        for Held { from, to } in held {
            let running_for = (*to - *from).to_std().unwrap_or_default();
            if longest.as_ref().is_none_or(|longest| longest.running_for < running_for) {
                longest = Some(Longest::new(holder, running_for));
            }
        }
    }
    longest.filter(|_| busy >= threads)
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

    /// A run of `tick` that waits at second 10: who held one of this many threads for longest.
    fn explain(threads: usize, tasks: &[ThreadUse]) -> Option<(String, u64)> {
        let longest = longest_of_all(threads, &sample::facts("tick"), sample::at(10_000), tasks)?;
        Some((longest.task.to_string(), longest.running_for.as_secs()))
    }

    #[test]
    fn the_longest_of_those_that_held_the_threads_is_named() {
        let import = task("import", &[(0, 1), (2, 14)]);
        let sweep = task("sweep", &[(9, 14)]);
        let idle = task("idle", &[(0, 9), (11, 12)]);
        let tasks = [sweep, import, idle];
        assert_eq!(explain(1, &tasks), Some(("import".to_owned(), 12)));
        assert_eq!(explain(2, &tasks), Some(("import".to_owned(), 12)));
        assert_eq!(explain(3, &tasks), None, "a thread was free when it waited");
    }

    #[test]
    fn a_task_that_does_not_wait_for_itself_can_hold_all_threads() {
        let tick = || task("tick", &[(2, 14), (9, 14)]);
        assert_eq!(explain(2, &[tick()]), Some(("tick".to_owned(), 12)));
        assert_eq!(explain(3, &[tick()]), None);
        let import = task("import", &[(1, 14)]);
        assert_eq!(explain(3, &[tick(), import]), Some(("import".to_owned(), 13)));
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
