//! Judges the effective words of one task, and makes of them what a conductor is given.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_expr::{
    Attribute, AttributeError, DurationUnit, RuleKind, Word, check_name, nearest,
};

use super::crons::{Cron, Crons};
use super::definition::Definition;
use super::planned::{Disabled, Planned};
use crate::calendar::Calendar;
use crate::conduct::{Policy, Retry, Rule};
use crate::settings::{Effective, Fault, Refusal, Source, word};

/// What tasks are judged against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    /// The zone of cron expressions that name none.
    pub(crate) zone: Zone,
    /// The names of all pools; the first is the default one.
    pub(crate) pools: &'a [Arc<str>],
    pub(crate) calendars: &'a BTreeMap<String, Arc<Calendar>>,
    /// The cron rules that other tasks have.
    pub(crate) crons: &'a Crons,
    pub(crate) seed: u64,
}

/// Judges the words of one task; all that is wrong with them comes back together. A task that is switched off need not
/// be configured: what is wrong with it matters when it is enabled.
pub(crate) fn judge(
    definition: &Definition,
    words: &Effective,
    ground: Ground<'_>,
) -> Result<Planned, Vec<Fault>> {
    let (unit, text, faults) = <_>::default();
    let mut judge = Judge { definition, words, ground, unit, text, faults };
    judge.unit = judge.read(Attribute::TimeUnit, Attribute::parse_unit);
    judge.read(Attribute::Enabled, |text| Attribute::Enabled.parse_flag(text));
    judge.check_together();
    let rule = judge.rule();
    let policy = judge.policy();
    let pool = judge.pool();
    let tags = judge.tags();
    if !judge.faults.is_empty() && !words.is_off() {
        return Err(judge.faults);
    }
    let disabled = (words.is_off() || rule.is_none()).then(|| {
        let faults: Vec<String> = judge.faults.iter().map(ToString::to_string).collect();
        Disabled { faults: faults.join("\n") }
    });
    let rule = rule.unwrap_or(Rule::None);
    Ok(Planned {
        name: Arc::clone(&definition.name),
        function: definition.function.clone(),
        location: definition.location,
        zone: rule.zone().unwrap_or(ground.zone),
        rule,
        text: judge.text,
        policy,
        pool,
        tags,
        call: definition.call.clone(),
        disabled,
    })
}

struct Judge<'a> {
    definition: &'a Definition,
    words: &'a Effective,
    ground: Ground<'a>,
    unit: Option<DurationUnit>,
    /// How people read a cron rule.
    text: Option<Arc<str>>,
    faults: Vec<Fault>,
}

impl Judge<'_> {
    /// Reads an attribute, if it is given; a text that cannot be read is a fault.
    fn read<T>(
        &mut self,
        attribute: Attribute,
        parse: impl Fn(&str) -> Result<T, AttributeError>,
    ) -> Option<T> {
        let valued = self.words.get(attribute)?;
        if attribute.is_off(&valued.text) {
            return None;
        }
        match parse(&valued.text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.blame(&error);
                None
            }
        }
    }

    /// Reads one of the words of an attribute; the default if it is not given.
    fn word<T: Word>(&mut self) -> T {
        self.read(T::ATTRIBUTE, str::parse).unwrap_or_default()
    }

    fn duration(&mut self, attribute: Attribute) -> Option<Duration> {
        let unit = self.unit;
        self.read(attribute, |text| attribute.parse_duration(text, unit))
    }

    fn blame(&mut self, error: &AttributeError) {
        self.faults.push(self.words.blame(error));
    }

    /// Reports attributes that mean nothing beside the others. What an annotation says about a rule
    /// that settings have replaced is passed over.
    fn check_together(&mut self) {
        let given: Vec<(Attribute, &str)> = Attribute::ALL
            .iter()
            .filter_map(|attribute| Some((*attribute, self.words.get(*attribute)?.text.as_str())))
            .collect();
        let is_replaced = self.rules().any(|rule| !self.is_annotated(rule));
        if !is_replaced {
            self.check_one_rule();
        }
        let rule = self.definition.rule_alone();
        let errors = Attribute::check_together(&given, rule, self.unit);
        let is_passed_over = |error: &AttributeError| {
            is_replaced && !error.is_about_text() && self.is_annotated(error.attribute())
        };
        let errors: Vec<AttributeError> =
            errors.into_iter().filter(|error| !is_passed_over(error)).collect();
        errors.iter().for_each(|error| self.blame(error));
    }

    /// The rules that count, but for a trigger of the task's own and a run that comes once.
    fn rules(&self) -> impl Iterator<Item = Attribute> {
        self.kinds().filter(|rule| self.words.get(*rule).is_some())
    }

    /// The attributes that are rules.
    fn kinds(&self) -> impl Iterator<Item = Attribute> + use<> {
        RuleKind::ALL.iter().filter_map(|rule| rule.attribute())
    }

    fn is_annotated(&self, attribute: Attribute) -> bool {
        let valued = self.words.get(attribute);
        valued.is_some_and(|valued| matches!(valued.source, Source::Annotation(_)))
    }

    /// Several rules can only have been given in code: macro and settings refuse them.
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
            self.refuse(other, &reason);
        }
    }

    fn refuse(&mut self, attribute: Attribute, reason: &str) {
        let help = format!("remove `{attribute}`");
        let refusal = Refusal { reason: &reason, caret: None, help: Some(&help) };
        self.faults.push(self.words.fault(attribute, &refusal));
    }

    /// The rule; none when the cron expression is `-`, or when there is a fault.
    fn rule(&mut self) -> Option<Rule> {
        if let Some(trigger) = &self.definition.trigger
            && self.rules().next().is_none()
        {
            return Some(Rule::Custom(Arc::clone(trigger)));
        }
        if self.words.get(Attribute::Cron).is_some() {
            return self.cron();
        }
        if self.words.get(Attribute::At).is_some() {
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
        if self.faults.is_empty() && self.words.is_complete() {
            let rules: Vec<String> = self.kinds().map(|rule| format!("`{rule}`")).collect();
            let help = format!("set one of {}, or `initial_delay` alone", rules.join(", "));
            let refusal =
                Refusal { reason: &"the task has no rule", caret: None, help: Some(&help) };
            self.faults.push(self.words.fault(Attribute::FixedRate, &refusal));
        }
    }

    fn cron(&mut self) -> Option<Rule> {
        let about = [Attribute::Cron, Attribute::Zone, Attribute::DstGap, Attribute::DstOverlap];
        let text = |about| self.words.get(about).map(|valued| valued.text.as_str().into());
        let texts = (about.map(text), self.ground.zone);
        let (trigger, text) = match self.ground.crons.get(&texts) {
            Some(known) => known,
            None => {
                let new = self.new_cron()?;
                self.ground.crons.insert(texts, &new);
                new
            }
        };
        self.text = Some(text);
        Some(Rule::Cron(trigger))
    }

    fn new_cron(&mut self) -> Option<Cron> {
        let expression = self.read(Attribute::Cron, Attribute::parse_cron);
        if matches!(expression, Some(None)) {
            // One who switches a task off need not configure it.
            return None;
        }
        let zone = self.read(Attribute::Zone, |text| {
            Attribute::Zone.check(text, None).map(|()| text.parse().unwrap_or(Zone::UTC))
        });
        let (gap, overlap) = (self.word(), self.word());
        let trigger = CronTrigger::new(expression??, zone.unwrap_or(self.ground.zone))
            .dst_gap(gap)
            .dst_overlap(overlap);
        if !self.faults.is_empty() {
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
            seed: self.ground.seed,
        }
    }

    fn instant(&mut self, attribute: Attribute) -> Option<DateTime<Utc>> {
        let instant = self.read(attribute, |text| attribute.parse_instant(text))?;
        DateTime::from_timestamp(instant.seconds(), instant.nanos())
    }

    /// A count whose range, by the table of attributes, is one that the type can hold.
    fn count<T: TryFrom<u64>>(&mut self, attribute: Attribute) -> Option<T> {
        self.read(attribute, |text| attribute.parse_count(text))?.try_into().ok()
    }

    fn skip_days(&mut self) -> Option<Arc<Calendar>> {
        let (attribute, calendars) = (Attribute::SkipDays, self.ground.calendars);
        let name =
            self.read(attribute, |text| attribute.check(text, None).map(|()| text.to_owned()))?;
        if let Some(calendar) = calendars.get(&name) {
            return Some(Arc::clone(calendar));
        }
        let (names, name) = (calendars.keys().map(String::as_str), name.as_str());
        let known: Vec<String> = names.clone().map(word).collect();
        let are = match known.len() {
            0 => "the builder was given none".to_owned(),
            _ => format!("the calendars are {}", known.join(", ")),
        };
        let reason = format!("there is no calendar {}; {are}", word(name));
        let meant = nearest(name, names).map(|meant| format!("did you mean {}?\nor ", word(meant)));
        let help = format!(
            "{}give it to the builder: Scheduler::builder().calendar({name:?}, Calendar::new())",
            meant.unwrap_or_default()
        );
        let refusal = Refusal { reason: &reason, caret: None, help: Some(&help) };
        self.faults.push(self.words.fault(attribute, &refusal));
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
        let Some(valued) = self.words.get(Attribute::Scheduler) else {
            return Arc::clone(&self.ground.pools[0]);
        };
        let name = valued.text.as_str();
        if let Some(pool) = self.ground.pools.iter().find(|pool| &***pool == name) {
            return Arc::clone(pool);
        }
        let reason = no_pool(name, self.ground.pools);
        let help = pool_help(name, self.ground.pools);
        let refusal = Refusal { reason: &reason, caret: None, help: Some(&help) };
        self.faults.push(self.words.fault(Attribute::Scheduler, &refusal));
        Arc::clone(&self.ground.pools[0])
    }
}

fn no_pool(name: &str, pools: &[Arc<str>]) -> String {
    let there: Vec<String> = pools.iter().map(|pool| word(pool)).collect();
    let are = if there.len() == 1 { "the only one is" } else { "the pools are" };
    format!("there is no pool {}; {are} {}", word(name), there.join(", "))
}

/// The pool that was probably meant, and both ways to have one of that name.
fn pool_help(name: &str, pools: &[Arc<str>]) -> String {
    if check_name(name).is_err() {
        return "write the name of one of them".to_owned();
    }
    let meant = match nearest(name, pools.iter().map(|pool| &**pool)) {
        Some(meant) => format!("did you mean {}?\nor ", word(meant)),
        None => String::new(),
    };
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let key = match name.chars().all(is_bare) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    };
    format!(
        "{meant}configure it: Scheduler::builder().pool({name:?}, Pool::new())\n\
         or in settings:\n    [scheduler.pools.{key}]\n    size = 4"
    )
}
