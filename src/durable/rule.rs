//! The row of a durable schedule: rule text and options.

use std::collections::BTreeMap;

use scheduler_expr::{Attribute, Misfire};
use scheduler_node::Policy;
use scheduler_store::{Payload, Rule as StoredRule, ScheduleSpec, Timing};

use super::options::JobOptions;
use super::ticks::DAY;
use crate::base::metadata::Location;
use crate::define::schedule::length_text;
use crate::define::settings::word;
use crate::task::{self, DurableOptions, Rule, TaskSpec};

/// The options of the jobs of a task; `None` if no store keeps them.
pub(crate) fn options_of(spec: &TaskSpec) -> Option<JobOptions> {
    let durable = spec.durable.as_ref()?;
    Some(JobOptions {
        queue: durable.queue.clone(),
        priority: durable.priority,
        max_attempts: spec.policy.retry.max.saturating_add(1),
        on_lost: durable.on_lost,
    })
}

/// The policy for missed ticks, and the longest delay of a tick.
pub(super) fn policy_of(spec: &TaskSpec, durable: &DurableOptions) -> Policy {
    let task::Policy { misfire, jitter, .. } = *spec.policy;
    Policy { misfire, window: durable.misfire_window, jitter, until: None }
}

/// A durable schedule as this process registers it; `None` if the task has none.
pub(super) fn definition_of(spec: &TaskSpec) -> Option<ScheduleSpec> {
    let durable = spec.durable.as_ref()?;
    let JobOptions { queue, priority, max_attempts, on_lost } = options_of(spec)?;
    Some(ScheduleSpec {
        name: spec.name().to_string(),
        task: spec.name().to_string(),
        payload: Payload::default(),
        queue,
        priority,
        rule: rule_of(spec, durable, false)?,
        calculator: calculator(&spec.policy),
        overlap: spec.policy.overlap,
        max_attempts,
        on_lost,
        is_dynamic: false,
    })
}

/// The rule as a store keeps it. A dynamic schedule is known to other processes by its text alone, which then has all that
/// they need.
pub(super) fn rule_of(
    spec: &TaskSpec,
    durable: &DurableOptions,
    is_dynamic: bool,
) -> Option<StoredRule> {
    let timing = timing_of(&spec.rule)?;
    let mut texts: BTreeMap<&str, String> =
        durable.timing.iter().map(|(attribute, text)| (attribute.name(), text.clone())).collect();
    if is_dynamic {
        texts.extend(
            texts_of(policy_of(spec, durable)).map(|(attribute, text)| (attribute.name(), text)),
        );
    }
    // A map of texts can always be written.
    let text = serde_json::to_string(&texts).unwrap_or_default();
    Some(StoredRule { text, timing })
}

/// The way to the next tick; `None` of a rule that no store can keep.
fn timing_of(rule: &Rule) -> Option<Timing> {
    Some(match rule {
        Rule::Cron(_) => Timing::Computed,
        Rule::FixedRate { period, initial_delay } => {
            Timing::Rate { first: initial_delay.unwrap_or_default(), period: *period }
        }
        Rule::FixedDelay { delay, initial_delay } => {
            Timing::Delay { first: initial_delay.unwrap_or_default(), delay: *delay }
        }
        Rule::Once { delay } => Timing::OnceAfter(*delay),
        Rule::At(at) => Timing::Once(at.to_utc().into()),
        Rule::Custom(_) | Rule::Job | Rule::None => return None,
    })
}

/// The version of all that computes ticks: if it changes, the next tick is computed again (R16).
fn calculator(policy: &task::Policy) -> String {
    let (version, zones) =
        (env!("CARGO_PKG_VERSION"), scheduler_core::trigger::Zone::data_version());
    match &policy.skip_days {
        None => format!("scheduler {version}, tzdata {zones}"),
        Some(days) => {
            format!("scheduler {version}, tzdata {zones}, days {:016x}", days.fingerprint())
        }
    }
}

/// The faults of names that a store has to keep: one that is too long, or that two tasks have.
pub(crate) fn faults(specs: &[TaskSpec]) -> impl Iterator<Item = String> + '_ {
    long_names(specs).chain(shared_aliases(specs))
}

/// One fault for each former name that another task has, too: its jobs would be given to either of them.
fn shared_aliases(specs: &[TaskSpec]) -> Vec<String> {
    let is_kept = |task: &&TaskSpec| task.durable.is_some() && !task.is_disabled();
    let tasks = specs.iter().filter(is_kept);
    let mut owners: BTreeMap<&str, &TaskSpec> =
        tasks.clone().map(|task| (&**task.name(), task)).collect();
    let mut faults = Vec::new();
    for task in tasks {
        for alias in task.job.iter().flat_map(|job| job.aliases) {
            let owner = *owners.entry(alias).or_insert(task);
            if owner.name() != task.name() {
                faults.push(format!(
                    "{}: the alias {} of {} is a name of {} ({}), too\n\
                     help: only one of them can run its jobs; take it away from the other",
                    location(task),
                    word(alias),
                    word(task.name()),
                    word(owner.name()),
                    location(owner)
                ));
            }
        }
    }
    faults
}

fn long_names(specs: &[TaskSpec]) -> impl Iterator<Item = String> + '_ {
    specs.iter().filter(|task| task.durable.is_some()).filter_map(|task| {
        let name = scheduler_store::NAME_MAX;
        let is_long = task.name().len() > name;
        is_long.then(|| {
            format!(
                "{}: the name {} has more than {name} bytes, and no store keeps it\n\
                 help: give it a shorter one: name = \"…\"",
                location(task),
                word(task.name())
            )
        })
    })
}

fn location(task: &TaskSpec) -> Location {
    task.facts.location.unwrap_or(Location::NONE)
}

/// The attributes of a policy that are not as by default.
fn texts_of(policy: Policy) -> impl Iterator<Item = (Attribute, String)> {
    let Policy { misfire, window, jitter, .. } = policy;
    let misfire =
        (misfire != Misfire::default()).then(|| (Attribute::Misfire, misfire.name().to_owned()));
    let window = (window != Some(DAY)).then(|| {
        let text = window.map_or_else(|| "-".to_owned(), length_text);
        (Attribute::MisfireWindow, text)
    });
    let jitter = (!jitter.is_zero()).then(|| (Attribute::Jitter, length_text(jitter)));
    [misfire, window, jitter].into_iter().flatten()
}
