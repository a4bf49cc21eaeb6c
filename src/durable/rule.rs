//! The rule of a durable schedule: its row, and its ticks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_expr::{Attribute, Misfire, Word};
use scheduler_node::{Policy, Rules};
use scheduler_store::{
    Next, Payload, Rule as StoredRule, ScheduleSpec, StoreTime, StoredSchedule, Timing,
};

use crate::base::metadata::Location;
use crate::base::sync::Mutex;
use crate::define::calendar::Calendar;
use crate::define::schedule::length_text;
use crate::define::settings::word;
use crate::durable::job::JobOptions;
use crate::durable::limits::{is_guarded, is_limited};
use crate::durable::node::DurableSchedule;
use crate::task::{self, DurableOptions, Rule, TaskSpec};

/// The options of the jobs of a task; `None` if no store keeps them.
pub(crate) fn options_of(spec: &TaskSpec) -> Option<JobOptions> {
    let durable = spec.durable.as_ref()?;
    Some(JobOptions {
        queue: durable.queue.clone(),
        priority: durable.priority,
        max_attempts: spec.policy.retry.max.saturating_add(1),
        on_lost: durable.on_lost,
        is_limited: is_limited(&|attribute| durable.limit(attribute)),
        is_guarded: is_guarded(&|attribute| durable.limit(attribute)),
        expires: durable.expires,
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
    let options = options_of(spec)?;
    let JobOptions { queue, priority, max_attempts, on_lost, .. } = options;
    Some(ScheduleSpec {
        name: spec.name().to_string(),
        task: spec.name().to_string(),
        payload: Payload::default(),
        queue,
        priority,
        partition: options.is_limited.then(String::new),
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

crate::base::opaque! { TextRules }

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

crate::base::opaque! { TextRule { policy } }
