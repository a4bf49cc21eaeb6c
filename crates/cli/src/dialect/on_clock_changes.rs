//! How other programs treat changes of the clock.

use crate::changes::Touched;

/// How another program treats changes of the clock, where it differs from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OnClockChanges {
    note: &'static str,
    /// True if it differs where clocks go forward.
    in_gaps: bool,
}

impl OnClockChanges {
    /// Vixie's cron and its descendants, for lines with fixed times.
    pub(super) const MAKES_UP: Self = Self {
        note: "when the clock changes, cron runs what was left out right after the gap, and nothing twice; for that, write dst_gap = \"run_after\", dst_overlap = \"first\"",
        in_gaps: true,
    };

    /// Quartz.
    pub(super) const RUNS_THE_SECOND: Self = Self {
        note: "when clocks go back, Quartz runs what comes twice only the second time; for that, write dst_overlap = \"last\"",
        in_gaps: false,
    };

    /// systemd.
    pub(super) const RUNS_THE_FIRST: Self = Self {
        note: "when clocks go back, systemd runs what comes twice only the first time; for that, write dst_overlap = \"first\"",
        in_gaps: false,
    };

    /// The note for expressions that changes of the clock touch like this.
    pub(crate) fn note(self, touched: Touched) -> Option<&'static str> {
        (touched.by_overlap || self.in_gaps && touched.by_gap).then_some(self.note)
    }
}
