//! The policies of a task, and a task with everything resolved.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::CronTrigger;
use scheduler_expr::{Attribute, Misfire, OnError, OnLost, Overlap, Priority};

use crate::define::calendar::Calendar;
use crate::define::entry::JobFacts;
use crate::define::settings::word;
use crate::observe::TaskFacts;
use crate::run::inject::Call;
use crate::task::rule::Rule;

/// The number of further attempts of a failed run, and the waits before them.
///
/// After the k-th attempt the run waits a random part of `min(cap, base * 2^(k-1))` ("full jitter"),
/// and holds no thread meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Retry {
    /// The number of attempts after the first one; zero for none.
    pub(crate) max: u32,
    /// The longest wait after the first attempt; it doubles with each further one. One second by
    /// default.
    pub(crate) base: Duration,
    /// The longest wait after any attempt; one minute by default.
    pub(crate) cap: Duration,
}

/// Nanoseconds of a second.
const NANOS: u128 = 1_000_000_000;

impl Retry {
    /// Never.
    pub(crate) const NONE: Self = Self::new(0);

    /// Up to `max` further attempts.
    pub(crate) const fn new(max: u32) -> Self {
        Self { max, base: Duration::from_secs(1), cap: Duration::from_secs(60) }
    }

    /// Sets the longest wait after the first attempt.
    pub(crate) const fn base(self, base: Duration) -> Self {
        Self { base, ..self }
    }

    /// Sets the longest wait after any attempt.
    pub(crate) const fn cap(self, cap: Duration) -> Self {
        Self { cap, ..self }
    }

    /// The longest wait after an attempt, the first being 1.
    pub(crate) fn longest_wait_after(self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1);
        let nanos = self.base.as_nanos();
        let doubled = match nanos {
            0 => 0,
            _ if doublings < nanos.leading_zeros() => nanos << doublings,
            _ => u128::MAX,
        };
        if doubled >= self.cap.as_nanos() {
            return self.cap;
        }
        let seconds = u64::try_from(doubled / NANOS).unwrap_or(u64::MAX);
        Duration::new(seconds, u32::try_from(doubled % NANOS).unwrap_or_default())
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::NONE
    }
}

/// All policies of one task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    pub(crate) overlap: Overlap,
    pub(crate) misfire: Misfire,
    /// The longest time by which a run starts later than its fire time; zero for none.
    pub(crate) jitter: Duration,
    /// The time limit of one attempt.
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Retry,
    pub(crate) on_error: OnError,
    /// The last instant at which the task may fire.
    pub(crate) until: Option<DateTime<Utc>>,
    /// The most runs of the schedule.
    pub(crate) max_runs: Option<NonZeroU64>,
    /// The most runs in progress at once; only with `overlap = "allow"`.
    pub(crate) max_concurrent: Option<NonZeroU32>,
    /// The days, in the zone of the cron expression, on which the task does not fire.
    pub(crate) skip_days: Option<Arc<Calendar>>,
    /// The seed of jitter and of the waits between attempts, beside the name of the task.
    pub(crate) seed: u64,
}

impl Policy {
    /// Shares the policies. All tasks without options have the same: there may be very many.
    pub(crate) fn shared(self) -> Arc<Self> {
        static DEFAULT: LazyLock<Arc<Policy>> = LazyLock::new(Arc::default);
        if self == **DEFAULT { Arc::clone(&DEFAULT) } else { Arc::new(self) }
    }
}

#[cfg(feature = "durable")]
impl Retry {
    /// The wait of a failed job before its next attempt: the longest one, and up to an eighth more. That differs from job to job,
    /// so that jobs that failed together do not all come back at once.
    pub(crate) fn wait_of_job(self, job: &scheduler_store::StoredJob) -> Duration {
        // A loss is no failure, and makes no wait longer.
        let is_lost =
            |of: &&scheduler_store::JobAttempt| of.outcome == scheduler_store::AttemptOutcome::Lost;
        let losses = u32::try_from(job.attempts.iter().filter(is_lost).count()).unwrap_or(u32::MAX);
        let least = self.longest_wait_after(job.attempt.saturating_sub(losses));
        let (high, low) = job.id.as_uuid().as_u64_pair();
        let part = u32::try_from((high ^ low ^ u64::from(job.attempt)) % 1_000).unwrap_or_default();
        least.saturating_add(least / 8 * part / 1_000)
    }
}

#[cfg(feature = "durable")]
impl Policy {
    /// The policies of a task that runs jobs: a store decides when one starts, and about further attempts.
    pub(crate) fn for_jobs(&self) -> Self {
        Self { overlap: Overlap::Allow, timeout: self.timeout, seed: self.seed, ..Self::default() }
    }
}

/// Calendars are equal only if they are the same.
impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        let key = |policy: &Self| {
            let Self { overlap, misfire, jitter, timeout, retry, on_error, .. } = *policy;
            let Self { until, max_runs, max_concurrent, seed, .. } = *policy;
            let days = policy.skip_days.as_ref().map(Arc::as_ptr);
            let first = (overlap, misfire, jitter, timeout, retry, on_error);
            (first, until, max_runs, max_concurrent, days, seed)
        };
        key(self) == key(other)
    }
}

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
    /// The time after it was due in which a job may begin.
    pub(crate) expires: Option<Duration>,
    pub(crate) queue: String,
    pub(crate) priority: Priority,
    /// The attributes that limit its jobs, each with a checked text.
    pub(crate) limits: Vec<(Attribute, String)>,
    /// The attributes that make its rule, each in its only spelling; none of a job.
    pub(crate) timing: Vec<(Attribute, String)>,
}

#[cfg(feature = "durable")]
impl DurableOptions {
    /// The text of an attribute that limits its jobs.
    pub(crate) fn limit(&self, attribute: Attribute) -> Option<&str> {
        self.limits.iter().find(|(known, _)| *known == attribute).map(|(_, text)| text.as_str())
    }
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

#[cfg(test)]
mod tests {
    use scheduler_expr::RuleKind;

    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_never_overflow() {
        let retry = Retry::new(100);
        let waits: Vec<u64> =
            (1..=9).map(|attempt| retry.longest_wait_after(attempt).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        for attempt in [31, 32, 33, 34, 64, 65, u32::MAX] {
            assert_eq!(retry.longest_wait_after(attempt), retry.cap);
            let tiny = retry.base(Duration::from_nanos(1));
            assert!(tiny.longest_wait_after(attempt) >= Duration::from_secs(1));
            assert_eq!(retry.base(Duration::ZERO).longest_wait_after(attempt), Duration::ZERO);
            assert!(Retry::new(1).cap(Duration::MAX).longest_wait_after(attempt) > retry.cap);
        }
    }

    /// The check of attributes has the cap as a text.
    #[test]
    fn a_first_wait_up_to_the_cap_is_no_fault() {
        let cap = Retry::NONE.cap.as_secs();
        let faults = |base: u64| {
            let base = format!("{base}s");
            let attributes = [
                (Attribute::FixedRate, "1s"),
                (Attribute::RetryMax, "1"),
                (Attribute::RetryBase, &base),
            ];
            Attribute::check_together(&attributes, RuleKind::Once, None).len()
        };
        assert_eq!((faults(cap), faults(cap + 1)), (0, 1));
    }

    /// Lengths at which arithmetic may overflow.
    const DURATIONS: [Duration; 7] = [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_nanos(i64::MAX as u64 + 1),
        Duration::from_nanos(u64::MAX),
        Duration::from_nanos(u64::MAX).saturating_add(Duration::from_nanos(1)),
        Duration::from_secs(u64::MAX),
        Duration::MAX,
    ];

    #[test]
    fn f_ti1_waits_between_attempts_at_every_edge() {
        for base in DURATIONS {
            for cap in DURATIONS {
                for attempt in [0, 1, 2, 31, 32, 33, 34, 64, 65, 94, 128, u32::MAX] {
                    let retry = Retry::new(u32::MAX).base(base).cap(cap);
                    let doublings = attempt.saturating_sub(1);
                    let doubled = (0..doublings.min(200)).try_fold(base.as_nanos(), |wait, _| {
                        wait.checked_mul(2).filter(|wait| *wait <= Duration::MAX.as_nanos())
                    });
                    let expected = doubled.unwrap_or(u128::MAX).min(cap.as_nanos());
                    let wait = retry.longest_wait_after(attempt).as_nanos();
                    assert_eq!(wait, expected, "{base:?} {cap:?} {attempt}");
                }
            }
        }
    }
}
