//! Histograms and sums over all runs of a task, for `/metrics`.

use std::time::Duration;

use scheduler::Outcome;

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
    /// By outcome: success, error, panic, timeout, cancelled.
    pub(crate) by_outcome: [Sum; 5],
}

impl Tally {
    pub(super) fn finished(&mut self, outcome: &Outcome, took: Duration) {
        let index = match outcome {
            Outcome::Success => 0,
            Outcome::Error(_) => 1,
            Outcome::Panic(_) => 2,
            Outcome::Timeout(_) => 3,
            Outcome::Cancelled => 4,
            // No run.
            _ => return,
        };
        self.took.add(took);
        self.by_outcome[index].add(took);
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
