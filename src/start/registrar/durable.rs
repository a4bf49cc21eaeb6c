//! The options of durable tasks, and the texts of their rules.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use scheduler_expr::{Attribute, RuleKind};

use super::resolve::SpecBuilder;
use crate::define::schedule::length_text;
use crate::task::{DurableOptions, Policy, Rule};

/// The help for a durable task without a store.
const NO_STORE: &str =
    "give one to the builder: Scheduler::builder().store(Sqlite::open(\"jobs.db\")?)";

/// The line of a `Cargo.toml` that is missing.
const NO_FEATURE: &str =
    "switch it on in Cargo.toml: scheduler-rs = { version = \"0.1\", features = [\"durable\"] }";

impl SpecBuilder<'_> {
    /// The options of a durable task; `None` if it is not durable.
    pub(super) fn durable(
        &mut self,
        rule: Option<&Rule>,
        policy: &Policy,
    ) -> Option<DurableOptions> {
        let is_job = self.definition.rule_alone() == RuleKind::Job;
        let is_durable = self.read(Attribute::Durable, |text| Attribute::Durable.parse_flag(text));
        if !is_job && is_durable != Some(true) {
            return None;
        }
        self.check_store(is_job);
        let queue = self.read(Attribute::Queue, |text| {
            Attribute::Queue.check(text, None).map(|()| text.to_owned())
        });
        let day = Duration::from_secs(86_400);
        let misfire_window = match self.attributes.get(Attribute::MisfireWindow) {
            None => Some(day),
            Some(_) => self.duration(Attribute::MisfireWindow),
        };
        let timing = match rule {
            Some(rule) if !is_job => self.timing(rule, policy),
            _ => Vec::new(),
        };
        Some(DurableOptions {
            on_lost: self.word(),
            misfire_window,
            queue: queue.unwrap_or_else(|| "default".to_owned()),
            priority: self.word(),
            timing,
        })
    }

    fn check_store(&mut self, is_job: bool) {
        if self.context.has_store {
            return;
        }
        let (needs, help) = if cfg!(feature = "durable") {
            ("a store, which keeps its jobs", NO_STORE)
        } else {
            ("the feature `durable`", NO_FEATURE)
        };
        let subject = if is_job { "a job".to_owned() } else { format!("`{}`", Attribute::Durable) };
        self.refuse(Attribute::Durable, &format!("{subject} needs {needs}"), help.to_owned());
    }

    /// The attributes that say when the task fires, each in its only spelling, so that equal rules have equal texts in
    /// all processes.
    fn timing(&self, rule: &Rule, policy: &Policy) -> Vec<(Attribute, String)> {
        let mut timing = Vec::new();
        let mut add = |attribute, text: Option<String>| {
            timing.extend(text.map(|text| (attribute, text)));
        };
        match rule {
            Rule::Cron(trigger) => {
                let text =
                    |attribute| self.attributes.get(attribute).map(|value| value.text.clone());
                let word = |attribute: Attribute| {
                    text(attribute).or(attribute.words().first().map(|word| (*word).to_owned()))
                };
                add(Attribute::Cron, Some(trigger.expression().to_string()));
                add(Attribute::Zone, Some(trigger.zone().name().to_string()));
                add(Attribute::DstGap, word(Attribute::DstGap));
                add(Attribute::DstOverlap, word(Attribute::DstOverlap));
                add(
                    Attribute::SkipDays,
                    text(Attribute::SkipDays).filter(|_| policy.skip_days.is_some()),
                );
            }
            Rule::FixedRate { period, initial_delay } => {
                add(Attribute::FixedRate, Some(length_text(*period)));
                add(Attribute::InitialDelay, initial_delay.map(length_text));
            }
            Rule::FixedDelay { delay, initial_delay } => {
                add(Attribute::FixedDelay, Some(length_text(*delay)));
                add(Attribute::InitialDelay, initial_delay.map(length_text));
            }
            Rule::Once { delay } => add(Attribute::InitialDelay, Some(length_text(*delay))),
            Rule::At(at) => add(Attribute::At, Some(instant(at.to_utc()))),
            Rule::Custom(_) | Rule::Job | Rule::None => {}
        }
        add(Attribute::Until, policy.until.map(instant));
        timing
    }
}

fn instant(instant: DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}
