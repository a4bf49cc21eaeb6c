//! The attributes of a scheduled task: everything about it that is a text, under one name in the
//! annotation, in a settings file and in the environment.
//!
//! What this room is for: to name them, to read the text of each, and to judge texts that stand
//! together. The annotation does so when a program is compiled, and again when it starts, with what
//! the settings say instead.
//!
//! What it must never do: resolve a placeholder, or know where a text comes from.
//!
//! A new attribute is a variant, its line in [`Attribute::ALL`] and [`Attribute::name`], and the kind
//! of its text in [`Attribute::check`]; one that does not go with every rule has a line in
//! `companions`.

mod companions;
mod error;
mod parse;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;

pub use error::AttributeError;
pub use words::assignment;

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

    /// The last word of the name, as it stands before `=`: `max` of `retry.max`.
    #[must_use]
    pub fn key(self) -> &'static str {
        let name = self.name();
        name.rsplit('.').next().unwrap_or(name)
    }

    /// Whether its text is a duration, so that `time_unit` matters to it.
    #[must_use]
    pub const fn is_duration(self) -> bool {
        matches!(
            self,
            Self::FixedRate
                | Self::FixedDelay
                | Self::InitialDelay
                | Self::Jitter
                | Self::Timeout
                | Self::RetryBase
                | Self::RetryCap
        )
    }

    /// The words of which its text is one, that of the default first; none for other attributes.
    #[must_use]
    pub const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Enabled => &["true", "false"],
            Self::Overlap => &["skip", "queue_one", "allow"],
            Self::Misfire => &["run_once", "skip", "catch_up"],
            Self::OnError => &["continue", "stop"],
            Self::DstGap => &["skip", "run_after"],
            Self::DstOverlap => &["both", "first", "last"],
            _ => &[],
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
