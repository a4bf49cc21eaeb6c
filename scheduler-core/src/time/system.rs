//! The operating system's clock.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one file that reads the operating system's clocks"
)]

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};

use super::{Clock, Epoch, EventCount, Now, Tick, WallTime, is_brief};
use crate::sync::local;

/// The clocks of the operating system; the epoch is the moment of creation.
///
/// Monotonic time is [`std::time::Instant`], which on Linux stands still while the machine is
/// suspended; wall time is [`std::time::SystemTime`], which does not.
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
    /// The system's own count when this clock was made.
    origin: u64,
}

/// The monotonic clock as the system counts it, in nanoseconds: what [`std::time::Instant`] reads, without
/// its arithmetic, which takes longer than the reading.
#[cfg(target_os = "linux")]
#[inline]
fn count() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

#[cfg(not(target_os = "linux"))]
fn count() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    super::nanos(START.get_or_init(std::time::Instant::now).elapsed())
}

/// The wall clock, read by the C library on Unix, so that what replaces that function for the program, as libfaketime
/// does, is seen by the scheduler too. All readings of the wall clock go through this one function.
fn wall_count() -> WallTime {
    let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => WallTime::from_nanos(nanos(since)),
        Err(error) => WallTime::from_nanos(-nanos(error.duration())),
    }
}

impl SystemClock {
    /// A clock whose epoch is now.
    #[must_use]
    pub fn new() -> Self {
        Self { origin: count() }
    }

    fn spin(&self, gate: &EventCount, seen: Epoch, until: Tick) {
        while gate.epoch() == seen && self.now() < until {
            std::hint::spin_loop();
        }
    }

    /// Looks at both clocks, and keeps that for the next readings of this thread.
    #[cold]
    #[inline(never)]
    fn look(&self, tick: Tick) -> Now {
        let look = WallLook::take(self.origin, tick, || self.now(), wall_count);
        let _ = LAST_LOOK.try_with(|last| last.set(look));
        Now { tick: look.at, wall: look.wall }
    }
}

/// For how long a look at the wall clock is good, while the monotonic clock shows what has passed since.
/// A wall clock that is set is noticed that much later; the reading costs a third less.
const LOOK_IS_GOOD_FOR: Duration = Duration::from_millis(1);

/// The time that a wake-up takes on this machine, in nanoseconds, measured in the waits of this process. It costs the
/// processor about as much, so that what is due close together shares one.
static WAKE_UP: AtomicU64 = AtomicU64::new(15_000);

/// The limits of that time: on any machine another thread needs some time, and no task is to wait for
/// long.
const WAKE_UP_BOUNDS: RangeInclusive<u64> = 5_000..=60_000;

/// The new estimate after a wake-up that was so late: a sixteenth of the way to it, which counts as no more
/// than twice of what is known, because a thread is also late where others keep it from running.
fn learned(known: u64, late: u64) -> u64 {
    let late = late.min(2 * known);
    let next = known - known / 16 + late / 16;
    next.clamp(*WAKE_UP_BOUNDS.start(), *WAKE_UP_BOUNDS.end())
}

/// Learns from a wait that was to end then.
fn note_wake_latency(until: Tick, now: Tick) {
    if now >= until {
        // ORDERING: relaxed, it is a figure. Of two that are noted at once one may be lost.
        let known = WAKE_UP.load(Ordering::Relaxed);
        WAKE_UP.store(learned(known, super::nanos(now.since(until))), Ordering::Relaxed);
    }
}

/// For how long a precise wait spins: longer than a thread takes to wake up, as a rule.
const SPIN: Duration = Duration::from_micros(200);

/// Two readings that took no longer are of one moment.
const BELONG_TOGETHER: Duration = Duration::from_micros(5);

/// So many pairs of readings are tried at most.
const PAIRS_MAX: usize = 8;

local! {
    /// The last look of this thread at the wall clock.
    static LAST_LOOK: Cell<WallLook> = const { Cell::new(WallLook::NONE) };
}

/// A look at the wall clock.
#[derive(Clone, Copy)]
struct WallLook {
    /// By whose epoch.
    origin: u64,
    at: Tick,
    wall: WallTime,
}

impl WallLook {
    const NONE: Self = Self { origin: u64::MAX, at: Tick::ZERO, wall: WallTime::MIN };

    /// Reads both clocks, the first of them a moment ago. A thread that is kept from running in between has two
    /// readings that do not belong together, by as much as that took: of a few pairs the closest one counts.
    fn take(
        origin: u64,
        mut at: Tick,
        now: impl Fn() -> Tick,
        wall: impl Fn() -> WallTime,
    ) -> Self {
        let (mut best, mut least) = (Self::NONE, Duration::MAX);
        for _ in 0..PAIRS_MAX {
            let look = Self { origin, at, wall: wall() };
            let after = now();
            let gap = after.since(at);
            if gap < least {
                (best, least) = (look, gap);
            }
            if least <= BELONG_TOGETHER {
                break;
            }
            at = after;
        }
        best
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Tick {
        Tick::from_nanos(count() - self.origin)
    }

    fn wall(&self) -> DateTime<Utc> {
        wall_count().to_utc()
    }

    #[cfg(target_os = "linux")]
    fn boot_time(&self) -> Tick {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Tick::from_nanos(now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned())
    }

    fn read(&self) -> Now {
        let tick = self.now();
        // A thread that is ending may have no thread-locals any more.
        let last = LAST_LOOK.try_with(Cell::get).unwrap_or(WallLook::NONE);
        if last.origin == self.origin {
            let passed = tick.since(last.at);
            if passed < LOOK_IS_GOOD_FOR {
                return Now { tick, wall: last.wall + passed };
            }
        }
        self.look(tick)
    }

    fn wake_latency(&self) -> Duration {
        // ORDERING: relaxed, it is a figure.
        Duration::from_nanos(WAKE_UP.load(Ordering::Relaxed))
    }

    /// Linux may end a wait 50 µs late, so that several threads wake up together; a thread can ask it
    /// not to.
    #[cfg(target_os = "linux")]
    fn set_timer_slack(&self) {
        // Where it is refused, waits are as exact as they were.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }

    fn wait_precisely(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        let Some(until) = until.filter(|until| *until != Tick::MAX) else {
            return self.wait(gate, seen, until);
        };
        let nearly = until - SPIN;
        if self.now() < nearly {
            // The worker looks once more before the end: so what it looks at, and its code, is in the cache.
            return self.wait(gate, seen, Some(nearly));
        }
        self.spin(gate, seen, until);
    }

    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        match until {
            None | Some(Tick::MAX) => gate.wait(seen),
            Some(until) => {
                let left = until.since(self.now());
                if is_brief(left, self.wake_latency()) {
                    self.spin(gate, seen, until);
                } else {
                    gate.wait_timeout(seen, left);
                    note_wake_latency(until, self.now());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LAST_LOOK, LOOK_IS_GOOD_FOR, SystemClock, WallLook, count, learned};
    use crate::time::{Clock, EventCount, Tick, WallTime};
    use std::cell::Cell;
    use std::sync::Arc;
    use std::time::Duration;

    /// The wall clock is 1,000 ns ahead. The thread is kept from running for these times, one before each
    /// reading of it.
    fn lead_of_a_look(pauses: &[u64]) -> i128 {
        let (time, pauses) = (Cell::new(0), Cell::new(pauses));
        let look = WallLook::take(
            7,
            Tick::ZERO,
            || Tick::from_nanos(time.get()),
            || {
                let (pause, rest) =
                    pauses.get().split_first().expect("it does not look more often");
                pauses.set(rest);
                time.set(time.get() + pause);
                WallTime::from_nanos(1_000 + i64::try_from(time.get()).unwrap())
            },
        );
        assert_eq!(pauses.get(), [], "it looks no less often");
        look.wall.offset(look.at)
    }

    #[test]
    fn a_thread_that_is_kept_from_running_between_both_readings_looks_again() {
        assert_eq!(lead_of_a_look(&[3]), 1_003);
        assert_eq!(lead_of_a_look(&[9_000_000_000, 40_000, 3]), 1_003);
        let always = [90_000, 80_000, 70_000, 60_000, 70_000, 80_000, 90_000, 90_000];
        assert_eq!(lead_of_a_look(&always), 61_000);
    }

    #[test]
    fn a_wake_up_is_learned_from_those_that_were() {
        let after = |known, late, times| (0..times).fold(known, |known, _| learned(known, late));
        assert_eq!(after(40_000, 40_000, 100), 40_000);
        assert_eq!(
            after(40_000, u64::MAX, 1),
            42_500,
            "one that was kept from running counts for little"
        );
        assert!((47_000..=50_000).contains(&after(20_000, 50_000, 100)));
        assert!((10_000..=11_000).contains(&after(40_000, 10_000, 100)));
        assert_eq!((after(40_000, 0, 1_000), after(40_000, u64::MAX, 1_000)), (5_000, 60_000));
    }

    /// Frequent readings take the wall clock from the monotonic one.
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
    fn between_two_looks_at_the_wall_both_times_go_at_one_pace() {
        let clock = SystemClock::new();
        let go_together = || {
            let (one, next) = (clock.read(), clock.read());
            next.tick > one.tick && next.wall.since(one.wall) == next.tick.since(one.tick)
        };
        assert!((0..10_000).any(|_| go_together()));
    }

    #[test]
    fn a_look_at_the_wall_is_gone_by_while_it_is_new_and_not_after_that() {
        let clock = SystemClock { origin: count() - 10_000_000 };
        let kept = WallTime::from_nanos(0);
        let read_after = |at| {
            LAST_LOOK.with(|last| last.set(WallLook { origin: clock.origin, at, wall: kept }));
            clock.read().wall
        };
        assert_eq!(read_after(Tick::MAX), kept);
        assert!(read_after(Tick::ZERO) > kept + Duration::from_secs(3600));
    }

    #[test]
    fn a_wait_until_the_past_or_at_an_open_gate_returns() {
        let clock = SystemClock::new();
        let gate = Arc::new(EventCount::new());
        clock.wait(&gate, gate.epoch(), Some(Tick::ZERO));
        let seen = gate.epoch();
        gate.open();
        clock.wait(&gate, seen, None);
        clock.wait(&gate, seen, Some(Tick::MAX));
        clock.wait(&gate, seen, Some(clock.now() + Duration::from_secs(3600)));
    }
}
