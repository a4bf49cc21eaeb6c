//! Trouble of the engine, told as events of ours.

use std::sync::Arc;

use scheduler_core::Clock;
use scheduler_core::TaskId;

use super::Bus;
use super::Event;
use super::Failure;

/// Listens to one pool, and tells the bus of its trouble; runs are told of by those who plan them.
#[derive(Debug)]
pub(crate) struct EngineTrouble {
    pool: Arc<str>,
    clock: Arc<dyn Clock>,
    bus: Arc<Bus>,
}

impl EngineTrouble {
    /// For the pool with this name.
    pub(crate) fn new(pool: &str, clock: Arc<dyn Clock>, bus: Arc<Bus>) -> Self {
        Self { pool: pool.into(), clock, bus }
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
                Some(Event::HookPanicked { hook, failure: Failure::from_engine(failure), at })
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

/// A task that somebody gave to the pool without a name goes by its number.
fn name_of(id: TaskId, name: Option<&str>) -> Arc<str> {
    name.map_or_else(|| format!("task {}", id.as_u64()).into(), Into::into)
}

impl scheduler_core::Listener for EngineTrouble {
    fn on_event(&self, event: &scheduler_core::Event<'_>) {
        use scheduler_core::Event::RunFinished;
        use scheduler_core::Event::RunStarted;
        // The clock is not read for what happens with each run.
        if matches!(event, RunStarted { .. } | RunFinished { .. }) {
            return;
        }
        if let Some(event) = self.translate(event) {
            self.bus.emit(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::BusBuilder;
    use scheduler_core::Listener;
    use scheduler_core::ManualClock;
    use std::sync::Mutex;

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
        let trouble = EngineTrouble::new("io", clock, Arc::new(bus));
        let failure = scheduler_core::Failure::from_panic("no");
        trouble.on_event(&scheduler_core::Event::WorkerRefused { worker: 1, reason: "full" });
        trouble.on_event(&scheduler_core::Event::WorkerStarted { worker: 1 });
        let hook = "before_run";
        trouble.on_event(&scheduler_core::Event::HookPanicked { hook, failure: &failure });
        let expected = ["io: full 2026-03-27 08:00:00 UTC", "before_run: panicked: no"];
        assert_eq!(*heard.lock().unwrap(), expected);
    }
}
