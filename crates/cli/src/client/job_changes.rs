//! Changes of jobs, one by one or all that match.

use scheduler_api::{ChangedJobs, Job, JobFilter, JobsRequest};
use serde_json::{Value, json};

use crate::client::api::{Api, ClientArgs, FilterArgs, escaped, plain};
use crate::context::Context;
use crate::error::CliError;

#[derive(Clone, Debug, clap::Args)]
pub(super) struct ChangeArgs {
    /// The identities of the jobs; or say which jobs with --state and the like
    #[arg(value_name = "ID", conflicts_with_all = ["state", "task", "queue", "partition", "key", "schedule", "error", "dry_run"])]
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

/// A change of jobs.
#[derive(Clone, Copy, Debug)]
pub(super) enum JobChange {
    Retry,
    Cancel,
    Delete,
}

impl JobChange {
    /// The name in paths, and in the question to the person.
    fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Delete => "delete",
        }
    }

    /// The state of a job after the change, in words.
    fn done_to(self, job: &Job) -> &'static str {
        match self {
            Self::Retry => "is due now",
            Self::Cancel if job.state == "running" => "is asked to stop",
            Self::Cancel => "is cancelled",
            Self::Delete => "is deleted",
        }
    }

    fn done_to_all(self) -> &'static str {
        match self {
            Self::Retry => "due now",
            Self::Cancel => "cancelled, or asked to stop",
            Self::Delete => "deleted",
        }
    }
}

/// Changes the jobs with these identities, or all that match.
pub(super) fn act(
    args: &ChangeArgs,
    change: JobChange,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let api = Api::new(&args.client.server, ctx)?;
    if !args.ids.is_empty() {
        return on_each(args, &api, change, ctx);
    }
    if args.filter.has_state() {
        return on_matching(args, &api, change, ctx);
    }
    let example = format!("scheduler jobs {} --state parked --task mail", change.name());
    let (what, example) = match args.filter.is_empty() {
        true => ("say which jobs", format!("write their identities, or for example `{example}`")),
        false => ("a filter needs a state", format!("write for example `{example}`")),
    };
    Err(CliError::unable(what).help(example))
}

/// Asks for a change of each job, and says how it is then. The first refusal ends it.
fn on_each(
    args: &ChangeArgs,
    api: &Api,
    change: JobChange,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    for id in &args.ids {
        let path = format!("/jobs/{}/{}", escaped(id), change.name());
        let answer: Value = api.post(&path, &json!({}))?;
        if args.client.json {
            ctx.say(answer)?;
            continue;
        }
        let job: Job = api.typed(answer)?;
        let done = change.done_to(&job);
        ctx.say(format!("{} of {} {done}", plain(&job.id), plain(&job.task)))?;
    }
    Ok(())
}

/// Counts the jobs that match, asks the person, and changes them.
fn on_matching(
    args: &ChangeArgs,
    api: &Api,
    change: JobChange,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let filter = args.filter.filter();
    if args.dry_run || !args.yes {
        let count = post_all(api, change, &filter, true)?;
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
        if !ctx.is_sure(&format!("{} {count} {} {words}?", change.name(), jobs(count)))? {
            return Err(CliError::no("nothing was changed").help("answer `y`, or write --yes"));
        }
    }
    let count = post_all(api, change, &filter, false)?;
    if args.client.json {
        return ctx.say(json!({ "count": count }));
    }
    ctx.say(format!("{count} {} {}", jobs(count), change.done_to_all()))
}

/// Changes all jobs that match, or counts them, and returns their number. A program that has no time for all of them says where
/// to go on.
fn post_all(
    api: &Api,
    change: JobChange,
    filter: &JobFilter,
    dry_run: bool,
) -> Result<u64, CliError> {
    let (mut filter, mut going_on, mut sum) = (filter.clone(), None, 0);
    loop {
        let matching = Some(filter.clone());
        let request = JobsRequest { dry_run, ids: None, matching, action: going_on };
        let ChangedJobs { count, after, action } =
            api.post(&format!("/jobs:{}", change.name()), &request)?;
        sum += count;
        if after.is_none() || after == filter.after {
            return Ok(sum);
        }
        (filter.after, going_on) = (after, action);
    }
}

fn jobs(count: u64) -> &'static str {
    if count == 1 { "job" } else { "jobs" }
}
