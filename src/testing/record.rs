//! The record of a simulation as text, and the expected outcomes.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::Zone;
use scheduler_core::{Clock, Tick};

use crate::base::sync::Mutex;
use crate::define::settings::names::Names;
use crate::define::settings::word;
use crate::observe::{Event, EventKind, Listener, Outcome, describe, on_one_line};
use crate::testing::sim::Sim;
use crate::testing::world::World;

/// The most events that are kept; earlier ones are dropped.
const EVENTS_MAX: usize = 100_000;

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

/// The expectation of a test for one run: see [`assert_outcomes!`](crate::assert_outcomes).
///
/// ```
/// use scheduler::Schedule;
/// use scheduler::testing::*;
///
/// let mut sim = Sim::at("2026-01-01T00:00:00Z")
///     .define("import", Schedule::fixed_rate("1m"), |_| {});
/// sim.fail_next("import", "disk full");
/// sim.advance(secs(60));
/// assert_outcomes!(sim, "import", [Error("disk full"), Success]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// It ended well.
    Success,
    /// The function returned an error with this text.
    Error(&'static str),
    /// The function panicked with this text, as [`panic_next`](Sim::panic_next) had it, or as
    /// [`allow_panics`](Sim::allow_panics) lets it.
    Panic(&'static str),
    /// It did not end within the task's `timeout`.
    Timeout,
    /// It was cancelled.
    Cancelled,
    /// A hook refused it, for this reason.
    Refused(&'static str),
}

impl Expected {
    fn is_met_by(&self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Self::Success, Outcome::Success)
            | (Self::Timeout, Outcome::Timeout(_))
            | (Self::Cancelled, Outcome::Cancelled) => true,
            (Self::Error(text), Outcome::Error(failure))
            | (Self::Panic(text), Outcome::Panic(failure)) => failure.message() == *text,
            (Self::Refused(text), Outcome::Refused(reason)) => **reason == **text,
            _ => false,
        }
    }
}

/// As it is written in the macro: `Error("disk full")`.
struct ShownOutcome<'a>(&'a Outcome);

impl fmt::Display for ShownOutcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Outcome::Success => f.write_str("Success"),
            Outcome::Error(failure) => write!(f, "Error({:?})", failure.message()),
            Outcome::Panic(failure) => write!(f, "Panic({:?})", failure.message()),
            Outcome::Timeout(_) => f.write_str("Timeout"),
            Outcome::Cancelled => f.write_str("Cancelled"),
            Outcome::Refused(reason) => write!(f, "Refused({reason:?})"),
            Outcome::Snoozed(time) => write!(f, "Snoozed({time:?})"),
            Outcome::Lost => f.write_str("Lost"),
        }
    }
}

/// Fails the test if the outcomes of a task's runs are others.
#[doc(hidden)]
#[track_caller]
pub fn check_outcomes(sim: &Sim, task: &str, expected: &[Expected]) {
    let outcomes = sim.outcomes(task);
    let is_met = |(expected, outcome): (&Expected, &Outcome)| expected.is_met_by(outcome);
    if outcomes.len() == expected.len() && expected.iter().zip(&outcomes).all(is_met) {
        return;
    }
    let mut lines = format!("the runs of `{task}` had other outcomes\n  run  expected / was");
    for index in 0..outcomes.len().max(expected.len()) {
        let (wanted, was) = (expected.get(index), outcomes.get(index));
        let mark = match (wanted, was) {
            (Some(wanted), Some(was)) if wanted.is_met_by(was) => ' ',
            _ => '!',
        };
        let wanted = wanted.map_or("no run".to_owned(), |wanted| format!("{wanted:?}"));
        let was = was.map_or("no run".to_owned(), |was| ShownOutcome(was).to_string());
        lines.push_str(&format!("\n{mark} {:3}  {wanted} / {was}", index + 1));
    }
    panic!("{lines}");
}

/// Fails the test if the runs of a task that are over had other outcomes than these, in this order.
///
/// An outcome is `Success`, `Error("its text")`, `Panic("its text")`, `Timeout`, `Cancelled` or
/// `Refused("its reason")`.
///
/// ```
/// use scheduler::Schedule;
/// use scheduler::testing::*;
///
/// let mut sim = Sim::at("2026-01-01T00:00:00Z")
///     .define("purge", Schedule::fixed_rate("1h"), |_| {});
/// sim.fail_next("purge", "disk full");
/// sim.advance(hours(1));
/// assert_outcomes!(sim, "purge", [Error("disk full"), Success]);
/// ```
#[macro_export]
macro_rules! assert_outcomes {
    ($sim:expr, $task:expr, [$($outcome:expr),* $(,)?] $(,)?) => {
        $crate::testing::check_outcomes(&$sim, $task, &[$({
            #[allow(unused_imports)]
            use $crate::testing::Expected::*;
            $outcome
        }),*])
    };
}

/// Writes events with local times and the shortest names of tasks.
pub(super) struct EventText {
    zone: Zone,
    names: Names,
    width: usize,
}

impl EventText {
    pub(super) fn new(zone: Zone, tasks: &[&str]) -> Self {
        let names = Names::from_iter(tasks.iter().copied());
        let widths = tasks.iter().map(|task| names.shortest(task).chars().count());
        let width = widths.chain(["scheduler".len()]).max().unwrap_or_default();
        Self { zone, names, width }
    }

    /// One line: the time, the task or `scheduler`, and what happened.
    pub(super) fn line(&self, event: &Event) -> String {
        let (at, what) = (self.time(event.at), describe(event, &|at| self.time(at)));
        let task = event.task_name().map(|task| on_one_line(self.names.shortest(task)));
        let task = task.unwrap_or_else(|| "scheduler".to_owned());
        format!("{at}  {task:width$}  {what}", width = self.width)
    }

    /// `2026-03-27 09:00:00 +01:00`, with milliseconds where there are some.
    fn time(&self, at: DateTime<Utc>) -> String {
        let format = match at.timestamp_subsec_millis() {
            0 => "%Y-%m-%d %H:%M:%S %:z",
            _ => "%Y-%m-%d %H:%M:%S%.3f %:z",
        };
        self.zone.local(at).format(format).to_string()
    }
}
