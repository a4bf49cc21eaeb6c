//! The parts that the commands for a running program share.

use scheduler_api::JobFilter;

use super::api::ServerArgs;
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

/// The filter of jobs.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct FilterArgs {
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
    /// With this text in the error; `*` stands for any text
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
}

impl FilterArgs {
    pub(super) fn filter(&self) -> JobFilter {
        let Self { state, task, queue, key, schedule, error } = self.clone();
        JobFilter { state, task, queue, key, schedule, error, ..JobFilter::default() }
    }

    /// The conditions, for a question.
    pub(super) fn in_words(&self) -> String {
        let conditions = [
            ("state", &self.state),
            ("task", &self.task),
            ("queue", &self.queue),
            ("key", &self.key),
            ("schedule", &self.schedule),
            ("error", &self.error),
        ];
        let words = conditions.iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
        let words: Vec<String> = words.map(|(name, text)| format!("{name} {text:?}")).collect();
        format!("with {}", words.join(", "))
    }
}

/// A length of time that is longer than zero.
pub(super) fn length(text: &str) -> Result<std::time::Duration, CliError> {
    scheduler_expr::parse_period(text, None).map_err(|error| {
        let fault = CliError::unable(format!("{} is no length of time: {error}", named(text)));
        fault.help(error.help().unwrap_or("write for example `1h`, `30m` or `90s`"))
    })
}
