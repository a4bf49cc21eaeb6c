//! A reporter that knows one task, and what it said.

use std::sync::Arc;

use crate::observe::Event;
use crate::observe::Failure;
use crate::observe::Listener;
use crate::observe::Outcome;
use crate::observe::PanicPlace;
use crate::observe::sample::at;
use crate::observe::sample::facts;
use crate::speech::Messages;
use crate::speech::Reporter;
use crate::speech::Sink;
use crate::sync::Mutex;

/// A reporter that knows one task, and what it said.
pub(super) struct Desk {
    pub(super) reporter: Reporter,
    pub(super) said: Arc<Mutex<String>>,
    task: Arc<str>,
}

impl Desk {
    pub(super) fn new(task: &str) -> Self {
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        let sink = Sink::new(move |text| *heard.lock().unwrap() += &format!("{text}\n"));
        let facts = facts(task);
        let reporter = Reporter::new(Messages::in_place(sink));
        let desk = Self { reporter, said, task: Arc::clone(&facts.name) };
        desk.tell(Event::TaskAdded { task: facts, is_disabled: false, next: None, at: at(0) });
        desk.tell(Event::SchedulerStarted { at: at(0), tasks: 1 });
        desk
    }

    /// The name of its task, as events have it.
    pub(super) fn task(&self) -> Arc<str> {
        Arc::clone(&self.task)
    }

    #[expect(clippy::needless_pass_by_value, reason = "events are made where they are told")]
    pub(super) fn tell(&self, event: Event) {
        self.reporter.on_event(&event);
    }

    /// What was said since the last call.
    pub(super) fn said(&self) -> String {
        std::mem::take(&mut self.said.lock().unwrap())
    }

    #[track_caller]
    pub(super) fn says(&self, expected: &str) {
        assert_eq!(self.said().trim_end(), expected.trim());
    }
}

pub(super) fn panicked(message: &str) -> Outcome {
    let place = PanicPlace { file: "src/reports.rs".into(), line: 42, column: 18 };
    Failure::from_panic(message, Some(place)).into()
}
