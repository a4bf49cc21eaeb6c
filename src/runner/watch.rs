//! Watches the runs of the pool: tells the bus of them, counts them, and knows which are in progress.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Clock;
use scheduler_core::Listener;

use super::pools::DEFAULT;
use crate::observe::Bus;
use crate::observe::Counters;
use crate::observe::EngineTrouble;
use crate::observe::Event;
use crate::observe::Failure;
use crate::observe::History;
use crate::observe::Outcome;
use crate::observe::RunRecord;
use crate::run::Cause;
use crate::run::Facts;
use crate::run::Run;
use crate::speech::StillRunning;

/// Listens to the pool.
#[derive(Debug)]
pub(super) struct Watch {
    bus: Arc<Bus>,
    clock: Arc<dyn Clock>,
    trouble: EngineTrouble,
    has_tasks: bool,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    histories: BTreeMap<String, History>,
    /// Runs in progress, by task number.
    running: BTreeMap<u64, (String, DateTime<Utc>)>,
}

impl Watch {
    pub(super) fn new(bus: Arc<Bus>, clock: Arc<dyn Clock>, has_tasks: bool) -> Self {
        let trouble = EngineTrouble::new(DEFAULT, Arc::clone(&clock), Arc::clone(&bus));
        Self { bus, clock, trouble, has_tasks, progress: Mutex::default() }
    }

    pub(super) fn bus(&self) -> &Bus {
        &self.bus
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.clock.wall()
    }

    /// Whether there is any task at all.
    pub(super) fn has_tasks(&self) -> bool {
        self.has_tasks
    }

    pub(super) fn running(&self) -> Vec<StillRunning> {
        let now = self.now();
        let progress = self.progress();
        let running = progress.running.values().map(|(task, since)| StillRunning {
            task: task.clone(),
            running_for: (now - *since).to_std().unwrap_or_default(),
        });
        running.collect()
    }

    /// The counters of all tasks together, as far as the last words need them.
    pub(super) fn totals(&self) -> Totals {
        let progress = self.progress();
        let counters = progress.histories.values().map(History::counters);
        counters.fold(Totals::default(), |all, one: Counters| Totals {
            runs: all.runs + one.runs,
            failures: all.failures + one.failures(),
            skipped: all.skipped + one.skipped(),
        })
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn started(&self, run: &scheduler_core::Run) {
        let name = run.task_name().unwrap_or_default().to_owned();
        self.progress().running.insert(run.task_id().as_u64(), (name, run.started_at()));
        if self.bus.is_heard() {
            let late = (run.started_at() - run.fire_time()).to_std().unwrap_or_default();
            self.bus.emit(Event::RunStarted { run: of_engine(run), late });
        }
    }

    fn finished(&self, run: &scheduler_core::Run, event: &scheduler_core::Event<'_>) {
        let scheduler_core::Event::RunFinished { outcome, duration: took, next, .. } = event else {
            return;
        };
        let outcome = outcome.as_ref().map_or_else(
            |failure| Outcome::from(Failure::from_engine(failure)),
            |()| Outcome::Success,
        );
        let run = (of_engine(run), run.task_id().as_u64());
        let record = RunRecord {
            number: run.0.number(),
            cause: run.0.cause(),
            fire_time: run.0.fire_time(),
            started_at: run.0.started_at(),
            took: *took,
            attempts: 1,
            outcome: outcome.clone(),
            notes: Vec::new(),
        };
        let mut progress = self.progress();
        progress.running.remove(&run.1);
        let name = run.0.task_name().to_owned();
        let recorded = progress.histories.entry(name).or_default().record(record);
        drop(progress);
        if recorded.is_news || self.bus.is_heard() {
            let (run, took, next, streak) = (run.0, *took, *next, recorded.streak);
            let at = self.now();
            self.bus.emit(Event::RunFinished { run, outcome, took, next, streak, at });
        }
    }
}

/// What the last words say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) runs: u64,
    pub(super) failures: u64,
    pub(super) skipped: u64,
}

impl Listener for Watch {
    fn on_event(&self, event: &scheduler_core::Event<'_>) {
        self.trouble.on_event(event);
        match event {
            scheduler_core::Event::RunStarted { run } => self.started(run),
            scheduler_core::Event::RunFinished { run, .. } => self.finished(run, event),
            // A run whose future was dropped ends without further words.
            scheduler_core::Event::TaskEnded { id, .. } => {
                self.progress().running.remove(&id.as_u64());
            }
            _ => {}
        }
    }
}

fn of_engine(run: &scheduler_core::Run) -> Run {
    Run::new(Facts {
        task: run.task_name().unwrap_or_default().into(),
        number: run.number(),
        attempt: 1,
        cause: Cause::Schedule,
        fire_time: run.fire_time(),
        started_at: run.started_at(),
    })
}

pub(super) fn present(task: &Arc<str>) -> Run {
    scheduler_core::Run::current().map_or_else(|| Run::detached(task), |run| of_engine(&run))
}
