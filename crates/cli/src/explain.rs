//! Expressions in words and their fire times: `explain`, `next` and `between`.
//!
//! The words come from `scheduler-expr`, fields and fire times from the code that runs tasks, so that they never differ from the
//! behaviour of a task.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::Zone;
use scheduler_expr::{CronExpression, CronField};
use serde_json::{Value, json};

use crate::context::{self, Context, ZoneAsked};
use crate::dialect::{self, Converted, Dialect};
use crate::error::{CliError, named};
use crate::times::{self, FireTime, Times};

/// The number of fire times that `explain` shows.
const SHOWN: usize = 10;
/// The greatest number of values of a step that are listed one by one.
const MAX_LISTED_VALUES: usize = 12;

/// An expression as the command line gives it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The expression, in quotes: "0 0 9 * * MON-FRI"
    expression: String,
    /// The time zone; by default from SCHEDULER_ZONE, from TZ, or the system's
    #[arg(long, value_name = "NAME")]
    zone: Option<String>,
    /// Whose expression it is
    #[arg(long, value_name = "DIALECT", value_enum, default_value = "spring")]
    from: Dialect,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// An expression that has been read, with its zone.
struct ReadExpression {
    source: String,
    from: Dialect,
    converted: Converted,
    times: Times,
}

impl ExplainArgs {
    fn read(&self, ctx: &mut Context<'_>) -> Result<ReadExpression, CliError> {
        let now = ctx.now();
        let mut converted = dialect::read(&self.expression, self.from)?;
        let asked = match (converted.zone, &self.zone) {
            (Some(zone), None) => ZoneAsked::named(zone),
            _ => context::zone(self.zone.as_deref(), ctx)?,
        };
        asked.tell(ctx);
        let times = Times::new(&converted.expressions, asked.zone);
        if let Some(differs) = converted.on_clock_changes {
            let note = differs.note(times.touched_after(now));
            converted.notes.extend(note.map(str::to_owned));
        }
        Ok(ReadExpression {
            source: self.expression.trim().to_owned(),
            from: self.from,
            converted,
            times,
        })
    }
}

impl ReadExpression {
    fn zone(&self) -> Zone {
        self.times.zone()
    }

    /// Why it never fires after an instant, if that is so.
    fn never(&self, after: DateTime<Utc>) -> Option<CliError> {
        let expressions = &self.converted.expressions;
        let first =
            expressions.first().filter(|_| !expressions.iter().any(CronExpression::may_fire));
        if let Some((first, never)) = first.and_then(|first| Some((first, first.never_fires()?))) {
            return Some(CliError::no(never.to_string()).at(first.source(), never.span(), ""));
        }
        self.times.silent_after(after)
    }
}

/// `explain EXPR`.
pub(crate) fn explain(args: &ExplainArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let now = ctx.now();
    let read = args.read(ctx)?;
    let fire_times: Vec<FireTime> = read.times.after(now).take(SHOWN).collect();
    if args.json {
        ctx.say(as_json(&read, &fire_times))?;
        return read.never(now).map_or(Ok(()), Err);
    }
    let zone = read.zone();
    if read.from != Dialect::Spring {
        for cron in &read.converted.expressions {
            ctx.say(format_args!("cron = \"{cron}\""))?;
        }
        for note in &read.converted.notes {
            ctx.say(format_args!("  note: {note}"))?;
        }
        ctx.say("")?;
    }
    for cron in &read.converted.expressions {
        ctx.say(format_args!("{} ({zone})\n", cron.describe()))?;
        ctx.say(field_table(cron))?;
    }
    if let Some(never) = read.never(now) {
        return Err(never);
    }
    ctx.say(format_args!("next {}:", fire_times.len()))?;
    let lines = fire_times.iter().map(|fire| {
        let ahead = times::ahead(now, fire.at);
        let remark = fire.remark.as_ref().map(|remark| format!("({remark})")).unwrap_or_default();
        format!("  {}   {ahead:<10} {remark}", times::local(fire.at, zone)).trim_end().to_owned()
    });
    ctx.say(lines.collect::<Vec<_>>().join("\n"))
}

fn as_json(read: &ReadExpression, fire_times: &[FireTime]) -> Value {
    let zone = read.zone();
    let of = |cron: &CronExpression| {
        let texts = cron.to_string();
        let fields: serde_json::Map<String, Value> = CronField::ALL
            .iter()
            .zip(texts.split(' '))
            .map(|(field, text)| (field.name().replace('-', "_"), text.into()))
            .collect();
        let never = cron.never_fires().map(|never| never.reason().to_owned());
        json!({ "cron": texts, "words": cron.describe(), "fields": fields, "never": never })
    };
    json!({
        "source": read.source,
        "zone": zone.name(),
        "expressions": read.converted.expressions.iter().map(of).collect::<Vec<_>>(),
        "notes": read.converted.notes,
        "next": fire_times.iter().map(|fire| fire_time_json(fire, zone)).collect::<Vec<_>>(),
    })
}

fn fire_time_json(fire: &FireTime, zone: Zone) -> Value {
    json!({ "at": times::rfc3339(fire.at, zone), "remark": fire.remark })
}

/// `next EXPR`: fire times and nothing else.
pub(crate) fn next(
    args: &ExplainArgs,
    count: usize,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let now = ctx.now();
    let read = args.read(ctx)?;
    if let Some(never) = read.never(now) {
        return Err(never);
    }
    let fire_times = read.times.after(now).take(count);
    match args.json {
        true => ctx.say(list_json(&read, fire_times)),
        false => say_list(&read, fire_times, ctx),
    }
}

/// `between EXPR FROM UNTIL`: the fire times from the one on and before the other.
pub(crate) fn between(
    args: &ExplainArgs,
    (from, until): (&str, &str),
    max: usize,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let now = ctx.now();
    let read = args.read(ctx)?;
    let zone = read.zone();
    let from = times::instant(from, zone, now)?;
    let until_text = until;
    let until = times::instant(until, zone, now)?;
    if until < from {
        return Err(CliError::unable(format!("{} is before the beginning", named(until_text)))
            .help("write the earlier instant first"));
    }
    if let Some(never) = read.never(before(from)) {
        return Err(never);
    }
    let mut left = read.times.after(before(from)).take_while(|fire| fire.at < until);
    let listed = left.by_ref().take(max);
    if args.json {
        let mut answer = list_json(&read, listed);
        answer["has_more"] = left.next().is_some().into();
        return ctx.say(answer);
    }
    say_list(&read, listed, ctx)?;
    if left.next().is_some() {
        let more = max.saturating_mul(10);
        writeln!(ctx.errors, "more follow; for up to {more} of them: --max {more}").ok();
    }
    Ok(())
}

/// A moment before an instant, so that a fire time at the instant itself counts.
fn before(instant: DateTime<Utc>) -> DateTime<Utc> {
    instant.checked_sub_signed(chrono::TimeDelta::nanoseconds(1)).unwrap_or(instant)
}

fn list_json(read: &ReadExpression, fire_times: impl Iterator<Item = FireTime>) -> Value {
    let zone = read.zone();
    let list: Vec<Value> = fire_times.map(|fire| fire_time_json(&fire, zone)).collect();
    json!({ "zone": zone.name(), "fire_times": list })
}

fn say_list(
    read: &ReadExpression,
    fire_times: impl Iterator<Item = FireTime>,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let zone = read.zone();
    for fire in fire_times {
        let remark = fire.remark.map(|remark| format!("   ({remark})")).unwrap_or_default();
        ctx.say(format_args!("{}{remark}", times::local(fire.at, zone)))?;
    }
    Ok(())
}

/// The six fields with what they match, and what is easily misread.
fn field_table(cron: &CronExpression) -> String {
    let mut table = String::new();
    let texts = cron.to_string();
    for (field, text) in CronField::ALL.into_iter().zip(texts.split(' ')) {
        let name = field.name().replace('-', " ");
        let means = meaning(cron, field, text);
        let remark = remark(cron, field).map(|remark| format!("   ← {remark}")).unwrap_or_default();
        // A table is written to a text, which takes everything.
        let _ = writeln!(table, "  {name:<13} {means}{remark}");
    }
    table
}

/// `any` for `*`, the values of a step from `*` if there are few, otherwise the text of the field.
fn meaning(cron: &CronExpression, field: CronField, text: &str) -> String {
    if text == "*" {
        return "any".to_owned();
    }
    let values: Vec<u8> = cron.values(field).collect();
    // An L in the text of the month is the one of JUL.
    let has_specials = text.contains(['L', 'W', '#']) && field != CronField::Month;
    match text.starts_with("*/") && values.len() <= MAX_LISTED_VALUES && !has_specials {
        true => values.iter().map(|value| name(field, *value)).collect::<Vec<_>>().join(","),
        false => text.to_owned(),
    }
}

fn name(field: CronField, value: u8) -> String {
    const DAYS: [&str; 7] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];
    match field {
        CronField::DayOfWeek => DAYS[usize::from(value - 1) % DAYS.len()].to_owned(),
        _ => value.to_string(),
    }
}

fn remark(cron: &CronExpression, field: CronField) -> Option<String> {
    let last = |field| cron.values(field).last();
    match field {
        CronField::Hour if !cron.is_any(CronField::Hour) => {
            let (hour, minute) = (last(CronField::Hour)?, last(CronField::Minute)?);
            let is_many = cron.values(CronField::Minute).len() > 1;
            is_many
                .then(|| format!("the last run is at {hour:02}:{minute:02}, not at {hour:02}:00"))
        }
        CronField::DayOfWeek => {
            let restricts = |field| !cron.is_any(field);
            (restricts(CronField::DayOfMonth) && restricts(CronField::DayOfWeek))
                .then(|| "both day fields must match".to_owned())
        }
        _ => None,
    }
}
