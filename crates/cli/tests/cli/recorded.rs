//! Expressions of Quartz and systemd fire when these fire them, or are refused, or a note says what differs: held against
//! what Quartz 2.3.2 (by `recorded/Record.java`) and systemd 252 (by `systemd-analyze calendar`) have answered themselves.
//!
//! A line of a record is the expression, its fate here, and the fire times there after 2026-03-27 11:04 UTC.

use std::fs;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::{CronTrigger, DstOverlap, Zone};
use serde_json::Value;

use crate::Typed;

const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/recorded");

/// The notes about expressions that Quartz refuses, and about those with other fire times.
const DIFFERENCES: [&str; 2] = ["Quartz itself refuses", "Quartz may choose another day"];

/// The right fate of an expression here: `same`, `refused` or `noted`; or what is wrong.
fn verdict(text: &str, dialect: &str, zone: &str, there: &str) -> Result<&'static str, String> {
    let args = ["explain", "--from", dialect, "--zone", zone, "--json", "--", text];
    let answer = Typed::new(&args).answer();
    if answer.output.is_empty() {
        return if answer.code == 1 { Ok("refused") } else { Err(answer.errors) };
    }
    let answer: Value = serde_json::from_str(&answer.output).expect("JSON");
    let notes = answer["notes"].to_string().replace('\\', "");
    let cron = answer["expressions"][0]["cron"].as_str().expect("a text");
    let zone: Zone = answer["zone"].as_str().and_then(|zone| zone.parse().ok()).expect("a zone");
    let overlap = [DstOverlap::First, DstOverlap::Last].into_iter();
    let mut overlap =
        overlap.filter(|overlap| notes.contains(&format!("dst_overlap = \"{}\"", overlap.name())));
    let trigger = CronTrigger::new(cron.parse().expect("an expression"), zone);
    let trigger = trigger.dst_overlap(overlap.next().unwrap_or(DstOverlap::Both));
    let now: DateTime<Utc> = "2026-03-27T11:04:00Z".parse().expect("an instant");
    let times = trigger.upcoming(now).take(6).map(|at| at.format("%FT%TZ").to_string());
    let here = times.collect::<Vec<_>>().join(" ");
    match here == there {
        true => Ok("same"),
        false if DIFFERENCES.iter().any(|difference| notes.contains(difference)) => Ok("noted"),
        false => Err(format!("{cron} {notes}\n  here  {here}\n  there {there}")),
    }
}

fn check(dialect: &str) {
    // Another record may be held against it, such as one of random expressions.
    let path = std::env::var("RECORD").unwrap_or_else(|_| format!("{RECORDS}/{dialect}.txt"));
    let record = fs::read_to_string(&path).expect("a readable file");
    let (mut zone, mut said, mut faults) = ("UTC", String::new(), Vec::new());
    for line in record.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            (zone, said) = (name, format!("{said}{line}\n"));
            continue;
        }
        let (text, rest) = line.split_once(" | ").expect("an expression");
        let there = rest.rsplit(" | ").next().unwrap_or(rest);
        match verdict(text, dialect, zone, there) {
            Ok(verdict) => said.push_str(&format!("{text} | {verdict} | {there}\n")),
            Err(fault) => faults.push(format!("{text} in {zone}: {fault}")),
        }
    }
    assert!(faults.is_empty(), "{}\n{} of them", faults.join("\n"), faults.len());
    if std::env::var_os("TEST_ANSWERS").is_some_and(|value| value == "overwrite") {
        fs::write(&path, &said).expect("a writable file");
    }
    assert!(said == record, "to take this over: TEST_ANSWERS=overwrite\n{said}");
}

#[test]
fn expressions_fire_when_quartz_fires_them_or_the_difference_is_said() {
    check("quartz");
}

#[test]
fn expressions_fire_when_systemd_fires_them_or_the_difference_is_said() {
    check("systemd");
}
