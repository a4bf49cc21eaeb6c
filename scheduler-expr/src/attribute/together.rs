//! Which attributes mean something beside which others.

use std::fmt;
use std::time::Duration;

use super::{Attribute, AttributeError, RuleKind};
use crate::duration::DurationUnit;
use crate::excerpt::{is_quotable, quoted};

/// The longest wait before an attempt when `retry.cap` is not given.
const RETRY_CAP: &str = "1m";

impl Attribute {
    /// Judges the attributes of one task together, and gives a fault for each that means nothing,
    /// or that contradicts another.
    ///
    /// A text that cannot be read, such as one with a placeholder in it, contradicts nothing. `rule` is the
    /// task's where no attribute says it: that of a task which runs once, or has a trigger of its own.
    ///
    /// ```
    /// use scheduler_expr::{Attribute, RuleKind};
    ///
    /// let given = [(Attribute::FixedRate, "1s"), (Attribute::Zone, "UTC")];
    /// let faults = Attribute::check_together(&given, RuleKind::Once, None);
    /// assert_eq!(faults.len(), 1);
    /// assert_eq!(faults[0].attribute(), Attribute::Zone);
    /// ```
    #[must_use]
    pub fn check_together(
        given: &[(Self, &str)],
        rule: RuleKind,
        unit: Option<DurationUnit>,
    ) -> Vec<AttributeError> {
        let task = Together { given, rule, unit };
        let of_each = given.iter().filter_map(|(attribute, _)| task.check_rule(*attribute));
        of_each
            .chain(task.check_time_unit())
            .chain(task.check_jitter())
            .chain(task.check_retry_max())
            .chain(task.check_retry_base())
            .collect()
    }
}

/// The attributes of one task.
struct Together<'a> {
    given: &'a [(Attribute, &'a str)],
    rule: RuleKind,
    unit: Option<DurationUnit>,
}

impl Together<'_> {
    fn text(&self, attribute: Attribute) -> Option<&str> {
        self.given.iter().find(|(given, _)| *given == attribute).map(|(_, text)| *text)
    }

    fn has(&self, attribute: Attribute) -> bool {
        self.text(attribute).is_some()
    }

    fn duration(&self, attribute: Attribute) -> Option<Duration> {
        attribute.parse_duration(self.text(attribute)?, self.unit).ok()
    }

    /// Reports an attribute that means nothing beside any of the rules: by mistake there may be several.
    fn check_rule(&self, attribute: Attribute) -> Option<AttributeError> {
        let row = attribute.row();
        let given = self.given.iter().filter_map(|(attribute, _)| RuleKind::of(*attribute));
        let mut rules = given.peekable();
        let rule = rules.peek().copied().unwrap_or(self.rule);
        if row.rules.contains(&rule) || rules.any(|rule| row.rules.contains(&rule)) {
            return None;
        }
        let beside = match (row.rules, rule) {
            (_, RuleKind::Custom) => "beside a trigger of its own".to_owned(),
            ([RuleKind::Cron], _) => "without `cron`".to_owned(),
            (_, RuleKind::Once) => "beside `initial_delay` alone".to_owned(),
            (_, rule) => format!("beside `{}`", rule.attribute()?),
        };
        let why = (row.why_not)(rule);
        Some(useless(attribute, format!("`{attribute}` is of no use {beside}: {why}")))
    }

    fn check_time_unit(&self) -> Option<AttributeError> {
        let attribute = Attribute::TimeUnit;
        if !self.has(attribute) || self.given.iter().any(|(given, _)| given.is_duration()) {
            return None;
        }
        let reason = "`time_unit` is of no use here: it is the unit of durations that are bare \
                      numbers, and there is no duration";
        Some(useless(attribute, reason))
    }

    fn check_jitter(&self) -> Option<AttributeError> {
        let (jitter, period) = (Attribute::Jitter, Attribute::FixedRate);
        if self.duration(jitter)? < self.duration(period)? {
            return None;
        }
        let period = quoted(self.text(period)?);
        let reason = format!(
            "invalid `jitter`: it has to be shorter than `fixed_rate`, which is {period}, \
             or a run could be due after the next one"
        );
        Some(AttributeError::new(jitter, reason))
    }

    fn check_retry_max(&self) -> Option<AttributeError> {
        let is_part = |attribute| matches!(attribute, Attribute::RetryBase | Attribute::RetryCap);
        let (part, _) = self.given.iter().find(|(given, _)| is_part(*given))?;
        if self.has(Attribute::RetryMax) {
            return None;
        }
        let reason = format!("`{part}` is of no use without `retry.max`: nothing is tried again");
        let fault = AttributeError::new(*part, reason).about_presence();
        Some(fault.with_help(Some("add for example `max = 3`")))
    }

    fn check_retry_base(&self) -> Option<AttributeError> {
        let attribute = Attribute::RetryBase;
        let base = self.duration(attribute)?;
        let given = self.text(Attribute::RetryCap);
        let text = given.unwrap_or(RETRY_CAP);
        if base <= Attribute::RetryCap.parse_duration(text, self.unit).ok()? {
            return None;
        }
        let default = if given.is_some() { "" } else { " unless it is given" };
        let reason = format!(
            "invalid `retry.base`: it is longer than `retry.cap`, which is {}{default}",
            quoted(text)
        );
        let base = self.text(attribute).filter(|base| is_quotable(base));
        let help = base.map(|base| format!("write for example `cap = \"{base}\"`"));
        Some(AttributeError::new(attribute, reason).with_help(help))
    }
}

/// The fault of an attribute that should not be there.
fn useless(attribute: Attribute, reason: impl fmt::Display) -> AttributeError {
    let help = format!("remove `{attribute}`");
    AttributeError::new(attribute, reason).with_help(Some(help)).about_presence()
}
