//! One task as planned.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_expr::{Attribute, OnLost, Priority};

use crate::define::entry::JobFacts;
use crate::define::metadata::Location;
use crate::define::settings::word;
use crate::observe::TaskFacts;
use crate::run::inject::Call;
use crate::run::task::{Policy, Rule};

/// How a store keeps the jobs of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) on_lost: OnLost,
    /// How old a missed tick may be that still runs; none for any age.
    pub(crate) misfire_window: Option<Duration>,
    pub(crate) queue: String,
    pub(crate) priority: Priority,
    /// The attributes that say when it fires, as the resolver read them; none of a job.
    pub(crate) timing: Vec<(Attribute, String)>,
}

/// A task of which everything is known, and nothing has begun.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) name: Arc<str>,
    /// The path of the function; none for a closure.
    pub(crate) function: Option<Arc<str>>,
    pub(crate) location: Location,
    pub(crate) rule: Rule,
    /// The text of the rule, if it is known already.
    pub(crate) text: Option<Arc<str>>,
    pub(crate) policy: Policy,
    /// If a store keeps what it runs: how.
    pub(crate) stored: Option<Stored>,
    /// Of a function that runs jobs: what the annotation says of them.
    pub(crate) job: Option<JobFacts>,
    pub(crate) pool: Arc<str>,
    pub(crate) tags: Arc<[Arc<str>]>,
    /// The zone in which times of the task are shown.
    pub(crate) zone: Zone,
    /// Whether its cron expression goes by the zone of the scheduler.
    pub(crate) is_zone_default: bool,
    pub(crate) call: Call,
    /// If the task is disabled, its faults, which matter when it is enabled; empty if there are none.
    pub(crate) disabled: Option<String>,
}

impl Planned {
    /// A warning if the schedule does something else than it says: an instant of it has passed, or it never fires.
    pub(crate) fn warning(&self, now: DateTime<Utc>) -> Option<String> {
        let place = format!("{}: {}", self.location, word(&self.name));
        match (&self.rule, self.policy.until) {
            _ if self.disabled.is_some() => None,
            (Rule::At(at), _) if at.to_utc() < now => {
                Some(format!("{place}: the instant of `at` has passed, and the task runs at once"))
            }
            (_, Some(until)) if until < now => Some(format!(
                "{place}: the instant of `until` has passed, and the task does not fire"
            )),
            (Rule::Cron(trigger), _) => {
                self.silence(trigger, now).map(|why| format!("{place}: {why}"))
            }
            _ => None,
        }
    }

    /// The next fire time of a cron expression that a store keeps, as its rule alone tells. The store may know of a pause, of
    /// another rule or of one that was missed.
    pub(crate) fn next_in_store(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let Rule::Cron(trigger) = &self.rule else { return None };
        self.stored.as_ref()?;
        let next = match &self.policy.skip_days {
            None => trigger.next_after(now),
            Some(days) => days.next_after(trigger, now),
        };
        next.filter(|next| self.policy.until.is_none_or(|until| *next <= until))
    }

    /// Why a cron expression never fires from now on, if that is so.
    fn silence(&self, trigger: &CronTrigger, now: DateTime<Utc>) -> Option<String> {
        if trigger.next_after(now).is_none() {
            return Some(format!(
                "`cron` never fires in {}: clocks go forward over each of its times; to run right after them, write \
                 dst_gap = \"run_after\"",
                trigger.zone()
            ));
        }
        let days = self.policy.skip_days.as_ref()?;
        let is_silent = days.next_after(trigger, now).is_none();
        is_silent
            .then(|| "`skip_days` leaves no day for `cron`, and the task does not fire".to_owned())
    }

    /// The store says when a durable task runs: its scheduled task has no rule of its own, and no further attempts.
    pub(crate) fn leave_to_store(&mut self) {
        // Without the feature the start has refused it.
        debug_assert!(cfg!(feature = "durable") || self.job.is_none());
        #[cfg(feature = "durable")]
        if self.stored.is_some() {
            self.rule = Rule::Job;
            self.policy = self.policy.for_jobs();
        }
    }

    /// The public facts of the task.
    pub(crate) fn facts(&self) -> TaskFacts {
        TaskFacts {
            name: Arc::clone(&self.name),
            function: self.function.clone(),
            kind: self.rule.kind(),
            rule: self.text.clone().unwrap_or_else(|| self.rule.to_string().into()),
            period: self.rule.period(),
            zone: self.zone,
            pool: Arc::clone(&self.pool),
            tags: Arc::clone(&self.tags),
            is_async: matches!(self.call, Call::Async(_)),
            location: Some(self.location),
        }
    }
}
