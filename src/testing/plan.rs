//! Checks a scheduler without starting it, and lists what would run.

use std::fmt::Write;

use chrono::{DateTime, Utc};

use super::moment::{IntoMoment, Moment, moment};
use crate::start::{Builder, StartError};
use crate::task::{Policy, TaskSpec, upcoming};
use scheduler_expr::{Misfire, OnError, Overlap};

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

/// All tasks as a text for a snapshot test: pool, rule, policies that are not the default, and the next
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
    let policies = policies(policy);
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
