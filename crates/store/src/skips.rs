//! Skipped ticks, by reason.

/// The numbers of skipped ticks, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skips {
    /// They came while a job was unfinished.
    pub overlap: u64,
    /// They came while no process could fire them.
    pub missed: u64,
    /// They came during a pause.
    pub paused: u64,
}

impl Skips {
    /// The sum over all reasons.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.overlap.saturating_add(self.missed).saturating_add(self.paused)
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            overlap: self.overlap.saturating_add(other.overlap),
            missed: self.missed.saturating_add(other.missed),
            paused: self.paused.saturating_add(other.paused),
        }
    }
}
