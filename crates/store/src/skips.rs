//! Skipped ticks, by reason.

/// The numbers of skipped ticks, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skips {
    /// They came while a job was unfinished.
    pub overlap: u64,
    /// They came while a job waited for its turn, because its task has a limit.
    pub limit: u64,
    /// They came while no process could fire them.
    pub missed: u64,
    /// They came during a pause.
    pub paused: u64,
}

impl Skips {
    /// The sum over all reasons.
    #[must_use]
    pub const fn total(self) -> u64 {
        let held = self.overlap.saturating_add(self.limit);
        held.saturating_add(self.missed).saturating_add(self.paused)
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            overlap: self.overlap.saturating_add(other.overlap),
            limit: self.limit.saturating_add(other.limit),
            missed: self.missed.saturating_add(other.missed),
            paused: self.paused.saturating_add(other.paused),
        }
    }
}

/// The job before a tick, if it keeps others out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobBefore {
    /// It has ended, or there is none.
    Ended,
    /// It is unfinished.
    Unfinished,
    /// It has not begun, and waits for its turn, because its task has a limit.
    Limited,
}
