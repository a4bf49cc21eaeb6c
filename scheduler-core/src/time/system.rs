//! The operating system's clock.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one file that reads the operating system's clocks"
)]

use std::sync::Arc;
use std::time::Instant;

use chrono::DateTime;
use chrono::Utc;

use super::Clock;
use super::Epoch;
use super::Gate;
use super::Tick;

/// The clocks of the operating system; the epoch is the moment of creation.
///
/// Monotonic time is [`std::time::Instant`], which on Linux stands still while the machine is
/// suspended; wall time is [`chrono::Utc::now`], which does not.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock whose epoch is now.
    #[must_use]
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Tick {
        Tick::ZERO + self.origin.elapsed()
    }

    fn wall(&self) -> DateTime<Utc> {
        Utc::now()
    }

    fn wait(&self, gate: &Arc<Gate>, seen: Epoch, until: Option<Tick>) {
        match until {
            None | Some(Tick::MAX) => gate.wait(seen),
            Some(until) => {
                let left = until.since(self.now());
                if !left.is_zero() {
                    gate.wait_timeout(seen, left);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SystemClock;
    use crate::time::Clock;
    use crate::time::Gate;
    use crate::time::Tick;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn a_wait_until_the_past_or_at_an_open_gate_returns() {
        let clock = SystemClock::new();
        let gate = Arc::new(Gate::new());
        clock.wait(&gate, gate.epoch(), Some(Tick::ZERO));
        let seen = gate.epoch();
        gate.open();
        clock.wait(&gate, seen, None);
        clock.wait(&gate, seen, Some(Tick::MAX));
        clock.wait(&gate, seen, Some(clock.now() + Duration::from_secs(3600)));
    }
}
