//! A reporter that knows one task, and what it printed.

use std::sync::Arc;

use crate::base::sync::Mutex;
use crate::observe::sample::{at, event, facts, finished};
use crate::observe::{Event, EventKind, Failure, Listener, Outcome, PanicPlace, TaskFacts};
use crate::start::report::{Messages, Reporter, Sink};

/// A reporter that knows one task, and what it printed.
pub(super) struct Console {
    pub(super) reporter: Reporter,
    printed: Arc<Mutex<String>>,
    task: Arc<TaskFacts>,
}

impl Console {
    pub(super) fn new(task: &str) -> Self {
        let printed = Arc::new(Mutex::new(String::new()));
        let lines = Arc::clone(&printed);
        let sink = Sink::new(move |text| *lines.lock() += &format!("{text}\n"));
        let reporter = Reporter::new(Messages::in_place(sink));
        let console = Self { reporter, printed, task: facts(task) };
        console.emit(EventKind::TaskAdded { is_disabled: false, next: None });
        console.global(EventKind::SchedulerStarted { tasks: 1 });
        console
    }

    /// Reports an event of its task.
    pub(super) fn emit(&self, kind: EventKind) {
        self.emit_at(0, kind);
    }

    pub(super) fn emit_at(&self, millis: u64, kind: EventKind) {
        self.reporter.on_event(&Event::of(at(millis), &self.task, kind));
    }

    /// Reports an event of another task.
    pub(super) fn emit_of(&self, task: &str, kind: EventKind) {
        self.reporter.on_event(&event(task, 0, kind));
    }

    pub(super) fn emit_with(&self, facts: &Arc<TaskFacts>, kind: EventKind) {
        self.reporter.on_event(&Event::of(at(0), facts, kind));
    }

    pub(super) fn global(&self, kind: EventKind) {
        self.reporter.on_event(&Event::global(at(0), kind));
    }

    /// Reports a finished first attempt of a run of its task.
    pub(super) fn finish(&self, number: u64, outcome: Outcome, streak: u64, millis: u64) {
        self.finish_after(number, 1, outcome, streak, millis);
    }

    pub(super) fn finish_after(
        &self,
        number: u64,
        attempts: u32,
        outcome: Outcome,
        streak: u64,
        millis: u64,
    ) {
        let finished = finished(&self.task.name, (number, attempts), outcome, streak, millis);
        self.emit_at(millis, finished.kind);
    }

    /// The text that was printed since the last call.
    pub(super) fn printed(&self) -> String {
        std::mem::take(&mut self.printed.lock())
    }

    #[track_caller]
    pub(super) fn prints(&self, expected: &str) {
        assert_eq!(self.printed().trim_end(), expected.trim());
    }
}

pub(super) fn panicked(message: &str) -> Outcome {
    let place = PanicPlace { file: "src/reports.rs".into(), line: 42, column: 18 };
    Failure::from_panic(message, Some(place)).into()
}
