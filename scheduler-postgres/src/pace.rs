//! How often the process tries to connect: at most twice a second while the server is away.
#![allow(
    clippy::disallowed_methods,
    reason = "a pause between connects is real time, also in tests"
)]

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(500);

/// What all connections of a store share.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    is_failing: bool,
    last: Option<Instant>,
}

impl Pace {
    /// Asks to connect now. An error is how long to wait.
    pub(crate) fn connect(&self) -> Result<(), Duration> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let next = state.last.filter(|_| state.is_failing).map(|last| last + PAUSE);
        match next.and_then(|next| next.checked_duration_since(now)).filter(|wait| !wait.is_zero())
        {
            Some(wait) => Err(wait),
            None => {
                state.last = Some(now);
                Ok(())
            }
        }
    }

    /// A connection was made, or has broken, or could not be made.
    pub(crate) fn tell(&self, is_well: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_failing = !is_well;
    }
}
