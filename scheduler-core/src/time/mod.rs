//! The clock, and waiting.
//!
//! Everything that depends on time reads it through a [`Clock`] and waits through a [`Clock`], so
//! that one worker loop runs on the operating system's clock ([`SystemClock`]), on a clock that a
//! test moves by hand ([`ManualClock`]) and under a model checker.
//!
//! There are two times. The *monotonic* one counts nanoseconds since the clock's epoch and never
//! goes back ([`Tick`]): rates, delays and time-outs live on it. The *wall* time is what people read
//! off a clock on the wall; it can be set, and it goes on while a machine is suspended: fire times of
//! cron live on it.
//!
//! # Waiting
//!
//! A waiter reads the epoch of an [`EventCount`], *then* looks at what it waits for, *then* waits for the
//! epoch to change. A thread that changes something increments it. A wake-up between the look and the
//! wait is therefore never lost, and there is no condition variable with a time-out outside
//! [`SystemClock`].
//
// A wait may end early for any reason, so the waiter checks the time again.

mod due;
mod manual;
mod system;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::sync::{AtomicU64, Condvar, Mutex, Ordering};

pub use due::{Due, Now, WallTime};
pub use manual::ManualClock;
pub use scheduler_expr::Tick;
pub use system::SystemClock;

/// A source of time that can also be waited on.
///
/// Implementations must be monotonic in [`now`](Self::now) across all threads.
///
/// ```
/// use scheduler_core::{Clock, ManualClock, ScheduledThreadPool, VirtualWorkers};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
/// let pool = ScheduledThreadPool::builder()
///     .clock(Arc::new(clock.clone()))
///     .virtual_workers(&workers)
///     .build()?;
/// let tomorrow = pool.schedule(Duration::from_secs(86_400), || "good morning")?;
/// clock.advance(Duration::from_secs(86_400));
/// workers.run_until_idle();
/// assert_eq!(tomorrow.result_now()?, "good morning");
/// # Ok::<(), scheduler_core::Error>(())
/// ```
pub trait Clock: fmt::Debug + Send + Sync {
    /// The monotonic time, in nanoseconds since this clock's epoch.
    fn now(&self) -> Tick;

    /// The wall-clock time.
    fn wall(&self) -> DateTime<Utc>;

    /// The monotonic time as it goes on while the machine is suspended, from any epoch; by default [`now`](Self::now).
    ///
    /// Leases are counted by it: a machine that sleeps past the end of a lease has lost it.
    fn boot_time(&self) -> Tick {
        self.now()
    }

    /// Both times at one moment; unless a clock has a cheaper way, it is asked for one after the other.
    fn read(&self) -> Now {
        Now { tick: self.now(), wall: self.wall().into() }
    }

    /// Makes the waits of the calling thread as exact as the system allows; called by each worker when
    /// its thread begins. Does nothing unless a clock knows how.
    fn set_timer_slack(&self) {}

    /// About how long a thread takes to wake up; by default nothing, as where time is moved by hand. The system's clock
    /// learns it from the waits of the process.
    ///
    /// A pool is no more exact than some of these, so as not to be busy with waking up, unless it is
    /// [`precise`](crate::PoolBuilder::precise):
    ///
    /// - No wait of its workers is shorter than 3.2 of them, but for those of up to a twentieth of one, which
    ///   [`wait`](Self::wait) should spin.
    /// - The worker that looks at the queue first is given four of them to run what is due before the
    ///   next one looks. A task that becomes due while it runs a long one starts later by up to that; so does a task
    ///   that a run submits.
    ///
    /// Must be zero where a test moves the time by hand, because a worker would wait until then.
    fn wake_latency(&self) -> Duration {
        Duration::ZERO
    }

    /// Waits until the epoch of `gate` differs from `seen` or `until` is reached, and may return
    /// earlier.
    ///
    /// `until` is a time of this clock; `None` waits for the gate alone. Never sleeps past an opening
    /// of the gate that happened after `seen` was read.
    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>);

    /// As [`wait`](Self::wait), but ends as near to `until` as can be, whatever that costs. The system's
    /// clock spins for the last 200 µs, and returns once before it does, so that what its caller looks at
    /// is in the cache; a clock that has no better way waits as usual.
    fn wait_precisely(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        self.wait(gate, seen, until);
    }
}

/// Returns true if a wait is so brief that it is spun: whatever system it is, going to sleep and waking up costs more.
pub(crate) fn is_brief(wait: Duration, wake_latency: Duration) -> bool {
    wait <= wake_latency / 20
}

/// Nanoseconds, saturating.
#[inline]
fn nanos(duration: Duration) -> u64 {
    (Tick::ZERO + duration).as_nanos()
}

/// The count of an [`EventCount`] that a waiter reads before it checks its condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(u64);

/// An event count: opening it lets every waiter go on that saw an earlier epoch.
///
/// ```
/// use scheduler_core::time::{Clock, EventCount, SystemClock};
/// use std::sync::Arc;
///
/// let gate = Arc::new(EventCount::new());
/// let seen = gate.epoch();              // first read the epoch,
/// gate.open();                          // (here another thread changes something)
/// SystemClock::new().wait(&gate, seen, None);   // then wait: the opening is not lost
/// ```
#[derive(Debug, Default)]
pub struct EventCount {
    /// Changed under the lock only.
    epoch: AtomicU64,
    sleepers: Mutex<usize>,
    opened: Condvar,
}

impl EventCount {
    /// A gate without waiters.
    #[must_use]
    pub fn new() -> Self {
        Self { epoch: AtomicU64::new(0), sleepers: Mutex::new(0), opened: Condvar::new() }
    }

    /// The present epoch; to be read before looking at what the gate announces.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        // ORDERING: acquire, so that a thread that sees an opening sees what led to it.
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    /// Starts a new epoch and lets every waiter go on.
    pub fn open(&self) {
        let sleepers = self.sleepers.lock();
        // ORDERING: release, see `epoch`. Under the lock, so that no thread misses it and falls asleep.
        self.epoch.fetch_add(1, Ordering::Release);
        let has_sleepers = *sleepers > 0;
        drop(sleepers);
        if has_sleepers {
            self.opened.notify_all();
        }
    }

    /// Waits until the epoch is no longer `seen`.
    fn wait(&self, seen: Epoch) {
        let mut sleepers = self.sleepers.lock();
        *sleepers += 1;
        while self.epoch() == seen {
            sleepers = self.opened.wait(sleepers);
        }
        *sleepers -= 1;
    }

    /// Waits until the epoch is no longer `seen`, `timeout` has passed, or for no reason at all.
    fn wait_timeout(&self, seen: Epoch, timeout: Duration) {
        let mut sleepers = self.sleepers.lock();
        if self.epoch() == seen {
            *sleepers += 1;
            sleepers = self.opened.wait_timeout(sleepers, timeout);
            *sleepers -= 1;
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn who_waits_no_longer_is_not_counted_among_the_sleepers() {
        let gate = EventCount::new();
        let seen = gate.epoch();
        gate.wait_timeout(seen, Duration::ZERO);
        assert_eq!(*gate.sleepers.lock(), 0);
        std::thread::scope(|scope| {
            scope.spawn(|| gate.wait(seen));
            while *gate.sleepers.lock() == 0 {
                std::thread::yield_now();
            }
            gate.open();
        });
        assert_eq!(*gate.sleepers.lock(), 0);
    }
}
