//! The tasks and jobs of a running program: `list`, `show`, `run`, `pause`, `resume`, `jobs` and `watch`.
//!
//! A client of the JSON API of `scheduler-dashboard`: it asks, and shows the answer as a table or as it came. The program's
//! refusals are shown in its own words.
//!
//! A terminal obeys control characters, so everything that a program sends is escaped. The token goes to no other address
//! than the given one.

mod api;
mod jobs;
mod table;
mod tasks;
mod watch;

use clap::Subcommand;
use scheduler_api::{PauseRequest, Runs, Task};
use serde_json::Value;

use crate::context::{self, Context};
use crate::error::CliError;
use crate::times;
pub(crate) use api::{Api, ServerArgs, escaped, plain};

/// A task of a program.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TaskArgs {
    /// The task, in full or by an unambiguous end of its name
    name: String,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    /// List the tasks of a running program
    List {
        #[command(flatten)]
        server: ServerArgs,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a task: its schedule, its next fire times, its last runs
    Show {
        #[command(flatten)]
        task: TaskArgs,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a task now, besides its schedule
    Run(TaskArgs),
    /// Let no run of a task start by its schedule
    Pause {
        #[command(flatten)]
        task: TaskArgs,
        /// Why, for others to read
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// When the pause ends by itself: `2026-03-27T14:00`, `2026-03-27T13:00:00Z`
        #[arg(long, value_name = "INSTANT", conflicts_with = "length")]
        until: Option<String>,
        /// The length of the pause: `1h`, `30m`
        #[arg(long = "for", id = "length", value_name = "LENGTH")]
        length: Option<String>,
    },
    /// Let a paused task go on
    Resume(TaskArgs),
    /// List, show, retry, cancel and delete the durable jobs of a running program; its queues and nodes
    Jobs(Box<jobs::JobsArgs>),
    /// Show the tasks of a running program, again and again
    Watch {
        #[command(flatten)]
        server: ServerArgs,
        /// The time between two looks
        #[arg(long, value_name = "LENGTH", default_value = "2s")]
        every: String,
        /// Stop after so many looks
        #[arg(long, value_name = "NUMBER")]
        count: Option<u64>,
    },
}

/// Asks, and shows the answer.
pub(crate) fn run(command: &Command, ctx: &mut Context<'_>) -> Result<(), CliError> {
    match command {
        Command::List { server, json } => {
            let api = Api::new(server, ctx)?;
            match json {
                true => ctx.say(api.get::<Value>("/tasks")?),
                false => ctx.write(&tasks::list(&api.get("/tasks")?)),
            }
        }
        Command::Show { task, json } => {
            let (api, name) = (Api::new(&task.server, ctx)?, escaped(&task.name));
            let mut answer: Value = api.get(&format!("/tasks/{name}"))?;
            let mut runs: Value = api.get(&format!("/tasks/{name}/runs?limit=10"))?;
            if *json {
                answer["runs"] = runs["runs"].take();
                return ctx.say(answer);
            }
            let (task, runs): (Task, Runs) = (api.typed(answer)?, api.typed(runs)?);
            ctx.write(&tasks::one(&task, &runs.runs))
        }
        Command::Run(task) => act(task, "run", &PauseRequest::default(), ctx),
        Command::Resume(task) => act(task, "resume", &PauseRequest::default(), ctx),
        Command::Pause { task, reason, until, length } => {
            let until = until.as_deref().map(|until| end_of_pause(until, ctx)).transpose()?;
            let millis = |text: &String| -> Result<u64, CliError> {
                Ok(u64::try_from(self::length(text)?.as_millis()).unwrap_or(u64::MAX))
            };
            let for_ms = length.as_ref().map(millis).transpose()?;
            let reason = reason.clone();
            act(
                task,
                "pause",
                &PauseRequest { reason, until, for_ms, ..PauseRequest::default() },
                ctx,
            )
        }
        Command::Jobs(args) => jobs::run(args, ctx),
        Command::Watch { server, every, count } => {
            watch::watch(&Api::new(server, ctx)?, length(every)?, *count, ctx)
        }
    }
}

/// The instant at which a pause ends, as the API has it.
fn end_of_pause(until: &str, ctx: &Context<'_>) -> Result<String, CliError> {
    let zone = context::zone(None, ctx)?.zone;
    let until = times::instant(until, zone, ctx.now())?;
    if until <= ctx.now() {
        let what = format!("the pause would end at {until}, which is past");
        return Err(CliError::unable(what).help("write a later instant, or --for 1h"));
    }
    Ok(times::rfc3339(until, scheduler_core::trigger::Zone::UTC))
}

/// Asks for a change of a task, and says how it is then.
fn act(
    task: &TaskArgs,
    action: &str,
    body: &PauseRequest,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let name = escaped(&task.name);
    let row: Task = Api::new(&task.server, ctx)?.post(&format!("/tasks/{name}/{action}"), body)?;
    ctx.say(tasks::sentence(&row, action))
}

/// A length of time that is longer than zero.
fn length(text: &str) -> Result<std::time::Duration, CliError> {
    scheduler_expr::parse_period(text, None).map_err(|error| {
        let fault = CliError::unable(error.to_string());
        match error.help() {
            Some(help) => fault.help(help),
            None => fault,
        }
    })
}
