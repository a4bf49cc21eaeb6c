//! Changes of tasks, queues and processes: `run`, `pause`, `resume`, `drain`, `cancel`, `enable`, `reschedule`.

use chrono::{DateTime, Utc};
use scheduler_api::{Changed, Node, Pause, PauseRequest, Preview, Queue, RuleRequest, Task};
use serde_json::{Value, json};

use super::api::{Api, ask, escaped, local, plain, query, zone_of};
use super::api::{ClientArgs, TaskArgs, duration};
use super::{limits, tasks};
use crate::context::{self, Context};
use crate::error::CliError;
use crate::times;

/// The tasks that are meant: one, those with a tag, or all; or the jobs of a queue; or a process.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct WhichArgs {
    /// The task, in full or by an unambiguous end of its name; also a kind of job
    name: Option<String>,
    /// All jobs of this queue, in all processes
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// This process, by its name or its session: paused, it takes no jobs and fires no ticks, and its runs go on
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// All tasks with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// All tasks
    #[arg(long)]
    all: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Only the jobs of this partition of the kind
    #[arg(long, value_name = "NAME", requires = "name", conflicts_with_all = ["queue", "node", "tag", "all"])]
    partition: Option<String>,
    /// Why, for others to read
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// When the pause ends by itself: `2026-03-27T14:00`, `2026-03-27T13:00:00Z`
    #[arg(long, value_name = "INSTANT", conflicts_with = "length")]
    until: Option<String>,
    /// The length of the pause: `1h`, `30m`
    #[arg(long = "for", id = "length", value_name = "LENGTH")]
    length: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Only the jobs of this partition of the kind
    #[arg(long, value_name = "NAME", requires = "name", conflicts_with_all = ["queue", "node", "tag", "all"])]
    partition: Option<String>,
    /// Why, for others to read
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DrainArgs {
    /// The process, by its name or its session
    node: String,
    /// Why, for others to read
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RescheduleArgs {
    #[command(flatten)]
    task: TaskArgs,
    #[command(flatten)]
    rule: RuleArgs,
    /// The time zone of the cron expression; by default the one that the task has
    #[arg(long, value_name = "NAME", requires = "cron")]
    zone: Option<String>,
    /// The wait before the first run of a rate or a delay
    #[arg(long, value_name = "LENGTH")]
    initial_delay: Option<String>,
    /// Show the rule and its next fire times, and change nothing
    #[arg(long, conflicts_with = "reset")]
    dry_run: bool,
}

#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct RuleArgs {
    /// A cron expression, in quotes: "0 0 9 * * MON-FRI"
    #[arg(long, value_name = "EXPRESSION")]
    cron: Option<String>,
    /// A period: `30s`
    #[arg(long, value_name = "LENGTH")]
    fixed_rate: Option<String>,
    /// A delay after the end of each run: `5m`
    #[arg(long, value_name = "LENGTH")]
    fixed_delay: Option<String>,
    /// One instant: `2026-03-27T13:00:00Z`
    #[arg(long, value_name = "INSTANT")]
    at: Option<String>,
    /// The rule of the code again, of a durable task
    #[arg(long)]
    reset: bool,
}

pub(super) fn pause(args: &PauseArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let until = args.until.as_deref().map(|until| end_of_pause(until, ctx)).transpose()?;
    let for_ms = args.length.as_deref().map(millis).transpose()?;
    let request =
        PauseRequest { reason: args.reason.clone(), until, for_ms, ..PauseRequest::default() };
    if let (Some(kind), Some(partition)) = (&args.which.name, &args.partition) {
        return limits::on_partition((kind, partition), &args.client, "pause", request, ctx);
    }
    on_tasks(&args.which, &args.client, "pause", request, ctx)
}

pub(super) fn resume(args: &ResumeArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let request = PauseRequest { reason: args.reason.clone(), ..PauseRequest::default() };
    if let (Some(kind), Some(partition)) = (&args.which.name, &args.partition) {
        return limits::on_partition((kind, partition), &args.client, "resume", request, ctx);
    }
    on_tasks(&args.which, &args.client, "resume", request, ctx)
}

pub(super) fn drain(args: &DrainArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let request = PauseRequest { reason: args.reason.clone(), ..PauseRequest::default() };
    on_node(&args.node, &args.client, "pause", &request, ctx)
}

fn on_tasks(
    which: &WhichArgs,
    client: &ClientArgs,
    action: &str,
    request: PauseRequest,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    if let Some(name) = &which.name {
        return post(name, client, action, &request, ctx);
    }
    if let Some(queue) = &which.queue {
        return on_queue(queue, client, action, &request, ctx);
    }
    if let Some(node) = &which.node {
        return on_node(node, client, action, &request, ctx);
    }
    let all = which.all.then_some(true);
    let mut request = PauseRequest { tag: which.tag.clone(), all, ..request };
    let (api, mut changed) = (Api::new(&client.server, ctx)?, 0);
    loop {
        let answer: Changed = api.post(&format!("/tasks:{action}"), &request)?;
        changed += answer.changed;
        if answer.after.is_none() || answer.after == request.after {
            break;
        }
        (request.after, request.action) = (answer.after, answer.action);
    }
    if client.json {
        return ctx.say(json!({ "changed": changed }));
    }
    let noun = if changed == 1 { "task" } else { "tasks" };
    ctx.say(match action {
        "pause" => format!("{changed} {noun} paused"),
        _ => format!("{changed} {noun} resumed"),
    })
}

fn on_queue(
    queue: &str,
    client: &ClientArgs,
    action: &str,
    request: &PauseRequest,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let api = Api::new(&client.server, ctx)?;
    let answer: Value = api.post(&format!("/queues/{}/{action}", escaped(queue)), request)?;
    if client.json {
        return ctx.say(answer);
    }
    let row: Queue = api.typed(answer)?;
    let name = plain(&row.queue);
    ctx.say(match &row.pause {
        Some(pause) => {
            let until = until(pause, &api)?;
            format!("queue {name}: paused{until}; to let it go on: scheduler resume --queue {name}")
        }
        None => match row.depth.due {
            1 => format!("queue {name}: goes on; 1 job is due"),
            due => format!("queue {name}: goes on; {due} jobs are due"),
        },
    })
}

/// The end of a pause, if it has one.
fn until(pause: &Pause, api: &Api) -> Result<String, CliError> {
    Ok(match &pause.until {
        Some(until) => format!(" until {}", local(until, api.zone()?)),
        None => String::new(),
    })
}

fn on_node(
    node: &str,
    client: &ClientArgs,
    action: &str,
    request: &PauseRequest,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let api = Api::new(&client.server, ctx)?;
    let answer: Value = api.post(&format!("/nodes/{}/{action}", escaped(node)), request)?;
    if client.json {
        return ctx.say(answer);
    }
    let row: Node = api.typed(answer)?;
    let (name, jobs) = (plain(&row.label), row.jobs.len());
    ctx.say(match &row.pause {
        Some(pause) => {
            let until = until(pause, &api)?;
            let runs = match jobs {
                0 => "it runs no job".to_owned(),
                1 => "1 job still runs".to_owned(),
                jobs => format!("{jobs} jobs still run"),
            };
            let resume = format!("to let it go on: scheduler resume --node {name}");
            format!("node {name}: takes no jobs{until}; {runs}; {resume}")
        }
        None => format!("node {name}: takes jobs again"),
    })
}

/// Asks for a change of a task, and says how it is then.
pub(super) fn act(args: &TaskArgs, action: &str, ctx: &mut Context<'_>) -> Result<(), CliError> {
    post(&args.name, &args.client, action, &serde_json::json!({}), ctx)
}

fn post(
    name: &str,
    client: &ClientArgs,
    action: &str,
    body: &impl serde::Serialize,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let api = Api::new(&client.server, ctx)?;
    let answer: Value = api.post(&format!("/tasks/{}/{action}", escaped(name)), body)?;
    if client.json {
        return ctx.say(answer);
    }
    let row: Task = api.typed(answer)?;
    ctx.say(tasks::sentence(&row, action))
}

pub(super) fn reschedule(args: &RescheduleArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let RuleArgs { cron, fixed_rate, fixed_delay, at, reset } = args.rule.clone();
    let (zone, initial_delay) = (args.zone.clone(), args.initial_delay.clone());
    let reset = reset.then_some(true);
    let rule = RuleRequest { cron, zone, fixed_rate, fixed_delay, initial_delay, at, reset };
    let TaskArgs { name, client } = &args.task;
    if !args.dry_run {
        return post(name, client, "reschedule", &rule, ctx);
    }
    let path = format!("/tasks/{}/preview?{}", escaped(name), query(&rule));
    ask(&path, client, |answer, _, _| Ok(preview(answer)), ctx)
}

fn preview(preview: &Preview) -> String {
    let zone = zone_of(&preview.zone);
    let name = plain(&preview.task);
    let mut lines = vec![format!("{name} would run: {}", plain(&preview.rule))];
    lines.extend(preview.times.iter().map(|time| format!("  {}", tasks::upcoming(time, zone))));
    lines.join("\n") + "\n"
}

/// An instant as a person writes it.
pub(super) fn instant(text: &str, ctx: &Context<'_>) -> Result<DateTime<Utc>, CliError> {
    times::instant(text, context::zone(None, ctx)?.zone, ctx.now())
}

/// An instant as the API has it.
pub(super) fn rfc3339(at: DateTime<Utc>) -> String {
    times::rfc3339(at, scheduler_core::trigger::Zone::UTC)
}

/// The instant at which a pause ends, as the API has it.
fn end_of_pause(until: &str, ctx: &Context<'_>) -> Result<String, CliError> {
    let until = instant(until, ctx)?;
    if until <= ctx.now() {
        let what = format!("the pause would end at {until}, which is past");
        return Err(CliError::unable(what).help("write a later instant, or --for 1h"));
    }
    Ok(rfc3339(until))
}

pub(super) fn millis(text: &str) -> Result<u64, CliError> {
    Ok(u64::try_from(duration(text)?.as_millis()).unwrap_or(u64::MAX))
}
