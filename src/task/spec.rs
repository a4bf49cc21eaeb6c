//! A task with everything resolved; nothing has started.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::CronTrigger;
use scheduler_expr::{Attribute, OnLost, Priority};

use super::policy::Policy;
use super::rule::Rule;
use crate::define::entry::JobFacts;
use crate::define::settings::word;
use crate::observe::TaskFacts;
use crate::run::inject::Call;

/// A task as it will run: its rule, its policies and its call.
#[derive(Clone, Debug)]
pub(crate) struct TaskSpec {
    pub(crate) facts: Arc<TaskFacts>,
    pub(crate) rule: Rule,
    pub(crate) policy: Arc<Policy>,
    /// `None` if no store keeps its runs.
    pub(crate) durable: Option<DurableOptions>,
    /// The version and the former names of a `#[job]`.
    pub(crate) job: Option<JobFacts>,
    /// The faults of arguments that are not managed. A process that runs the task has none.
    pub(crate) missing: Vec<String>,
    /// True if its cron expression goes by the zone of the scheduler.
    pub(crate) is_zone_default: bool,
    pub(crate) call: Call,
    /// `Some` if the task is disabled: the errors of its attributes, which matter when it is enabled; empty if there are none.
    pub(crate) disabled: Option<String>,
}

/// The options with which a store keeps the jobs of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DurableOptions {
    pub(crate) on_lost: OnLost,
    /// The age up to which a missed fire time still runs; `None` for any age.
    pub(crate) misfire_window: Option<Duration>,
    pub(crate) queue: String,
    pub(crate) priority: Priority,
    /// The attributes that make its rule, each in its only spelling; none of a job.
    pub(crate) timing: Vec<(Attribute, String)>,
}

impl TaskSpec {
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.facts.name
    }

    pub(crate) fn is_disabled(&self) -> bool {
        self.disabled.is_some()
    }

    /// File and line of the definition, and the name.
    pub(crate) fn place(&self) -> String {
        let location = self.facts.location.map(|location| format!("{location}: "));
        format!("{}{}", location.unwrap_or_default(), word(&self.facts.name))
    }

    /// A warning if an instant of the schedule has passed, or the task never fires.
    pub(crate) fn warning(&self, now: DateTime<Utc>) -> Option<String> {
        if self.is_disabled() {
            return None;
        }
        let reason = match (&self.rule, self.policy.until) {
            (Rule::At(at), _) if at.to_utc() < now => {
                "the instant of `at` has passed, and the task runs at once".to_owned()
            }
            (_, Some(until)) if until < now => {
                "the instant of `until` has passed, and the task does not fire".to_owned()
            }
            (Rule::Cron(trigger), _) => self.never_fires(trigger, now)?,
            _ => return None,
        };
        Some(format!("{}: {reason}", self.place()))
    }

    /// The next fire time of a durable cron expression by its rule alone: the store may know of a pause, of another rule or
    /// of a missed fire time.
    pub(crate) fn next_in_store(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let Rule::Cron(trigger) = &self.rule else { return None };
        self.durable.as_ref()?;
        let next = match &self.policy.skip_days {
            None => trigger.next_after(now),
            Some(days) => days.next_after(trigger, now),
        };
        next.filter(|next| self.policy.until.is_none_or(|until| *next <= until))
    }

    /// The reason why a cron expression never fires from now on, if that is so.
    fn never_fires(&self, trigger: &CronTrigger, now: DateTime<Utc>) -> Option<String> {
        if trigger.next_after(now).is_none() {
            return Some(format!(
                "`cron` never fires in {}: clocks go forward over each of its times; to run right after them, write \
                 dst_gap = \"run_after\"",
                trigger.zone()
            ));
        }
        let days = self.policy.skip_days.as_ref()?;
        let never = days.next_after(trigger, now).is_none();
        never.then(|| "`skip_days` leaves no day for `cron`, and the task does not fire".to_owned())
    }

    /// The rule and the policies by which the task runs in this process. A store says when a durable task runs: here it has
    /// no rule of its own, and no further attempts.
    pub(super) fn rule_and_policy(&self) -> (Rule, Arc<Policy>) {
        // Without the feature the start has refused it.
        debug_assert!(cfg!(feature = "durable") || self.job.is_none());
        #[cfg(feature = "durable")]
        if self.durable.is_some() {
            return (Rule::Job, Arc::new(self.policy.for_jobs()));
        }
        (self.rule.clone(), Arc::clone(&self.policy))
    }
}
