//! Expressions that mean something else than people think: `lint`.
//!
//! Each lint is a mistake that people make with cron, which is still a correct expression. It tells the effect of
//! the expression, and the text to write if that was not meant. All lints of an expression come at once. Matters of taste are not
//! reported.

mod checks;
mod live;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::Zone;
use serde_json::{Value, json};

use crate::client::{Api, ServerArgs};
use crate::context::{self, Context};
use crate::error::{CliError, NO, OK, parse};
use crate::times::Times;
use checks::{Finding, all};

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
enum Verdict {
    Faulty(CliError),
    Read(Vec<Finding>),
}

/// `lint EXPR…`: the code to exit with.
pub(crate) fn lint(args: &LintArgs, ctx: &mut Context<'_>) -> Result<u8, CliError> {
    let verdicts = if args.running {
        let tasks = live::findings(&Api::new(&args.server, ctx)?, ctx.now())?;
        tasks.into_iter().map(|(name, findings)| (name, Verdict::Read(findings))).collect()
    } else {
        let asked = context::zone(args.zone.as_deref(), ctx)?;
        asked.tell(ctx);
        let zone = asked.zone;
        let now = ctx.now();
        let judged = args.expressions.iter().map(|text| (text.clone(), judge(text, zone, now)));
        judged.collect::<Vec<_>>()
    };
    let is_bad = verdicts.iter().any(|(_, verdict)| match verdict {
        Verdict::Faulty(_) => true,
        Verdict::Read(findings) => args.deny && !findings.is_empty(),
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

fn judge(text: &str, zone: Zone, now: DateTime<Utc>) -> Verdict {
    let cron = match parse(text) {
        Ok(cron) => cron,
        Err(fault) => return Verdict::Faulty(fault),
    };
    match cron.never_fires() {
        Some(never) => {
            Verdict::Faulty(CliError::no(never.to_string()).at(cron.source(), never.span(), ""))
        }
        None => match Times::new(std::slice::from_ref(&cron), zone).silent_after(now) {
            Some(silent) => Verdict::Faulty(silent),
            None => Verdict::Read(all(&cron, zone, now)),
        },
    }
}

fn say(text: &str, verdict: &Verdict, ctx: &mut Context<'_>) -> Result<(), CliError> {
    match verdict {
        Verdict::Faulty(fault) => ctx.say(format_args!("{}: {fault}", shown(text))),
        Verdict::Read(findings) => findings.iter().try_for_each(|finding| {
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

fn as_json(name: &str, text: &str, verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Faulty(fault) => {
            let error = json!({ "what": fault.what(), "help": fault.first_help() });
            json!({ name: text, "error": error, "findings": [] })
        }
        Verdict::Read(findings) => {
            let findings = findings.iter().map(|finding| {
                json!({ "lint": finding.lint, "what": finding.what, "help": finding.help })
            });
            json!({ name: text, "error": null, "findings": findings.collect::<Vec<_>>() })
        }
    }
}
