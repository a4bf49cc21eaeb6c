//! The wall clock, and one that counts from the machine's start.
//!
//! Times of jobs and ticks are by the wall clock, which all processes of a host share. Leases are by the other: it cannot be
//! set, runs on while the machine sleeps, and its identity changes when the machine starts again, so that all leases
//! from before have run out (R8).

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use scheduler_store::StoreTime;

/// Where a store reads the time; tests have one that they move.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The wall clock.
    fn now(&self) -> StoreTime;

    /// The time since the start of the machine, sleep included. The processes of the machine agree about it.
    fn since_boot(&self) -> Duration;

    /// An identity that differs after each start of the machine.
    fn boot_id(&self) -> String;
}

/// The clocks of the system.
///
/// Elsewhere than on Linux, leases are by the wall clock: a clock that is set forward by more than a lease ends sessions,
/// and one that is set back lets dead ones live longer.
#[derive(Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> StoreTime {
        wall()
    }

    #[cfg(target_os = "linux")]
    fn since_boot(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
        Duration::new(seconds.unwrap_or(0), nanos.unwrap_or(0))
    }

    #[cfg(not(target_os = "linux"))]
    fn since_boot(&self) -> Duration {
        wall().since(StoreTime::from_micros(0))
    }

    /// Without `/proc`, the clock alone shows a restart: it starts from zero.
    #[cfg(target_os = "linux")]
    fn boot_id(&self) -> String {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        text.trim().to_owned()
    }

    #[cfg(not(target_os = "linux"))]
    fn boot_id(&self) -> String {
        "wall clock".to_owned()
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock of a store, which is not the engine's")]
fn wall() -> StoreTime {
    let micros = match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros)
        }
    };
    StoreTime::from_micros(micros)
}

/// The instant until which a call may wait for other connections. It is no time of the contract.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "how long other connections are waited for")]
    pub(crate) fn after(limit: Duration) -> Self {
        Self(Instant::now().checked_add(limit))
    }

    #[expect(clippy::disallowed_methods, reason = "how long other connections are waited for")]
    pub(crate) fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }
}

/// The waits between two tries for the lock of another process: short at first, and never the same in two threads.
#[derive(Debug)]
pub(crate) struct Backoff {
    wait: Duration,
    draw: u64,
}

impl Backoff {
    const FIRST: Duration = Duration::from_micros(100);
    const LONGEST: Duration = Duration::from_millis(4);

    pub(crate) fn new() -> Self {
        let draw = u64::from(std::process::id()) ^ u64::try_from(wall().as_micros()).unwrap_or(0);
        Self { wait: Self::FIRST, draw: draw | 1 }
    }

    /// Waits. Returns false at the deadline.
    pub(crate) fn wait(&mut self, deadline: Deadline) -> bool {
        let left = deadline.left();
        self.draw =
            self.draw.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let wait =
            self.wait.mul_f64(0.5 + f64::from((self.draw >> 33) as u32) / f64::from(u32::MAX));
        sleep(wait.min(left));
        self.wait = (self.wait * 2).min(Self::LONGEST);
        !left.is_zero()
    }
}

#[expect(clippy::disallowed_methods, reason = "other processes give no notice of their locks")]
pub(crate) fn sleep(time: Duration) {
    std::thread::sleep(time);
}
