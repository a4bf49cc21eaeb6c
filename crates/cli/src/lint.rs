//! Expressions that mean something else than people think: `lint`.
//!
//! Each lint is a mistake that people make with cron, which is still a correct expression. It tells the effect of
//! the expression, and the text to write if that was not meant. All lints of an expression come at once. Matters of taste are not
//! reported.

use chrono::{DateTime, Utc};
use scheduler_api::{Task, Tasks};
use scheduler_core::trigger::{CronTrigger, Zone, ZoneChange};
use scheduler_expr::{CronExpression, CronField};
use serde_json::{Value, json};

use crate::client::{Api, ServerArgs, escaped, plain};
use crate::context::{self, Context};
use crate::error::{CliError, NO, OK, parse};
use crate::times::{A_YEAR, Times, day_of, length};

/// The command line of `lint`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LintArgs {
    /// The expressions, each in quotes
    #[arg(required_unless_present = "running", value_name = "EXPRESSION")]
    expressions: Vec<String>,
    /// The time zone; by default from SCHEDULER_ZONE, from TZ, or the system's
    #[arg(long, value_name = "NAME")]
    zone: Option<String>,
    /// Look at the tasks of a running program, in place of expressions
    #[arg(long, conflicts_with_all = ["expressions", "zone"])]
    running: bool,
    #[command(flatten)]
    server: ServerArgs,
    /// Exit with 1 if there is any finding
    #[arg(long)]
    deny: bool,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// The result for one expression.
enum Linted {
    Faulty(CliError),
    Read(Vec<Finding>),
}

/// `lint EXPR…`: the code to exit with.
pub(crate) fn lint(args: &LintArgs, ctx: &mut Context<'_>) -> Result<u8, CliError> {
    let verdicts = if args.running {
        let tasks = findings(&Api::new(&args.server, ctx)?, ctx.now())?;
        tasks.into_iter().map(|(name, findings)| (name, Linted::Read(findings))).collect()
    } else {
        let asked = context::zone(args.zone.as_deref(), ctx)?;
        asked.tell(ctx);
        let zone = asked.zone;
        let now = ctx.now();
        let judged = args.expressions.iter().map(|text| (text.clone(), judge(text, zone, now)));
        judged.collect::<Vec<_>>()
    };
    let is_bad = verdicts.iter().any(|(_, verdict)| match verdict {
        Linted::Faulty(_) => true,
        Linted::Read(findings) => args.deny && !findings.is_empty(),
    });
    if args.json {
        let name = if args.running { "task" } else { "expression" };
        let all = verdicts.iter().map(|(text, verdict)| as_json(name, text, verdict));
        ctx.say(Value::Array(all.collect()))?;
    } else {
        for (text, verdict) in &verdicts {
            say(text, verdict, ctx)?;
        }
    }
    Ok(if is_bad { NO } else { OK })
}

fn judge(text: &str, zone: Zone, now: DateTime<Utc>) -> Linted {
    let cron = match parse(text) {
        Ok(cron) => cron,
        Err(fault) => return Linted::Faulty(fault),
    };
    match cron.never_fires() {
        Some(never) => {
            Linted::Faulty(CliError::no(never.to_string()).at(cron.source(), never.span(), ""))
        }
        None => match Times::new(std::slice::from_ref(&cron), zone).silent_after(now) {
            Some(silent) => Linted::Faulty(silent),
            None => Linted::Read(all(&cron, zone, now)),
        },
    }
}

fn say(text: &str, verdict: &Linted, ctx: &mut Context<'_>) -> Result<(), CliError> {
    match verdict {
        Linted::Faulty(fault) => ctx.say(format_args!("{}: {fault}", shown(text))),
        Linted::Read(findings) => findings.iter().try_for_each(|finding| {
            let Finding { lint, what, help } = finding;
            ctx.say(format_args!("{}: warning: {what} [{lint}]\n  help: {help}", shown(text)))
        }),
    }
}

/// The expression on one line, whatever it is.
fn shown(text: &str) -> String {
    let is_plain = text.len() <= 80 && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    if is_plain { text.to_owned() } else { crate::error::named(text) }
}

fn as_json(name: &str, text: &str, verdict: &Linted) -> Value {
    match verdict {
        Linted::Faulty(fault) => {
            let error = json!({ "what": fault.what(), "help": fault.first_help() });
            json!({ name: text, "error": error, "findings": [] })
        }
        Linted::Read(findings) => {
            let findings = findings.iter().map(|finding| {
                json!({ "lint": finding.lint, "what": finding.what, "help": finding.help })
            });
            json!({ name: text, "error": null, "findings": findings.collect::<Vec<_>>() })
        }
    }
}

/// A warning about an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    /// Its name, for programs.
    pub(crate) lint: &'static str,
    pub(crate) what: String,
    pub(crate) help: String,
}

impl Finding {
    fn new(lint: &'static str, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { lint, what: what.into(), help: help.into() }
    }
}

/// All findings about an expression.
fn all(cron: &CronExpression, zone: Zone, now: DateTime<Utc>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = uneven_steps(cron).collect();
    findings.extend(whole_weeks(cron));
    findings.extend(both_days(cron));
    findings.extend(short_months(cron));
    findings.extend(every_second(cron));
    findings.extend(clock_changes(cron, zone, now));
    findings
}

/// The size of a field in which steps go round: the hour after 23 is 0, the day after 28 perhaps not 1.
fn size(field: CronField) -> Option<u32> {
    match field {
        CronField::Second | CronField::Minute => Some(60),
        CronField::Hour => Some(24),
        CronField::Month => Some(12),
        CronField::DayOfWeek => Some(7),
        CronField::DayOfMonth => None,
    }
}

/// The unit of the distance between two values of a field.
fn unit(field: CronField) -> &'static str {
    match field {
        CronField::Second => "second",
        CronField::Minute => "minute",
        CronField::Hour => "hour",
        CronField::DayOfMonth | CronField::DayOfWeek => "day",
        CronField::Month => "month",
    }
}

/// `*/45`: the last gap of the field is another one than the step.
fn uneven_steps(cron: &CronExpression) -> impl Iterator<Item = Finding> {
    let words = cron.source().split(' ').filter(|word| !word.is_empty());
    let items = CronField::ALL
        .into_iter()
        .zip(words)
        .flat_map(|(field, word)| word.split(',').map(move |item| (field, item)));
    items.filter_map(|(field, item)| uneven_step(field, item))
}

fn uneven_step(field: CronField, item: &str) -> Option<Finding> {
    let (base, step) = item.split_once('/')?;
    if base.contains('-') {
        // Both ends are given.
        return None;
    }
    let step: u32 = step.parse().ok().filter(|step| *step > 1)?;
    let (name, unit) = (field.name(), unit(field));
    let Some(size) = size(field) else {
        let what =
            format!("`{item}` in {name} begins anew with each month, so that the last gap differs");
        let help = match base {
            "*" | "1" => format!("for a run each {step} days, use fixed_rate = \"{step}d\""),
            _ => "list the days that are meant".to_owned(),
        };
        return Some(Finding::new("uneven-step", what, help));
    };
    let values = values(field, item)?;
    let help = dividers(size, step);
    if let [only] = *values {
        // 0 and 7 are one day: each seventh day from Sunday is every Sunday.
        let is_whole_week = field == CronField::DayOfWeek && base == "0" && step == size;
        return (!is_whole_week).then(|| {
            let only = match is_name(base) {
                true => base.to_ascii_uppercase(),
                false => only.to_string(),
            };
            let what =
                format!("`{item}` in {name} is only {only}: the step leaves the field at once");
            Finding::new("uneven-step", what, help)
        });
    }
    let next = values.iter().skip(1).copied().chain([values[0] + size]);
    let rest =
        values.iter().zip(next).map(|(value, next)| next - value).find(|gap| *gap != step)?;
    let what =
        format!("`{item}` in {name} has gaps of {step} {unit}s, and one of {}", count(rest, unit));
    Some(Finding::new("uneven-step", what, help))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// The values of one item of a field, in order; Sunday is 7.
fn values(field: CronField, item: &str) -> Option<Vec<u32>> {
    let fields = CronField::ALL.map(|each| if each == field { item } else { "*" });
    let cron = CronExpression::parse(&fields.join(" ")).ok()?;
    Some(cron.values(field).map(u32::from).collect())
}

/// `SUN-SUN`: the range of weekdays from a day to itself is the whole week, if the day is written as its beginning and its end.
fn whole_weeks(cron: &CronExpression) -> impl Iterator<Item = Finding> {
    let mut words = cron.source().split(' ').filter(|word| !word.is_empty());
    let weekdays = words.next_back().unwrap_or_default().split(',');
    let day = |text: &str| values(CronField::DayOfWeek, text);
    weekdays.filter_map(move |item| {
        let (first, last) = item.split_once('-')?;
        let is_one_day =
            day(first)? == day(last)? && values(CronField::DayOfWeek, item)?.len() == 7;
        is_one_day.then(|| {
            let what = format!("`{item}` in day-of-week is every day, as in Spring");
            Finding::new(
                "whole-week",
                what,
                format!("for one day a week write `{last}`, for every day `*`"),
            )
        })
    })
}

fn count(number: u32, unit: &str) -> String {
    if number == 1 { format!("1 {unit}") } else { format!("{number} {unit}s") }
}

/// The steps that divide a field, near to what was written.
fn dividers(size: u32, step: u32) -> String {
    let divides = |n: &u32| size.is_multiple_of(*n);
    let below = (2..step.min(size)).rev().find(divides);
    let above = (step + 1..size).find(divides);
    match (below, above) {
        (Some(below), Some(above)) => {
            format!("steps that divide the {size} evenly are {below} and {above}")
        }
        (Some(only), None) | (None, Some(only)) => {
            format!("a step that divides the {size} evenly is {only}")
        }
        (None, None) => "list the values that are meant".to_owned(),
    }
}

/// Both day fields are given.
fn both_days(cron: &CronExpression) -> Option<Finding> {
    let is_restricted = |field| !cron.is_any(field);
    let both = is_restricted(CronField::DayOfMonth) && is_restricted(CronField::DayOfWeek);
    both.then(|| {
        Finding::new(
            "both-days",
            "day-of-month and day-of-week must both match, as in Spring; in a crontab either is enough",
            "for either, write two annotations; `scheduler explain --from unix` shows them",
        )
    })
}

/// Days that some of the months lack.
fn short_months(cron: &CronExpression) -> Option<Finding> {
    const DAYS: [(u8, &[u8]); 3] = [(31, &[2, 4, 6, 9, 11]), (30, &[2]), (29, &[2])];
    let days: Vec<u8> = cron.values(CronField::DayOfMonth).collect();
    let months: Vec<u8> = cron.values(CronField::Month).collect();
    let is_alone = |day: u8| days.contains(&day) && !days.contains(&(day - 1));
    let (day, lacking) = DAYS.into_iter().find(|(day, lacking)| {
        is_alone(*day) && lacking.iter().any(|month| months.contains(month))
    })?;
    const NAMES: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let lacking = lacking.iter().filter(|month| months.contains(month));
    let names: Vec<&str> = lacking.map(|month| NAMES[usize::from(*month) - 1]).collect();
    let often = if day == 29 { " in common years" } else { "" };
    let what = format!("there is no day {day} in {}{often}: those are skipped", names.join(", "));
    Some(Finding::new("short-months", what, "for the last day of every month, write `L`"))
}

/// Every second of a minute or an hour that was chosen: the slip of a sixth field that is forgotten.
fn every_second(cron: &CronExpression) -> Option<Finding> {
    let is_any = |field| cron.is_any(field);
    let chosen = !is_any(CronField::Minute) || !is_any(CronField::Hour);
    if !is_any(CronField::Second) || !chosen {
        return None;
    }
    let count = |field| cron.values(field).count();
    let runs = 60 * count(CronField::Minute) * count(CronField::Hour);
    let what = format!("the second is `*`: {} runs on each such day", thousands(runs));
    let rest = cron.to_string();
    let rest = rest.strip_prefix("* ").unwrap_or(&rest);
    Some(Finding::new(
        "every-second",
        what,
        format!("for one run a minute at most, write `0 {rest}`"),
    ))
}

fn thousands(number: usize) -> String {
    match number {
        ..1_000 => number.to_string(),
        _ => format!("{},{:03}", number / 1_000, number % 1_000),
    }
}

/// Times that do not exist on one day of the year, or come twice.
fn clock_changes(cron: &CronExpression, zone: Zone, now: DateTime<Utc>) -> Vec<Finding> {
    // A task of every hour also runs in the hours around a change.
    if cron.is_any(CronField::Hour) {
        return Vec::new();
    }
    let trigger = CronTrigger::new(cron.clone(), zone);
    let end = now.checked_add_signed(A_YEAR).unwrap_or(DateTime::<Utc>::MAX_UTC);
    let mut changes = Vec::new();
    let mut from = now;
    while let Some(change) = trigger.clash_between(from, end) {
        from = change.at();
        changes.push(change);
    }
    let first = |is_gap: bool| changes.iter().find(|change| change.is_gap() == is_gap);
    [first(true).map(|gap| left_out(*gap, zone)), first(false).map(|change| twice(*change, zone))]
        .into_iter()
        .flatten()
        .collect()
}

/// The local times of a change: `from 02:00 to 03:00 on Sun 2026-03-29`.
fn stretch(change: ZoneChange) -> String {
    let (first, end) = change.local_times();
    let day = day_of(change);
    format!("from {} to {} on {day}", first.format("%H:%M"), end.format("%H:%M"))
}

fn left_out(gap: ZoneChange, zone: Zone) -> Finding {
    let what = format!("{zone} has no time {}: what falls into it does not run", stretch(gap));
    Finding::new("clock-gap", what, "to run right after it instead, write dst_gap = \"run_after\"")
}

fn twice(change: ZoneChange, zone: Zone) -> Finding {
    let what = format!("{zone} has the time {} twice: it runs twice", stretch(change));
    Finding::new("clock-overlap", what, "to run once, write dst_overlap = \"first\"")
}

/// The findings of each task, by name.
fn findings(api: &Api, now: DateTime<Utc>) -> Result<Vec<(String, Vec<Finding>)>, CliError> {
    let listed: Tasks = api.get("/tasks")?;
    let mut tasks = Vec::new();
    for row in &listed.tasks {
        // A task that was removed meanwhile has no answer.
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
