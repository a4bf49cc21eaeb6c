//! Turns events of a pool into scheduler events; explains late starts.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::{Clock, TaskId};

use crate::observe::{Bus, Event, EventKind, Failure, Longest, TaskFacts};

/// Seconds after an explained late start in which no other one is: each looks at all tasks.
pub(crate) const EXPLAIN_PAUSE: i64 = 10;

type ThreadsSince = dyn Fn(DateTime<Utc>) -> Vec<ThreadUse> + Send + Sync;
type FactsOf = dyn Fn(&str) -> Option<Arc<TaskFacts>> + Send + Sync;

/// Looks up tasks of the scheduler without keeping them alive.
pub(crate) struct LookUp {
    threads_since: Box<ThreadsSince>,
    facts: Box<FactsOf>,
}

impl LookUp {
    /// From two functions: the threads that tasks have held at an instant or later, and a task's facts by its name.
    pub(crate) fn new(
        threads_since: impl Fn(DateTime<Utc>) -> Vec<ThreadUse> + Send + Sync + 'static,
        facts: impl Fn(&str) -> Option<Arc<TaskFacts>> + Send + Sync + 'static,
    ) -> Self {
        Self { threads_since: Box::new(threads_since), facts: Box::new(facts) }
    }
}

/// The listener of one pool. Events of runs come from the tasks themselves.
pub(crate) struct PoolEvents {
    pool: Arc<str>,
    threads: usize,
    look_up: LookUp,
    clock: Arc<dyn Clock>,
    bus: Arc<Bus>,
    /// When a late start was explained last, in seconds of the wall clock.
    explained_at: AtomicI64,
}

impl PoolEvents {
    /// For the pool with this name and number of threads.
    pub(crate) fn new(
        (pool, threads): (&str, usize),
        look_up: LookUp,
        clock: Arc<dyn Clock>,
        bus: Arc<Bus>,
    ) -> Self {
        let explained_at = AtomicI64::new(i64::MIN);
        Self { pool: pool.into(), threads, look_up, clock, bus, explained_at }
    }

    /// Emits `Starved` if a late start is explained by busy threads, at most once in [`EXPLAIN_PAUSE`].
    pub(crate) fn explain(&self, run: &scheduler_core::Run) {
        let at = run.started_at();
        let Ok(late) = (at - run.fire_time()).to_std() else { return };
        if late < LATE {
            return;
        }
        // ORDERING: relaxed; two at once would do no harm.
        let (now, last) = (at.timestamp(), self.explained_at.load(Ordering::Relaxed));
        if now >= last && now.saturating_sub(last) < EXPLAIN_PAUSE {
            return;
        }
        self.explained_at.store(now, Ordering::Relaxed);
        let task = self.facts_of(run.task_id(), run.task_name());
        let (due, busy) = (at - late, self.threads);
        let uses = (self.look_up.threads_since)(due);
        // A task that was due at the same time takes its thread a moment later.
        if let Some(longest) = longest_of_all(busy, &task, due + late / 10, &uses) {
            let (pool, is_waiting) = (Arc::clone(&self.pool), false);
            let kind = EventKind::Starved { pool, late, is_waiting, busy, longest };
            self.bus.emit(Event::of(at, &task, kind));
        }
    }

    fn translate(&self, event: &scheduler_core::Event<'_>) -> Option<Event> {
        let (pool, at) = (Arc::clone(&self.pool), self.clock.wall());
        match event {
            scheduler_core::Event::WorkerRefused { reason, .. } => {
                let reason = (*reason).into();
                Some(Event::global(at, EventKind::WorkerRefused { pool, reason }))
            }
            scheduler_core::Event::DropPanicked { id, name, failure } => {
                let failure = Failure::from_engine(failure);
                let task = self.facts_of(*id, *name);
                Some(Event::of(at, &task, EventKind::DropPanicked { failure }))
            }
            scheduler_core::Event::HookPanicked { hook, failure } => {
                let failure = Failure::from_engine(failure);
                Some(Event::global(at, EventKind::HookFailed { hook, failure }))
            }
            scheduler_core::Event::WaitStarved { run, id, name } => {
                let task = self.facts_of(run.task_id(), run.task_name());
                let awaited = name_of(*id, *name);
                Some(Event::of(at, &task, EventKind::WaitStarved { pool, awaited }))
            }
            _ => None,
        }
    }

    /// The facts of a task of the engine. One that is removed, or was submitted to the pool itself, has few.
    fn facts_of(&self, id: TaskId, name: Option<&str>) -> Arc<TaskFacts> {
        let facts = name.and_then(|name| (self.look_up.facts)(name));
        facts.unwrap_or_else(|| Arc::new(TaskFacts::unknown(name_of(id, name), &self.pool)))
    }
}

/// The name of a task of the engine; `task 7` if it has none.
fn name_of(id: TaskId, name: Option<&str>) -> Arc<str> {
    name.map_or_else(|| format!("task {}", id.as_u64()).into(), Into::into)
}

impl scheduler_core::Listener for PoolEvents {
    fn on_event(&self, event: &scheduler_core::Event<'_>) {
        match event {
            scheduler_core::Event::RunStarted { run } => self.explain(run),
            // Do not read the clock for each run.
            scheduler_core::Event::RunFinished { .. } => {}
            _ => {
                if let Some(event) = self.translate(event) {
                    self.bus.emit(event);
                }
            }
        }
    }
}

crate::base::opaque! { PoolEvents { pool } }

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
    use crate::base::sync::Mutex;
    use crate::observe::BusBuilder;
    use crate::observe::sample;
    use scheduler_core::{Listener, ManualClock};

    #[test]
    fn events_of_a_pool_have_its_name_and_their_time() {
        let texts = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&texts);
        let reporter = Arc::new(move |event: &Event| {
            lines.lock().push(format!("{} {event}", event.at));
        });
        let clock: Arc<dyn Clock> =
            Arc::new(ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap()));
        let bus = BusBuilder::new().reporter(reporter).build(Arc::clone(&clock)).unwrap();
        let look_up = LookUp::new(|_| Vec::new(), |_| None);
        let events = PoolEvents::new(("io", 2), look_up, clock, Arc::new(bus));
        let failure = scheduler_core::Failure::from_panic("no");
        events.on_event(&scheduler_core::Event::WorkerRefused { worker: 1, reason: "full" });
        events.on_event(&scheduler_core::Event::WorkerStarted { worker: 1 });
        let hook = "before_run";
        events.on_event(&scheduler_core::Event::HookPanicked { hook, failure: &failure });
        let expected = [
            "2026-03-27 08:00:00 UTC scheduler: pool `io` could not start a thread: full",
            "2026-03-27 08:00:00 UTC scheduler: a before_run panicked: no",
        ];
        assert_eq!(*texts.lock(), expected);
    }

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
