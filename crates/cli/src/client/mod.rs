//! The tasks and jobs of a running program: `list`, `show`, `run`, `pause`, `resume`, `jobs` and `watch`.
//!
//! # What this room is for
//!
//! A client of the JSON API of `scheduler-dashboard`: it asks, and shows the answer as a table or as it came. What the
//! program refuses is reported in the program's own words.
//!
//! # What it must never do
//!
//! Print what a program sent without escaping what a terminal would obey. Send the token to another address than the one
//! that was args.

mod api;
mod jobs;
mod table;
mod tasks;
mod watch;

use clap::Subcommand;
use serde_json::json;

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
        /// How long it lasts: `1h`, `30m`
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
        /// How long between two looks
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
            let answer = Api::new(server, ctx)?.get("/tasks")?;
            match json {
                true => ctx.say(answer),
                false => ctx.write(&tasks::list(&answer)),
            }
        }
        Command::Show { task, json } => {
            let (api, name) = (Api::new(&task.server, ctx)?, escaped(&task.name));
            let mut answer = api.get(&format!("/tasks/{name}"))?;
            let runs = api.get(&format!("/tasks/{name}/runs?limit=10"))?;
            answer["runs"] = runs["runs"].clone();
            match json {
                true => ctx.say(answer),
                false => ctx.write(&tasks::one(&answer)),
            }
        }
        Command::Run(task) => act(task, "run", &json!({}), ctx),
        Command::Resume(task) => act(task, "resume", &json!({}), ctx),
        Command::Pause { task, reason, until, length } => {
            let mut body = json!({});
            if let Some(reason) = reason {
                body["note"] = reason.as_str().into();
            }
            if let Some(until) = until {
                let zone = context::zone(None, ctx)?.zone;
                let until = times::instant(until, zone, ctx.now())?;
                if until <= ctx.now() {
                    let what = format!("the pause would end at {until}, which is past");
                    return Err(CliError::unable(what).help("write a later instant, or --for 1h"));
                }
                body["until"] = times::rfc3339(until, scheduler_core::trigger::Zone::UTC).into();
            }
            if let Some(length) = length {
                let millis = self::length(length)?.as_millis();
                body["forMs"] = u64::try_from(millis).unwrap_or(u64::MAX).into();
            }
            act(task, "pause", &body, ctx)
        }
        Command::Jobs(args) => jobs::run(args, ctx),
        Command::Watch { server, every, count } => {
            watch::watch(&Api::new(server, ctx)?, length(every)?, *count, ctx)
        }
    }
}

/// Asks for a change of a task, and says how it is then.
fn act(
    task: &TaskArgs,
    action: &str,
    body: &serde_json::Value,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let name = escaped(&task.name);
    let row = Api::new(&task.server, ctx)?.post(&format!("/tasks/{name}/{action}"), body)?;
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
