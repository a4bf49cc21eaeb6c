//! The pace of connects: at most two a second during an outage.
#![allow(
    clippy::disallowed_methods,
    reason = "a pause between connects is real time, also in tests"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const SPAN: Duration = Duration::from_secs(1);

/// The pace that all connections of a store share.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    is_failing: bool,
    /// The last two tries that failed, or came after a failure; the older one first.
    tries: [Option<Instant>; 2],
}

impl State {
    fn push(&mut self, now: Instant) {
        self.tries = [self.tries[1], Some(now)];
    }
}

impl Pace {
    /// Asks to connect now. An error is how long to wait.
    pub(crate) fn connect(&self) -> Result<(), Duration> {
        let mut state = self.lock();
        if !state.is_failing {
            return Ok(());
        }
        let now = Instant::now();
        let wait = state.tries[0].and_then(|first| (first + SPAN).checked_duration_since(now));
        match wait.filter(|wait| !wait.is_zero()) {
            Some(wait) => Err(wait),
            None => {
                state.push(now);
                Ok(())
            }
        }
    }

    /// A connection was made.
    pub(crate) fn succeeded(&self) {
        self.lock().is_failing = false;
    }

    /// A connection could not be made.
    pub(crate) fn failed(&self) {
        let mut state = self.lock();
        if !std::mem::replace(&mut state.is_failing, true) {
            state.push(Instant::now());
        }
    }

    /// A connection has broken.
    pub(crate) fn broke(&self) {
        self.lock().is_failing = true;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
