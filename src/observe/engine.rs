//! Trouble of a pool, told as events of ours: what the engine reports, and runs that start late.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Clock;
use scheduler_core::Due;
use scheduler_core::Now;
use scheduler_core::TaskId;
use scheduler_core::Tick;

use super::Bus;
use super::Event;
use super::Failure;
use super::TaskSnapshot;
use super::starvation::LATE;
use super::starvation::LateStart;

/// How long after a look at a late start no other one is taken, in seconds: it looks at all tasks.
const LOOK_PAUSE: i64 = 10;

/// The tasks of a scheduler that had a run in progress at an instant or later.
type Tasks = dyn Fn(DateTime<Utc>) -> Vec<TaskSnapshot> + Send + Sync;

/// Listens to one pool, and tells the bus of its trouble; runs are told of by those who plan them.
pub(crate) struct EngineTrouble {
    pool: Arc<str>,
    threads: usize,
    tasks: Box<Tasks>,
    clock: Arc<dyn Clock>,
    bus: Arc<Bus>,
    /// When a late start was looked at last, in seconds of the wall clock.
    looked_at: AtomicI64,
    /// By how much the wall clock was ahead of the monotonic one then, or at the start, in milliseconds.
    ahead: AtomicI64,
}

impl EngineTrouble {
    /// For the pool with this name and so many threads.
    pub(crate) fn new(
        (pool, threads): (&str, usize),
        tasks: impl Fn(DateTime<Utc>) -> Vec<TaskSnapshot> + Send + Sync + 'static,
        clock: Arc<dyn Clock>,
        bus: Arc<Bus>,
    ) -> Self {
        let (pool, tasks, looked_at) = (pool.into(), Box::new(tasks), AtomicI64::new(i64::MIN));
        let ahead = AtomicI64::new(ahead(Now::read(&*clock)));
        Self { pool, threads, tasks, clock, bus, looked_at, ahead }
    }

    /// Looks for who held the threads, if the run starts late and nobody has looked for a while.
    pub(crate) fn look_at(&self, run: &scheduler_core::Run) {
        let at = run.started_at();
        let Ok(late) = (at - run.fire_time()).to_std() else { return };
        if late < LATE {
            return;
        }
        let is_by_both_clocks = self.is_by_both_clocks(run, late);
        // ORDERING: relaxed; two looks at once would do no harm.
        let (now, last) = (at.timestamp(), self.looked_at.load(Ordering::Relaxed));
        if now >= last && now.saturating_sub(last) < LOOK_PAUSE {
            return;
        }
        self.looked_at.store(now, Ordering::Relaxed);
        let task = name_of(run.task_id(), run.task_name());
        let (pool, threads) = (Arc::clone(&self.pool), self.threads);
        let start = LateStart { task, pool, threads, late, is_by_both_clocks, at };
        if let Some(event) = start.explain(&(self.tasks)(at - late)) {
            self.bus.emit(event);
        }
    }

    /// Whether the monotonic clock, too, says that the run is late: what is due by the wall clock is late
    /// also when that was set, or the machine suspended.
    fn is_by_both_clocks(&self, run: &scheduler_core::Run, late: Duration) -> bool {
        let ahead = ahead(run.started());
        // ORDERING: relaxed, as above.
        let moved = ahead.saturating_sub(self.ahead.swap(ahead, Ordering::Relaxed));
        let is_moved = Duration::from_millis(moved.unsigned_abs()) >= late / 2;
        matches!(run.due(), Due::Tick(_)) || !is_moved
    }

    fn translate(&self, event: &scheduler_core::Event<'_>) -> Option<Event> {
        let (pool, at) = (|| Arc::clone(&self.pool), self.clock.wall());
        match event {
            scheduler_core::Event::WorkerRefused { reason, .. } => {
                Some(Event::WorkerRefused { pool: pool(), reason: (*reason).into(), at })
            }
            scheduler_core::Event::DropPanicked { id, name, failure } => {
                let (task, failure) = (name_of(*id, *name), Failure::from_engine(failure));
                Some(Event::DropPanicked { task, failure, at })
            }
            scheduler_core::Event::HookPanicked { hook, failure } => {
                let failure = Failure::from_engine(failure);
                Some(Event::HookPanicked { hook, failure, at })
            }
            scheduler_core::Event::WaitStarved { run, id, name } => {
                let task = name_of(run.task_id(), run.task_name());
                let awaited = name_of(*id, *name);
                Some(Event::WaitStarved { task, pool: pool(), awaited, at })
            }
            _ => None,
        }
    }
}

/// By how many milliseconds the wall clock is ahead of the monotonic one.
fn ahead(now: Now) -> i64 {
    let monotonic = now.tick.since(Tick::ZERO).as_millis();
    let monotonic = i64::try_from(monotonic).unwrap_or(i64::MAX);
    now.wall.to_utc().timestamp_millis().saturating_sub(monotonic)
}

/// A task that somebody gave to the pool without a name goes by its number.
fn name_of(id: TaskId, name: Option<&str>) -> Arc<str> {
    name.map_or_else(|| format!("task {}", id.as_u64()).into(), Into::into)
}

impl scheduler_core::Listener for EngineTrouble {
    fn on_event(&self, event: &scheduler_core::Event<'_>) {
        match event {
            scheduler_core::Event::RunStarted { run } => self.look_at(run),
            // The clock is not read for what happens with each run.
            scheduler_core::Event::RunFinished { .. } => {}
            _ => {
                if let Some(event) = self.translate(event) {
                    self.bus.emit(event);
                }
            }
        }
    }
}

impl fmt::Debug for EngineTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineTrouble").field("pool", &self.pool).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::BusBuilder;
    use scheduler_core::Listener;
    use scheduler_core::ManualClock;

    use crate::sync::Mutex;

    #[test]
    fn trouble_comes_with_the_names_of_pool_and_task_and_with_its_time() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&heard);
        let reporter = Arc::new(move |event: &Event| {
            let text = match event {
                Event::WorkerRefused { pool, reason, at } => format!("{pool}: {reason} {at}"),
                Event::HookPanicked { hook, failure, .. } => format!("{hook}: {failure}"),
                other => format!("{other:?}"),
            };
            notes.lock().unwrap().push(text);
        });
        let clock: Arc<dyn Clock> =
            Arc::new(ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap()));
        let bus = BusBuilder::new().reporter(reporter).build(Arc::clone(&clock)).unwrap();
        let trouble = EngineTrouble::new(("io", 2), |_| Vec::new(), clock, Arc::new(bus));
        let failure = scheduler_core::Failure::from_panic("no");
        trouble.on_event(&scheduler_core::Event::WorkerRefused { worker: 1, reason: "full" });
        trouble.on_event(&scheduler_core::Event::WorkerStarted { worker: 1 });
        let hook = "before_run";
        trouble.on_event(&scheduler_core::Event::HookPanicked { hook, failure: &failure });
        let expected = ["io: full 2026-03-27 08:00:00 UTC", "before_run: panicked: no"];
        assert_eq!(*heard.lock().unwrap(), expected);
    }
}
