//! Bugs that are planted in the specification: each has to be noticed.

use super::history::{Clocks, History};
use super::world::run_history;

/// A mistake of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
    /// A fire time at the end of a run counts as during the run.
    EndIsAfterWhatComes,
    /// A fire time at the end of a pause counts as during the pause.
    ResumeIsLate,
    QueuedIsKept,
    PausedFollows,
    MissedRunsTheFirst,
    DueNowIsMissed,
    CatchUpFromTheEnd,
    PauseKeepsWaiting,
    DelayStaysSkipped,
    UntilIsExclusive,
    RefusedCounts,
    OldRunRestarts,
    ReportsGoOnSlowly,
    LimitIsOneMore,
    JitterIsForgotten,
    FiredIsForgotten,
    StartIsNotFired,
}

impl Bug {
    const ALL: [(Self, Clocks); 17] = [
        (Self::EndIsAfterWhatComes, Clocks::GoOn),
        (Self::ResumeIsLate, Clocks::GoOn),
        (Self::QueuedIsKept, Clocks::GoOn),
        (Self::PausedFollows, Clocks::GoOn),
        (Self::MissedRunsTheFirst, Clocks::GoOn),
        (Self::DueNowIsMissed, Clocks::GoOn),
        (Self::CatchUpFromTheEnd, Clocks::GoOn),
        (Self::PauseKeepsWaiting, Clocks::GoOn),
        (Self::DelayStaysSkipped, Clocks::GoOn),
        (Self::UntilIsExclusive, Clocks::GoOn),
        (Self::RefusedCounts, Clocks::GoOn),
        (Self::OldRunRestarts, Clocks::GoOn),
        (Self::ReportsGoOnSlowly, Clocks::GoOn),
        (Self::LimitIsOneMore, Clocks::GoOn),
        (Self::JitterIsForgotten, Clocks::GoOn),
        (Self::FiredIsForgotten, Clocks::AreSet),
        (Self::StartIsNotFired, Clocks::AreSet),
    ];
}

#[test]
fn every_planted_bug_is_noticed() {
    for (bug, clocks) in Bug::ALL {
        let is_noticed = |seed| run_history(&History::draw(seed, clocks), Some(bug)).is_err();
        assert!((0..2_000).any(is_noticed), "no check notices {bug:?}");
    }
}
