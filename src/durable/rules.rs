//! The rules of schedules as the node asks for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler_node::{Policy, Rules};
use scheduler_store::{Next, StoreTime, StoredSchedule};

use super::parts::DurableSchedule;
use super::ticks::TextRule;
use crate::base::sync::Mutex;
use crate::define::calendar::Calendar;

/// Reads the rules of schedules, each text once.
pub(super) struct TextRules {
    /// The policies of schedules in the code, by name; those of others stand in their texts.
    policies: BTreeMap<String, Policy>,
    calendars: BTreeMap<String, Arc<Calendar>>,
    /// Why not, for a text that this process does not understand.
    read: Mutex<BTreeMap<String, Result<Arc<TextRule>, String>>>,
}

/// The greatest number of texts that are kept.
const KEPT: usize = 10_000;

impl TextRules {
    pub(super) fn new(
        schedules: &[DurableSchedule],
        calendars: BTreeMap<String, Arc<Calendar>>,
    ) -> Self {
        let policies = schedules
            .iter()
            .map(|schedule| (schedule.definition.name.clone(), schedule.policy))
            .collect();
        Self { policies, calendars, read: Mutex::default() }
    }

    fn rule(&self, text: &str) -> Result<Arc<TextRule>, String> {
        let mut read = self.read.lock();
        if let Some(rule) = read.get(text) {
            return rule.clone();
        }
        let rule = TextRule::parse(text, &self.calendars).map(Arc::new);
        if read.len() >= KEPT {
            read.clear();
        }
        read.insert(text.to_owned(), rule.clone());
        rule
    }
}

impl Rules for TextRules {
    fn check(&self, schedule: &StoredSchedule) -> Result<(), String> {
        // A rule that was set by hand leaves parts to the rule of the definition.
        self.rule(&schedule.definition.rule.text)?;
        self.rule(&schedule.rule().text).map(drop)
    }

    fn next_after(&self, rule: &str, after: StoreTime) -> Next {
        let next = self.rule(rule).ok().and_then(|rule| rule.next_after(after));
        next.map_or(Next::Never, Next::At)
    }

    fn policy(&self, schedule: &StoredSchedule) -> Policy {
        let rule = self.rule(&schedule.rule().text).ok();
        // A rule that was set by hand has only its end.
        let made_with = || self.rule(&schedule.definition.rule.text).ok().map(|rule| rule.policy());
        let in_code = self.policies.get(&schedule.definition.name).copied();
        let until = rule.and_then(|rule| rule.policy().until);
        Policy { until, ..in_code.or_else(made_with).unwrap_or_default() }
    }
}

crate::base::opaque::opaque! { TextRules }
