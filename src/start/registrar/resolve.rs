//! Parses the effective attributes of a task into its specification.

use std::collections::{BTreeMap, HashMap};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::{Arc, Weak};
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_expr::{
    Attribute, AttributeError, DurationUnit, RuleKind, Word, check_name, nearest,
};

use crate::base::metadata::TaskFacts;
use crate::base::sync::Mutex;
use crate::define::calendar::Calendar;
use crate::define::entry::Definition;
use crate::define::schedule::length_text;
use crate::define::settings::{ResolvedAttributes, SettingsError, Source, is_bare, word};
use crate::run::inject::Call;
use crate::task::{DurableOptions, Policy, Retry, Rule, TaskSpec};

/// The names that tasks may refer to, and the defaults of the scheduler.
#[derive(Debug)]
pub(crate) struct ResolveContext {
    /// The zone of cron expressions that name none.
    pub(crate) zone: Zone,
    /// The names of all pools, the default one first.
    pub(crate) pools: Vec<Arc<str>>,
    pub(crate) calendars: BTreeMap<String, Arc<Calendar>>,
    /// The cron rules that other tasks have.
    pub(crate) crons: Crons,
    pub(crate) seed: u64,
    /// True if there is a store for durable tasks.
    pub(crate) has_store: bool,
}

/// Resolves one task, or returns all its errors. Those of a disabled task are kept until it is enabled.
pub(crate) fn resolve(
    definition: &Definition,
    attributes: &ResolvedAttributes,
    context: &ResolveContext,
) -> Result<TaskSpec, Vec<SettingsError>> {
    let (unit, text, errors) = <_>::default();
    let mut builder = SpecBuilder { definition, attributes, context, unit, text, errors };
    builder.unit = builder.read(Attribute::TimeUnit, Attribute::parse_unit);
    builder.read(Attribute::Enabled, |text| Attribute::Enabled.parse_flag(text));
    builder.check_together();
    let rule = builder.rule();
    let policy = builder.policy();
    let durable = builder.durable(rule.as_ref(), &policy);
    let pool = builder.pool();
    let tags = builder.tags();
    let is_off = attributes.is_off();
    if !builder.errors.is_empty() && !is_off {
        return Err(builder.errors);
    }
    let disabled = (is_off || rule.is_none()).then(|| {
        let errors: Vec<String> = builder.errors.iter().map(ToString::to_string).collect();
        errors.join("\n")
    });
    let rule = rule.unwrap_or(Rule::None);
    let zone = attributes.get(Attribute::Zone).filter(|zone| !Attribute::Zone.is_off(&zone.text));
    let facts = TaskFacts {
        name: Arc::clone(&definition.name),
        function: definition.function.clone(),
        kind: rule.kind(),
        rule: builder.text.unwrap_or_else(|| rule.to_string().into()),
        period: rule.period(),
        zone: rule.zone().unwrap_or(context.zone),
        pool,
        tags,
        is_async: matches!(definition.call, Call::Async(_)),
        is_durable: durable.is_some(),
        location: Some(definition.location),
    };
    Ok(TaskSpec {
        facts: Arc::new(facts),
        is_zone_default: rule.zone().is_some() && zone.is_none(),
        rule,
        policy: policy.shared(),
        durable,
        job: definition.job,
        missing: definition.missing.clone(),
        call: definition.call.clone(),
        disabled,
    })
}

/// The attributes of one task while they are parsed.
struct SpecBuilder<'a> {
    pub(super) definition: &'a Definition,
    pub(super) attributes: &'a ResolvedAttributes,
    pub(super) context: &'a ResolveContext,
    unit: Option<DurationUnit>,
    /// The text of a cron rule.
    text: Option<Arc<str>>,
    errors: Vec<SettingsError>,
}

impl SpecBuilder<'_> {
    /// Parses an attribute, if it is set.
    pub(super) fn read<T>(
        &mut self,
        attribute: Attribute,
        parse: impl Fn(&str) -> Result<T, AttributeError>,
    ) -> Option<T> {
        let attributes = self.attributes;
        let text = &attributes.get(attribute)?.text;
        if attribute.is_off(text) {
            return None;
        }
        parse(text).map_err(|error| self.errors.push(attributes.blame(&error))).ok()
    }

    /// Parses an attribute that is one of a few words.
    pub(super) fn word<T: Word>(&mut self) -> T {
        self.read(T::ATTRIBUTE, str::parse).unwrap_or_default()
    }

    pub(super) fn duration(&mut self, attribute: Attribute) -> Option<Duration> {
        let unit = self.unit;
        self.read(attribute, |text| attribute.parse_duration(text, unit))
    }

    /// Reports attributes that contradict others, unless they belong to a rule that settings replaced.
    fn check_together(&mut self) {
        let texts: Vec<(Attribute, &str)> = Attribute::ALL
            .iter()
            .filter_map(|attribute| {
                Some((*attribute, self.attributes.get(*attribute)?.text.as_str()))
            })
            .collect();
        let is_replaced = self.rules().any(|rule| !self.is_annotated(rule));
        if !is_replaced {
            self.check_one_rule();
        }
        let rule = self.definition.rule_alone();
        let errors = Attribute::check_together(&texts, rule, self.unit);
        let is_passed_over = |error: &AttributeError| {
            is_replaced && !error.is_about_text() && self.is_annotated(error.attribute())
        };
        let errors = errors.iter().filter(|error| !is_passed_over(error));
        let errors: Vec<SettingsError> = errors.map(|error| self.attributes.blame(error)).collect();
        self.errors.extend(errors);
    }

    /// The attributes that are rules, and are set.
    fn rules(&self) -> impl Iterator<Item = Attribute> {
        self.kinds().filter(|rule| self.attributes.get(*rule).is_some())
    }

    /// All attributes that are rules.
    fn kinds(&self) -> impl Iterator<Item = Attribute> + use<> {
        RuleKind::ALL.iter().filter_map(|rule| rule.attribute())
    }

    fn is_annotated(&self, attribute: Attribute) -> bool {
        let resolved = self.attributes.get(attribute);
        resolved.is_some_and(|resolved| matches!(resolved.source, Source::Annotation(_)))
    }

    /// Several rules can only come from code: macro and settings refuse them.
    fn check_one_rule(&mut self) {
        let rules: Vec<Attribute> = self.rules().collect();
        let (first, others) = match (&self.definition.trigger, rules.as_slice()) {
            (Some(_), others) => ("a trigger of its own".to_owned(), others),
            (None, [first, others @ ..]) => (format!("`{first}`"), others),
            (None, []) => return,
        };
        for other in others.iter().copied() {
            let reason =
                format!("`{other}` conflicts with {first}: a task has exactly one trigger");
            self.refuse(other, &reason, format!("remove `{other}`"));
        }
    }

    pub(super) fn refuse(&mut self, attribute: Attribute, reason: &str, help: String) {
        self.errors.push(self.attributes.fault(attribute, reason, help));
    }

    /// The rule; none if the cron expression is `-`, or after a fault.
    fn rule(&mut self) -> Option<Rule> {
        let rule = self.rules().next();
        match (&self.definition.trigger, rule) {
            (Some(trigger), None) => return Some(Rule::Custom(Arc::clone(trigger))),
            (None, rule) if self.definition.rule_alone() == RuleKind::Job => {
                if let Some(rule) = rule {
                    let reason =
                        format!("`{rule}` is no option of a job, which runs when it is enqueued");
                    self.refuse(rule, &reason, "remove it".to_owned());
                }
                return Some(Rule::Job);
            }
            _ => {}
        }
        if self.attributes.get(Attribute::Cron).is_some() {
            return self.cron();
        }
        if self.attributes.get(Attribute::At).is_some() {
            return self.instant(Attribute::At).map(|at| Rule::At(at.into()));
        }
        let initial_delay = self.duration(Attribute::InitialDelay);
        let period = self.duration(Attribute::FixedRate);
        let delay = self.duration(Attribute::FixedDelay);
        match (period, delay, initial_delay) {
            (Some(period), ..) => Some(Rule::FixedRate { period, initial_delay }),
            (None, Some(delay), _) => Some(Rule::FixedDelay { delay, initial_delay }),
            (None, None, Some(delay)) => Some(Rule::Once { delay }),
            (None, None, None) => {
                self.miss_rule();
                None
            }
        }
    }

    fn miss_rule(&mut self) {
        if self.errors.is_empty() && self.attributes.is_complete {
            let rules: Vec<String> = self.kinds().map(|rule| format!("`{rule}`")).collect();
            let help = format!("set one of {}, or `initial_delay` alone", rules.join(", "));
            self.refuse(Attribute::FixedRate, "the task has no rule", help);
        }
    }

    fn cron(&mut self) -> Option<Rule> {
        let about = [Attribute::Cron, Attribute::Zone, Attribute::DstGap, Attribute::DstOverlap];
        let text = |about| self.attributes.get(about).map(|resolved| resolved.text.as_str().into());
        let texts = (about.map(text), self.context.zone);
        let (trigger, text) = match self.context.crons.get(&texts) {
            Some(known) => known,
            None => {
                let new = self.new_cron()?;
                self.context.crons.insert(texts, &new);
                new
            }
        };
        self.text = Some(text);
        Some(Rule::Cron(trigger))
    }

    fn new_cron(&mut self) -> Option<Cron> {
        let expression = self.read(Attribute::Cron, Attribute::parse_cron);
        if matches!(expression, Some(None)) {
            // A disabled task need not be configured.
            return None;
        }
        let zone = self.read(Attribute::Zone, |text| {
            Attribute::Zone.check(text, None).map(|()| text.parse().unwrap_or(Zone::UTC))
        });
        let (gap, overlap) = (self.word(), self.word());
        let trigger = CronTrigger::new(expression??, zone.unwrap_or(self.context.zone))
            .dst_gap(gap)
            .dst_overlap(overlap);
        if !self.errors.is_empty() {
            return None;
        }
        let trigger = Arc::new(trigger);
        let text = Rule::Cron(Arc::clone(&trigger)).to_string().into();
        Some((trigger, text))
    }

    fn policy(&mut self) -> Policy {
        Policy {
            overlap: self.word(),
            misfire: self.word(),
            on_error: self.word(),
            jitter: self.duration(Attribute::Jitter).unwrap_or_default(),
            timeout: self.duration(Attribute::Timeout),
            retry: self.retry(),
            until: self.instant(Attribute::Until),
            max_runs: self.count(Attribute::MaxRuns).and_then(NonZeroU64::new),
            max_concurrent: self.count(Attribute::MaxConcurrent).and_then(NonZeroU32::new),
            skip_days: self.skip_days(),
            seed: self.context.seed,
        }
    }

    fn instant(&mut self, attribute: Attribute) -> Option<DateTime<Utc>> {
        let instant = self.read(attribute, |text| attribute.parse_instant(text))?;
        DateTime::from_timestamp(instant.seconds(), instant.nanos())
    }

    /// Parses a count, whose range in the table of attributes is one of the type.
    fn count<T: TryFrom<u64>>(&mut self, attribute: Attribute) -> Option<T> {
        self.read(attribute, |text| attribute.parse_count(text))?.try_into().ok()
    }

    fn skip_days(&mut self) -> Option<Arc<Calendar>> {
        let (attribute, calendars) = (Attribute::SkipDays, &self.context.calendars);
        let name =
            self.read(attribute, |text| attribute.check(text, None).map(|()| text.to_owned()))?;
        if let Some(calendar) = calendars.get(&name) {
            return Some(Arc::clone(calendar));
        }
        let names: Vec<&str> = calendars.keys().map(String::as_str).collect();
        let are = match names.len() {
            0 => "the builder was given none".to_owned(),
            _ => format!("the calendars are {}", list(&names)),
        };
        let reason = format!("there is no calendar {}; {are}", word(&name));
        let help = format!(
            "{}give it to the builder: Scheduler::builder().calendar({name:?}, Calendar::new())",
            did_you_mean(&name, &names)
        );
        self.refuse(attribute, &reason, help);
        None
    }

    fn tags(&mut self) -> Arc<[Arc<str>]> {
        let attribute = Attribute::Tags;
        let tags = self.read(attribute, |text| {
            attribute.parse_tags(text).map(|tags| tags.into_iter().map(Arc::from).collect())
        });
        tags.unwrap_or_default()
    }

    fn retry(&mut self) -> Retry {
        let max = self.count(Attribute::RetryMax);
        let mut retry = Retry::new(max.unwrap_or_default());
        if let Some(base) = self.duration(Attribute::RetryBase) {
            retry = retry.base(base);
        }
        if let Some(cap) = self.duration(Attribute::RetryCap) {
            retry = retry.cap(cap);
        }
        retry
    }

    fn pool(&mut self) -> Arc<str> {
        let (attribute, pools) = (Attribute::Pool, &self.context.pools);
        let Some(resolved) = self.attributes.get(attribute) else { return Arc::clone(&pools[0]) };
        let name = resolved.text.as_str();
        if let Some(pool) = pools.iter().find(|pool| &***pool == name) {
            return Arc::clone(pool);
        }
        let names: Vec<&str> = pools.iter().map(|pool| &**pool).collect();
        let are = if names.len() == 1 { "the only one is" } else { "the pools are" };
        let reason = format!("there is no pool {}; {are} {}", word(name), list(&names));
        self.refuse(attribute, &reason, pool_help(name, &names));
        Arc::clone(&pools[0])
    }
}

/// The names in backticks, separated by commas.
fn list(names: &[&str]) -> String {
    names.iter().map(|name| word(name)).collect::<Vec<String>>().join(", ")
}

/// The beginning of a help: a similar name, if there is one.
fn did_you_mean(name: &str, names: &[&str]) -> String {
    let meant = nearest(name, names.iter().copied());
    meant.map(|meant| format!("did you mean {}?\nor ", word(meant))).unwrap_or_default()
}

/// A pool with a similar name, and the ways to add one of this name.
fn pool_help(name: &str, pools: &[&str]) -> String {
    if check_name(name).is_err() {
        return "write the name of one of them".to_owned();
    }
    let key = if is_bare(name) { name.to_owned() } else { format!("{name:?}") };
    format!(
        "{}configure it: Scheduler::builder().pool({name:?}, Pool::new())\n\
         or in settings:\n    [scheduler.pools.{key}]\n    size = 4",
        did_you_mean(name, pools)
    )
}

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
            expires: self.duration(Attribute::Expires),
            queue: queue.unwrap_or_else(|| "default".to_owned()),
            priority: self.word(),
            limits: self.limits(),
            timing,
        })
    }

    /// The attributes that limit its jobs, with their texts.
    fn limits(&mut self) -> Vec<(Attribute, String)> {
        let all = Attribute::ALL.iter().copied().filter(|attribute| attribute.is_limit());
        let limits = all.filter_map(|attribute| {
            let check = |text: &str| attribute.check(text, None).map(|()| text.to_owned());
            Some((attribute, self.read(attribute, check)?))
        });
        let limits: Vec<(Attribute, String)> = limits.collect();
        let of_each = limits.iter().find(|(attribute, _)| attribute.group() == Some("each"));
        if let Some((each, _)) = of_each
            && self.definition.job.is_some_and(|job| !job.is_partitioned)
        {
            let reason = format!(
                "`{each}` is of no use without a partition: it limits the jobs of each partition"
            );
            let help = "write #[job(…, partition = …)] with an expression on the payload, such as order.tenant; or set \
                        `limit` in place of `each`";
            self.refuse(*each, &reason, help.to_owned());
        }
        limits
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

/// All rules that some task has, by the texts they were made of.
#[derive(Debug, Default)]
pub(crate) struct Crons(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    rules: HashMap<Texts, (Weak<CronTrigger>, Arc<str>)>,
    /// The length at which rules that no task has any more are swept out.
    limit: usize,
}

/// The expression, its zone and its policies for changes of the clock, and the default zone.
pub(super) type Texts = ([Option<Box<str>>; 4], Zone);

/// A rule and its text.
pub(super) type Cron = (Arc<CronTrigger>, Arc<str>);

impl Crons {
    pub(super) fn get(&self, texts: &Texts) -> Option<Cron> {
        let known = self.0.lock();
        let (trigger, text) = known.rules.get(texts)?;
        Some((trigger.upgrade()?, Arc::clone(text)))
    }

    pub(super) fn insert(&self, texts: Texts, (trigger, text): &Cron) {
        let mut known = self.0.lock();
        if known.rules.len() >= known.limit {
            known.rules.retain(|_, (trigger, _)| trigger.strong_count() > 0);
            known.limit = 16 + 2 * known.rules.len();
        }
        known.rules.insert(texts, (Arc::downgrade(trigger), Arc::clone(text)));
    }
}
