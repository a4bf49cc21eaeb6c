//! What has happened in a simulation: all events, and the starts and outcomes of each task.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::PoisonError;
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_core::Tick;

use crate::sync::Mutex;
use crate::sync::MutexGuard;

use super::world::World;
use crate::observe::Event;
use crate::observe::Listener;
use crate::observe::Outcome;
use crate::settings::word;

/// How many events are kept; earlier ones are dropped.
pub(super) const EVENTS_MAX: usize = 100_000;

/// Hears everything.
#[derive(Debug)]
pub(super) struct Record {
    world: Arc<World>,
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    events: VecDeque<Event>,
    dropped: u64,
    tasks: HashMap<Arc<str>, Track>,
    messages: Vec<String>,
    starts: u64,
    last_started: Option<Arc<str>>,
}

#[derive(Debug, Default)]
struct Track {
    starts: Vec<Duration>,
    outcomes: Vec<Outcome>,
}

impl Record {
    pub(super) fn new(world: Arc<World>) -> Self {
        Self { world, heard: Mutex::default() }
    }

    /// The events that are kept, and how many were dropped before them.
    pub(super) fn events(&self) -> (Vec<Event>, u64) {
        let heard = self.lock();
        (heard.events.iter().cloned().collect(), heard.dropped)
    }

    pub(super) fn starts(&self, task: &str) -> Vec<Duration> {
        self.lock().tasks.get(task).map(|track| track.starts.clone()).unwrap_or_default()
    }

    pub(super) fn outcomes(&self, task: &str) -> Vec<Outcome> {
        self.lock().tasks.get(task).map(|track| track.outcomes.clone()).unwrap_or_default()
    }

    /// How many runs have started, and of which task the last one was.
    pub(super) fn count(&self) -> (u64, Option<Arc<str>>) {
        let heard = self.lock();
        (heard.starts, heard.last_started.clone())
    }

    pub(super) fn say(&self, text: &str) {
        self.lock().messages.push(text.to_owned());
    }

    pub(super) fn messages(&self) -> Vec<String> {
        self.lock().messages.clone()
    }

    /// Forgets all events: they keep the tasks, which keep the record.
    pub(super) fn clear(&self) {
        let events = std::mem::take(&mut self.lock().events);
        drop(events);
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heard {
    fn track(&mut self, task: &Arc<str>) -> &mut Track {
        if !self.tasks.contains_key(task) {
            self.tasks.insert(Arc::clone(task), Track::default());
        }
        self.tasks.get_mut(task).expect("it has just been put there")
    }
}

impl Listener for Record {
    fn on_event(&self, event: &Event) {
        let now = self.world.now();
        let mut heard = self.lock();
        match event {
            Event::RunStarted { run, .. } if run.attempt() == 1 => {
                heard.starts += 1;
                heard.last_started = Some(Arc::clone(run.name()));
                heard.track(run.name()).starts.push(now.since(Tick::ZERO));
            }
            Event::RunFinished { run, outcome, .. } => {
                heard.track(run.name()).outcomes.push(outcome.clone());
            }
            Event::TriggerFailed { task, failure, .. } if failure.is_panic() => {
                let who = format!("the trigger of task {}", word(task));
                self.world.alarm().raise(&who, failure.message());
            }
            Event::DropPanicked { task, failure, .. } => {
                let who = format!("a destructor of task {}", word(task));
                self.world.alarm().raise(&who, failure.message());
            }
            _ => {}
        }
        heard.events.push_back(event.clone());
        if heard.events.len() > EVENTS_MAX {
            heard.dropped += 1;
            let oldest = heard.events.pop_front();
            drop(heard);
            drop(oldest);
        }
    }
}
