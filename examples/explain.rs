//! Explains a cron expression: its meaning, next runs, and clock changes.
//!
//! ```text
//! cargo run -p examples --example explain -- "0 30 2 * * *" --zone Europe/Berlin --from 2026-03-28T00:00:00Z
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people to read")]

use std::process::ExitCode;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::trigger::{CronTrigger, Zone, ZoneChange};
use scheduler_expr::{CronExpression, CronField};

const USAGE: &str = "usage: explain EXPRESSION [--zone ZONE] [--from INSTANT] [--count NUMBER]

  EXPRESSION  second minute hour day-of-month month day-of-week, or a macro such as @daily
  --zone      a name of the IANA database; without it, the zone of the system
  --from      an instant such as 2026-03-28T00:00:00Z; without it, now
  --count     how many runs are shown; without it, 10";

/// The format of an instant with its offset, for people.
const INSTANT: &str = "%a %Y-%m-%d %H:%M:%S %:z";

/// The time ahead in which changes of the clock are looked for.
const LOOKAHEAD: TimeDelta = TimeDelta::days(2 * 366);

fn main() -> ExitCode {
    match Question::read(std::env::args().skip(1)).and_then(Question::answer) {
        Ok(answer) => {
            print!("{answer}");
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::from(2)
        }
    }
}

/// The question on the command line.
struct Question {
    expression: CronExpression,
    zone: Zone,
    from: DateTime<Utc>,
    count: usize,
}

impl Question {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut expression, mut zone, mut from, mut count) = (None, None, None, 10);
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| format!("`{argument}` needs a value\n\n{USAGE}"));
            match argument.as_str() {
                "--zone" => zone = Some(read_zone(&value()?)?),
                "--from" => from = Some(read(&value()?, "instant")?),
                "--count" => count = read(&value()?, "number")?,
                "--help" | "-h" => return Err(USAGE.to_owned()),
                _ if argument.starts_with("--") || expression.is_some() => {
                    return Err(format!("unexpected argument `{argument}`\n\n{USAGE}"));
                }
                _ => expression = Some(read_expression(&argument)?),
            }
        }
        Ok(Self {
            expression: expression.ok_or(USAGE)?,
            zone: zone.map_or_else(system_zone, Ok)?,
            from: from.unwrap_or_else(now),
            count,
        })
    }

    fn answer(self) -> Result<String, String> {
        let Self { expression, zone, from, count } = self;
        if let Some(never) = expression.never_fires() {
            return Err(format!("error: {never}\n\n{}", indented(&never.caret())));
        }
        let mut answer = format!("{}\n\n{}\n", expression.describe(), field_table(&expression));
        let trigger = CronTrigger::new(expression, zone);
        answer.push_str(&format!("next runs in {zone}\n"));
        let mut previous = from;
        let mut touched = false;
        for (number, at) in (1..).zip(trigger.upcoming(from).take(count)) {
            touched |= add_changes(&mut answer, &trigger, previous, at);
            answer.push_str(&format!("{number:4}  {}\n", zone.local(at).format(INSTANT)));
            previous = at;
        }
        if previous == from {
            answer
                .push_str("      none: every matching time is left out by a change of the clock\n");
        }
        if !touched {
            answer.push_str(&outlook(&trigger, previous));
        }
        Ok(answer)
    }
}

fn read_expression(text: &str) -> Result<CronExpression, String> {
    text.parse().map_err(|error: scheduler_expr::ParseError| {
        fault(&error.to_string(), &error.caret(), error.help())
    })
}

fn read_zone(name: &str) -> Result<Zone, String> {
    name.parse().map_err(|error: scheduler_expr::ParseError| {
        fault(&error.to_string(), &error.caret(), error.help())
    })
}

fn read<T: FromStr<Err: std::fmt::Display>>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("error: `{text}` is not a valid {what}: {error}"))
}

fn system_zone() -> Result<Zone, String> {
    Zone::system().map_err(|error| format!("error: {error}\n  help: {}", error.help()))
}

#[expect(clippy::disallowed_methods, reason = "there is no engine here whose clock could be asked")]
fn now() -> DateTime<Utc> {
    Utc::now()
}

fn fault(error: &str, caret: &str, help: Option<&str>) -> String {
    let help = help.map_or(String::new(), |help| format!("\n\n  help: {help}"));
    format!("error: {error}\n\n{}{help}", indented(caret))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn field_table(expression: &CronExpression) -> String {
    let canonical = expression.to_string();
    let mut table = String::new();
    for (field, text) in CronField::ALL.into_iter().zip(canonical.split(' ')) {
        let means = match expression.is_any(field) {
            true => "any".to_owned(),
            false => values(expression, field),
        };
        table.push_str(format!("  {field:14}{text:16}{means}").trim_end());
        table.push('\n');
    }
    table
}

/// The plain numbers of a field; what `L`, `W` and `#` add is in its text.
fn values(expression: &CronExpression, field: CronField) -> String {
    expression.values(field).map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
}

/// Adds a line for each change of the clock between two runs that touches a run, or is the only
/// one. Says whether any touches a run.
fn add_changes(
    answer: &mut String,
    trigger: &CronTrigger,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> bool {
    let next = |from: DateTime<Utc>| trigger.zone().change_between(from, until);
    let changes: Vec<_> = std::iter::successors(next(from), |change| next(change.at())).collect();
    let is_touched = |change: &ZoneChange| {
        trigger.clash_between(change.at() - TimeDelta::seconds(1), change.at()).is_some()
    };
    for change in changes.iter().filter(|change| changes.len() == 1 || is_touched(change)) {
        answer.push_str(&format!(
            "      {}\n",
            change_line(trigger.zone(), *change, is_touched(change))
        ));
    }
    changes.iter().any(is_touched)
}

/// The next change that touches the runs, if there is one in sight.
fn outlook(trigger: &CronTrigger, from: DateTime<Utc>) -> String {
    match from.checked_add_signed(LOOKAHEAD).and_then(|until| trigger.clash_between(from, until)) {
        Some(change) => format!("      … {}\n", change_line(trigger.zone(), change, true)),
        None => {
            "      no change of the clock touches a run in the two years after these\n".to_owned()
        }
    }
}

fn change_line(zone: Zone, change: ZoneChange, is_touched: bool) -> String {
    let (first, end) = change.local_times();
    let effect = match (change.is_gap(), is_touched) {
        (_, false) => "no run is lost or doubled",
        (true, true) => "runs in it are skipped",
        (false, true) => "runs in it come twice",
    };
    let what = if change.is_gap() { "is left out" } else { "comes twice" };
    let day = zone.local(change.at()).format("%a %Y-%m-%d");
    let (from, to) = (first.format("%H:%M"), end.format("%H:%M"));
    let (before, after) = (change.offset_before(), change.offset_after());
    format!("-- {day} {before} becomes {after}: {from} to {to} {what}; {effect}")
}
