//! Expressions that mean something else than people think: `lint`.
//!
//! # What this room is for
//!
//! Each lint is a mistake that people make with cron, which is still a correct expression. It says what the expression
//! does, and what to write if that was not meant. All lints of an expression come at once.
//!
//! # What it must never do
//!
//! Report what is only a matter of taste, or an expression whose meaning is plain.

mod checks;
mod clocks;
mod finding;

use scheduler_core::trigger::Zone;
use scheduler_expr::CronExpression;
use serde_json::{Value, json};

use crate::fault::{Fault, NO, OK, parse};
use crate::surroundings::{self, Surroundings};
use finding::Finding;

/// The command line of `lint`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Given {
    /// The expressions, each in quotes
    #[arg(required = true, value_name = "EXPRESSION")]
    expressions: Vec<String>,
    /// The time zone; that of the system by default
    #[arg(long, value_name = "NAME")]
    zone: Option<String>,
    /// Exit with 1 if there is any finding
    #[arg(long)]
    deny: bool,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// What is known of one expression.
enum Verdict {
    Faulty(Fault),
    Read(Vec<Finding>),
}

/// `lint EXPR…`: the code to exit with.
pub(crate) fn lint(given: &Given, around: &mut Surroundings<'_>) -> Result<u8, Fault> {
    let zone = surroundings::zone(given.zone.as_deref())?;
    let now = around.now();
    let judge = |text: &String| match parse(text) {
        Ok(cron) => match cron.never_fires() {
            Some(never) => {
                Verdict::Faulty(Fault::no(never.to_string()).at(cron.source(), never.span(), ""))
            }
            None => Verdict::Read(findings(&cron, zone, now)),
        },
        Err(fault) => Verdict::Faulty(fault),
    };
    let verdicts: Vec<Verdict> = given.expressions.iter().map(judge).collect();
    let is_bad = verdicts.iter().any(|verdict| match verdict {
        Verdict::Faulty(_) => true,
        Verdict::Read(findings) => given.deny && !findings.is_empty(),
    });
    if given.json {
        let all = given.expressions.iter().zip(&verdicts);
        around.say(Value::Array(all.map(|(text, verdict)| as_json(text, verdict)).collect()))?;
    } else {
        for (text, verdict) in given.expressions.iter().zip(&verdicts) {
            say(text, verdict, around)?;
        }
    }
    Ok(if is_bad { NO } else { OK })
}

/// All that the lints say about an expression.
pub(crate) fn findings(
    cron: &CronExpression,
    zone: Zone,
    now: chrono::DateTime<chrono::Utc>,
) -> Vec<Finding> {
    let mut findings = checks::all(cron);
    findings.extend(clocks::check(cron, zone, now));
    findings
}

fn say(text: &str, verdict: &Verdict, around: &mut Surroundings<'_>) -> Result<(), Fault> {
    match verdict {
        Verdict::Faulty(fault) => around.say(format_args!("{}: {fault}", shown(text))),
        Verdict::Read(findings) => findings.iter().try_for_each(|finding| {
            let Finding { lint, what, help } = finding;
            around.say(format_args!("{}: warning: {what} [{lint}]\n  help: {help}", shown(text)))
        }),
    }
}

/// The expression on one line, whatever it is.
fn shown(text: &str) -> String {
    let is_plain = text.len() <= 80 && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    if is_plain { text.to_owned() } else { crate::fault::named(text) }
}

fn as_json(text: &str, verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Faulty(fault) => {
            let error = json!({ "what": fault.what(), "help": fault.first_help() });
            json!({ "expression": text, "error": error, "findings": [] })
        }
        Verdict::Read(findings) => {
            let findings = findings.iter().map(|finding| {
                json!({ "lint": finding.lint, "what": finding.what, "help": finding.help })
            });
            json!({ "expression": text, "error": null, "findings": findings.collect::<Vec<_>>() })
        }
    }
}
