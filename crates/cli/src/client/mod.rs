//! The tasks and jobs of a running program.
//!
//! A client of the JSON API of `scheduler-dashboard`: it asks, and shows the answer as a table or as it came. The program's
//! refusals are shown in its own words.
//!
//! A terminal obeys control characters, so everything that a program sends is escaped. The token goes to no other address
//! than the given one.

use clap::Subcommand;
use scheduler_api::{Action, Actions, Runs, Task};
use serde_json::Value;

use crate::client::api::{ClientArgs, TaskArgs, TimeFormat, ask};
use crate::client::table::Cell;
use crate::client::tasks::text;
use crate::context::{Context, Look};
use crate::error::CliError;

pub(crate) use crate::client::api::{Api, ServerArgs, escaped, plain};

mod api;
mod changes;
mod job_changes;
mod jobs;
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
    /// Let a process take no more jobs; its runs end, and `resume --node` lets it go on
    Drain(changes::DrainArgs),
    /// Let paused tasks go on
    Resume(changes::ResumeArgs),
    /// Ask the runs of a task that are in progress to stop; its schedule goes on
    Cancel(TaskArgs),
    /// Let a disabled task run by its schedule
    Enable(TaskArgs),
    /// Give a task another rule, or show what it would be
    Reschedule(changes::RescheduleArgs),
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
            ask("/tasks", client, |answer, look, _| Ok(tasks::list(answer, look)), ctx)
        }
        ClientCommand::Show(task) => show(task, ctx),
        ClientCommand::Run(task) => changes::act(task, "run", ctx),
        ClientCommand::Drain(args) => changes::drain(args, ctx),
        ClientCommand::Pause(args) => changes::pause(args, ctx),
        ClientCommand::Resume(args) => changes::resume(args, ctx),
        ClientCommand::Cancel(task) => changes::act(task, "cancel", ctx),
        ClientCommand::Enable(task) => changes::act(task, "enable", ctx),
        ClientCommand::Reschedule(args) => changes::reschedule(args, ctx),
        ClientCommand::Actions(args) => list(args, ctx),
        ClientCommand::Jobs(args) => jobs::run(args, ctx),
        ClientCommand::Watch(args) => tasks::watch(args, ctx),
    }
}

fn show(args: &TaskArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let (api, name) = (Api::new(&args.client.server, ctx)?, escaped(&args.name));
    let mut answer: Value = api.get(&format!("/tasks/{name}"))?;
    let mut runs: Value = api.get(&format!("/tasks/{name}/runs?limit=10"))?;
    if args.client.json {
        answer["runs"] = runs["runs"].take();
        return ctx.say(answer);
    }
    let (task, runs): (Task, Runs) = (api.typed(answer)?, api.typed(runs)?);
    let (now, look) = (ctx.now(), ctx.look());
    ctx.write(&tasks::one(&task, &runs.runs, now, look))
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ActionsArgs {
    /// Only those on this task
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

fn list(args: &ActionsArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let path = match &args.task {
        Some(task) => format!("/actions?task={}", escaped(task)),
        None => "/actions".to_owned(),
    };
    ask(&path, &args.client, shown, ctx)
}

fn shown(answer: &Actions, look: Look, api: &Api) -> Result<String, CliError> {
    if answer.actions.is_empty() {
        return Ok("nothing was changed by hand since the start of the program\n".to_owned());
    }
    let times = TimeFormat::of(api.zone()?, answer.actions.iter().map(|action| &*action.at));
    let rows: Vec<Vec<Cell>> = answer.actions.iter().map(|action| row(action, times)).collect();
    Ok(table::of(&["AT", "WHO", "ACTION", "ON", "NOTE", "FROM"], &rows, look))
}

fn row(action: &Action, times: TimeFormat) -> Vec<Cell> {
    let on = match (&action.job, &action.queue) {
        (Some(job), _) => format!("{} of {}", plain(job), plain(&action.task)),
        (None, Some(queue)) => format!("queue {}", plain(queue)),
        (None, None) => plain(&action.task),
    };
    let at = times.local(&action.at);
    let cells = [at, plain(&action.who), plain(&action.action), on, text(&action.note)];
    cells.into_iter().chain([text(&action.from)]).map(Cell::from).collect()
}
