//! The fire times of a schedule, and plans, without running anything.

use std::any::{Any, TypeId, type_name};
use std::fmt::Write;
use std::ops::{Deref, Index};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::trigger::Zone;
use scheduler_expr::{Attribute, Misfire, OnError, Overlap};

use crate::base::metadata::Location;
use crate::define::entry::{Definition, entries};
use crate::define::schedule::Schedule;
use crate::define::settings::names::Names;
use crate::define::settings::{Environment, Settings, SettingsError, SettingsInput};
use crate::run::inject::Call;
use crate::start::registrar::{Crons, ResolveContext, resolve};
use crate::start::{Builder, StartError};
use crate::task::{Policy, TaskSpec, upcoming};
use crate::testing::moment::{IntoMoment, Moment, moment};
use crate::testing::or_panic;

/// The schedule of an annotated function, given by its name, or a [`Schedule`] that is written in code.
///
/// It reads the annotation itself, so that the test needs no copy of its text. Nothing
/// is run, no clock is read, and neither the environment nor a settings file.
///
/// ```standalone_crate
/// use scheduler::scheduled;
/// use scheduler::testing::schedule_of;
///
/// #[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin")]
/// fn daily_report() {}
///
/// let runs = schedule_of(daily_report)
///     .between("2026-03-27T00:00[Europe/Berlin]", "2026-03-31T00:00[Europe/Berlin]");
/// assert_eq!(runs.local(), ["Fri 2026-03-27 09:00+01:00", "Mon 2026-03-30 09:00+02:00"]);
/// ```
///
/// # Panics
///
/// When the function has no `#[scheduled(…)]`.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "functions are given by their names")]
pub fn schedule_of<S: 'static>(task: S) -> ScheduleOf {
    if let Some(schedule) = (&task as &dyn Any).downcast_ref::<Schedule>() {
        return ScheduleOf::new(vec![Definition::in_code(
            "schedule",
            schedule.clone(),
            Call::noop(),
            Location { file: "the test", line: 0 },
        )]);
    }
    let annotations = entries().into_iter().filter(|entry| entry.belongs_to(TypeId::of::<S>()));
    let definitions: Vec<Definition> =
        annotations.map(|entry| Definition::of_entry(entry, Call::noop())).collect();
    assert!(
        !definitions.is_empty(),
        "`{}` has no `#[scheduled(…)]`, so it has no schedule",
        type_name::<S>()
    );
    ScheduleOf::new(definitions)
}

/// The schedule of a cron expression; short for `schedule_of(Schedule::cron(…))`.
///
/// ```
/// use scheduler::testing::schedule;
///
/// let next = schedule("0 0 9 * * MON-FRI")
///     .zone("Europe/Berlin")
///     .next_after("2026-03-27T09:00[Europe/Berlin]");
/// assert_eq!(next.local(), "Mon 2026-03-30 09:00+02:00");
/// ```
pub fn schedule(cron: &str) -> ScheduleOf {
    schedule_of(Schedule::cron(cron))
}

/// The fire times of a schedule: see [`schedule_of`].
///
/// The times are those of the rule, without jitter. Those of a fixed rate count from the
/// [start](Self::from); those of a fixed delay, too, as if each run took no time.
///
/// ```standalone_crate
/// use scheduler::scheduled;
/// use scheduler::testing::schedule_of;
///
/// #[scheduled(cron = "${report.cron:0 0 9 * * *}")]
/// fn report() {}
///
/// let next = |at: &str| schedule_of(report).set("report.cron", at).next_after("2026-01-01T00:00:00Z");
/// assert_eq!(next("0 0 8 * * *").to_string(), "2026-01-01T08:00:00Z");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a schedule does nothing until it is asked"]
pub struct ScheduleOf {
    definitions: Vec<Definition>,
    chosen: Option<usize>,
    zone: Zone,
    set: Vec<(String, String)>,
    start: Option<DateTime<Utc>>,
}

impl ScheduleOf {
    fn new(definitions: Vec<Definition>) -> Self {
        Self { definitions, chosen: None, zone: Zone::UTC, set: Vec::new(), start: None }
    }

    /// Chooses one of several annotations of the function, the topmost being 1.
    ///
    /// # Panics
    ///
    /// When there are fewer.
    #[track_caller]
    pub fn annotation(mut self, number: usize) -> Self {
        let count = self.definitions.len();
        assert!((1..=count).contains(&number), "there are {count} annotations, and no {number}th");
        self.chosen = Some(number - 1);
        self
    }

    /// The zone of a cron expression without one, and of the shown times; UTC by default.
    ///
    /// # Panics
    ///
    /// When there is no such zone.
    #[track_caller]
    pub fn zone(mut self, name: &str) -> Self {
        self.zone = or_panic(name.parse());
        self
    }

    /// Sets a setting, as [`Builder::set`](crate::Builder::set) does: the key of a placeholder, or of an
    /// override such as `scheduler.tasks.report.cron`. Placeholders have their defaults without.
    pub fn set(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.set.push((key.into(), value.into()));
        self
    }

    /// The start of the scheduler: fixed rates, fixed delays and one-time tasks count from
    /// then on. By default the beginning of the time that is asked for.
    ///
    /// # Panics
    ///
    /// When this is no instant: see [`moment`].
    #[track_caller]
    pub fn from(mut self, start: impl IntoMoment) -> Self {
        self.start = Some(moment(start).instant());
        self
    }

    /// The first fire time after an instant.
    ///
    /// # Panics
    ///
    /// When there is no fire time, or the schedule or the instant is faulty.
    #[must_use]
    #[track_caller]
    pub fn next_after(&self, instant: impl IntoMoment) -> Moment {
        let after = moment(instant).instant();
        let from = after.checked_add_signed(TimeDelta::nanoseconds(1));
        // No closure, so that messages name the caller's place.
        let first = match from {
            Some(from) => self.times(after, from).next(),
            None => None,
        };
        or_panic(
            first.ok_or_else(|| format!("`{}` has no fire time after {after}", self.one().name)),
        )
    }

    /// The fire times from an instant on, and before another one.
    ///
    /// # Panics
    ///
    /// When the schedule is faulty, or an instant is.
    #[must_use]
    #[track_caller]
    pub fn between(&self, from: impl IntoMoment, until: impl IntoMoment) -> FireTimes {
        let (from, until) = (moment(from).instant(), moment(until).instant());
        FireTimes(self.times(from, from).take_while(|fire| fire.instant() < until).collect())
    }

    /// The first fire times after the [start](Self::from).
    ///
    /// # Panics
    ///
    /// When no start is given, or the schedule is faulty.
    #[must_use]
    #[track_caller]
    pub fn take(&self, count: usize) -> FireTimes {
        let Some(start) = self.start else {
            panic!("the first {count} fire times from when on?\nhelp: .from(\"…\").take({count})");
        };
        FireTimes(self.times(start, start).take(count).collect())
    }

    /// The fire times from `from` on, of a scheduler that starts at the start or at `begin`.
    #[track_caller]
    fn times(&self, begin: DateTime<Utc>, from: DateTime<Utc>) -> impl Iterator<Item = Moment> {
        let spec = self.spec();
        let zone = spec.as_ref().map_or(self.zone, |spec| spec.facts.zone);
        let start = self.start.unwrap_or(begin);
        let times = spec.map(|task| upcoming(&task.rule, &task.policy, start, from));
        times.into_iter().flatten().map(move |at| Moment::new(at, zone))
    }

    #[track_caller]
    fn one(&self) -> &Definition {
        match (self.chosen, &*self.definitions) {
            (Some(chosen), all) => &all[chosen],
            (None, [only]) => only,
            (None, all) => {
                let names: Vec<String> =
                    all.iter().map(|task| format!("`{}` ({})", task.name, task.location)).collect();
                panic!(
                    "the function has {} annotations: {}\nhelp: schedule_of(…).annotation(1)",
                    all.len(),
                    names.join(", ")
                );
            }
        }
    }

    /// The resolved task; `None` if it is disabled.
    #[track_caller]
    fn spec(&self) -> Option<TaskSpec> {
        let spec = resolve_alone(self.one(), self.set.clone(), self.zone);
        let spec = or_panic(spec.map_err(|faults| faults.join("\n")));
        (!spec.is_disabled()).then_some(spec)
    }
}

fn resolve_alone(
    task: &Definition,
    set: Vec<(String, String)>,
    zone: Zone,
) -> Result<TaskSpec, Vec<String>> {
    let texts =
        |faults: Vec<SettingsError>| faults.iter().map(ToString::to_string).collect::<Vec<_>>();
    let input = SettingsInput {
        set,
        environment: Environment::default(),
        secrets: Vec::new(),
        defaults: Vec::new(),
        text: Some(("no settings file".to_owned(), String::new())),
        read: |_| Err(std::io::ErrorKind::NotFound.into()),
    };
    let settings = Settings::load(input).map_err(texts)?;
    let names = Names::from_iter([&*task.name]);
    let attributes = settings.apply_to(task, &names).map_err(texts)?;
    // Only a whole scheduler has pools and calendars: those that are named count as there, without days.
    let named = |attribute| attributes.get(attribute).map(|resolved| resolved.text.as_str());
    let pool = named(Attribute::Pool);
    let pools: Vec<Arc<str>> = ["default"].into_iter().chain(pool).map(Arc::from).collect();
    let calendar = named(Attribute::SkipDays).map(|name| (name.to_owned(), Arc::default()));
    let (calendars, crons) = (calendar.into_iter().collect(), Crons::default());
    let context = ResolveContext { zone, pools, calendars, crons, seed: 0, has_store: true };
    resolve(task, &attributes, &context).map_err(texts)
}

/// Fire times in their order; a slice of [`Moment`]s.
///
/// ```
/// use scheduler::testing::schedule;
///
/// let times = schedule("0 0 9 * * *").from("2026-01-01T00:00:00Z").take(3);
/// assert_eq!(times.len(), 3);
/// assert_eq!(times[2].local(), "Sat 2026-01-03 09:00+00:00");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FireTimes(Vec<Moment>);

impl FireTimes {
    /// Each as a local time: `Fri 2026-03-27 09:00+01:00`.
    #[must_use]
    pub fn local(&self) -> Vec<String> {
        self.0.iter().map(Moment::local).collect()
    }

    /// Each as an instant.
    #[must_use]
    pub fn instants(&self) -> Vec<DateTime<Utc>> {
        self.0.iter().map(Moment::instant).collect()
    }
}

impl Deref for FireTimes {
    type Target = [Moment];

    fn deref(&self) -> &[Moment] {
        &self.0
    }
}

impl Index<usize> for FireTimes {
    type Output = Moment;

    #[track_caller]
    fn index(&self, index: usize) -> &Moment {
        let count = self.0.len();
        or_panic(self.0.get(index).ok_or_else(|| format!("no index {index} in {count} fire times")))
    }
}

impl IntoIterator for FireTimes {
    type Item = Moment;
    type IntoIter = std::vec::IntoIter<Moment>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The number of fire times of each task in a plan.
const FIRE_TIMES: usize = 5;

/// Checks that a scheduler could start: that all managed values are there, that names are unique, that
/// settings, schedules and pools are right. Nothing is started.
///
/// The process's environment and its `scheduler.toml` are not read, so that the test is the same on every machine; give them with [`Builder::environment`] and [`Builder::settings`], for example by
/// `include_str!`. Without a zone of the builder's, UTC counts.
///
/// ```standalone_crate
/// use scheduler::{Scheduler, scheduled};
/// use scheduler::testing::check_wiring;
///
/// struct Database;
///
/// #[scheduled(fixed_delay = "30s")]
/// fn purge(database: &Database) {}
///
/// let error = check_wiring(Scheduler::builder()).unwrap_err();
/// assert!(error.to_string().contains("Database"));
/// check_wiring(Scheduler::builder().manage(Database))?;
/// # Ok::<(), scheduler::StartError>(())
/// ```
///
/// # Errors
///
/// As [`Builder::spawn`].
pub fn check_wiring(builder: Builder) -> Result<(), StartError> {
    builder.sealed().prepared().map(drop)
}

/// All tasks as a text for a snapshot test: pool, rule, policies that are not the default, limits in code and settings, and the next
/// five fire times of a scheduler that starts at an instant, without jitter. `dst_gap` and `dst_overlap` show in the
/// fire times only.
///
/// It reads what [`check_wiring`] reads.
///
/// ```
/// use scheduler::{Schedule, Scheduler};
/// use scheduler::testing::plan;
///
/// let builder = Scheduler::builder()
///     .zone("Europe/Berlin")
///     .task("report", Schedule::cron("0 0 9 * * MON-FRI").retry(3, "1s", "1m"), |_| {})
///     .task("warm-up", Schedule::once("10s"), |_| {});
/// assert_eq!(plan(builder, "2026-03-27T00:00[Europe/Berlin]")?, "\
/// report   pool default  0 0 9 * * MON-FRI (09:00, Monday to Friday) in Europe/Berlin
///          retry = 3 (1s … 60s)
///          Fri 2026-03-27 09:00+01:00
///          Mon 2026-03-30 09:00+02:00
///          Tue 2026-03-31 09:00+02:00
///          Wed 2026-04-01 09:00+02:00
///          Thu 2026-04-02 09:00+02:00
/// warm-up  pool default  once, after 10s
///          Fri 2026-03-27 00:00:10+01:00
/// ");
/// # Ok::<(), scheduler::StartError>(())
/// ```
///
/// # Errors
///
/// As [`check_wiring`].
///
/// # Panics
///
/// When the text is no instant: see [`moment`].
#[track_caller]
pub fn plan(builder: Builder, start: impl IntoMoment) -> Result<String, StartError> {
    let start = moment(start).instant();
    let prepared = builder.sealed().prepared()?;
    let mut tasks = prepared.specs;
    tasks.sort_by(|one, other| one.name().cmp(other.name()));
    let width = tasks.iter().map(|task| task.name().chars().count()).max().unwrap_or_default();
    let (off, tasks): (Vec<TaskSpec>, Vec<TaskSpec>) =
        tasks.into_iter().partition(|task| task.is_disabled());
    let pools = tasks.iter().map(|task| task.facts.pool.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for task in tasks {
        write_task(&mut text, &task, start, (width, pools));
    }
    for task in off {
        text.push_str(&format!("{:width$}  disabled\n", task.name()));
    }
    Ok(text)
}

fn write_task(
    text: &mut String,
    task: &TaskSpec,
    start: DateTime<Utc>,
    (width, pools): (usize, usize),
) {
    let TaskSpec { facts, rule, policy, .. } = task;
    let (name, pool) = (&facts.name, &facts.pool);
    // Writing to a text does not fail.
    let _ = writeln!(text, "{name:width$}  pool {pool:pools$}  {rule}");
    let mut policies = policies(policy);
    for (attribute, limit) in task.durable.iter().flat_map(|durable| &durable.limits) {
        policies.push(format!("{attribute} = {limit}"));
    }
    if !policies.is_empty() {
        let _ = writeln!(text, "{:width$}  {}", "", policies.join(", "));
    }
    for at in upcoming(rule, policy, start, start).take(FIRE_TIMES) {
        let _ = writeln!(text, "{:width$}  {}", "", Moment::new(at, facts.zone).local());
    }
}

/// The policies that are not the default ones, as they are written.
fn policies(policy: &Policy) -> Vec<String> {
    let Policy { overlap, misfire, jitter, timeout, retry, on_error, .. } = policy;
    let mut all = Vec::new();
    if *overlap != Overlap::default() {
        all.push(format!("overlap = {}", overlap.name()));
    }
    if *misfire != Misfire::default() {
        all.push(format!("misfire = {}", misfire.name()));
    }
    if !jitter.is_zero() {
        all.push(format!("jitter = {jitter:?}"));
    }
    all.extend(timeout.map(|limit| format!("timeout = {limit:?}")));
    if retry.max > 0 {
        all.push(format!("retry = {} ({:?} … {:?})", retry.max, retry.base, retry.cap));
    }
    if *on_error != OnError::default() {
        all.push(format!("on_error = {}", on_error.name()));
    }
    all
}
