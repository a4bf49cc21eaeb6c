//! The rule of a task, as written, and queries to a trigger.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_core::{Now, Tick, Trigger, TriggerContext, WallTime};

use crate::define::settings::visible;
use crate::observe::{RuleKind, catch};
use crate::task::fire_times::FireTime;
use crate::task::scheduled_task::Empty;

/// The rule by which a task fires.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Cron(Arc<CronTrigger>),
    FixedRate {
        period: Duration,
        initial_delay: Option<Duration>,
    },
    FixedDelay {
        delay: Duration,
        initial_delay: Option<Duration>,
    },
    Once {
        delay: Duration,
    },
    /// Once, at an instant of the wall clock.
    At(WallTime),
    Custom(Arc<dyn Trigger>),
    /// By none: it runs jobs of a store.
    Job,
    /// The task is disabled, and has none.
    None,
}

impl Rule {
    pub(crate) fn kind(&self) -> RuleKind {
        match self {
            Self::Cron(_) => RuleKind::Cron,
            Self::FixedRate { .. } => RuleKind::FixedRate,
            Self::FixedDelay { .. } => RuleKind::FixedDelay,
            Self::Once { .. } => RuleKind::Once,
            Self::At(_) => RuleKind::At,
            Self::Custom(_) => RuleKind::Custom,
            Self::Job => RuleKind::Job,
            Self::None => RuleKind::None,
        }
    }

    /// The time from one fire time to the next, where the rule has one.
    pub(crate) fn period(&self) -> Option<Duration> {
        match self {
            Self::FixedRate { period, .. } => Some(*period),
            Self::FixedDelay { delay, .. } => Some(*delay),
            _ => None,
        }
    }

    /// The cron expression as it was written.
    pub(crate) fn expression(&self) -> Option<Arc<str>> {
        match self {
            Self::Cron(trigger) => Some(trigger.expression().to_string().into()),
            _ => None,
        }
    }

    /// The time from the start of the task to its first fire time, if there is one.
    pub(crate) fn initial_delay(&self) -> Option<Duration> {
        match self {
            Self::FixedRate { initial_delay, .. } | Self::FixedDelay { initial_delay, .. } => {
                *initial_delay
            }
            Self::Once { delay } => Some(*delay),
            _ => None,
        }
    }

    /// The zone of a cron expression.
    pub(crate) fn zone(&self) -> Option<Zone> {
        match self {
            Self::Cron(trigger) => Some(trigger.zone()),
            _ => None,
        }
    }

    /// The rule for a task that is running already: a rate or delay without an initial delay begins
    /// after one period.
    pub(crate) fn taking_over(self) -> Self {
        match self {
            Self::FixedRate { period, initial_delay } => {
                Self::FixedRate { period, initial_delay: initial_delay.or(Some(period)) }
            }
            Self::FixedDelay { delay, initial_delay } => {
                Self::FixedDelay { delay, initial_delay: initial_delay.or(Some(delay)) }
            }
            other => other,
        }
    }
}

/// Writes the rule as people read it: `every 1m 30s`, `0 0 9 * * * (09:00, daily) in Europe/Berlin`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let initial_delay = match self {
            Self::Cron(trigger) => return write!(f, "{trigger} in {}", trigger.zone().name()),
            Self::Custom(trigger) => return f.write_str(&text_of(&**trigger)),
            Self::Job => return f.write_str("jobs"),
            Self::None => return f.write_str("no rule"),
            Self::At(at) => {
                let at = at.to_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true);
                return write!(f, "once, at {at}");
            }
            Self::Once { delay } if delay.is_zero() => return f.write_str("once, at once"),
            Self::Once { delay } => return write!(f, "once, after {}", ExactDuration(*delay)),
            Self::FixedRate { period, initial_delay } => {
                write!(f, "every {}", ExactDuration(*period))?;
                initial_delay
            }
            Self::FixedDelay { delay, initial_delay } => {
                write!(f, "{} after each run", ExactDuration(*delay))?;
                initial_delay
            }
        };
        match initial_delay.filter(|delay| !delay.is_zero()) {
            Some(delay) => write!(f, ", first after {}", ExactDuration(delay)),
            None => Ok(()),
        }
    }
}

/// The description of a trigger, on one line. It is user code, and not called under a lock.
pub(super) fn text_of(trigger: &dyn Trigger) -> String {
    let text = catch(|| visible(&trigger.describe()));
    text.unwrap_or_else(|_| "custom trigger, which cannot be described".to_owned())
}

/// A length of time, exactly: `1d 30s`, `1m 30s`, `1.5ms` as `1ms 500µs`.
pub(super) struct ExactDuration(pub(super) Duration);

impl fmt::Display for ExactDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u128, &str); 7] = [
            (86_400_000_000_000, "d"),
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "µs"),
            (1, "ns"),
        ];
        let mut nanos = self.0.as_nanos();
        let mut gap = "";
        for (unit, name) in UNITS {
            if nanos >= unit {
                write!(f, "{gap}{}{name}", nanos / unit)?;
                (nanos, gap) = (nanos % unit, " ");
            }
        }
        if gap.is_empty() { f.write_str("0s") } else { Ok(()) }
    }
}

/// The wait after the first failed answer of a trigger. It doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A query for the fire time after a run, or for the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TriggerQuery {
    /// When the last run was to start, started and ended.
    last: Option<[WallTime; 3]>,
    /// The answer has to be later than this.
    pub(super) floor: Option<WallTime>,
}

impl TriggerQuery {
    pub(super) fn first() -> Self {
        Self { last: None, floor: None }
    }

    pub(super) fn after_run(fire: FireTime, began: Now, ended: Now) -> Self {
        let scheduled = fire.at.as_wall(began);
        Self { last: Some([scheduled, began.wall, ended.wall]), floor: Some(scheduled) }
    }

    /// After fire times up to an instant that count as fired.
    pub(super) fn following(instant: WallTime) -> Self {
        Self { last: Some([instant; 3]), floor: Some(instant) }
    }

    /// After the fire time that was skipped last; see [`TriggerQueries::note_skipped`].
    pub(super) fn after_skip(now: Now) -> Self {
        Self { last: Some([now.wall; 3]), floor: None }
    }

    pub(super) fn context(&self, now: DateTime<Utc>) -> TriggerContext {
        match self.last.map(|last| last.map(WallTime::to_utc)) {
            None => TriggerContext::first(now),
            Some([scheduled, started, completed]) => {
                TriggerContext::after_run(now, scheduled, started, completed)
            }
        }
    }
}

/// The query of one task, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TriggerQueries {
    state: QueryState,
    /// The number of failed answers in a row.
    failures: u32,
    /// The last fire time that was skipped.
    skipped: Option<WallTime>,
}

#[derive(Clone, Copy, Debug, Default)]
enum QueryState {
    #[default]
    None,
    ToAsk(TriggerQuery),
    /// It is being asked, outside the lock.
    Asking,
    /// It could not answer.
    Failed {
        query: TriggerQuery,
        again_at: Tick,
    },
}

impl Empty for TriggerQueries {
    const EMPTY: &'static Self = &Self { state: QueryState::None, failures: 0, skipped: None };
}

impl TriggerQueries {
    pub(super) fn put(&mut self, mut query: TriggerQuery) {
        if query.floor.is_none()
            && let (Some(skipped), Some(last)) = (self.skipped.take(), &mut query.last)
        {
            (last[0], query.floor) = (skipped, Some(skipped));
        }
        self.state = QueryState::ToAsk(query);
    }

    pub(super) fn note_skipped(&mut self, fire_time: WallTime) {
        self.skipped = Some(fire_time);
    }

    /// Returns the last fire time that was skipped since the last answer.
    pub(super) fn skipped(&self) -> Option<WallTime> {
        self.skipped
    }

    pub(super) fn has_one(&self) -> bool {
        matches!(self.state, QueryState::ToAsk(_))
    }

    /// Returns true if an answer is awaited, or is to be asked for.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.state, QueryState::None)
    }

    /// Takes the query out, to ask it.
    pub(super) fn begin_asking(&mut self) -> Option<TriggerQuery> {
        let QueryState::ToAsk(query) = self.state else { return None };
        self.state = QueryState::Asking;
        Some(query)
    }

    /// Returns after how long the query is asked again.
    pub(super) fn failed(&mut self, query: TriggerQuery, now: Tick) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let wait = wait_after(self.failures);
        self.state = QueryState::Failed { query, again_at: now + wait };
        wait
    }

    pub(super) fn again_at(&self) -> Option<Tick> {
        match self.state {
            QueryState::Failed { again_at, .. } => Some(again_at),
            _ => None,
        }
    }

    pub(super) fn ask_again(&mut self) {
        if let QueryState::Failed { query, .. } = self.state {
            self.state = QueryState::ToAsk(query);
        }
    }
}

fn wait_after(failures: u32) -> Duration {
    let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(doubled).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::wait_after;
    use super::*;

    #[test]
    fn a_length_is_written_exactly() {
        let cases = [
            (Duration::ZERO, "0s"),
            (Duration::from_secs(1), "1s"),
            (Duration::from_millis(1_500), "1s 500ms"),
            (Duration::from_secs(86_430), "1d 30s"),
            (Duration::from_nanos(1_002_003), "1ms 2µs 3ns"),
        ];
        for (length, text) in cases {
            assert_eq!(ExactDuration(length).to_string(), text);
        }
    }

    #[test]
    fn rules_are_written_as_people_read_them() {
        let second = Duration::from_secs(1);
        let cron = CronTrigger::new("0 0 9 * * MON-FRI".parse().unwrap(), Zone::UTC);
        let cases = [
            (Rule::Cron(Arc::new(cron)), "0 0 9 * * MON-FRI (09:00, Monday to Friday) in UTC"),
            (Rule::FixedRate { period: second, initial_delay: None }, "every 1s"),
            (
                Rule::FixedDelay { delay: second * 90, initial_delay: Some(second) },
                "1m 30s after each run, first after 1s",
            ),
            (Rule::Once { delay: second }, "once, after 1s"),
            (Rule::Once { delay: Duration::ZERO }, "once, at once"),
        ];
        for (rule, text) in cases {
            assert_eq!(rule.to_string(), text);
        }
    }

    #[test]
    fn a_rate_without_an_initial_delay_begins_after_one_period_when_it_replaces_another() {
        let period = Duration::from_secs(5);
        let first = |rule: Rule| match rule.taking_over() {
            Rule::FixedRate { initial_delay, .. } | Rule::FixedDelay { initial_delay, .. } => {
                initial_delay
            }
            _ => None,
        };
        for (given, expected) in [(None, 5), (Some(0), 0), (Some(10), 10)] {
            let (initial_delay, expected) =
                (given.map(Duration::from_secs), Some(Duration::from_secs(expected)));
            assert_eq!(first(Rule::FixedRate { period, initial_delay }), expected);
            assert_eq!(first(Rule::FixedDelay { delay: period, initial_delay }), expected);
        }
    }

    #[test]
    fn the_wait_doubles_up_to_a_minute() {
        let waits = [1, 2, 3, 6, 7, 8, 40, u32::MAX].map(|count| wait_after(count).as_secs());
        assert_eq!(waits, [1, 2, 4, 32, 60, 60, 60, 60]);
    }
}
