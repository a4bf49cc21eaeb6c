//! Durable jobs, queues and nodes: `jobs`.

use std::num::NonZeroUsize;

use clap::Subcommand;
use scheduler_api::{Depth, Job, NodeJob, Nodes, Queues};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::api::{Api, ServerArgs, escaped, plain};
use super::table;
use super::tasks::{text, took};
use crate::context::Context;
use crate::error::CliError;

/// The number of jobs that the program gives at once.
const PAGE_MAX: usize = 500;

#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct JobsArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// List jobs, the oldest first; the same as without a word
    List(ListArgs),
    /// Show a job: its error, its payload, its attempts and times
    Show(JobArgs),
    /// Make jobs due at once that are parked, wait or have ended
    Retry(ManyJobsArgs),
    /// Cancel jobs; those that run are asked to stop
    Cancel(ManyJobsArgs),
    /// Delete jobs that are not running
    Delete(ManyJobsArgs),
    /// List queues: how many jobs wait, run and are parked
    Queues(CommonArgs),
    /// List the processes that use the store, and the jobs that they have
    Nodes(CommonArgs),
}

#[derive(Clone, Debug, clap::Args)]
struct ListArgs {
    /// Of this state: ready, running, done, parked or cancelled
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Of this task
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// In this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// With this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Made by this schedule
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    /// The greatest number of jobs
    #[arg(short = 'n', long, value_name = "NUMBER", default_value = "50")]
    count: NonZeroUsize,
    #[command(flatten)]
    all: CommonArgs,
}

#[derive(Clone, Debug, clap::Args)]
struct CommonArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, clap::Args)]
struct JobArgs {
    /// The identity of the job
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    all: CommonArgs,
}

#[derive(Clone, Debug, clap::Args)]
struct ManyJobsArgs {
    /// The identities of the jobs
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    all: CommonArgs,
}

pub(super) fn run(args: &JobsArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    match &args.command {
        None => list(&args.list, ctx),
        Some(Command::List(args)) => list(args, ctx),
        Some(Command::Show(JobArgs { id, all })) => {
            ask(&format!("/jobs/{}", escaped(id)), all, one, ctx)
        }
        Some(Command::Retry(args)) => act(args, "retry", ctx),
        Some(Command::Cancel(args)) => act(args, "cancel", ctx),
        Some(Command::Delete(args)) => act(args, "delete", ctx),
        Some(Command::Queues(all)) => ask("/queues", all, queues, ctx),
        Some(Command::Nodes(all)) => ask("/nodes", all, nodes, ctx),
    }
}

fn ask<T: DeserializeOwned>(
    path: &str,
    all: &CommonArgs,
    show: fn(&T) -> String,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let api = Api::new(&all.server, ctx)?;
    if all.json { ctx.say(api.get::<Value>(path)?) } else { ctx.write(&show(&api.get(path)?)) }
}

/// Page by page, as many as are wanted.
fn list(args: &ListArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let api = Api::new(&args.all.server, ctx)?;
    let conditions = [
        ("state", &args.state),
        ("task", &args.task),
        ("queue", &args.queue),
        ("key", &args.key),
        ("schedule", &args.schedule),
    ];
    let mut query = String::new();
    for (name, text) in conditions {
        if let Some(text) = text {
            query.push_str(&format!("&{name}={}", escaped(text)));
        }
    }
    let count = args.count.get();
    let (mut jobs, mut has_more) = (Vec::new(), true);
    while has_more && jobs.len() < count {
        let limit = (count - jobs.len()).min(PAGE_MAX);
        let last = jobs.last().and_then(|job: &Value| job["id"].as_str()).map(escaped);
        let after = last.map(|id| format!("&after={id}")).unwrap_or_default();
        let mut page: Value = api.get(&format!("/jobs?limit={limit}{query}{after}"))?;
        let jobs_of_page = page["jobs"].as_array_mut().map(std::mem::take).unwrap_or_default();
        // A program that says there is more, and gives nothing, is not asked for ever.
        has_more = page["hasMore"] == true && !jobs_of_page.is_empty();
        jobs.extend(jobs_of_page);
    }
    if args.all.json {
        return ctx.say(json!({ "jobs": jobs, "hasMore": has_more }));
    }
    if jobs.is_empty() {
        return ctx.say("no jobs");
    }
    let row = |job: Value| api.typed(job).map(|job| row(&job));
    let rows = jobs.into_iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let head = ["ID", "TASK", "STATE", "QUEUE", "WHEN", "ATTEMPTS", "ERROR"];
    ctx.write(&table::of(&head, &rows))?;
    if has_more { ctx.say(format!("\nmore: -n {}", count.saturating_mul(10))) } else { Ok(()) }
}

fn row(job: &Job) -> Vec<String> {
    vec![
        plain(&job.id),
        plain(&job.task),
        plain(&job.state),
        plain(&job.queue),
        when(job),
        format!("{} of {}", job.attempt, job.max_attempts),
        text(&job.error),
    ]
}

/// The instant that matters most for a job in its state.
fn when(job: &Job) -> String {
    let (at, word) = match &*job.state {
        "ready" => (&job.run_at_local, "due"),
        "running" => (&job.started_at_local, "since"),
        _ => (&job.finished_at_local, "ended"),
    };
    format!("{word} {}", text(at))
}

fn one(job: &Job) -> String {
    let mut lines = vec![plain(&job.id), String::new()];
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<10} {value}"));
        }
    };
    row("task", plain(&job.task));
    row("state", plain(&job.state));
    row("queue", format!("{}, priority {}", plain(&job.queue), plain(&job.priority)));
    row("key", text(&job.key));
    row("schedule", text(&job.schedule));
    row("tick", text(&job.tick_local));
    let lost = if job.lost == 0 { String::new() } else { format!(", lost {}×", job.lost) };
    row("attempts", format!("{} of {}{lost}", job.attempt, job.max_attempts));
    row("fence", job.fence.to_string());
    row("session", text(&job.session));
    row("accepted", text(&job.created_at_local));
    row("due", text(&job.run_at_local));
    row("started", text(&job.started_at_local));
    row("ended", text(&job.finished_at_local));
    section(&mut lines, "error", job.error.as_deref());
    if let Some(payload) = &job.payload {
        match payload.is_hidden {
            Some(true) => {
                lines.push(format!("\npayload: {} bytes, hidden from you", payload.bytes));
            }
            _ => section(&mut lines, "payload", payload.text.as_deref()),
        }
    }
    lines.join("\n") + "\n"
}

fn section(lines: &mut Vec<String>, title: &str, text: Option<&str>) {
    if let Some(text) = text {
        lines.push(format!("\n{title}:"));
        lines.extend(text.lines().map(|line| format!("  {}", plain(line))));
    }
}

/// Asks for a change of each job, and says how it is then. The first refusal ends it.
fn act(args: &ManyJobsArgs, action: &str, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let api = Api::new(&args.all.server, ctx)?;
    for id in &args.ids {
        let answer: Value = api.post(&format!("/jobs/{}/{action}", escaped(id)), &json!({}))?;
        if args.all.json {
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

fn queues(answer: &Queues) -> String {
    let mut rows = Vec::new();
    for queue in &answer.queues {
        rows.push(depth(plain(&queue.queue), &queue.depth));
        let tasks = queue.tasks.iter();
        rows.extend(tasks.map(|task| depth(format!("  {}", plain(&task.task)), &task.depth)));
    }
    if rows.is_empty() {
        return "no job waits, runs or is parked\n".to_owned();
    }
    table::of(&["QUEUE", "DUE", "LATER", "RUNNING", "PARKED", "LONGEST WAIT"], &rows)
}

fn depth(name: String, depth: &Depth) -> Vec<String> {
    let oldest = depth.oldest_ms.map_or_else(|| "-".to_owned(), took);
    let counts =
        [depth.due, depth.later, depth.running, depth.parked].map(|count| count.to_string());
    [name].into_iter().chain(counts).chain([oldest]).collect()
}

fn nodes(answer: &Nodes) -> String {
    let jobs = |jobs: &[NodeJob]| match jobs {
        [] => "-".to_owned(),
        jobs => {
            let jobs = jobs.iter().map(|job| format!("{} {}", plain(&job.task), plain(&job.id)));
            jobs.collect::<Vec<_>>().join(", ")
        }
    };
    let nodes = answer.nodes.iter();
    let mut rows: Vec<Vec<String>> = nodes
        .map(|node| {
            let lease = if node.has_run_out { "has run out" } else { "holds" };
            vec![
                plain(&node.label),
                plain(&node.build),
                plain(&node.opened_at_local),
                lease.to_owned(),
                jobs(&node.jobs),
            ]
        })
        .collect();
    if !answer.orphans.is_empty() {
        let gone = ["(gone)", "", "", "ended"].map(str::to_owned);
        rows.push(gone.into_iter().chain([jobs(&answer.orphans)]).collect());
    }
    if rows.is_empty() {
        return "no process uses the store\n".to_owned();
    }
    table::of(&["PROCESS", "BUILD", "SINCE", "LEASE", "JOBS"], &rows)
}
