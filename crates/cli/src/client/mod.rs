//! The tasks and jobs of a running program.
//!
//! A client of the JSON API of `scheduler-dashboard`: it asks, and shows the answer as a table or as it came. The program's
//! refusals are shown in its own words.
//!
//! A terminal obeys control characters, so everything that a program sends is escaped. The token goes to no other address
//! than the given one.

use clap::Subcommand;
use scheduler_api::{Action, Actions, ActionsQuery, Limit, Runs, Task};
use serde_json::Value;

use crate::client::api::{ClientArgs, TaskArgs, TimeFormat, ask, query};
use crate::client::table::Cell;
use crate::client::tasks::text;
use crate::context::{Context, Look};
use crate::error::CliError;

pub(crate) use crate::client::api::{Api, ServerArgs, escaped, plain};

mod api;
mod changes;
mod job_changes;
mod jobs;
mod limits;
mod status;
mod table;
mod tasks;

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Show what is wrong with a running program and its cluster; the exit code is 0 if nothing is
    Status(ClientArgs),
    /// List the tasks of a running program, those with problems first
    List(ClientArgs),
    /// Show a task: its schedule, its next fire times, its last runs
    Show(TaskArgs),
    /// Run a task now, besides its schedule
    Run(TaskArgs),
    /// Let no run of a task start by its schedule
    Pause(changes::PauseArgs),
    /// Let a process take no more jobs; its runs go on to their ends, and `resume --node` lets it take jobs again
    Drain(changes::DrainArgs),
    /// Let paused tasks go on
    Resume(changes::ResumeArgs),
    /// Ask the runs of a task that are in progress to stop; its schedule goes on
    Cancel(TaskArgs),
    /// Let a disabled task run by its schedule
    Enable(TaskArgs),
    /// Give a task another rule, or show what it would be
    Reschedule(changes::RescheduleArgs),
    /// List the limits of kinds of jobs: those in the code, and those that were set by hand
    Limits(ClientArgs),
    /// Set a limit of a kind of job in place of the one in the code, in all processes
    Limit(limits::LimitArgs),
    /// List the partitions of a kind of job in which jobs are due or run, at most 50
    Partitions(TaskArgs),
    /// List what was changed by hand, the latest first
    Actions(ActionsArgs),
    /// List, show, retry, cancel and delete the durable jobs of a running program; its queues and nodes
    Jobs(Box<jobs::JobsArgs>),
    /// Show the tasks of a running program, again and again
    Watch(tasks::WatchArgs),
}

/// Asks, and shows the answer.
pub(crate) fn run(command: &ClientCommand, ctx: &mut Context<'_>) -> Result<(), CliError> {
    match command {
        ClientCommand::Status(client) => status::run(client, ctx),
        ClientCommand::List(client) => {
            ask("/tasks", client, |answer, look, api| Ok(tasks::list(answer, look, api)), ctx)
        }
        ClientCommand::Show(task) => show(task, ctx),
        ClientCommand::Run(task) => changes::act(task, "run", ctx),
        ClientCommand::Drain(args) => changes::drain(args, ctx),
        ClientCommand::Pause(args) => changes::pause(args, ctx),
        ClientCommand::Resume(args) => changes::resume(args, ctx),
        ClientCommand::Cancel(task) => changes::act(task, "cancel", ctx),
        ClientCommand::Enable(task) => changes::act(task, "enable", ctx),
        ClientCommand::Reschedule(args) => changes::reschedule(args, ctx),
        ClientCommand::Limits(client) => {
            ask("/limits", client, |answer, look, _| Ok(limits::list(answer, look)), ctx)
        }
        ClientCommand::Limit(args) => limits::change(args, ctx),
        ClientCommand::Partitions(task) => limits::partitions(task, ctx),
        ClientCommand::Actions(args) => list(args, ctx),
        ClientCommand::Jobs(args) => jobs::run(args, ctx),
        ClientCommand::Watch(args) => tasks::watch(args, ctx),
    }
}

fn show(args: &TaskArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let (api, name) = (Api::new(&args.client.server, ctx)?, escaped(&args.name));
    let mut answer: Value = api.get(&format!("/tasks/{name}"))?;
    let mut runs: Value = api.get(&format!("/tasks/{name}/runs?limit=10"))?;
    let limits = match answer["isDurable"].as_bool() {
        // A store that is away does not keep the rest from being shown.
        Some(true) => limits::of_task(&api, &answer["name"]).unwrap_or_default(),
        _ => Vec::new(),
    };
    if args.client.json {
        answer["runs"] = runs["runs"].take();
        if !limits.is_empty() {
            answer["limits"] = limits.into();
        }
        return ctx.say(answer);
    }
    let limits: Vec<Limit> = api.typed(limits.into())?;
    let (task, runs): (Task, Runs) = (api.typed(answer)?, api.typed(runs)?);
    let (now, look) = (ctx.now(), ctx.look());
    let stop = (task.running > 0).then(|| tasks::asked_to_stop(&api, &task, Some(now))).flatten();
    ctx.write(&tasks::one((&task, stop), &limits, &runs.runs, now, look))
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ActionsArgs {
    /// Only those on this task, schedule, queue or job, and on jobs of this task
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// Only those of this person
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Only those since then: `2026-03-27T14:00`, or an age such as `2h`
    #[arg(long, value_name = "INSTANT")]
    since: Option<String>,
    /// The most that are listed
    #[arg(short = 'n', value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=500))]
    limit: u64,
    /// The actions before this one, which ended the last page
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

fn list(args: &ActionsArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let (by, after) = (args.by.clone(), args.after.clone());
    let (task, limit) = (args.task.clone(), Some(args.limit));
    let since = args.since.as_deref();
    // An age counts by the clock of the store.
    let within_ms = since.and_then(|since| changes::millis(since).ok());
    let since = since.filter(|_| within_ms.is_none());
    let since = since.map(|since| changes::instant(since, ctx)).transpose()?;
    let since = since.map(changes::rfc3339);
    let query = query(&ActionsQuery { task, by, since, within_ms, after, limit });
    let path = format!("/actions?{query}");
    ask(&path, &args.client, shown, ctx)
}

fn shown(answer: &Actions, look: Look, api: &Api) -> Result<String, CliError> {
    let partial = match answer.is_partial {
        Some(true) => "the store does not answer: only the changes at this process\n",
        _ => "",
    };
    if answer.actions.is_empty() {
        return Ok(format!("{partial}no change by hand\n"));
    }
    let times = TimeFormat::of(api.zone()?, answer.actions.iter().map(|action| &*action.at));
    let rows: Vec<Vec<Cell>> = answer.actions.iter().map(|action| row(action, times)).collect();
    let table = table::of(&["AT", "WHO", "ACTION", "ON", "NOTE", "FROM"], &rows, look);
    let mut text = format!("{partial}{table}");
    if let Some(last) = answer.actions.last().filter(|_| answer.has_more) {
        text.push_str(&format!("\nmore: --after {}\n", plain(&last.id)));
    }
    Ok(text)
}

fn row(action: &Action, times: TimeFormat) -> Vec<Cell> {
    let on = match (&action.job, &action.queue, &action.process, &action.matching) {
        (Some(job), ..) => format!("{} of {}", plain(job), plain(&action.task)),
        (None, Some(queue), ..) => format!("queue {}", plain(queue)),
        (None, None, Some(node), _) => format!("node {}", plain(node)),
        _ if action.partition.is_some() => {
            format!("partition {} of {}", text(&action.partition), plain(&action.task))
        }
        (.., Some(words)) => format!("{}: {}", action.count, plain(words)),
        (.., None) => text(&action.schedule.clone().or(Some(action.task.clone()))),
    };
    let change = action.before.as_ref().or(action.after.as_ref());
    let change = change.map(|_| format!("{} → {}", text(&action.before), text(&action.after)));
    let note = [change, action.note.as_deref().map(plain)].into_iter().flatten();
    let role = action.role.as_deref().map(|role| format!(" (role {})", plain(role)));
    let node = action.node.as_deref().map(|node| format!("at {}", plain(node)));
    let from = [action.from.as_deref().map(plain), node].into_iter().flatten();
    let cells = [
        times.local(&action.at),
        plain(&action.who) + &role.unwrap_or_default(),
        plain(&action.action),
        on,
        note.collect::<Vec<_>>().join("; "),
        from.collect::<Vec<_>>().join(" "),
    ];
    cells.into_iter().map(Cell::from).collect()
}
