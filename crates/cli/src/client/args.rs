//! The parts that the commands for a running program share.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::api::{Api, ServerArgs, escaped};
use crate::context::{Context, Look};
use crate::error::{CliError, named};

/// A program, and the form of the answer.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ClientArgs {
    #[command(flatten)]
    pub(super) server: ServerArgs,
    /// Answer in JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// A task of a program.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TaskArgs {
    /// The task, in full or by an unambiguous end of its name
    pub(super) name: String,
    #[command(flatten)]
    pub(super) client: ClientArgs,
}

/// Asks for something, and shows it.
pub(super) fn ask<T: DeserializeOwned>(
    path: &str,
    client: &ClientArgs,
    shown: impl FnOnce(&T, Look, &Api) -> String,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let api = Api::new(&client.server, ctx)?;
    if client.json {
        return ctx.say(api.get::<Value>(path)?);
    }
    let text = shown(&api.get(path)?, ctx.look(), &api);
    ctx.write(&text)
}

/// A request as the query of an address, with the names that it has in JSON.
pub(super) fn query(request: &impl serde::Serialize) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(request) else { return String::new() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", escaped(&text(value))));
    pairs.collect::<Vec<_>>().join("&")
}

/// A length of time that is longer than zero.
pub(super) fn length(text: &str) -> Result<std::time::Duration, CliError> {
    scheduler_expr::parse_period(text, None).map_err(|error| {
        let fault = CliError::unable(format!("{} is no length of time: {error}", named(text)));
        fault.help(error.help().unwrap_or("write for example `1h`, `30m` or `90s`"))
    })
}
