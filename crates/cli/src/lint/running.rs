//! The lints of the tasks of a running program: those of their expressions, and one that knows how long runs take.

use chrono::{DateTime, Utc};
use scheduler_expr::CronExpression;
use serde_json::Value;

use super::checks::{Finding, all};
use crate::client::{Api, escaped, plain};
use crate::error::CliError;
use crate::times::length;

/// The findings of each task, by name.
pub(super) fn findings(
    api: &Api,
    now: DateTime<Utc>,
) -> Result<Vec<(String, Vec<Finding>)>, CliError> {
    let answer = api.get("/tasks")?;
    let mut tasks = Vec::new();
    for name in
        answer["tasks"].as_array().into_iter().flatten().filter_map(|row| row["name"].as_str())
    {
        // A task may have gone meanwhile.
        let Some(task) = api.find(&format!("/tasks/{}", escaped(name)))? else { continue };
        let mut findings = of_expression(&task, now).unwrap_or_default();
        findings.extend(slow_runs(&task));
        tasks.push((plain(name), findings));
    }
    Ok(tasks)
}

fn of_expression(task: &Value, now: DateTime<Utc>) -> Option<Vec<Finding>> {
    let cron = CronExpression::parse(task["expression"].as_str()?).ok()?;
    let zone = task["zone"].as_str()?.parse().ok()?;
    Some(all(&cron, zone, now))
}

/// Runs that as a rule take longer than the time until the next one.
fn slow_runs(task: &Value) -> Option<Finding> {
    let kind = task["kind"].as_str()?;
    let period = match kind {
        "fixed_rate" => task["periodMs"].as_f64()?,
        "cron" => shortest_gap(task)?,
        // A delay begins when a run has ended.
        _ => return None,
    };
    let took = task["durations"]["p95Ms"].as_f64()?;
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
fn shortest_gap(task: &Value) -> Option<f64> {
    let instant = |time: &Value| time["at"].as_str()?.parse::<DateTime<Utc>>().ok();
    let times: Vec<_> = task["upcoming"].as_array()?.iter().filter_map(instant).collect();
    let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]).num_milliseconds());
    gaps.min().map(|gap| gap as f64)
}
