//! The ticks of a durable schedule, from the text of its rule.
//!
//! They are the same in every process with the same [calculator](scheduler_store::ScheduleSpec::calculator).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_expr::{Attribute, Word};
use scheduler_node::Policy;
use scheduler_store::StoreTime;

use crate::define::calendar::Calendar;

/// The window of [`Misfire::CatchUp`](scheduler_expr::Misfire::CatchUp) by default.
pub(super) const DAY: Duration = Duration::from_secs(86_400);

/// A rule as its text says it.
pub(crate) struct TextRule {
    trigger: Option<CronTrigger>,
    skip_days: Option<Arc<Calendar>>,
    policy: Policy,
}

impl TextRule {
    /// Reads the text of a rule, by the parsers that read annotations.
    ///
    /// # Errors
    ///
    /// A newer version has written it, or it names a calendar that this process does not have.
    pub(crate) fn parse(
        text: &str,
        calendars: &BTreeMap<String, Arc<Calendar>>,
    ) -> Result<Self, String> {
        let texts: BTreeMap<String, String> =
            serde_json::from_str(text).map_err(|error| format!("the rule is no map: {error}"))?;
        let mut known = BTreeMap::new();
        for (name, text) in texts {
            let attribute = Attribute::from_name(&name)
                .ok_or_else(|| format!("the rule has an attribute `{name}` that is not known"))?;
            attribute.check(&text, None).map_err(|error| error.to_string())?;
            known.insert(attribute, text);
        }
        let text = |attribute| known.get(&attribute).map(String::as_str);
        let skip_days = text(Attribute::SkipDays).map(|name| {
            let found = calendars.get(name).map(Arc::clone);
            found.ok_or_else(|| format!("there is no calendar `{name}`"))
        });
        Ok(Self {
            trigger: trigger(&text)?,
            skip_days: skip_days.transpose()?,
            policy: policy(&text),
        })
    }

    /// The policy in the text; the text of a schedule in code has none but for its end.
    pub(crate) fn policy(&self) -> Policy {
        self.policy
    }
}

fn trigger<'a>(
    text: &impl Fn(Attribute) -> Option<&'a str>,
) -> Result<Option<CronTrigger>, String> {
    let Some(cron) = text(Attribute::Cron) else { return Ok(None) };
    let expression = Attribute::parse_cron(cron).map_err(|error| error.to_string())?;
    let Some(expression) = expression else { return Ok(None) };
    let zone: Zone = match text(Attribute::Zone) {
        Some(name) => name.parse().map_err(|_| format!("there is no zone `{name}`"))?,
        None => Zone::UTC,
    };
    let trigger = CronTrigger::new(expression, zone);
    Ok(Some(trigger.dst_gap(parsed(text)).dst_overlap(parsed(text))))
}

fn policy<'a>(text: &impl Fn(Attribute) -> Option<&'a str>) -> Policy {
    let length = |attribute: Attribute| attribute.parse_duration(text(attribute)?, None).ok();
    let until = text(Attribute::Until).and_then(|text| {
        let until = Attribute::Until.parse_instant(text).ok()?;
        let micros = until.seconds().saturating_mul(1_000_000);
        Some(StoreTime::from_micros(micros.saturating_add(i64::from(until.nanos() / 1_000))))
    });
    Policy {
        misfire: parsed(text),
        window: match text(Attribute::MisfireWindow) {
            None => Some(DAY),
            Some(_) => length(Attribute::MisfireWindow),
        },
        jitter: length(Attribute::Jitter).unwrap_or_default(),
        until,
    }
}

fn parsed<'a, T: Word>(text: &impl Fn(Attribute) -> Option<&'a str>) -> T {
    text(T::ATTRIBUTE).and_then(|word| word.parse().ok()).unwrap_or_default()
}

impl TextRule {
    /// The first tick after an instant; `None` if there is none. A rule whose timing the store knows has none here.
    pub(crate) fn next_after(&self, after: StoreTime) -> Option<StoreTime> {
        let (trigger, after) = (self.trigger.as_ref()?, after.utc());
        let next = match &self.skip_days {
            None => trigger.next_after(after)?,
            Some(days) => days.next_after(trigger, after)?,
        };
        let tick = StoreTime::from(next);
        let is_over = self.policy.until.is_some_and(|until| tick > until);
        (tick < StoreTime::MAX && !is_over).then_some(tick)
    }
}

crate::base::opaque::opaque! { TextRule { policy } }
