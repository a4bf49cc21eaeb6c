//! Why a run started late: who held the threads of its pool when it was due.
//!
//! Nothing is noted for this while all is well; a late start is rare enough to look at all tasks then.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;

use super::Event;
use super::Longest;
use super::TaskSnapshot;

/// From when on a late start is worth a look.
pub(crate) const LATE: Duration = Duration::from_secs(1);

/// A run that started late.
#[derive(Clone, Debug)]
pub(crate) struct LateStart {
    pub(crate) task: Arc<str>,
    pub(crate) pool: Arc<str>,
    /// How many threads the pool has.
    pub(crate) threads: usize,
    pub(crate) late: Duration,
    /// When it started.
    pub(crate) at: DateTime<Utc>,
}

/// The time in which a run was in progress, as far as it is over.
struct Span {
    from: DateTime<Utc>,
    to: DateTime<Utc>,
}

impl LateStart {
    /// Tells of starvation if all threads were busy with other tasks when the run was due.
    ///
    /// A process that was suspended, a clock that was set, and a task that waits for its own run before
    /// are late for other reasons. Waits between attempts count as busy, although they hold no thread.
    pub(crate) fn explain(&self, tasks: &[TaskSnapshot]) -> Option<Event> {
        let due = self.at - self.late;
        let others = tasks.iter().filter(|task| task.facts.pool == self.pool);
        // The future of an async task may have waited all the time, without a thread.
        let others = others.filter(|task| task.facts.name != self.task && !task.facts.is_async);
        let mut busy = 0;
        let mut longest: Option<Longest> = None;
        for task in others {
            for Span { from, to } in self.spans(task) {
                if !(from..to).contains(&due) {
                    continue;
                }
                busy += 1;
                let running_for = (to - from).to_std().unwrap_or_default();
                if longest.as_ref().is_none_or(|longest| longest.running_for < running_for) {
                    longest = Some(Longest::new(Arc::clone(&task.facts.name), running_for));
                }
            }
        }
        (busy >= self.threads).then(|| Event::Starved {
            task: Arc::clone(&self.task),
            pool: Arc::clone(&self.pool),
            late: self.late,
            busy: self.threads,
            longest,
            at: self.at,
        })
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
        let start = LateStart { task: "tick".into(), pool: "default".into(), threads, late, at };
        match start.explain(tasks)? {
            Event::Starved { busy, longest, .. } => Some((busy, longest)),
            other => panic!("{other:?}"),
        }
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

    #[test]
    fn futures_hold_no_thread() {
        let mut fetch = task("fetch", &[], Some(2));
        let mut facts = fetch.facts.as_ref().clone();
        facts.is_async = true;
        fetch.facts = Arc::new(facts);
        assert_eq!(explain(1, &[fetch]), None);
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
