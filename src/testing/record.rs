//! The record of a simulation: events, starts and outcomes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::{Clock, Tick};

use super::world::World;
use crate::base::sync::Mutex;
use crate::define::settings::word;
use crate::observe::{Event, EventKind, Listener, Outcome};

/// The most events that are kept; earlier ones are dropped.
pub(super) const EVENTS_MAX: usize = 100_000;

/// The listener of a simulation.
#[derive(Debug)]
pub(super) struct Record {
    world: Arc<World>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    dropped: u64,
    tasks: HashMap<Arc<str>, Track>,
    messages: Vec<String>,
    starts: u64,
    last_started: Option<Arc<str>>,
}

#[derive(Debug, Default)]
struct Track {
    last_number: u64,
    starts: Vec<Duration>,
    outcomes: Vec<Outcome>,
}

impl Record {
    pub(super) fn new(world: Arc<World>) -> Self {
        Self { world, state: Mutex::default() }
    }

    /// The events that are kept, and how many were dropped before them.
    pub(super) fn events(&self) -> (Vec<Event>, u64) {
        let state = self.state.lock();
        (state.events.iter().cloned().collect(), state.dropped)
    }

    pub(super) fn starts(&self, task: &str) -> Vec<Duration> {
        self.state.lock().tasks.get(task).map(|track| track.starts.clone()).unwrap_or_default()
    }

    pub(super) fn outcomes(&self, task: &str) -> Vec<Outcome> {
        self.state.lock().tasks.get(task).map(|track| track.outcomes.clone()).unwrap_or_default()
    }

    /// The number of runs that have started, and the task of the last one.
    pub(super) fn count(&self) -> (u64, Option<Arc<str>>) {
        let state = self.state.lock();
        (state.starts, state.last_started.clone())
    }

    pub(super) fn add_message(&self, text: &str) {
        self.state.lock().messages.push(text.to_owned());
    }

    pub(super) fn messages(&self) -> Vec<String> {
        self.state.lock().messages.clone()
    }
}

impl State {
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
        let mut state = self.state.lock();
        let task = event.task.as_ref().map(|task| &task.name);
        match (&event.kind, task) {
            (EventKind::RunStarted { run, .. }, Some(task)) => {
                let track = state.track(task);
                // A further attempt of a job is a run of its own, which no other attempt in this process came before.
                if run.attempt == 1 || run.number > track.last_number {
                    track.last_number = run.number;
                    track.starts.push(now.since(Tick::ZERO));
                    state.starts += 1;
                    state.last_started = Some(Arc::clone(task));
                }
            }
            (EventKind::RunFinished { outcome, .. }, Some(task)) => {
                state.track(task).outcomes.push(outcome.clone());
            }
            (EventKind::TriggerFailed { failure, .. }, Some(task)) if failure.is_panic() => {
                let what = format!("the trigger of task {}", word(task));
                self.world.panics().record(&what, failure.message());
            }
            (EventKind::DropPanicked { failure }, Some(task)) => {
                let what = format!("a destructor of task {}", word(task));
                self.world.panics().record(&what, failure.message());
            }
            _ => {}
        }
        state.events.push_back(event.clone());
        if state.events.len() > EVENTS_MAX {
            state.dropped += 1;
            let oldest = state.events.pop_front();
            drop(state);
            drop(oldest);
        }
    }
}
