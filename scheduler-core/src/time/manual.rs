//! A clock that is moved by hand.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::{Clock, Epoch, EventCount, Now, Tick, WallTime};
use crate::sync::Mutex;

/// A clock for tests: time stands still until it is moved.
///
/// Clones share one time. Waiting threads are real; they go on when [`advance`](Self::advance)
/// reaches their deadline or their gate is opened. [`await_parked`](Self::await_parked) waits until
/// the workers of a test wait.
///
/// ```
/// use scheduler_core::{ManualClock, ScheduledThreadPool};
/// use std::{sync::Arc, time::Duration};
///
/// let clock = ManualClock::new();
/// let pool = ScheduledThreadPool::builder().clock(Arc::new(clock.clone())).build()?;
/// let handle = pool.schedule(Duration::from_secs(3600), || "an hour later")?;
/// clock.advance(Duration::from_secs(3600));
/// assert_eq!(handle.wait()?, "an hour later");
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone)]
pub struct ManualClock {
    time: Arc<Time>,
}

struct Time {
    reading: Mutex<ClockReading>,
    /// Opened whenever a waiter arrives or leaves.
    parked_changed: Arc<EventCount>,
}

struct ClockReading {
    now: Tick,
    wall: WallTime,
    next_sleeper: u64,
    sleepers: Vec<Sleeper>,
}

struct Sleeper {
    number: u64,
    until: Option<Tick>,
    gate: Arc<EventCount>,
    seen: Epoch,
}

impl Sleeper {
    /// Returns true if nothing has woken this waiter; its thread may not have noticed yet.
    fn is_asleep(&self) -> bool {
        self.gate.epoch() == self.seen
    }
}

impl ManualClock {
    /// A clock at its epoch, with the wall at 2026-01-01 00:00:00 UTC.
    #[must_use]
    pub fn new() -> Self {
        Self::at(DateTime::from_timestamp(1_767_225_600, 0).unwrap_or_default())
    }

    /// A clock at its epoch, with this wall time.
    #[must_use]
    pub fn at(wall: DateTime<Utc>) -> Self {
        let wall = wall.into();
        let reading = ClockReading { now: Tick::ZERO, wall, next_sleeper: 0, sleepers: Vec::new() };
        Self {
            time: Arc::new(Time {
                reading: Mutex::new(reading),
                parked_changed: Arc::new(EventCount::new()),
            }),
        }
    }

    /// Moves both times forward, and wakes every waiter whose deadline is reached.
    pub fn advance(&self, by: Duration) {
        self.shift(by, |wall| wall + by);
    }

    /// Moves the monotonic time to `tick`, if that lies ahead, and the wall with it.
    pub fn advance_to(&self, tick: Tick) {
        let by = tick.since(self.now());
        self.advance(by);
    }

    /// Sets the wall clock forward or back; the monotonic time stands still, and no waiter is woken.
    pub fn step_wall(&self, by: TimeDelta) {
        self.shift(Duration::ZERO, |wall| match by.to_std() {
            Ok(ahead) => wall + ahead,
            Err(_) => wall - by.abs().to_std().unwrap_or_default(),
        });
    }

    /// Lets the wall clock go on while the monotonic time stands still, as a suspended machine does.
    pub fn suspend(&self, by: Duration) {
        self.shift(Duration::ZERO, |wall| wall + by);
    }

    /// The number of threads that wait on this clock and have not been woken.
    #[must_use]
    pub fn parked(&self) -> usize {
        self.time.reading.lock().sleepers.iter().filter(|sleeper| sleeper.is_asleep()).count()
    }

    /// The earliest deadline of all waiters.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        let reading = self.time.reading.lock();
        let asleep = reading.sleepers.iter().filter(|sleeper| sleeper.is_asleep());
        asleep.filter_map(|sleeper| sleeper.until).min()
    }

    /// Blocks until at least `count` threads wait on this clock.
    pub fn await_parked(&self, count: usize) {
        loop {
            let seen = self.time.parked_changed.epoch();
            if self.parked() >= count {
                return;
            }
            self.time.parked_changed.wait(seen);
        }
    }

    fn shift(&self, by: Duration, set: impl FnOnce(WallTime) -> WallTime) {
        let mut reading = self.time.reading.lock();
        reading.now = reading.now + by;
        reading.wall = set(reading.wall);
        let now = reading.now;
        let due: Vec<Arc<EventCount>> = reading
            .sleepers
            .iter()
            .filter(|sleeper| sleeper.until.is_some_and(|until| until <= now))
            .map(|sleeper| Arc::clone(&sleeper.gate))
            .collect();
        drop(reading);
        for gate in due {
            gate.open();
        }
    }

    /// Registers a waiter, unless its deadline has been reached.
    fn park(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) -> Option<u64> {
        let mut reading = self.time.reading.lock();
        if until.is_some_and(|until| until <= reading.now) {
            return None;
        }
        let number = reading.next_sleeper;
        reading.next_sleeper += 1;
        reading.sleepers.push(Sleeper { number, until, gate: Arc::clone(gate), seen });
        Some(number)
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Tick {
        self.time.reading.lock().now
    }

    fn wall(&self) -> DateTime<Utc> {
        self.time.reading.lock().wall.to_utc()
    }

    fn read(&self) -> Now {
        let reading = self.time.reading.lock();
        Now { tick: reading.now, wall: reading.wall }
    }

    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        // RACE: time may move right after the registration. `shift` then opens the gate, whose epoch
        // is no longer `seen`, so the wait below returns at once.
        let Some(number) = self.park(gate, seen, until) else { return };
        self.time.parked_changed.open();
        gate.wait(seen);
        self.time.reading.lock().sleepers.retain(|sleeper| sleeper.number != number);
        self.time.parked_changed.open();
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reading = self.time.reading.lock();
        f.debug_struct("ManualClock")
            .field("now", &reading.now)
            .field("wall", &reading.wall)
            .field("parked", &reading.sleepers.len())
            .finish()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::ManualClock;
    use crate::time::{Clock, EventCount, Tick};
    use chrono::TimeDelta;
    use std::sync::Arc;
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn both_times_advance_but_only_the_wall_is_stepped_or_goes_on_in_suspend() {
        let clock = ManualClock::new();
        let start = clock.wall();
        clock.advance(SECOND);
        assert_eq!((clock.now(), clock.wall()), (Tick::ZERO + SECOND, start + SECOND));
        clock.step_wall(TimeDelta::hours(-2));
        clock.suspend(SECOND * 5);
        assert_eq!(clock.now(), Tick::ZERO + SECOND);
        assert_eq!(clock.wall(), start + TimeDelta::seconds(6) - TimeDelta::hours(2));
    }

    #[test]
    fn advancing_past_the_end_of_either_time_saturates() {
        let clock = ManualClock::new();
        clock.advance(Duration::MAX);
        clock.advance(Duration::MAX);
        assert_eq!(clock.now(), Tick::MAX);
        clock.advance_to(Tick::ZERO);
        assert_eq!(clock.now(), Tick::MAX);
    }

    #[test]
    fn no_thread_waits_for_what_has_been_reached() {
        let clock = ManualClock::new();
        let gate = Arc::new(EventCount::new());
        clock.advance(SECOND);
        for reached in [Tick::ZERO, clock.now()] {
            clock.wait(&gate, gate.epoch(), Some(reached));
            clock.wait_precisely(&gate, gate.epoch(), Some(reached));
        }
        assert_eq!(clock.parked(), 0);
    }

    #[test]
    fn a_sleeper_goes_on_exactly_when_its_deadline_is_reached() {
        check_sleeper(|clock, gate, until| clock.wait(gate, gate.epoch(), Some(until)));
    }

    #[test]
    fn a_precise_sleeper_of_this_clock_is_one_like_all() {
        check_sleeper(|clock, gate, until| clock.wait_precisely(gate, gate.epoch(), Some(until)));
    }

    #[track_caller]
    fn check_sleeper(sleep: fn(&ManualClock, &Arc<EventCount>, Tick)) {
        let clock = ManualClock::new();
        let gate = Arc::new(EventCount::new());
        let waiter = {
            let (clock, gate) = (clock.clone(), Arc::clone(&gate));
            std::thread::Builder::new().spawn(move || {
                sleep(&clock, &gate, Tick::ZERO + SECOND);
                clock.now()
            })
        };
        clock.await_parked(1);
        clock.advance(SECOND - Duration::from_nanos(1));
        assert_eq!(clock.parked(), 1);
        assert_eq!(clock.next_deadline(), Some(Tick::ZERO + SECOND));
        clock.advance(Duration::from_nanos(1));
        assert_eq!(clock.parked(), 0);
        assert_eq!(waiter.unwrap().join().unwrap(), Tick::ZERO + SECOND);
    }
}
