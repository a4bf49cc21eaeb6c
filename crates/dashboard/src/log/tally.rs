//! Outcomes, histograms and sums of the runs of a task.

use std::time::Duration;

use scheduler::Outcome;

/// The outcome of a run, without the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Success,
    Error,
    Panic,
    Timeout,
    Cancelled,
}

impl Ended {
    /// All outcomes, in the order of a [`Tally`].
    pub(crate) const ALL: [Self; 5] =
        [Self::Success, Self::Error, Self::Panic, Self::Timeout, Self::Cancelled];

    pub(super) fn of(outcome: &Outcome) -> Option<Self> {
        Some(match outcome {
            Outcome::Success => Self::Success,
            Outcome::Error(_) => Self::Error,
            Outcome::Panic(_) => Self::Panic,
            Outcome::Timeout(_) => Self::Timeout,
            Outcome::Cancelled => Self::Cancelled,
            // No run.
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Panic => "panic",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The upper ends of the buckets.
pub(crate) const LENGTHS: [Duration; 8] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(10),
    Duration::from_secs(60),
    Duration::from_secs(600),
    Duration::from_secs(3_600),
];

/// A histogram.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Buckets {
    /// The number of runs that were at most as long as each end.
    pub(crate) at_most: [u64; LENGTHS.len()],
    pub(crate) all: Sum,
}

impl Buckets {
    pub(super) fn add(&mut self, length: Duration) {
        for (count, end) in self.at_most.iter_mut().zip(LENGTHS) {
            *count += u64::from(length <= end);
        }
        self.all.add(length);
    }
}

/// A number of runs, and their time in sum.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) seconds: f64,
}

impl Sum {
    fn add(&mut self, length: Duration) {
        self.count += 1;
        self.seconds += length.as_secs_f64();
    }
}

/// Sums over all runs of a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) took: Buckets,
    pub(crate) late: Buckets,
    /// By outcome.
    pub(crate) by_outcome: [Sum; Ended::ALL.len()],
}

impl Tally {
    pub(super) fn finished(&mut self, ended: Ended, took: Duration) {
        self.took.add(took);
        self.by_outcome[ended as usize].add(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let mut buckets = Buckets::default();
        for millis in [1, 5, 2_000, 9_000_000] {
            buckets.add(Duration::from_millis(millis));
        }
        assert_eq!(buckets.at_most, [1, 2, 2, 2, 3, 3, 3, 3]);
        assert_eq!(buckets.all.count, 4);
    }
}
