//! The lengths and the results of simulated runs.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::time::Duration;

use crate::base::sync::Mutex;
use crate::run::{TaskError, TaskResult};

/// The script of one task.
#[derive(Debug, Default)]
pub(super) struct TaskScript {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The time that an attempt takes by default.
    takes: Duration,
    /// The times that the next attempts take.
    takes_next: VecDeque<Duration>,
    fake_results: VecDeque<FakeResult>,
}

/// The result of an attempt whose body is not called.
#[derive(Clone, Debug)]
pub(super) enum FakeResult {
    Error(String),
    Panic(String),
}

impl TaskScript {
    pub(super) fn takes(&self, length: Duration) {
        self.state.lock().takes = length;
    }

    pub(super) fn takes_each(&self, lengths: impl IntoIterator<Item = Duration>) {
        self.state.lock().takes_next.extend(lengths);
    }

    pub(super) fn fake_next(&self, fake: FakeResult) {
        self.state.lock().fake_results.push_back(fake);
    }

    /// The time that the next attempt takes, and its result if the body is not called.
    pub(super) fn next(&self) -> (Duration, Option<FakeResult>) {
        let mut state = self.state.lock();
        let length = state.takes_next.pop_front().unwrap_or(state.takes);
        (length, state.fake_results.pop_front())
    }
}

impl FakeResult {
    /// Returns or panics. The panic hook is not called.
    pub(super) fn perform(self) -> TaskResult {
        match self {
            Self::Error(text) => Err(TaskError::from_display(&text)),
            Self::Panic(text) => resume_unwind(Box::new(text)),
        }
    }
}
