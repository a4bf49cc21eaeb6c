//! Clocks of models: one stands still, one is moved by hand.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicU64, Ordering};
use scheduler_core::time::{Epoch, EventCount};
use scheduler_core::{Clock, SystemClock, Tick};

/// A clock that stands still, and at which no wait ends before its gate is opened.
#[derive(Debug)]
pub(crate) struct Still(SystemClock);

impl Still {
    pub(crate) fn new() -> Self {
        Self(SystemClock::new())
    }
}

impl Clock for Still {
    fn now(&self) -> Tick {
        Tick::ZERO
    }

    fn wall(&self) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, _until: Option<Tick>) {
        self.0.wait(gate, seen, None);
    }
}

/// A clock that is moved by hand. Unlike [`ManualClock`](scheduler_core::ManualClock) it takes no lock
/// to be read, which leaves fewer interleavings to explore.
#[derive(Clone, Debug)]
pub(crate) struct Hand(Arc<Dial>);

#[derive(Debug)]
struct Dial {
    now: AtomicU64,
    sleepers: Mutex<Vec<(Option<Tick>, Arc<EventCount>)>>,
    system: SystemClock,
}

impl Hand {
    pub(crate) fn new() -> Self {
        let (now, sleepers) = (AtomicU64::new(0), Mutex::default());
        Self(Arc::new(Dial { now, sleepers, system: SystemClock::new() }))
    }

    pub(crate) fn advance(&self, by: Duration) {
        let now = self.now() + by;
        self.0.now.store(now.as_nanos(), Ordering::SeqCst);
        let due: Vec<Arc<EventCount>> = {
            let sleepers = self.0.sleepers.lock().unwrap();
            let due = sleepers.iter().filter(|(until, _)| until.is_some_and(|until| until <= now));
            due.map(|(_, gate)| Arc::clone(gate)).collect()
        };
        for gate in due {
            gate.open();
        }
    }

    /// Lets others run until so many threads wait. Only while a stage is set.
    pub(crate) fn await_parked(&self, count: usize) {
        while self.0.sleepers.lock().unwrap().len() < count {
            loom::thread::yield_now();
        }
    }

    /// Lets others run until one waits for so long from the start. Only while a stage is set.
    pub(crate) fn await_watch(&self, until: Duration) {
        let until = Some(Tick::ZERO + until);
        while !self.0.sleepers.lock().unwrap().iter().any(|(other, _)| *other == until) {
            loom::thread::yield_now();
        }
    }
}

impl Clock for Hand {
    fn now(&self) -> Tick {
        Tick::from_nanos(self.0.now.load(Ordering::SeqCst))
    }

    fn wall(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_nanos(self.now().as_nanos().cast_signed())
    }

    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        {
            let mut sleepers = self.0.sleepers.lock().unwrap();
            if until.is_some_and(|until| until <= self.now()) {
                return;
            }
            sleepers.push((until, Arc::clone(gate)));
        }
        self.0.system.wait(gate, seen, None);
        self.0.sleepers.lock().unwrap().retain(|(_, other)| !Arc::ptr_eq(other, gate));
    }
}
