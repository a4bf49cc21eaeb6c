//! Which attributes mean something beside which others.

use std::time::Duration;

use super::words::Words;
use super::{Attribute, AttributeError};
use crate::duration::DurationUnit;
use crate::excerpt::{is_quotable, quoted};

/// The longest wait before an attempt when `retry.cap` is not given.
const RETRY_CAP: &str = "1m";

/// What makes a task run: one of three attributes, or none for a task that runs once.
const RULES: [Attribute; 3] = [Attribute::Cron, Attribute::FixedRate, Attribute::FixedDelay];

/// An attribute that means nothing beside some rules.
struct Companion {
    attributes: &'static [Attribute],
    /// The rules beside which it means something.
    rules: &'static [Option<Attribute>],
    /// Why not beside the others, of which one is given.
    why: fn(Option<Attribute>) -> &'static str,
}

const CRON: Option<Attribute> = Some(Attribute::Cron);
const RATE: Option<Attribute> = Some(Attribute::FixedRate);
const DELAY: Option<Attribute> = Some(Attribute::FixedDelay);
const ONCE: Option<Attribute> = None;

/// The line to add for an attribute that does not go with every rule.
static COMPANIONS: &[Companion] = &[
    Companion {
        attributes: &[Attribute::Zone, Attribute::DstGap, Attribute::DstOverlap],
        rules: &[CRON],
        why: |_| "only a cron expression reads the wall clock",
    },
    Companion {
        attributes: &[Attribute::Overlap],
        rules: &[CRON, RATE],
        why: |rule| match rule {
            DELAY => "the delay begins when a run has ended, so that runs never overlap",
            _ => "a one-time task has no second run that could overlap the first",
        },
    },
    Companion {
        attributes: &[Attribute::Misfire],
        rules: &[CRON, RATE],
        why: |rule| match rule {
            DELAY => "the delay begins when a run has ended, so that no fire time is missed",
            _ => "a one-time task that is late runs late, and no fire time is missed",
        },
    },
    Companion {
        attributes: &[Attribute::OnError],
        rules: &[CRON, RATE, DELAY],
        why: |_| "a one-time task ends after its run in any case",
    },
];

impl Attribute {
    /// Judges the attributes of one task together, and gives a fault for each that means nothing,
    /// or that contradicts another.
    ///
    /// A text that cannot be read, such as one with a placeholder in it, contradicts nothing.
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    ///
    /// let given = [(Attribute::FixedRate, "1s"), (Attribute::Zone, "UTC")];
    /// let faults = Attribute::check_together(&given, None);
    /// assert_eq!(faults.len(), 1);
    /// assert_eq!(faults[0].attribute(), Attribute::Zone);
    /// ```
    #[must_use]
    pub fn check_together(
        given: &[(Self, &str)],
        unit: Option<DurationUnit>,
    ) -> Vec<AttributeError> {
        let task = Together { given, unit };
        let of_each = given.iter().filter_map(|(attribute, _)| task.check_companion(*attribute));
        of_each
            .chain(task.check_initial_delay())
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

    /// Means something if it does beside any of the rules, should there be several by mistake.
    fn check_companion(&self, attribute: Attribute) -> Option<AttributeError> {
        let companion = COMPANIONS.iter().find(|each| each.attributes.contains(&attribute))?;
        let mut rules = RULES.into_iter().filter(|rule| self.has(*rule)).map(Some).peekable();
        let rule = rules.peek().copied().unwrap_or(ONCE);
        if rules.any(|rule| companion.rules.contains(&rule)) {
            return None;
        }
        let words = Words::default().name(attribute).text(" is of no use ");
        let words = match (companion.rules, rule) {
            ([CRON], _) => words.text("without ").name(Attribute::Cron),
            (_, Some(rule)) => words.text("beside ").name(rule),
            (_, ONCE) => words.text("beside ").name(Attribute::InitialDelay).text(" alone"),
        };
        Some(useless(attribute, words.text(": ").text((companion.why)(rule))))
    }

    fn check_initial_delay(&self) -> Option<AttributeError> {
        let attribute = Attribute::InitialDelay;
        if !self.has(Attribute::Cron) || !self.has(attribute) {
            return None;
        }
        let words = Words::default().name(attribute).text(" cannot be combined with ");
        let words = words.name(Attribute::Cron);
        Some(useless(attribute, words.text(": the expression alone says when the first run is")))
    }

    fn check_time_unit(&self) -> Option<AttributeError> {
        let attribute = Attribute::TimeUnit;
        if !self.has(attribute) || self.given.iter().any(|(given, _)| given.is_duration()) {
            return None;
        }
        let reason = " is of no use here: it is the unit of durations that are bare numbers, and \
                      there is no duration";
        Some(useless(attribute, Words::default().name(attribute).text(reason)))
    }

    fn check_jitter(&self) -> Option<AttributeError> {
        let (jitter, period) = (Attribute::Jitter, Attribute::FixedRate);
        if self.duration(jitter)? < self.duration(period)? {
            return None;
        }
        let text = quoted(self.text(period)?);
        let reason = Words::new("invalid ").name(jitter).text(": it has to be shorter than ");
        let reason = reason
            .name(period)
            .text(format!(", which is {text}, or a run could be due after the next one"));
        Some(AttributeError::new(jitter, reason))
    }

    fn check_retry_max(&self) -> Option<AttributeError> {
        let is_part = |attribute| matches!(attribute, Attribute::RetryBase | Attribute::RetryCap);
        let (part, _) = self.given.iter().find(|(given, _)| is_part(*given))?;
        if self.has(Attribute::RetryMax) {
            return None;
        }
        let reason = Words::default().name(*part).text(" is of no use without ");
        let reason = reason.name(Attribute::RetryMax).text(": nothing is tried again");
        let help = Words::new("add for example ").set(Attribute::RetryMax, "3");
        Some(AttributeError::new(*part, reason).about_presence().with_help(help))
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
        let cap = Attribute::RetryCap;
        let reason = Words::new("invalid ").name(attribute).text(": it is longer than ").name(cap);
        let reason = reason.text(format!(", which is {}{default}", quoted(text)));
        let base = self.text(attribute).filter(|base| is_quotable(base));
        let help = base.map(|base| Words::new("write for example ").set(cap, base));
        Some(AttributeError::new(attribute, reason).with_help(help))
    }
}

/// The fault of an attribute that should not be there.
fn useless(attribute: Attribute, reason: Words) -> AttributeError {
    let help = Words::new("remove ").name(attribute);
    AttributeError::new(attribute, reason).with_help(help).about_presence()
}
