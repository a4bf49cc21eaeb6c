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
mod event_count;
mod manual;
mod system;
mod wall;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

pub use due::{Due, Now};
pub use event_count::{Epoch, EventCount};
pub use manual::ManualClock;
pub use scheduler_expr::Tick;
pub use system::SystemClock;
pub use wall::WallTime;

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
