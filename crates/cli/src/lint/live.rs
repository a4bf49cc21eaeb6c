//! The lints of the tasks of a running program: those of their expressions, and one that knows how long runs take.

use chrono::{DateTime, Utc};
use scheduler_api::{Task, Tasks};
use scheduler_expr::CronExpression;

use super::checks::{Finding, all};
use crate::client::{Api, escaped, plain};
use crate::error::CliError;
use crate::times::length;

/// The findings of each task, by name.
pub(super) fn findings(
    api: &Api,
    now: DateTime<Utc>,
) -> Result<Vec<(String, Vec<Finding>)>, CliError> {
    let listed: Tasks = api.get("/tasks")?;
    let mut tasks = Vec::new();
    for row in &listed.tasks {
        // The task may be gone by now.
        let Some(task) = api.find::<Task>(&format!("/tasks/{}", escaped(&row.name)))? else {
            continue;
        };
        let mut findings = of_expression(&task, now).unwrap_or_default();
        findings.extend(slow_runs(&task));
        tasks.push((plain(&row.name), findings));
    }
    Ok(tasks)
}

fn of_expression(task: &Task, now: DateTime<Utc>) -> Option<Vec<Finding>> {
    let cron = CronExpression::parse(task.expression.as_deref()?).ok()?;
    Some(all(&cron, task.zone.parse().ok()?, now))
}

/// Runs that as a rule take longer than the time until the next one.
fn slow_runs(task: &Task) -> Option<Finding> {
    let period = match &*task.kind {
        "fixed_rate" => task.period_ms?,
        "cron" => shortest_gap(task)?,
        // A delay begins when a run has ended.
        _ => return None,
    };
    let took = task.durations.as_ref()?.p95_ms?;
    (took > period).then(|| {
        let shown = |millis: f64| length((millis / 1_000.0).ceil() as u64);
        let what = format!(
            "one run in twenty takes {} or longer, and the next one is due after {}",
            shown(took),
            shown(period)
        );
        let help =
            "write a longer period, a `timeout`, or say with `overlap` what is to happen then";
        Finding::new("slow-runs", what, help)
    })
}

/// The shortest time between two of the next fire times, in milliseconds.
fn shortest_gap(task: &Task) -> Option<f64> {
    let times = task.upcoming.as_ref()?.iter();
    let times: Vec<DateTime<Utc>> = times.filter_map(|time| time.at.parse().ok()).collect();
    let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]).num_milliseconds());
    gaps.min().map(|gap| gap as f64)
}
