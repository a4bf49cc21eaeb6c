//! Conformance to Spring's own results, or to the wall-clock rule.
//!
//! The rule stands where Spring breaks it.
//!
//! Reads `tests/data`, or the directory in `TEST_CONFORMANCE`, and prints one line per file.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use chrono::{DateTime, FixedOffset, Utc};
use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_expr::{CronExpression, DurationUnit, parse_duration};
use serde_json::Value;

/// The number of faults that are printed; more are only counted.
const SHOWN: usize = 20;

/// The number of fire times that a line lists; fewer only where there are no more.
const ALL: usize = 6;

/// The lines of one file, and what came of them.
struct Outcome {
    total: usize,
    faults: Vec<String>,
    notes: Vec<String>,
}

/// Runs `check` on each line of a file and fails unless all lines pass. A check returns a note, or
/// why the line failed.
fn check_file(name: &str, check: impl Fn(&Value) -> Result<Option<String>, String>) {
    let directory = std::env::var_os("TEST_CONFORMANCE").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")),
        PathBuf::from,
    );
    let path = directory.join(name);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut outcome = Outcome { total: 0, faults: Vec::new(), notes: Vec::new() };
    for (number, line) in (1..).zip(text.lines()) {
        outcome.total += 1;
        let value: Value = serde_json::from_str(line).expect("a line is a JSON object");
        match check(&value) {
            Ok(note) => outcome.notes.extend(note),
            Err(fault) => outcome.faults.push(format!("{name}:{number}: {fault}\n    {line}")),
        }
    }
    outcome.report(name);
}

impl Outcome {
    fn report(self, name: &str) {
        let Self { total, faults, notes } = self;
        let mut report = format!("{name}: {} of {total}\n", total - faults.len());
        for note in notes {
            report.push_str(&format!("  {note}\n"));
        }
        // Written past the test harness, which would keep the output of a passing test to itself.
        io::stdout().write_all(report.as_bytes()).expect("stdout can be written");
        assert!(total > 0, "{name} is empty");
        let shown: Vec<_> = faults.iter().take(SHOWN).map(String::as_str).collect();
        assert!(faults.is_empty(), "{} lines fail\n{}", faults.len(), shown.join("\n"));
    }
}

fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    line[key].as_str().unwrap_or_else(|| panic!("`{key}` is a string"))
}

fn has_tag(line: &Value, tag: &str) -> bool {
    line["tags"].as_array().is_some_and(|tags| tags.iter().any(|found| found == tag))
}

/// Compares the fire times after `from`, offsets included, with the expected ones; fewer than six
/// mean that nothing follows.
fn check_fire_times(line: &Value, expected: &[Value]) -> Result<(), String> {
    let expression =
        CronExpression::parse(text(line, "expr")).map_err(|error| error.to_string())?;
    let zone: Zone = text(line, "zone").parse().map_err(|error| format!("{error}"))?;
    let from: DateTime<Utc> = text(line, "from").parse().expect("`from` is an instant");
    let trigger = CronTrigger::new(expression.clone(), zone);
    let count = if expected.len() < ALL { expected.len() + 1 } else { expected.len() };
    let found: Vec<DateTime<FixedOffset>> =
        trigger.upcoming(from).take(count).map(|at| zone.local(at)).collect();
    let wanted: Vec<DateTime<FixedOffset>> = expected
        .iter()
        .map(|at| at.as_str().and_then(|at| at.parse().ok()).expect("a fire time is an instant"))
        .collect();
    let is_equal = found.len() == wanted.len()
        && found.iter().zip(&wanted).all(|(a, b)| a == b && a.offset() == b.offset());
    if !is_equal {
        return Err(format!("fires at {found:?}"));
    }
    if expression.never_fires().is_some() && !wanted.is_empty() {
        return Err("said never to fire".to_owned());
    }
    Ok(())
}

#[test]
fn cron() {
    check_file("cron.jsonl", |line| {
        if line["error"] == true {
            return match CronExpression::parse(text(line, "expr")) {
                Ok(accepted) => Err(format!("accepted as `{accepted}`")),
                Err(_) => Ok(None),
            };
        }
        let expected = line["next"].as_array().expect("`next` is a list");
        check_fire_times(line, expected).map(|()| None)
    });
}

#[test]
fn cron_quirks() {
    check_file("cron-quirks.jsonl", |line| match line["wallclock"].as_array() {
        Some(expected) => check_fire_times(line, expected).map(|()| None),
        None => match CronExpression::parse(text(line, "expr")) {
            Ok(accepted) => Err(format!("accepted as `{accepted}`")),
            Err(_) => Ok(None),
        },
    });
}

#[test]
fn durations() {
    check_file("durations.jsonl", |line| {
        let unit = match text(line, "unit") {
            "NANOSECONDS" => DurationUnit::Nanoseconds,
            "MICROSECONDS" => DurationUnit::Microseconds,
            "MILLISECONDS" => DurationUnit::Milliseconds,
            "SECONDS" => DurationUnit::Seconds,
            "MINUTES" => DurationUnit::Minutes,
            "HOURS" => DurationUnit::Hours,
            "DAYS" => DurationUnit::Days,
            other => panic!("unknown unit `{other}`"),
        };
        let value = text(line, "value");
        let found = parse_duration(value, Some(unit));
        match (found, line["error"] == true) {
            (Err(_), true) => Ok(None),
            (Ok(duration), true) => Err(format!("accepted as {duration}")),
            (Err(error), false) if has_tag(line, "quirk") => {
                Ok(Some(format!("stricter than Spring: {value:?}: {error}")))
            }
            (Err(error), false) => Err(error.to_string()),
            (Ok(duration), false) => check_length(line, duration.as_nanos()).map(|()| None),
        }
    });
}

/// Compares a length with whichever of `nanos`, `ms` and `iso` the line gives.
fn check_length(line: &Value, nanos: i128) -> Result<(), String> {
    let expected_nanos = line["nanos"].as_i64().map(i128::from);
    let expected_ms = line["ms"].as_i64().map(i128::from);
    let expected_iso = line["iso"]
        .as_str()
        .map(|iso| parse_duration(iso, None).expect("`iso` is a duration").as_nanos());
    assert!(expected_nanos.or(expected_ms).or(expected_iso).is_some(), "nothing to compare with");
    let agrees = expected_nanos.is_none_or(|expected| nanos == expected)
        && expected_ms.is_none_or(|expected| nanos / 1_000_000 == expected)
        && expected_iso.is_none_or(|expected| nanos == expected);
    if agrees { Ok(()) } else { Err(format!("is {nanos} ns")) }
}
