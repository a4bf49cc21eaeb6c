//! What a worker runs: one published word, which only the worker itself writes.

use super::shutdown::Kind;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// What a worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) kind: Kind,
    /// The number of the task.
    pub(crate) sequence: u64,
}

/// What a worker runs, and how many runs it has made.
///
/// Written by its worker only; a run is published under the lock under which its task was taken, so that a thread
/// that has that lock later sees it.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// Zero for nothing.
    word: AtomicU64,
    /// Twice the number of runs that are over and count, and one more while such a run is in progress: so both are read
    /// at once.
    tally: AtomicU64,
    /// Whether the worker has not waited since it was at the core.
    is_awake: AtomicBool,
}

const KINDS: [Kind; 5] = [Kind::OneShot, Kind::Recurring, Kind::Resumed, Kind::Alarm, Kind::Timer];

/// The bits of a word that hold the kind.
const KIND_BITS: u32 = 3;
const KIND_MASK: u64 = (1 << KIND_BITS) - 1;

impl Activity {
    /// Notes that a run begins.
    #[inline]
    pub(crate) fn begin(&self, running: Running) {
        let Running { kind, sequence } = running;
        if kind != Kind::Alarm {
            self.add(1);
        }
        // ORDERING: release, beside the lock under which the task was taken, for a thread that looks without it.
        self.word.store((sequence << KIND_BITS) | (kind as u64 + 1), Ordering::Release);
    }

    /// Notes that the run is over, and whether it counts as one.
    #[inline]
    pub(crate) fn end(&self, counts: bool) {
        // ORDERING: relaxed, only this worker writes it.
        let kind = self.word.load(Ordering::Relaxed) & KIND_MASK;
        if kind != 0 && kind != Kind::Alarm as u64 + 1 {
            self.add(if counts { 1 } else { -1 });
        }
        self.word.store(0, Ordering::Release);
    }

    fn add(&self, more: i64) {
        // ORDERING: only this worker writes it. Release, so that a thread that sees a run counted sees what it did.
        let tally = self.tally.load(Ordering::Relaxed);
        self.tally.store(tally.wrapping_add_signed(more), Ordering::Release);
    }

    /// What the worker runs.
    #[inline]
    pub(crate) fn running(&self) -> Option<Running> {
        let word = self.word.load(Ordering::Acquire);
        let kind = *KINDS.get((word & KIND_MASK).wrapping_sub(1) as usize)?;
        Some(Running { kind, sequence: word >> KIND_BITS })
    }

    /// How many runs are over that count, and whether one more is in progress.
    pub(crate) fn tally(&self) -> (u64, bool) {
        let tally = self.tally.load(Ordering::Acquire);
        (tally / 2, tally % 2 == 1)
    }

    /// Returns true if the worker has not waited since it was at the core.
    #[inline]
    pub(crate) fn is_awake(&self) -> bool {
        // ORDERING: relaxed, only its worker looks.
        self.is_awake.load(Ordering::Relaxed)
    }

    pub(crate) fn set_awake(&self, is_awake: bool) {
        // ORDERING: relaxed, see `is_awake`.
        self.is_awake.store(is_awake, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_run_comes_out_of_its_word_and_counts_unless_it_is_an_alarm() {
        let activity = Activity::default();
        assert_eq!(activity.running(), None);
        for (index, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            let running = Running { kind, sequence: (1 << 60) | 5 };
            activity.begin(running);
            assert_eq!(activity.running(), Some(running));
            assert_eq!(activity.tally().1, kind != Kind::Alarm);
            activity.end(true);
            assert_eq!(activity.running(), None);
            activity.end(true);
        }
        activity.begin(Running { kind: Kind::OneShot, sequence: 0 });
        activity.end(false);
        assert_eq!(activity.tally(), (4, false));
    }
}
