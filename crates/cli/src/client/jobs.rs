//! Durable jobs, queues and nodes: lists, one job, its payload.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use chrono::{DateTime, Utc};
use clap::Subcommand;
use scheduler_api::{
    Action, Actions, ActionsQuery, Depth, EditRequest, Job, JobAttempt, JobError, JobErrors,
    JobProgress, Node, NodeJob, Nodes, Pause, Queues, UnknownTask,
};
use scheduler_core::trigger::Zone;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::client::api::{
    Api, ClientArgs, FilterArgs, TimeFormat, ask, escaped, local, plain, query, time,
};
use crate::client::job_changes::{ChangeArgs, JobChange, act};
use crate::client::table::{self, Cell, Tone};
use crate::client::tasks::{age, text, took};
use crate::client::{limits, status};
use crate::context::{Context, Look};
use crate::error::CliError;

/// The number of jobs that the program gives at once.
const PAGE_MAX: u64 = 500;

#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct JobsArgs {
    #[command(subcommand)]
    command: Option<JobsCommand>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Clone, Debug, Subcommand)]
enum JobsCommand {
    /// List jobs, the newest first; the same as without a word
    List(ListArgs),
    /// Count jobs by task and error, the most frequent first
    Errors {
        #[command(flatten)]
        filter: FilterArgs,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// Show a job: its error, its payload, its attempts and times
    Show(JobArgs),
    /// Say why jobs do not run
    Why(limits::WhyArgs),
    /// Make jobs due at once that are parked, wait or have ended
    Retry(ChangeArgs),
    /// Cancel jobs; those that run are asked to stop
    Cancel(ChangeArgs),
    /// Delete jobs that are not running
    Delete(ChangeArgs),
    /// Give a job that waits or is parked another payload; it stays as it is otherwise
    Edit(EditArgs),
    /// List queues: how many jobs wait, run and are parked
    Queues(ClientArgs),
    /// List the processes that use the store, and the jobs that they have
    Nodes(ClientArgs),
}

#[derive(Clone, Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// The greatest number of jobs
    #[arg(short = 'n', long, value_name = "NUMBER", default_value = "50")]
    count: NonZeroU64,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Clone, Debug, clap::Args)]
struct JobArgs {
    /// The identity of the job
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Clone, Debug, clap::Args)]
struct EditArgs {
    #[command(flatten)]
    job: JobArgs,
    /// The payload, in JSON; `-` reads it from the standard input
    #[arg(long, value_name = "JSON")]
    payload: String,
    /// The version of its type; by default the version of the payload before
    #[arg(long, value_name = "NUMBER")]
    payload_version: Option<u32>,
    /// The fence that `jobs show` has said: a job that was claimed since then is left alone
    #[arg(long, value_name = "NUMBER")]
    fence: Option<u64>,
}

pub(super) fn run(args: &JobsArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    match &args.command {
        None => list(&args.list, ctx),
        Some(JobsCommand::List(args)) => list(args, ctx),
        Some(JobsCommand::Errors { filter, client }) => {
            ask(&format!("/jobs:errors?{}", query(&filter.filter())), client, errors, ctx)
        }
        Some(JobsCommand::Show(JobArgs { id, client })) => {
            let shown = |job: &Job, _, api: &Api| Ok(one(job, cancelled(job, api), api.zone()?));
            ask(&format!("/jobs/{}", escaped(id)), client, shown, ctx)
        }
        Some(JobsCommand::Why(args)) => limits::why(args, ctx),
        Some(JobsCommand::Retry(args)) => act(args, JobChange::Retry, ctx),
        Some(JobsCommand::Cancel(args)) => act(args, JobChange::Cancel, ctx),
        Some(JobsCommand::Delete(args)) => act(args, JobChange::Delete, ctx),
        Some(JobsCommand::Edit(args)) => edit(args, ctx),
        Some(JobsCommand::Queues(client)) => ask("/queues", client, queues, ctx),
        Some(JobsCommand::Nodes(client)) => ask("/nodes", client, nodes, ctx),
    }
}

/// Checks the payload before it is sent, and says how the job goes on.
fn edit(args: &EditArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let mut payload = args.payload.clone();
    if payload == "-" {
        payload.clear();
        let unread = |error| CliError::unable(format!("the payload cannot be read: {error}"));
        ctx.input.read_to_string(&mut payload).map_err(unread)?;
    }
    if let Err(error) = serde_json::from_str::<IgnoredAny>(&payload) {
        let help = "write --payload '{\"order\": 17}'; a text is JSON in double quotes";
        return Err(CliError::unable(format!("the payload is no JSON: {error}")).help(help));
    }
    let JobArgs { id, client } = &args.job;
    let request = EditRequest { payload, version: args.payload_version, fence: args.fence };
    let api = Api::new(&client.server, ctx)?;
    let answer: Value = api.post(&format!("/jobs/{}/edit", escaped(id)), &request)?;
    if client.json {
        return ctx.say(answer);
    }
    let job: Job = api.typed(answer)?;
    let (id, task) = (plain(&job.id), plain(&job.task));
    let next = match &*job.state {
        "parked" => format!("stays parked until `scheduler jobs retry {id}`"),
        _ => format!("is due {}", time(&job.run_at, api.zone()?)),
    };
    ctx.say(format!("{id} of {task} has another payload, and {next}"))
}

/// Lists jobs. The program gives them page by page.
fn list(args: &ListArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let api = Api::new(&args.client.server, ctx)?;
    let (count, mut filter) = (args.count.get(), args.filter.filter());
    let (mut jobs, mut has_more) = (Vec::new(), true);
    while has_more && (jobs.len() as u64) < count {
        filter.limit = Some((count - jobs.len() as u64).min(PAGE_MAX));
        let mut page: Value = api.get(&format!("/jobs?{}", query(&filter)))?;
        let jobs_of_page = page["jobs"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let last = jobs_of_page.last().and_then(|job| job["id"].as_str());
        let after = page["after"].as_str().or(last).map(str::to_owned);
        // A program that says there is more, and gives nothing new, is not asked for ever.
        has_more = page["hasMore"] == true && after.is_some() && after != filter.after;
        filter.after = after;
        jobs.extend(jobs_of_page);
    }
    if args.client.json {
        return ctx.say(json!({ "jobs": jobs, "hasMore": has_more }));
    }
    if jobs.is_empty() {
        return ctx.say("no jobs");
    }
    let jobs: Vec<Job> = jobs.into_iter().map(|job| api.typed(job)).collect::<Result<_, _>>()?;
    let times = jobs.iter().filter_map(|job| when(job).1.as_deref());
    let times = TimeFormat::of(api.zone()?, times);
    let mut rows: Vec<_> = jobs.iter().map(|job| row(job, times)).collect();
    let mut head = vec!["ID", "TASK", "STATE", "QUEUE", "WHEN", "ATTEMPTS", "PROCESS", "ERROR"];
    if jobs.iter().all(|job| job.state != "running") {
        let process = head.len() - 2;
        head.remove(process);
        rows.iter_mut().for_each(|row| drop(row.remove(process)));
    }
    if jobs.iter().any(|job| job.partition.is_some()) {
        head.insert(4, "PARTITION");
        let partitions = jobs.iter().map(|job| Cell::from(text(&job.partition)));
        rows.iter_mut().zip(partitions).for_each(|(row, partition)| row.insert(4, partition));
    }
    let progress_of =
        |job: &Job| job.progress.as_ref().filter(|_| job.state == "running").map(progress);
    if jobs.iter().any(|job| progress_of(job).is_some()) {
        let last = head.len() - 1;
        head.insert(last, "PROGRESS");
        let progress = jobs.iter().map(|job| Cell::from(progress_of(job).unwrap_or_default()));
        rows.iter_mut().zip(progress).for_each(|(row, progress)| row.insert(last, progress));
    }
    let look = ctx.look();
    ctx.write(&table::of(&head, &rows, look))?;
    if has_more { ctx.say(format!("\nmore: -n {}", count.saturating_mul(10))) } else { Ok(()) }
}

fn errors(answer: &JobErrors, look: Look, api: &Api) -> Result<String, CliError> {
    if answer.errors.is_empty() {
        let none = match answer.is_partial {
            true => "none of the jobs that were counted has an error, and there are more\n",
            false => "no job has an error\n",
        };
        return Ok(none.to_owned());
    }
    let times = answer.errors.iter().flat_map(|error| [&error.first_at, &error.last_at]);
    let times = TimeFormat::of(api.zone()?, times.filter_map(|at| at.as_deref()));
    let at = |at: &Option<String>| Cell::from(times.time(at));
    let row = |error: &JobError| {
        let task = Cell::from(plain(&error.task));
        let message = Cell::new(plain(&error.error), Tone::Bad);
        vec![error.count.to_string().into(), task, message, at(&error.first_at), at(&error.last_at)]
    };
    let rows: Vec<Vec<Cell>> = answer.errors.iter().map(row).collect();
    let table = table::of(&["JOBS", "TASK", "ERROR", "FIRST", "LAST"], &rows, look);
    let rest = if answer.is_partial { "\nthere are more jobs than were counted\n" } else { "" };
    Ok(format!("{table}{rest}"))
}

fn row(job: &Job, times: TimeFormat) -> Vec<Cell> {
    let (word, at) = when(job);
    let tone = match &*job.state {
        "parked" => Tone::Bad,
        "running" => Tone::Busy,
        _ => Tone::Plain,
    };
    vec![
        plain(&job.id).into(),
        plain(&job.task).into(),
        Cell::new(state(job), tone),
        plain(&job.queue).into(),
        format!("{word} {}", times.time(at)).into(),
        format!("{} of {}", job.attempt, job.max_attempts).into(),
        job.node.as_deref().map_or_else(|| "-".to_owned(), plain).into(),
        text(&job.error).into(),
    ]
}

fn state(job: &Job) -> String {
    let stop = if job.is_cancel_requested { ", asked to stop" } else { "" };
    format!("{}{stop}", plain(&job.state))
}

/// Such as `40% page 3 of 7`.
fn progress(progress: &JobProgress) -> String {
    let percent = format!("{:.0}%", progress.fraction * 100.0);
    [percent, plain(&progress.text)].join(" ").trim_end().to_owned()
}

/// The instant that matters most for a job in its state.
fn when(job: &Job) -> (&'static str, &Option<String>) {
    match &*job.state {
        "ready" => ("due", &job.run_at),
        "running" => ("since", &job.started_at),
        _ => ("ended", &job.finished_at),
    }
}

/// The action by which a job was cancelled, or asked to stop.
fn cancelled(job: &Job, api: &Api) -> Option<Action> {
    if job.state != "cancelled" && !job.is_cancel_requested {
        return None;
    }
    let query = query(&ActionsQuery { task: Some(job.id.clone()), ..ActionsQuery::default() });
    let answer: Actions = api.find(&format!("/actions?{query}")).ok()??;
    answer.actions.into_iter().find(|action| action.action == "cancel")
}

fn one(job: &Job, cancelled: Option<Action>, zone: Zone) -> String {
    let mut lines = vec![plain(&job.id), String::new()];
    let attempts = job.attempts.as_deref().unwrap_or_default();
    let own = [&job.tick, &job.created_at, &job.run_at, &job.started_at, &job.finished_at];
    let own = own.into_iter().filter_map(|at| at.as_deref());
    let times = own.chain(attempts.iter().map(|past| &*past.started_at));
    let times = TimeFormat::of(zone, times);
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<10} {value}"));
        }
    };
    row("task", plain(&job.task));
    row("state", state(job));
    let by = cancelled.map(|action| {
        let note = action.note.as_deref().map(|note| format!(": {}", plain(note)));
        format!(
            "by {}, {}{}",
            plain(&action.who),
            local(&action.at, zone),
            note.unwrap_or_default()
        )
    });
    row("cancelled", by.unwrap_or_default());
    row("queue", format!("{}, priority {}", plain(&job.queue), plain(&job.priority)));
    row("partition", text(&job.partition));
    let waits = job.waits.as_ref().map(|_| limits::reason(job, zone));
    row("waits", waits.unwrap_or_default());
    row("key", text(&job.key));
    row("schedule", text(&job.schedule));
    row("tick", times.time(&job.tick));
    let lost = if job.lost == 0 { String::new() } else { format!(", lost {}×", job.lost) };
    row("attempts", format!("{} of {}{lost}", job.attempt, job.max_attempts));
    row("fence", job.fence.to_string());
    row("process", text(&job.node));
    row("session", text(&job.session));
    row("accepted", times.time(&job.created_at));
    row("due", times.time(&job.run_at));
    row("expires", times.time(&job.expires_at));
    row("started", times.time(&job.started_at));
    row("ended", times.time(&job.finished_at));
    let progress = job.progress.as_ref().map(progress);
    row("progress", progress.unwrap_or_default());
    section(&mut lines, "error", job.error.as_deref());
    if !attempts.is_empty() {
        lines.push("\nattempts that did not succeed:".to_owned());
        lines.extend(attempts.iter().map(|past| attempt(past, times)));
    }
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

/// Number, when and for how long, end, process, and the first line of the error.
fn attempt(attempt: &JobAttempt, times: TimeFormat) -> String {
    let (number, at) = (attempt.number, times.local(&attempt.started_at));
    let outcome = plain(&attempt.outcome).replace('_', " ");
    let node = attempt.node.as_deref().map(|node| format!(" on {}", plain(node)));
    let error = plain(attempt.error.lines().next().unwrap_or_default());
    let (took, node) = (took(attempt.took_ms), node.unwrap_or_default());
    format!("  {number}  {at}, {outcome} after {took}{node}: {error}")
}

fn section(lines: &mut Vec<String>, title: &str, text: Option<&str>) {
    if let Some(text) = text {
        lines.push(format!("\n{title}:"));
        lines.extend(text.lines().map(|line| format!("  {}", plain(line))));
    }
}

fn queues(answer: &Queues, look: Look, api: &Api) -> Result<String, CliError> {
    let mut rows = Vec::new();
    for queue in &answer.queues {
        rows.push(depth(plain(&queue.queue), &queue.depth));
        let tasks = queue.tasks.iter();
        rows.extend(tasks.map(|task| depth(format!("  {}", plain(&task.task)), &task.depth)));
    }
    let heads =
        ["QUEUE", "DUE", "LATER", "RETRYING", "RUNNING", "PARKED", "LONGEST WAIT", "LONGEST RUN"];
    let table = match rows.is_empty() {
        true => "no job waits, runs or is parked\n".to_owned(),
        false => table::of(&heads, &rows, look),
    };
    let unknown = answer.unknown_tasks.iter().map(unknown);
    let old = as_of(&answer.now, &answer.as_of, answer.count_failure.as_deref());
    let lines = pauses(answer, api)?.into_iter().chain(unknown).chain(old);
    let lines = lines.map(|line| line + "\n");
    Ok(table + &lines.collect::<String>())
}

/// A count of so many milliseconds is old.
const COUNT_AGE_MAX_MS: i64 = 10_000;

/// The age of the counts if they are old or could not be renewed, and why.
pub(super) fn as_of(now: &str, as_of: &str, failure: Option<&str>) -> Option<String> {
    let [now, then] = [now, as_of].map(|at| at.parse::<DateTime<Utc>>().ok());
    let counted = now? - then?;
    let why = failure.map(|why| format!(": {}", plain(why)));
    (why.is_some() || counted.num_milliseconds() > COUNT_AGE_MAX_MS)
        .then(|| format!("counted {} ago{}", age(counted), why.unwrap_or_default()))
}

/// A line for a task that no living process can run.
fn unknown(unknown: &UnknownTask) -> String {
    if let (Some(version), Some(known)) = (unknown.version, unknown.known_version) {
        let (task, due) = (plain(&unknown.task), unknown.due);
        let have = match due {
            1 => format!("1 due job of {task} has a payload of version {version}"),
            _ => format!("{due} due jobs of {task} have payloads up to version {version}"),
        };
        return format!("{have}, and no living process knows more than version {known}");
    }
    if let Some(elsewhere) = &unknown.elsewhere {
        let (task, due) = (plain(&unknown.task), unknown.due);
        let wait = if due == 1 {
            "1 job of it waits".to_owned()
        } else {
            format!("{due} jobs of it wait")
        };
        return format!("no living process runs {task} where {wait}: {}", plain(elsewhere));
    }
    let due = match unknown.due {
        0 => String::new(),
        1 => ", and 1 job of it is due".to_owned(),
        due => format!(", and {due} jobs of it are due"),
    };
    let silent = |name: &String| format!("; its schedule {} does not fire", plain(name));
    let schedules: String = unknown.schedules.iter().map(silent).collect();
    let nearest = unknown.nearest.as_deref().map(|name| format!("; nearest name: {}", plain(name)));
    let nearest = nearest.unwrap_or_default();
    format!("no living process has the task {}{due}{schedules}{nearest}", plain(&unknown.task))
}

/// A line for each pause of a queue and of a kind of job.
fn pauses(answer: &Queues, api: &Api) -> Result<Vec<String>, CliError> {
    let queues = answer.queues.iter();
    let queues = queues.filter_map(|queue| {
        Some((format!("queue {}", plain(&queue.queue)), queue.pause.as_ref()?))
    });
    let tasks = answer.queues.iter().flat_map(|queue| &queue.tasks);
    let tasks: BTreeMap<_, _> =
        tasks.filter_map(|task| Some((plain(&task.task), task.pause.as_ref()?))).collect();
    let pauses: Vec<_> = queues.chain(tasks).collect();
    let has_end = pauses.iter().any(|(_, pause)| pause.until.is_some());
    let zone = if has_end { api.zone()? } else { Zone::UTC };
    let line = |(what, pause): (String, &Pause)| {
        let by = pause.by.as_deref().map(|by| format!(" by {}", plain(by)));
        let until = pause.until.as_deref().map(|until| format!(" until {}", local(until, zone)));
        let reason = pause.reason.as_deref().map(|reason| format!(": {}", plain(reason)));
        let texts = [by, until, reason].map(Option::unwrap_or_default);
        format!("{what} is paused{}", texts.concat())
    };
    Ok(pauses.into_iter().map(line).collect())
}

fn depth(name: String, depth: &Depth) -> Vec<Cell> {
    let ages = [depth.oldest_ms, depth.oldest_running_ms];
    let ages = ages.map(|age| age.map_or_else(|| "-".to_owned(), took));
    let parked = if depth.parked > 0 { Tone::Bad } else { Tone::Plain };
    let counts = [depth.due, depth.later, depth.retrying, depth.running];
    let counts = counts.map(|count| count.to_string());
    let parked = Cell::new(depth.parked.to_string(), parked);
    let counts = counts.into_iter().map(Cell::from).chain([parked]);
    [name.into()].into_iter().chain(counts).chain(ages.map(Cell::from)).collect()
}

fn nodes(answer: &Nodes, look: Look, api: &Api) -> Result<String, CliError> {
    let opened = answer.nodes.iter().map(|node| &*node.opened_at);
    let times =
        TimeFormat::of(api.zone()?, opened.chain(answer.ended.iter().map(|node| &*node.at)));
    let jobs = |jobs: &[NodeJob]| {
        let jobs = jobs.iter().map(|job| format!("{} {}", plain(&job.task), plain(&job.id)));
        jobs.collect::<Vec<_>>().join(", ")
    };
    let row = |node: &Node| {
        let state = state_of(node);
        let [label, build] = [&node.label, &node.build].map(|text| Cell::from(plain(text)));
        let queues = match node.queues.as_deref() {
            None => "all".to_owned(),
            Some([]) => "none".to_owned(),
            Some(queues) => queues.iter().map(|queue| plain(queue)).collect::<Vec<_>>().join(", "),
        };
        let running = format!("{} of {}", node.jobs.len(), node.concurrency);
        let tasks = node.tasks.len().to_string();
        let opened = times.local(&node.opened_at);
        let texts = [opened, queues, tasks].map(Cell::from);
        let texts = [label, build].into_iter().chain(texts);
        texts.chain([state, running.into(), jobs(&node.jobs).into()]).collect()
    };
    let mut rows: Vec<Vec<Cell>> = answer.nodes.iter().map(row).collect();
    let ended = |name: String, build: String, at: String, state: Cell, jobs: String| {
        let blank = Cell::default;
        vec![name.into(), build.into(), at.into(), blank(), blank(), state, blank(), jobs.into()]
    };
    if !answer.orphans.is_empty() {
        let state = Cell::new("gone", Tone::Bad);
        let jobs = jobs(&answer.orphans);
        rows.push(ended("(gone)".to_owned(), String::new(), String::new(), state, jobs));
    }
    rows.extend(answer.ended.iter().map(|node| {
        let state = match &node.found_by {
            Some(by) => Cell::new(format!("lost, found by {}", plain(by)), Tone::Bad),
            None => Cell::from("stopped".to_owned()),
        };
        let at = format!("until {}", times.local(&node.at));
        let held = if node.jobs > 0 { format!("it held {}", node.jobs) } else { String::new() };
        ended(plain(&node.label), plain(&node.build), at, state, held)
    }));
    let old = as_of(&answer.now, &answer.as_of, None).map(|old| old + "\n").unwrap_or_default();
    if rows.is_empty() {
        return Ok(format!("no process uses the store\n{old}"));
    }
    let heads = ["PROCESS", "BUILD", "SINCE", "QUEUES", "TASKS", "STATE", "RUNNING", "JOBS"];
    Ok(table::of(&heads, &rows, look) + &old)
}

fn state_of(node: &Node) -> Cell {
    let clock = node.clock_offset_ms.filter(|_| node.is_clock_off);
    let clock = clock.map(|offset| format!("its clock is {}", status::clock(offset)));
    let (state, tone) = match (&node.pause, clock) {
        _ if node.has_run_out => ("does not renew its lease".to_owned(), Tone::Bad),
        (None, None) => ("takes jobs".to_owned(), Tone::Plain),
        (None, Some(clock)) => (clock, Tone::Bad),
        (Some(pause), clock) => {
            let by = pause.by.as_deref().map(|by| format!(" by {}", plain(by)));
            let texts = [Some(format!("paused{}", by.unwrap_or_default())), clock];
            let tone = if texts[1].is_some() { Tone::Bad } else { Tone::Faint };
            (texts.into_iter().flatten().collect::<Vec<_>>().join(", "), tone)
        }
    };
    Cell::new(state, tone)
}
