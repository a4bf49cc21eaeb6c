//! Durable jobs, queues and nodes: `jobs`.

use std::num::NonZeroUsize;

use clap::Subcommand;
use serde_json::{Value, json};

use super::api::{Api, ServerArgs, escaped, plain};
use super::table;
use super::tasks::{number, text, took};
use crate::context::Context;
use crate::error::CliError;

/// How many jobs the program gives at once.
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
    /// ListArgs jobs, the oldest first; the same as without a word
    List(ListArgs),
    /// Show a job: its error, its payload, its attempts and times
    Show(JobArgs),
    /// Make jobs due at once that are parked, wait or have ended
    Retry(ManyJobsArgs),
    /// Cancel jobs; those that run are asked to stop
    Cancel(ManyJobsArgs),
    /// Delete jobs that are not running
    Delete(ManyJobsArgs),
    /// ListArgs queues: how many jobs wait, run and are parked
    Queues(CommonArgs),
    /// ListArgs the processes that use the store, and the jobs that they have
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
    /// How many at most
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

fn ask(
    path: &str,
    all: &CommonArgs,
    show: fn(&Value) -> String,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let answer = Api::new(&all.server, ctx)?.get(path)?;
    if all.json { ctx.say(answer) } else { ctx.write(&show(&answer)) }
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
        let mut page = api.get(&format!("/jobs?limit={limit}{query}{after}"))?;
        let found = page["jobs"].as_array_mut().map(std::mem::take).unwrap_or_default();
        // A program that says there is more, and gives nothing, is not asked for ever.
        has_more = page["hasMore"] == true && !found.is_empty();
        jobs.extend(found);
    }
    if args.all.json {
        return ctx.say(json!({ "jobs": jobs, "hasMore": has_more }));
    }
    if jobs.is_empty() {
        return ctx.say("no jobs");
    }
    let rows: Vec<Vec<String>> = jobs.iter().map(row).collect();
    let head = ["ID", "TASK", "STATE", "QUEUE", "WHEN", "ATTEMPTS", "ERROR"];
    ctx.write(&table::of(&head, &rows))?;
    if has_more { ctx.say(format!("\nmore: -n {}", count.saturating_mul(10))) } else { Ok(()) }
}

fn row(job: &Value) -> Vec<String> {
    let error = text(job, "error");
    vec![
        text(job, "id"),
        text(job, "task"),
        text(job, "state"),
        text(job, "queue"),
        when(job),
        format!("{} of {}", number(job, "attempt"), number(job, "maxAttempts")),
        error,
    ]
}

/// The instant that says most of a job in its state.
fn when(job: &Value) -> String {
    let (name, word) = match job["state"].as_str() {
        Some("ready") => ("runAtLocal", "due"),
        Some("running") => ("startedAtLocal", "since"),
        _ => ("finishedAtLocal", "ended"),
    };
    format!("{word} {}", text(job, name))
}

fn one(job: &Value) -> String {
    let mut lines = vec![text(job, "id"), String::new()];
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<10} {value}"));
        }
    };
    row("task", text(job, "task"));
    row("state", text(job, "state"));
    row("queue", format!("{}, priority {}", text(job, "queue"), text(job, "priority")));
    row("key", text(job, "key"));
    row("schedule", text(job, "schedule"));
    row("tick", text(job, "tickLocal"));
    let lost = number(job, "lost");
    let lost = if lost == 0 { String::new() } else { format!(", lost {lost}×") };
    row("attempts", format!("{} of {}{lost}", number(job, "attempt"), number(job, "maxAttempts")));
    row("fence", number(job, "fence").to_string());
    row("session", text(job, "session"));
    row("accepted", text(job, "createdAtLocal"));
    row("due", text(job, "runAtLocal"));
    row("started", text(job, "startedAtLocal"));
    row("ended", text(job, "finishedAtLocal"));
    section(&mut lines, "error", job["error"].as_str());
    match &job["payload"] {
        payload if payload["isHidden"] == true => {
            lines.push(format!("\npayload: {} bytes, hidden from you", number(payload, "bytes")));
        }
        payload => section(&mut lines, "payload", payload["text"].as_str()),
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
        let job = api.post(&format!("/jobs/{}/{action}", escaped(id)), &json!({}))?;
        if args.all.json {
            ctx.say(job)?;
            continue;
        }
        let done = match action {
            "retry" => "is due now",
            "delete" => "is deleted",
            _ if job["state"] == "running" => "is asked to stop",
            _ => "is cancelled",
        };
        ctx.say(format!("{} of {} {done}", text(&job, "id"), text(&job, "task")))?;
    }
    Ok(())
}

fn queues(answer: &Value) -> String {
    let mut rows = Vec::new();
    for queue in answer["queues"].as_array().into_iter().flatten() {
        rows.push(depth(text(queue, "queue"), queue));
        let tasks = queue["tasks"].as_array().into_iter().flatten();
        rows.extend(tasks.map(|task| depth(format!("  {}", text(task, "task")), task)));
    }
    if rows.is_empty() {
        return "no job waits, runs or is parked\n".to_owned();
    }
    table::of(&["QUEUE", "DUE", "LATER", "RUNNING", "PARKED", "LONGEST WAIT"], &rows)
}

fn depth(name: String, it: &Value) -> Vec<String> {
    let count = |name| number(it, name).to_string();
    let oldest = it["oldestMs"].as_f64().map_or_else(|| "-".to_owned(), took);
    vec![name, count("due"), count("later"), count("running"), count("parked"), oldest]
}

fn nodes(answer: &Value) -> String {
    let jobs = |list: &Value| {
        let list = list.as_array().into_iter().flatten();
        let jobs: Vec<String> =
            list.map(|job| format!("{} {}", text(job, "task"), text(job, "id"))).collect();
        if jobs.is_empty() { "-".to_owned() } else { jobs.join(", ") }
    };
    let nodes = answer["nodes"].as_array().into_iter().flatten();
    let mut rows: Vec<Vec<String>> = nodes
        .map(|node| {
            let lease = if node["hasRunOut"] == true { "has run out" } else { "holds" };
            vec![
                text(node, "label"),
                text(node, "build"),
                text(node, "openedAtLocal"),
                lease.to_owned(),
                jobs(&node["jobs"]),
            ]
        })
        .collect();
    if answer["orphans"].as_array().is_some_and(|list| !list.is_empty()) {
        let gone = ["(gone)", "", "", "ended"].map(str::to_owned);
        rows.push(gone.into_iter().chain([jobs(&answer["orphans"])]).collect());
    }
    if rows.is_empty() {
        return "no process uses the store\n".to_owned();
    }
    table::of(&["PROCESS", "BUILD", "SINCE", "LEASE", "JOBS"], &rows)
}
