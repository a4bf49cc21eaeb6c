//! The rules of simulated schedules, and their texts.

use std::collections::BTreeMap;
use std::time::Duration;

use scheduler_store::{Next, Rule, StoreTime, StoredSchedule, Timing};

use scheduler_node::{Policy, Rules};

/// The policies of schedules, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimRules {
    pub(crate) policies: BTreeMap<String, Policy>,
}

impl Rules for SimRules {
    fn check(&self, _: &StoredSchedule) -> Result<(), String> {
        Ok(())
    }

    fn next_after(&self, rule: &str, after: StoreTime) -> Next {
        next_after(rule, after)
    }

    fn policy(&self, schedule: &StoredSchedule) -> Policy {
        self.policies.get(&schedule.definition.name).copied().unwrap_or_default()
    }
}

/// Ticks at `phase + k * period`, as `every <period> <phase>` in microseconds.
pub(crate) fn next_after(rule: &str, after: StoreTime) -> Next {
    let mut words = rule.split(' ').skip(1).map(|word| word.parse::<i64>().unwrap_or(1));
    let (period, phase) = (words.next().unwrap_or(1), words.next().unwrap_or(0));
    let passed = (after.as_micros() - phase).div_euclid(period) + 1;
    Next::At(StoreTime::from_micros(phase + passed * period))
}

pub(crate) fn computed(period: Duration, phase: Duration) -> Rule {
    let text = format!("every {} {}", period.as_micros(), phase.as_micros());
    Rule { text, timing: Timing::Computed }
}

pub(crate) fn rate(first: Duration, period: Duration) -> Rule {
    let timing = Timing::Rate { first, period };
    Rule { text: format!("rate {}", period.as_micros()), timing }
}

pub(crate) fn delay(first: Duration, delay: Duration) -> Rule {
    let timing = Timing::Delay { first, delay };
    Rule { text: format!("delay {}", delay.as_micros()), timing }
}

pub(crate) fn once(after: Duration) -> Rule {
    Rule { text: format!("once {}", after.as_micros()), timing: Timing::OnceAfter(after) }
}
