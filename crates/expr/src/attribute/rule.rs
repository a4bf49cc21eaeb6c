//! The kinds of rules by which tasks fire.

use super::Attribute;

/// The kinds of rules by which a task fires.
///
/// ```
/// use scheduler_expr::RuleKind;
///
/// assert_eq!(RuleKind::FixedRate.name(), "fixed_rate");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuleKind {
    /// By a cron expression.
    Cron,
    /// At a fixed rate.
    FixedRate,
    /// After a fixed delay.
    FixedDelay,
    /// Once, after a delay: `initial_delay` alone.
    Once,
    /// Once, at an instant.
    At,
    /// By a trigger of the program's own.
    Custom,
    /// By none: it runs durable jobs that code enqueues.
    Job,
    /// By none: the task is disabled, by the cron expression `-`, or without a rule.
    None,
}

impl RuleKind {
    /// All kinds but [`None`](Self::None).
    pub const ALL: &'static [Self] = &[
        Self::Cron,
        Self::FixedRate,
        Self::FixedDelay,
        Self::Once,
        Self::At,
        Self::Custom,
        Self::Job,
    ];

    /// The kind in one word: `cron`, `fixed_rate`, `fixed_delay`, `once`, `at`, `custom`, `job` or
    /// `none`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cron => "cron",
            Self::FixedRate => "fixed_rate",
            Self::FixedDelay => "fixed_delay",
            Self::Once => "once",
            Self::At => "at",
            Self::Custom => "custom",
            Self::Job => "job",
            Self::None => "none",
        }
    }

    /// The attribute that sets a rule of this kind, where it sets nothing else.
    #[must_use]
    pub const fn attribute(self) -> Option<Attribute> {
        match self {
            Self::Cron => Some(Attribute::Cron),
            Self::FixedRate => Some(Attribute::FixedRate),
            Self::FixedDelay => Some(Attribute::FixedDelay),
            Self::At => Some(Attribute::At),
            Self::Once | Self::Custom | Self::Job | Self::None => None,
        }
    }

    /// The kind of rule that an attribute sets.
    #[must_use]
    pub fn of(attribute: Attribute) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.attribute() == Some(attribute))
    }
}
