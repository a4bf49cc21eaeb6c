//! The audit log of manual changes: `actions`.

use scheduler_api::{Action, Actions};

use super::api::{Api, TimeFormat, ask, escaped, plain};
use super::args::ClientArgs;
use super::table::{self, Cell};
use super::tasks::text;
use crate::context::{Context, Look};
use crate::error::CliError;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ActionsArgs {
    /// Only those on this task
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

pub(super) fn list(args: &ActionsArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
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
