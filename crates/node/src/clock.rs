//! An estimate of the store's clock.

use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::StoreTime;

/// The store's clock, estimated from the last answers: when an answer shows an instant, that instant lay between the sending
/// of its request and its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StoreClock {
    sample: Option<Sample>,
    /// The process's clock at its start, until an answer has shown the store's.
    wall: StoreTime,
    started: Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sample {
    shown: StoreTime,
    sent: Tick,
    arrived: Tick,
}

/// The part by which two clocks may drift apart: a thousandth.
const DRIFT: u32 = 1_000;

impl StoreClock {
    pub(crate) fn new(wall: StoreTime, started: Tick) -> Self {
        Self { sample: None, wall, started }
    }

    /// An answer shows an instant.
    pub(crate) fn observe(&mut self, shown: StoreTime, sent: Tick, arrived: Tick) {
        let new = Sample { shown, sent, arrived };
        let is_better = self.sample.is_none_or(|old| {
            let doubt = arrived.since(old.arrived) / DRIFT;
            let is_narrower = arrived.since(sent) <= old.arrived.since(old.sent) + doubt;
            // A clock that was set contradicts the old sample, and only the new one counts.
            let is_consistent = new.at(arrived, sent) >= old.at(arrived, old.arrived).before(doubt)
                && shown <= old.at(arrived, old.sent).after(doubt);
            is_narrower || !is_consistent
        });
        if is_better {
            self.sample = Some(new);
        }
    }

    /// The store has refused a request as too late: its clock was set.
    pub(crate) fn forget(&mut self) {
        self.sample = None;
    }

    /// The latest instant that it may show now.
    pub(crate) fn latest(&self, now: Tick) -> Option<StoreTime> {
        self.sample.map(|sample| sample.at(now, sample.sent))
    }

    /// As [`latest`](Self::latest), or what the process's clock shows: to name things by, never to decide.
    pub(crate) fn about(&self, now: Tick) -> StoreTime {
        self.latest(now).unwrap_or_else(|| self.wall.after(now.since(self.started)))
    }

    /// The earliest instant that it may show now.
    pub(crate) fn earliest(&self, now: Tick) -> Option<StoreTime> {
        self.sample.map(|sample| sample.at(now, sample.arrived))
    }

    /// When it shows an instant, probably.
    pub(crate) fn tick_of(&self, shown: StoreTime) -> Option<Tick> {
        let sample = self.sample?;
        let middle = sample.sent + sample.arrived.since(sample.sent) / 2;
        Some(middle + shown.since(sample.shown))
    }
}

impl Sample {
    fn at(&self, now: Tick, shown_at: Tick) -> StoreTime {
        self.shown.after(now.since(shown_at))
    }
}

/// A length by the store's clock, as one by this process's clock, whatever their drift.
pub(crate) fn with_drift_margin(length: Duration) -> Duration {
    length + length / DRIFT
}
