//! Changes of jobs: those with given identities, or all that match.

use scheduler_api::{ChangedJobs, Job, JobFilter, JobsRequest};
use serde_json::{Value, json};

use super::api::{Api, escaped, plain};
use super::args::{ClientArgs, FilterArgs};
use crate::context::Context;
use crate::error::CliError;

#[derive(Clone, Debug, clap::Args)]
pub(super) struct ChangeArgs {
    /// The identities of the jobs; or say which jobs with --state and the like
    #[arg(value_name = "ID", required_unless_present = "state", conflicts_with_all = ["state", "task", "queue", "key", "schedule", "error", "dry_run"])]
    ids: Vec<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Count the jobs that match, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before all jobs that match are changed
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

pub(super) fn act(args: &ChangeArgs, action: &str, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let api = Api::new(&args.client.server, ctx)?;
    match args.ids.is_empty() {
        true => on_matching(args, &api, action, ctx),
        false => on_each(args, &api, action, ctx),
    }
}

/// Asks for a change of each job, and says how it is then. The first refusal ends it.
fn on_each(
    args: &ChangeArgs,
    api: &Api,
    action: &str,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    for id in &args.ids {
        let answer: Value = api.post(&format!("/jobs/{}/{action}", escaped(id)), &json!({}))?;
        if args.client.json {
            ctx.say(answer)?;
            continue;
        }
        let job: Job = api.typed(answer)?;
        let done = match action {
            "retry" => "is due now",
            "delete" => "is deleted",
            _ if job.state == "running" => "is asked to stop",
            _ => "is cancelled",
        };
        ctx.say(format!("{} of {} {done}", plain(&job.id), plain(&job.task)))?;
    }
    Ok(())
}

/// Counts the jobs that match, asks the person, and changes them.
fn on_matching(
    args: &ChangeArgs,
    api: &Api,
    action: &str,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let filter = args.filter.filter();
    if args.dry_run || !args.yes {
        let count = change(api, action, &filter, true)?;
        if args.dry_run || count == 0 {
            let text =
                format!("{count} {} match{}", jobs(count), if count == 1 { "es" } else { "" });
            return ctx.say(if args.client.json {
                json!({ "count": count }).to_string()
            } else {
                text
            });
        }
        let words = args.filter.in_words();
        if !ctx.is_sure(&format!("{action} {count} {} {words}?", jobs(count)))? {
            return Err(CliError::no("nothing was changed").help("answer `y`, or write --yes"));
        }
    }
    let count = change(api, action, &filter, false)?;
    if args.client.json {
        return ctx.say(json!({ "count": count }));
    }
    let done = match action {
        "retry" => "due now",
        "delete" => "deleted",
        _ => "cancelled, or asked to stop",
    };
    ctx.say(format!("{count} {} {done}", jobs(count)))
}

/// Asks again and again as long as the program has no time for all: the number of jobs.
fn change(api: &Api, action: &str, filter: &JobFilter, dry_run: bool) -> Result<u64, CliError> {
    let (mut filter, mut sum) = (filter.clone(), 0);
    loop {
        let matching = Some(filter.clone());
        let request = JobsRequest { dry_run, ids: None, matching };
        let ChangedJobs { count, after } = api.post(&format!("/jobs:{action}"), &request)?;
        sum += count;
        if after.is_none() || after == filter.after {
            return Ok(sum);
        }
        filter.after = after;
    }
}

fn jobs(count: u64) -> &'static str {
    if count == 1 { "job" } else { "jobs" }
}
