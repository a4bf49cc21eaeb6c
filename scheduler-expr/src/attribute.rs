//! The attributes of a scheduled task: everything about it that is a text, under one name in the
//! annotation, in a settings file and in the environment.

use std::fmt;

/// An attribute of a scheduled task that a person can write, in an annotation or in settings.
///
/// ```
/// use scheduler_expr::Attribute;
///
/// assert_eq!(Attribute::FixedRate.name(), "fixed_rate");
/// assert_eq!(Attribute::from_name("fixed-rate"), Some(Attribute::FixedRate));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Attribute {
    /// `cron`: a cron expression, or `-` for none.
    Cron,
    /// `zone`: the time zone of the cron expression.
    Zone,
    /// `fixed_rate`: from one fire time to the next.
    FixedRate,
    /// `fixed_delay`: from the end of a run to the start of the next.
    FixedDelay,
    /// `initial_delay`: before the first run.
    InitialDelay,
    /// `time_unit`: the unit of durations that are bare numbers.
    TimeUnit,
    /// `scheduler`: the pool that runs the task.
    Scheduler,
    /// `enabled`: whether the task is scheduled at all.
    Enabled,
    /// `jitter`: by how much a run may start later than its fire time, at random.
    Jitter,
    /// `timeout`: how long an attempt may take.
    Timeout,
    /// `overlap`: what becomes of a fire time that comes during a run.
    Overlap,
    /// `misfire`: what becomes of fire times that nothing could run at.
    Misfire,
    /// `on_error`: whether the task goes on after a failed run.
    OnError,
    /// `retry.max`: how many further attempts a failed run has.
    RetryMax,
    /// `retry.base`: the longest wait before the second attempt.
    RetryBase,
    /// `retry.cap`: the longest wait before any attempt.
    RetryCap,
    /// `dst_gap`: what becomes of a local time that a clock change skips.
    DstGap,
    /// `dst_overlap`: what becomes of a local time that comes twice.
    DstOverlap,
}

impl Attribute {
    /// All attributes, in the order in which manuals list them.
    pub const ALL: &'static [Self] = &[
        Self::Cron,
        Self::Zone,
        Self::FixedRate,
        Self::FixedDelay,
        Self::InitialDelay,
        Self::TimeUnit,
        Self::Scheduler,
        Self::Enabled,
        Self::Jitter,
        Self::Timeout,
        Self::Overlap,
        Self::Misfire,
        Self::OnError,
        Self::RetryMax,
        Self::RetryBase,
        Self::RetryCap,
        Self::DstGap,
        Self::DstOverlap,
    ];

    /// The attribute as it is written in an annotation; a part of `retry(…)` has a dot.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cron => "cron",
            Self::Zone => "zone",
            Self::FixedRate => "fixed_rate",
            Self::FixedDelay => "fixed_delay",
            Self::InitialDelay => "initial_delay",
            Self::TimeUnit => "time_unit",
            Self::Scheduler => "scheduler",
            Self::Enabled => "enabled",
            Self::Jitter => "jitter",
            Self::Timeout => "timeout",
            Self::Overlap => "overlap",
            Self::Misfire => "misfire",
            Self::OnError => "on_error",
            Self::RetryMax => "retry.max",
            Self::RetryBase => "retry.base",
            Self::RetryCap => "retry.cap",
            Self::DstGap => "dst_gap",
            Self::DstOverlap => "dst_overlap",
        }
    }

    /// The attribute of this name; `-` and `_` are the same, as in settings files.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        Self::ALL.iter().copied().find(|attribute| attribute.name() == name)
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Attribute;

    #[test]
    fn every_name_leads_back_to_its_attribute() {
        for attribute in Attribute::ALL.iter().copied() {
            assert_eq!(Attribute::from_name(attribute.name()), Some(attribute));
            let dashed = attribute.name().replace('_', "-");
            assert_eq!(Attribute::from_name(&dashed), Some(attribute));
        }
        assert_eq!(Attribute::from_name("fixedRate"), None);
    }
}
