//! The pool's clock: a manual one that counts its reads.

use super::plant::Plant;
use super::words::Now;
use chrono::{DateTime, Utc};
use scheduler_core::time::{Clock, Epoch, EventCount};
use scheduler_core::{ManualClock, Tick};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Far enough from the epoch that no wall-clock time of a simulation lies before it: there the engine
/// saturates, and the model does not.
const TICK_START: u64 = 1 << 51;

#[derive(Debug)]
pub(crate) struct SimClock {
    truth: ManualClock,
    reads: AtomicU64,
    plant: Option<Plant>,
    wake_latency: Duration,
}

impl SimClock {
    pub(crate) fn new(wall: DateTime<Utc>, plant: Option<Plant>, wake_latency: u64) -> Self {
        let start = Duration::from_nanos(TICK_START);
        let truth = ManualClock::at(wall - start);
        truth.advance(start);
        let wake_latency = Duration::from_nanos(wake_latency);
        Self { truth, reads: AtomicU64::new(0), plant, wake_latency }
    }

    /// The true time, whatever the clock tells the pool.
    pub(crate) fn truth(&self) -> Now {
        let wall = self.truth.wall().timestamp_nanos_opt().unwrap_or(i64::MAX);
        Now { tick: self.truth.now().as_nanos(), wall }
    }

    pub(crate) fn hand(&self) -> &ManualClock {
        &self.truth
    }

    /// Takes the number of the pool's reads since the last call.
    pub(crate) fn take_reads(&self) -> u64 {
        self.reads.swap(0, Ordering::Relaxed)
    }

    fn count(&self) {
        let reads = if self.plant == Some(Plant::RestlessClock) { 20 } else { 1 };
        self.reads.fetch_add(reads, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Tick {
        self.count();
        let now = self.truth.now();
        if self.plant != Some(Plant::FastClock) {
            return now;
        }
        now + now.since(Tick::from_nanos(TICK_START))
    }

    fn wall(&self) -> DateTime<Utc> {
        self.count();
        self.truth.wall()
    }

    fn wake_latency(&self) -> Duration {
        self.wake_latency
    }

    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        self.truth.wait(gate, seen, until);
    }
}
