//! Limits of a task's jobs in all processes together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use scheduler_expr::OnPark;
use serde::{Deserialize, Serialize};

use crate::check::storable;
use crate::column::{Column, ColumnField, ColumnKind, ColumnValue, column};
use crate::error::Refusal;
use crate::id::StoreTime;
use crate::job::NewJob;

/// The most that may be done of some jobs at a time, in all processes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limit {
    /// The greatest number that run at once; none for any number.
    pub running: Option<u32>,
    /// The rate at which they start; none for any.
    pub rate: Option<Rate>,
    /// Of each partition: its jobs start in their order, each after the one before it has ended. None if they do not.
    #[serde(default, with = "on_park_word", skip_serializing_if = "Option::is_none")]
    pub ordered: Option<OnPark>,
    /// The number of due jobs in a queue at which no more are [accepted](NewJob::is_guarded); none for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u32>,
}

/// So many starts in any window of time of this length, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rate {
    /// The starts; at least 1.
    pub starts: u32,
    /// The length of the window.
    pub period: Duration,
    /// The greatest number that start at once after a rest: at least 1, and at most `starts`. More at once means fewer over a
    /// longer time: `starts - burst + 1` in each period.
    pub burst: u32,
}

/// The jobs that a [`Limit`] counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitScope {
    /// All jobs of the task.
    All,
    /// Those of each partition.
    Each,
}

impl LimitScope {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::All, Self::Each];

    /// The word that stores keep and people read.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Each => "each",
        }
    }
}

impl ColumnField for LimitScope {
    const KIND: ColumnKind = ColumnKind::Words(&["all", "each"]);

    fn value(&self) -> ColumnValue<'_> {
        ColumnValue::Text(self.word().into())
    }

    fn put(&mut self, value: ColumnValue<'_>) {
        *self = if value.text() == "each" { Self::Each } else { Self::All };
    }
}

impl Limit {
    /// Returns true if it limits nothing.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = [
            self.running.map(|running| format!("{running} running")),
            self.rate.map(|rate| rate.to_string()),
            self.waiting.map(|waiting| format!("{waiting} waiting")),
            self.ordered.map(|on_park| match on_park {
                OnPark::GoOn => "in order".to_owned(),
                OnPark::Hold => "in order, none behind a parked one".to_owned(),
            }),
        ];
        let texts: Vec<String> = texts.into_iter().flatten().collect();
        f.write_str(if texts.is_empty() { "no limit" } else { "" })?;
        f.write_str(&texts.join(", "))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { starts, period, burst } = self;
        write!(f, "{starts} starts in {period:?}")?;
        if *burst > 1 { write!(f, ", {burst} at once") } else { Ok(()) }
    }
}

/// Nanoseconds since the Unix epoch, in which rates are counted: a microsecond is too coarse for a million starts in a minute.
///
/// It is the *theoretical arrival time* of the generic cell rate algorithm: while it lies ahead, starts have been taken in advance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival(pub i64);

impl Arrival {
    /// Returns false if it says no more than none.
    #[must_use]
    pub fn lies_ahead(self, now: StoreTime) -> bool {
        self.0 > nanos(now)
    }
}

impl Rate {
    /// The time between two starts that go on for long, in nanoseconds: at most `starts` fall into any window of the period.
    #[must_use]
    pub fn gap(&self) -> i64 {
        let nanos = self.period.as_nanos().max(1);
        let sustained =
            u128::from(self.starts.max(1) - self.burst.clamp(1, self.starts.max(1)) + 1);
        i64::try_from(nanos.div_ceil(sustained)).unwrap_or(i64::MAX).max(1)
    }

    fn ahead(&self) -> i64 {
        self.gap().saturating_mul(i64::from(self.burst.max(1)))
    }

    /// An arrival as this rate allows it: one of another rate, or of a clock that was ahead, may lie further in the future.
    fn arrival(&self, arrival: Option<Arrival>, now: StoreTime) -> i64 {
        let now = nanos(now);
        arrival.map_or(now, |at| at.0.clamp(now, now.saturating_add(self.ahead())))
    }

    /// The number of starts that are allowed now.
    #[must_use]
    pub fn room(&self, arrival: Option<Arrival>, now: StoreTime) -> u32 {
        let left = nanos(now).saturating_add(self.ahead()) - self.arrival(arrival, now);
        u32::try_from(left / self.gap()).unwrap_or(u32::MAX)
    }

    /// The arrival after so many starts.
    #[must_use]
    pub fn after(&self, arrival: Option<Arrival>, now: StoreTime, starts: u32) -> Arrival {
        let taken = self.gap().saturating_mul(i64::from(starts));
        Arrival(self.arrival(arrival, now).saturating_add(taken))
    }

    /// When the next start is allowed.
    #[must_use]
    pub fn opens_at(&self, arrival: Option<Arrival>, now: StoreTime) -> StoreTime {
        let free = self.arrival(arrival, now) - self.ahead() + self.gap();
        StoreTime::from_micros(free.div_euclid(1_000) + i64::from(free.rem_euclid(1_000) > 0))
            .max(now)
    }
}

fn nanos(at: StoreTime) -> i64 {
    at.as_micros().saturating_mul(1_000)
}

/// The limits of a task as a process registers them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitSpec {
    /// The name of the task.
    pub task: String,
    /// The names that it had before, whose jobs count, too.
    pub former_names: Vec<String>,
    /// The limit of all its jobs together.
    pub all: Limit,
    /// The limit of each partition.
    pub each: Limit,
}

/// A limit that was set by hand in place of the one in the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitOverride {
    /// The limit.
    pub limit: Limit,
    /// The person or program that has set it.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// A limit as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredLimit {
    /// The name of the task.
    pub task: String,
    /// The jobs that it counts together.
    pub scope: LimitScope,
    /// The names of the task, its former ones among them.
    pub names: Vec<String>,
    /// The limit in the code; none if the last build that has registered has none.
    pub code: Option<Limit>,
    /// The one that was set by hand.
    pub by_hand: Option<LimitOverride>,
    /// When the process that registered it first opened a session, by the store's clock (R15).
    pub registrant_opened: StoreTime,
}

impl StoredLimit {
    /// The limit that counts.
    #[must_use]
    pub fn limit(&self) -> Limit {
        self.by_hand.as_ref().map(|hand| hand.limit).or(self.code).unwrap_or_default()
    }

    fn new(task: &str, scope: LimitScope) -> Self {
        let (names, registrant_opened) = (vec![task.to_owned()], StoreTime::MIN);
        Self { task: task.to_owned(), scope, names, code: None, by_hand: None, registrant_opened }
    }
}

type Row = StoredLimit;

/// All columns of a limit. Those of the limit that counts are for the claims of a store that reads nothing else.
pub const LIMIT_COLUMNS: [Column<Row>; 11] = [
    column!("task", String, row.task),
    column!("scope", LimitScope, row.scope),
    column!(
        "names",
        String,
        |row| ColumnValue::Text(row.names.join(NAMES).into()),
        |row, value| row.names = value.text().split(NAMES).map(str::to_owned).collect()
    ),
    column!("running", Option<u32>, |row| int(row.limit().running.map(i64::from)), |_, _| {}),
    column!("gap", Option<u32>, |row| int(row.limit().rate.map(|rate| rate.gap())), |_, _| {})
        .kind(ColumnKind::Long),
    column!(
        "burst",
        Option<u32>,
        |row| int(row.limit().rate.map(|rate| rate.burst.into())),
        |_, _| {}
    ),
    column!("waiting", Option<u32>, |row| int(row.limit().waiting.map(i64::from)), |_, _| {}),
    column!("ordered", Option<String>, |row| on_park(row.limit().ordered), |_, _| {}),
    column!("code", Option<String>, |row| json(row.code.as_ref()), |row, value| {
        row.code = serde_json::from_str(value.text()).ok();
    }),
    column!("by_hand", Option<String>, |row| json(row.by_hand.as_ref()), |row, value| {
        row.by_hand = serde_json::from_str(value.text()).ok();
    }),
    column!("registrant_opened", StoreTime, row.registrant_opened),
];

/// Between the names of a task.
const NAMES: &str = "\u{1F}";

fn int(number: Option<i64>) -> ColumnValue<'static> {
    number.map_or(ColumnValue::Null, ColumnValue::Int)
}

fn on_park(rule: Option<OnPark>) -> ColumnValue<'static> {
    rule.map_or(ColumnValue::Null, |rule| ColumnValue::Text(rule.name().into()))
}

/// The rule for parked jobs as its word.
mod on_park_word {
    use super::{Deserialize, OnPark};

    pub(super) fn serialize<S: serde::Serializer>(
        rule: &Option<OnPark>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&rule.map(OnPark::name), to)
    }

    pub(super) fn deserialize<'a, D: serde::Deserializer<'a>>(
        from: D,
    ) -> Result<Option<OnPark>, D::Error> {
        let word = Option::<String>::deserialize(from)?;
        Ok(word.map(|word| word.parse().unwrap_or_default()))
    }
}

fn json(value: Option<&impl Serialize>) -> ColumnValue<'static> {
    let text = value.and_then(|value| serde_json::to_string(value).ok());
    text.map_or(ColumnValue::Null, |text| ColumnValue::Text(text.into()))
}

/// A limit without contents, for a store that reads one.
#[must_use]
pub fn empty_limit() -> StoredLimit {
    StoredLimit::new("", LimitScope::All)
}

/// The limits of a store, by task and scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredLimits(pub BTreeMap<(String, LimitScope), StoredLimit>);

impl StoredLimits {
    /// Those of rows.
    #[must_use]
    pub fn of_rows(rows: impl IntoIterator<Item = StoredLimit>) -> Self {
        Self(rows.into_iter().map(|row| ((row.task.clone(), row.scope), row)).collect())
    }

    /// The rows that the others have not.
    pub fn changed_since(&self, before: &Self) -> impl Iterator<Item = &StoredLimit> {
        self.0.iter().filter(|(place, row)| before.0.get(*place) != Some(row)).map(|(_, row)| row)
    }

    /// Writes what a process registers that first opened a session then: the later process counts (R15), and a limit by hand
    /// stays until the code has another one (R17).
    pub fn register(&mut self, specs: &[LimitSpec], opened: StoreTime) {
        for spec in specs {
            for (scope, limit) in [(LimitScope::All, spec.all), (LimitScope::Each, spec.each)] {
                let place = (spec.task.clone(), scope);
                let code = Some(limit).filter(|limit| !limit.is_none());
                if code.is_none() && !self.0.contains_key(&place) {
                    continue;
                }
                let new = || StoredLimit::new(&spec.task, scope);
                let row = self.0.entry(place).or_insert_with(new);
                if opened < row.registrant_opened {
                    continue;
                }
                if code != row.code && row.registrant_opened > StoreTime::MIN {
                    row.by_hand = None;
                }
                row.names = vec![spec.task.clone()];
                for name in &spec.former_names {
                    if !row.names.contains(name) {
                        row.names.push(name.clone());
                    }
                }
                (row.code, row.registrant_opened) = (code, opened);
            }
        }
    }

    /// Sets a limit by hand, or restores the one in the code.
    pub fn set(&mut self, task: &str, scope: LimitScope, by_hand: Option<LimitOverride>) {
        let new = || StoredLimit::new(task, scope);
        let row = self.0.entry((task.to_owned(), scope)).or_insert_with(new);
        row.by_hand = by_hand.map(|hand| {
            let (by, reason) = (storable(&hand.by), storable(&hand.reason));
            LimitOverride { limit: hand.limit, by, reason }
        });
    }

    /// The names of tasks that have a limit, the former ones among them, with their limits.
    pub fn limited(&self) -> impl Iterator<Item = (&str, TaskLimits)> {
        let names = self.0.values().flat_map(|row| &row.names);
        let names: BTreeSet<&str> = names.map(|name| &**name).collect();
        let limits = names.into_iter().map(|name| (name, self.of(name)));
        limits.filter(|(_, limits)| limits.is_limited())
    }

    /// The limits of the task that has this name, or else of the first that had it.
    #[must_use]
    pub fn of(&self, name: &str) -> TaskLimits {
        let rows = || self.0.values().filter(|row| row.names.iter().any(|each| each == name));
        let own = rows().find(|row| row.task == name).or_else(|| rows().next());
        let task = own.map_or(name, |row| &row.task).to_owned();
        let mut found = TaskLimits { task, ..TaskLimits::default() };
        for row in self.0.values().filter(|row| row.task == found.task) {
            // One of the two may be of an older build, with other former names.
            found.names.extend(row.names.iter().cloned());
            match row.scope {
                LimitScope::All => found.all = Limit { ordered: None, ..row.limit() },
                LimitScope::Each => found.each = row.limit(),
            }
        }
        if found.each.ordered.is_some() {
            found.each.running = Some(1);
        }
        found.names.sort_unstable();
        found.names.dedup();
        found
    }
}

/// The limits that count for a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskLimits {
    /// The name of the task.
    pub task: String,
    /// Its names; empty if it has no limits.
    pub names: Vec<String>,
    /// The limit of all its jobs together.
    pub all: Limit,
    /// The limit of each partition.
    pub each: Limit,
}

impl TaskLimits {
    /// Returns true if there is one.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        !self.all.is_none() || !self.each.is_none()
    }

    /// Why a job is not accepted, if as many wait as may: all jobs of its task and queue, or those with its partition and its version of the
    /// payload, too. A store counts no further than the limit.
    ///
    /// # Errors
    ///
    /// The store could not count.
    pub fn full<E>(
        &self,
        new: &NewJob,
        count: impl Fn(LimitScope, u32) -> Result<u32, E>,
    ) -> Result<Option<Refusal>, E> {
        for (scope, limit) in [(LimitScope::Each, self.each), (LimitScope::All, self.all)] {
            let Some(waiting) = limit.waiting else { continue };
            if count(scope, waiting)? >= waiting {
                let partition = new.partition.clone().unwrap_or_default();
                let partition = Some(partition).filter(|_| scope == LimitScope::Each);
                return Ok(Some(Refusal::Full { task: new.task.clone(), partition, waiting }));
            }
        }
        Ok(None)
    }
}

/// Why none of new jobs is accepted: the first that is not known, and whose task or partition is [full](TaskLimits::full). Each partition is
/// counted once.
///
/// # Errors
///
/// The store could not look.
pub fn refuse_full<E>(
    jobs: &[NewJob],
    is_known: impl Fn(&NewJob) -> Result<bool, E>,
    limits: impl Fn(&str) -> Result<TaskLimits, E>,
    count: impl Fn(&NewJob, LimitScope, u32) -> Result<u32, E>,
) -> Result<Option<Refusal>, E> {
    let mut counted = BTreeSet::new();
    for new in jobs.iter().filter(|new| new.is_guarded) {
        let place = (&new.task, &new.queue, new.payload.version, &new.partition);
        if counted.contains(&place) || is_known(new)? {
            continue;
        }
        counted.insert(place);
        let full = limits(&new.task)?.full(new, |scope, most| count(new, scope, most))?;
        if full.is_some() {
            return Ok(full);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts that are taken as soon as they are allowed.
    fn starts(rate: Rate, until: StoreTime) -> Vec<StoreTime> {
        let (mut now, mut arrival, mut taken) = (StoreTime::from_micros(0), None, Vec::new());
        while now < until {
            let room = rate.room(arrival, now);
            taken.extend((0..room).map(|_| now));
            arrival = Some(rate.after(arrival, now, room));
            now = rate.opens_at(arrival, now);
        }
        taken
    }

    /// The most in any window, and the number over all.
    #[test]
    fn no_window_has_more_starts_than_the_rate() {
        let minute = Duration::from_secs(60);
        for (count, period, burst) in [
            (1, minute, 1),
            (2, minute, 1),
            (2, minute, 2),
            (100, minute, 10),
            (7, minute, 7),
            (3, Duration::from_micros(10), 1),
        ] {
            let rate = Rate { starts: count, period, burst };
            let all = starts(rate, StoreTime::from_micros(0).after(period * 20));
            let most = (0..all.len()).map(|first| {
                let end = all[first].after(period);
                all[first..].iter().take_while(|at| **at < end).count()
            });
            assert_eq!(most.max(), Some(count as usize), "{rate:?}");
            let sustained = (count - burst + 1) as usize * 20;
            assert!(
                (sustained - 20..=sustained + 20).contains(&all.len()),
                "{rate:?}: {}",
                all.len()
            );
        }
    }

    #[test]
    fn a_million_in_a_minute_are_not_rounded_to_fewer() {
        let rate = Rate { starts: 700_000, period: Duration::from_secs(60), burst: 1 };
        let (mut arrival, mut count) = (None, 0);
        for millis in 0..60_000_i64 {
            let now = StoreTime::from_micros(millis * 1_000);
            let room = Rate { burst: 20, ..rate }.room(arrival, now);
            arrival = Some(Rate { burst: 20, ..rate }.after(arrival, now, room));
            count += room;
        }
        assert!((699_980..=700_020).contains(&count), "{count}");
    }

    /// A rate that was lowered, or a clock that was set back, shuts nothing for longer than the rate of now.
    #[test]
    fn an_arrival_far_ahead_is_none() {
        let rate = Rate { starts: 6, period: Duration::from_secs(60), burst: 1 };
        let (now, far) = (StoreTime::from_micros(0), Some(Arrival(i64::MAX)));
        assert_eq!(rate.room(far, now), 0);
        assert_eq!(rate.opens_at(far, now), now.after(Duration::from_secs(10)));
    }

    #[test]
    fn a_limit_by_hand_survives_a_deploy_until_the_code_has_another() {
        let opened = |second: i64| StoreTime::from_micros(second * 1_000_000);
        let running = |count| Limit { running: Some(count), ..Limit::default() };
        let spec =
            |count| LimitSpec { task: "send".into(), each: running(count), ..LimitSpec::default() };
        let hand = |count| LimitOverride {
            limit: running(count),
            by: "ada".into(),
            reason: "slow".into(),
        };
        let mut limits = StoredLimits::default();
        let of = |limits: &StoredLimits| limits.of("send").each.running;
        limits.register(&[spec(5)], opened(10));
        assert_eq!(of(&limits), Some(5));
        limits.set("send", LimitScope::Each, Some(hand(2)));
        limits.register(&[spec(5)], opened(11));
        assert_eq!(of(&limits), Some(2), "a restart");
        limits.register(&[spec(7)], opened(9));
        assert_eq!(of(&limits), Some(2), "an older process");
        limits.register(&[spec(7)], opened(12));
        assert_eq!(of(&limits), Some(7), "another limit in the code");
        limits.register(&[LimitSpec { task: "send".into(), ..LimitSpec::default() }], opened(13));
        assert_eq!(of(&limits), None, "none in the code");
        assert!(!limits.of("send").is_limited() && limits.0.len() == 1);
    }
}
