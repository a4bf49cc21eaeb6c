//! Checks the attributes of one task against each other.

use std::time::Duration;

use super::{Attribute, AttributeError, OnError, Overlap, RuleKind, Wording, default_burst};
use crate::duration::DurationUnit;
use crate::error::{is_quotable, quoted};

/// The longest wait before an attempt when `retry.cap` is not given. A test of the facade holds it against the policy.
const RETRY_CAP: &str = "1m";

impl Attribute {
    /// Checks the attributes of one task together. Returns a fault for each that is of no use, or contradicts
    /// another.
    ///
    /// A text that cannot be parsed, such as one with a placeholder, contradicts nothing. `rule` is the task's if no
    /// attribute is a rule: `Once` or `Custom`.
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
        attributes: &[(Self, &str)],
        rule: RuleKind,
        unit: Option<DurationUnit>,
    ) -> Vec<AttributeError> {
        let task = Together { attributes, rule, unit };
        let of_each = attributes.iter().filter_map(|(attribute, _)| task.check_rule(*attribute));
        of_each
            .chain(task.check_time_unit())
            .chain(task.check_jitter())
            .chain(task.check_max_concurrent())
            .chain(task.check_retry_parts())
            .chain(task.check_retry_cap())
            .chain(task.check_needs_durable())
            .chain(task.check_durable())
            .chain(task.check_rate(Attribute::LimitRate, Attribute::LimitBurst))
            .chain(task.check_rate(Attribute::EachRate, Attribute::EachBurst))
            .chain(task.check_order())
            .collect()
    }
}

/// The attributes of one task.
struct Together<'a> {
    attributes: &'a [(Attribute, &'a str)],
    rule: RuleKind,
    unit: Option<DurationUnit>,
}

impl Together<'_> {
    fn text(&self, attribute: Attribute) -> Option<&str> {
        self.attributes.iter().find(|(other, _)| *other == attribute).map(|(_, text)| *text)
    }

    fn has(&self, attribute: Attribute) -> bool {
        self.text(attribute).is_some()
    }

    fn duration(&self, attribute: Attribute) -> Option<Duration> {
        attribute.parse_duration(self.text(attribute)?, self.unit).ok()
    }

    /// Reports an attribute that goes with none of the rules; by mistake there may be several.
    fn check_rule(&self, attribute: Attribute) -> Option<AttributeError> {
        let row = attribute.row();
        let rules = self.attributes.iter().filter_map(|(attribute, _)| RuleKind::of(*attribute));
        let mut rules = rules.peekable();
        let rule = rules.peek().copied().unwrap_or(self.rule);
        if row.rules.contains(&rule) || rules.any(|rule| row.rules.contains(&rule)) {
            return None;
        }
        let words = Wording::default().name(attribute).text(" is of no use ");
        let words = match (row.rules, rule) {
            (_, RuleKind::Custom) => words.text("beside a trigger of its own"),
            (_, RuleKind::Job) => words.text("for a job"),
            ([RuleKind::Cron], _) => words.text("without ").name(Attribute::Cron),
            (_, RuleKind::Once) => {
                words.text("beside ").name(Attribute::InitialDelay).text(" alone")
            }
            (_, rule) => words.text("beside ").name(rule.attribute()?),
        };
        Some(useless(attribute, words.text(": ").text((row.why_not)(rule))))
    }

    fn check_time_unit(&self) -> Option<AttributeError> {
        let attribute = Attribute::TimeUnit;
        if !self.has(attribute) || self.attributes.iter().any(|(other, _)| other.is_duration()) {
            return None;
        }
        let reason = " is of no use here: it is the unit of durations that are bare numbers, and \
                      there is no duration";
        Some(useless(attribute, Wording::default().name(attribute).text(reason)))
    }

    fn check_jitter(&self) -> Option<AttributeError> {
        let (jitter, period) = (Attribute::Jitter, Attribute::FixedRate);
        if self.duration(jitter)? < self.duration(period)? {
            return None;
        }
        let text = quoted(self.text(period)?);
        let reason = Wording::new("invalid ").name(jitter).text(": it has to be shorter than ");
        let reason = reason
            .name(period)
            .text(format!(", which is {text}, or a run could be due after the next one"));
        Some(AttributeError::new(jitter, reason))
    }

    fn check_max_concurrent(&self) -> Option<AttributeError> {
        let (limit, overlap) = (Attribute::MaxConcurrent, Attribute::Overlap);
        let allow = Overlap::Allow.name();
        let never_overlaps = match self.text(overlap) {
            None => true,
            Some(text) => text != allow && overlap.index_of_word(text).is_ok(),
        };
        if !never_overlaps || self.text(limit).is_none_or(|text| limit.is_off(text)) {
            return None;
        }
        if self.check_rule(limit).is_some() || self.rule == RuleKind::Job {
            return None;
        }
        let reason = Wording::default().name(limit).text(" is of no use without ");
        let reason = reason.set(overlap, allow).text(": otherwise runs never overlap");
        let verb = if self.has(overlap) { "write " } else { "add " };
        let help = Wording::new(verb).set(overlap, allow);
        Some(AttributeError::new(limit, reason).about_presence().with_help(help))
    }

    /// Reports a part of a retry without the number of retries.
    fn check_retry_parts(&self) -> Option<AttributeError> {
        let is_part = |attribute| matches!(attribute, Attribute::RetryBase | Attribute::RetryCap);
        let (part, _) = self.attributes.iter().find(|(other, _)| is_part(*other))?;
        if self.has(Attribute::RetryMax) {
            return None;
        }
        let reason = Wording::default().name(*part).text(" is of no use without ");
        let reason = reason.name(Attribute::RetryMax).text(": nothing is tried again");
        let help = Wording::new("add for example ").set(Attribute::RetryMax, "3");
        Some(AttributeError::new(*part, reason).about_presence().with_help(help))
    }

    /// Reports a first wait that is longer than any wait may be.
    fn check_retry_cap(&self) -> Option<AttributeError> {
        let attribute = Attribute::RetryBase;
        let base = self.duration(attribute)?;
        let cap_text = self.text(Attribute::RetryCap);
        let text = cap_text.unwrap_or(RETRY_CAP);
        if base <= Attribute::RetryCap.parse_duration(text, self.unit).ok()? {
            return None;
        }
        let default = if cap_text.is_some() { "" } else { " unless it is given" };
        let cap = Attribute::RetryCap;
        let reason =
            Wording::new("invalid ").name(attribute).text(": it is longer than ").name(cap);
        let reason = reason.text(format!(", which is {}{default}", quoted(text)));
        let base = self.text(attribute).filter(|base| is_quotable(base));
        let help = base.map(|base| Wording::new("write for example ").set(cap, base));
        Some(AttributeError::new(attribute, reason).with_help(help))
    }
}

/// Checks of durable schedules.
impl Together<'_> {
    /// Reports an attribute that is about jobs in a store beside a schedule without `durable`. `durable = false` is enough,
    /// because a setting may say `true`.
    fn check_needs_durable(&self) -> Option<AttributeError> {
        let durable = Attribute::Durable;
        let about_jobs = |attribute: &&(Attribute, &str)| attribute.0.is_about_jobs();
        let (attribute, _) = *self.attributes.iter().find(about_jobs)?;
        if self.has(durable) || self.rule == RuleKind::Job || self.check_rule(attribute).is_some() {
            return None;
        }
        let reason = Wording::default().name(attribute).text(" is of no use without ");
        let reason = reason.name(durable).text(": only a durable schedule has jobs in a store");
        let help = Wording::new("add ").set(durable, "true");
        Some(AttributeError::new(attribute, reason).about_presence().with_help(help))
    }

    /// Reports what a single process decides, and a schedule of all processes cannot follow.
    fn check_durable(&self) -> Option<AttributeError> {
        let durable = Attribute::Durable;
        if self.text(durable).is_none_or(|text| durable.parse_flag(text) != Ok(true)) {
            return None;
        }
        let (error, max) = (Attribute::OnError, Attribute::MaxRuns);
        let (attribute, reason, help) = if self.text(error) == Some(OnError::Stop.name()) {
            let reason = "one failed run cannot end a schedule that all processes share";
            (error, reason, "; to stop it by hand, pause it")
        } else if self.text(max).is_some_and(|text| !max.is_off(text)) {
            let reason = "a store keeps no number of runs";
            (max, reason, "; to end the schedule at an instant, set `until`")
        } else {
            return None;
        };
        let words = Wording::default().name(attribute).text(" does not go with ").name(durable);
        let words = words.text(format!(": {reason}"));
        let help = Wording::new("remove ").name(attribute).text(help);
        Some(AttributeError::new(attribute, words).with_help(help).about_presence())
    }
}

/// The longest time that the starts of a burst may take up: stores count it in nanoseconds.
const BURST_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Checks of limits.
impl Together<'_> {
    /// Reports a burst without a rate, one that the rate does not allow, and a rate that is too low to be counted.
    fn check_rate(&self, rate: Attribute, burst: Attribute) -> Option<AttributeError> {
        let given = self.text(burst).filter(|text| !burst.is_off(text));
        let Some(text) = self.text(rate) else {
            given?;
            let reason = Wording::default().name(burst).text(" is of no use without ").name(rate);
            let reason = reason.text(": it says how many of its starts may come at once");
            let help = Wording::new("add for example ").set(rate, rate.row().example_text());
            return Some(AttributeError::new(burst, reason).about_presence().with_help(help));
        };
        let (starts, period) = rate.parse_rate(text).ok()?;
        let at_once = match given {
            Some(given) => burst.parse_count(given).ok()?,
            None => default_burst(starts).into(),
        };
        let Some(others) = u64::from(starts).checked_sub(at_once) else {
            let reason = Wording::new("invalid ").name(burst).text(": it is more than ").name(rate);
            let reason = reason.text(format!(" allows, which is {}", quoted(text)));
            let help = Wording::new("write at most ").set(burst, &starts.to_string());
            return Some(AttributeError::new(burst, reason).with_help(help));
        };
        let gap = period.as_nanos().div_ceil(u128::from(others) + 1);
        if gap.saturating_mul(at_once.into()) < BURST_MAX.as_nanos() {
            return None;
        }
        let reason = "no start of a burst is made up for in a hundred years";
        let help = Wording::new("write a shorter time, such as ").set(rate, "100/1m");
        Some(AttributeError::invalid(rate, reason).with_help(help))
    }
}

/// Checks of the order.
impl Together<'_> {
    /// Reports an order of jobs that may run beside each other, and a rule for parked ones without an order.
    fn check_order(&self) -> Option<AttributeError> {
        let (ordered, running) = (Attribute::EachOrdered, Attribute::EachRunning);
        let given = self.text(ordered);
        if self.has(Attribute::OnPark) && matches!(given, None | Some("false")) {
            let reason = Wording::default().name(Attribute::OnPark).text(" is of no use without ");
            let reason = reason.name(ordered).text(": it says who goes on behind a parked job");
            let help = Wording::new("add ").set(ordered, "true");
            let fault = AttributeError::new(Attribute::OnPark, reason).about_presence();
            return Some(fault.with_help(help));
        }
        let one_by_one =
            |text| !running.is_off(text) && running.parse_count(text).unwrap_or(1) == 1;
        let is_one_by_one = self.text(running).is_some_and(one_by_one);
        if given != Some("true") || is_one_by_one {
            return None;
        }
        let reason = Wording::default().name(ordered).text(" needs ").set(running, "1");
        let reason = reason.text(": jobs that run beside each other have no order");
        let help = Wording::new("write ").set(running, "1");
        Some(AttributeError::new(ordered, reason).with_help(help).about_presence())
    }
}

/// The fault of an attribute that should not be there.
fn useless(attribute: Attribute, reason: Wording) -> AttributeError {
    let help = Wording::new("remove ").name(attribute);
    AttributeError::new(attribute, reason).with_help(help).about_presence()
}
