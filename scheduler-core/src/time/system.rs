//! The operating system's clock.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one file that reads the operating system's clocks"
)]

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use chrono::DateTime;
use chrono::Utc;

use super::Clock;
use super::Epoch;
use super::Gate;
use super::Now;
use super::Tick;
use super::WallTime;
use super::tick;
use crate::sync::local;

/// The clocks of the operating system; the epoch is the moment of creation.
///
/// Monotonic time is [`std::time::Instant`], which on Linux stands still while the machine is
/// suspended; wall time is [`chrono::Utc::now`], which does not.
///
/// ```
/// use scheduler_core::{Clock, SystemClock};
///
/// let clock = SystemClock::new();
/// let before = clock.now();
/// assert!(clock.now() >= before);
/// ```
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

/// For how long a look at the wall clock is good, while the monotonic clock tells what has passed since.
/// A wall clock that is set is noticed that much later; the reading costs a third less.
const LOOK_IS_GOOD_FOR: Duration = Duration::from_millis(1);

/// For how long a precise wait spins: longer than a thread takes to wake up, as a rule.
const SPIN: Duration = Duration::from_micros(200);

local! {
    /// The last look of this thread at the wall clock.
    static LAST_LOOK: Cell<Look> = const { Cell::new(Look::NONE) };
}

/// A look at the wall clock.
#[derive(Clone, Copy)]
struct Look {
    /// By whose epoch.
    origin: Option<Instant>,
    at: Tick,
    wall: WallTime,
}

impl Look {
    const NONE: Self = Self { origin: None, at: Tick::ZERO, wall: WallTime::MIN };
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

    fn read(&self) -> Now {
        let tick = self.now();
        // A thread that is ending may have no thread-locals any more.
        let last = LAST_LOOK.try_with(Cell::get).unwrap_or(Look::NONE);
        if last.origin == Some(self.origin) {
            let passed = tick.since(last.at);
            if passed < LOOK_IS_GOOD_FOR {
                return Now { tick, wall: last.wall + passed };
            }
        }
        let wall = Utc::now().into();
        let look = Look { origin: Some(self.origin), at: tick, wall };
        let _ = LAST_LOOK.try_with(|last| last.set(look));
        Now { tick, wall }
    }

    /// Linux may end a wait 50 µs late, so that several threads wake up together; a thread can ask it
    /// not to.
    #[cfg(target_os = "linux")]
    fn sharpen(&self) {
        // Where it is refused, waits are as exact as they were.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }

    fn wait_precisely(&self, gate: &Arc<Gate>, seen: Epoch, until: Option<Tick>) {
        let Some(until) = until.filter(|until| *until != Tick::MAX) else {
            return self.wait(gate, seen, until);
        };
        let nearly = until.as_nanos().saturating_sub(tick::nanos(SPIN));
        self.wait(gate, seen, Some(Tick::from_nanos(nearly)));
        while gate.epoch() == seen && self.now() < until {
            std::hint::spin_loop();
        }
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
    use super::LOOK_IS_GOOD_FOR;
    use super::SystemClock;
    use crate::time::Clock;
    use crate::time::Gate;
    use crate::time::Tick;
    use std::sync::Arc;
    use std::time::Duration;

    /// Whoever looks often sees the wall clock by way of the monotonic one.
    #[test]
    fn a_reading_of_both_times_agrees_with_each_of_them() {
        let clock = SystemClock::new();
        let end = clock.now() + LOOK_IS_GOOD_FOR * 3;
        let mut last = clock.read();
        while last.tick < end {
            let (tick, wall, now) = (clock.now(), clock.wall(), clock.read());
            assert!(tick <= now.tick && last.tick <= now.tick);
            assert!((now.wall.to_utc() - wall).abs() < chrono::TimeDelta::seconds(1));
            last = now;
        }
    }

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
