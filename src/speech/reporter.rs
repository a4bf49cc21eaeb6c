//! Reports failed runs: task, cause, duration, streak, next run and place.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Event;
use scheduler_core::Failure;
use scheduler_core::Listener;
use scheduler_core::Run;
use scheduler_core::trigger::Zone;

use super::Voice;
use super::words::duration;
use super::words::instant;
use super::words::on_one_line;
use super::words::ordinal;
use crate::entry::Location;
use crate::registrar::Plan;
use crate::registrar::Rhythm;

/// Listens to the pool, says what went wrong, and knows what is running.
#[derive(Debug)]
pub(crate) struct Reporter {
    voice: Voice,
    places: BTreeMap<&'static str, Place>,
    progress: Mutex<Progress>,
}

/// What messages say of a task.
#[derive(Debug)]
struct Place {
    location: Location,
    zone: Zone,
}

#[derive(Debug, Default)]
struct Progress {
    runs: u64,
    failures: u64,
    /// Failures in a row, by task.
    streaks: BTreeMap<String, u64>,
    /// Runs in progress, by task number.
    running: BTreeMap<u64, String>,
}

/// The run counts of a scheduler, for its last words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) runs: u64,
    pub(crate) failures: u64,
}

impl Reporter {
    pub(crate) fn new(plan: &Plan, voice: Voice) -> Self {
        let place = |task: &crate::registrar::Planned| {
            let zone = match &task.rhythm {
                Rhythm::Cron(trigger) => trigger.zone(),
                _ => plan.zone,
            };
            (task.name, Place { location: task.location, zone })
        };
        let places = plan.tasks.iter().map(place).collect();
        Self { voice, places, progress: Mutex::default() }
    }

    pub(crate) fn tally(&self) -> Tally {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        Tally { runs: progress.runs, failures: progress.failures }
    }

    /// Whether there is any task at all.
    pub(crate) fn has_tasks(&self) -> bool {
        !self.places.is_empty()
    }

    /// The names of the tasks that are running.
    pub(crate) fn running(&self) -> Vec<String> {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.running.values().map(|name| format!("`{}`", on_one_line(name))).collect()
    }

    fn note_start(&self, run: &Run) {
        let name = run.task_name().unwrap_or_default().to_owned();
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.running.insert(run.task_id().as_u64(), name);
    }

    /// Counts a run, and gives the number of failures in a row.
    fn note_end(&self, run: &Run, has_failed: bool) -> u64 {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.running.remove(&run.task_id().as_u64());
        progress.runs += 1;
        progress.failures += u64::from(has_failed);
        let name = run.task_name().unwrap_or_default();
        if !has_failed {
            progress.streaks.remove(name);
            return 0;
        }
        let streak = progress.streaks.entry(name.to_owned()).or_default();
        *streak += 1;
        *streak
    }

    fn report(&self, run: &Run, failed: &Failed<'_>) {
        let name = run.task_name().unwrap_or_default();
        let verb = if failed.failure.is_panic() { "panicked" } else { "failed" };
        let streak = match failed.streak {
            1 => String::new(),
            streak => format!(" ({} failure in a row)", ordinal(streak)),
        };
        let mut text = format!(
            "ERROR task `{}` {verb} after {}{streak}: {}",
            on_one_line(name),
            duration(failed.took),
            on_one_line(failed.failure.message()),
        );
        if let Some(Place { location, zone }) = self.places.get(name) {
            text.push_str(&format!("\n      at {location}"));
            if let Some(next) = failed.next {
                text.push_str(&format!("   next run {}", instant(next, *zone)));
            }
        }
        self.voice.say(&text);
    }
}

/// A failed run, as it is reported.
struct Failed<'a> {
    failure: &'a Failure,
    took: Duration,
    streak: u64,
    next: Option<DateTime<Utc>>,
}

impl Listener for Reporter {
    fn on_event(&self, event: &Event<'_>) {
        match event {
            Event::RunStarted { run } => self.note_start(run),
            Event::RunFinished { run, outcome, duration, next } => {
                let streak = self.note_end(run, outcome.is_err());
                if let Err(failure) = outcome {
                    self.report(run, &Failed { failure, took: *duration, streak, next: *next });
                }
            }
            Event::WorkerRefused { worker, reason } => {
                let reason = on_one_line(reason);
                self.voice.say(&format!("WARN  worker {worker} could not be started: {reason}"));
            }
            _ => {}
        }
    }
}
