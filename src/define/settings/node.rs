//! The settings of how this process takes part in the work of a store.

use std::time::Duration;

use scheduler_expr::{Kind, parse_period};

use super::parsed::{count, read, read_as};
use super::schema::of_node;
use super::{ROOT, Reading, SettingsError, word};

/// The settings under `scheduler.node`, if they are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeSettings {
    pub(crate) lease: Option<Duration>,
    pub(crate) renew_every: Option<Duration>,
    pub(crate) reap_every: Option<Duration>,
    pub(crate) poll_every: Option<Duration>,
    pub(crate) answer_limit: Option<Duration>,
    pub(crate) keep_done: Option<Duration>,
    pub(crate) keep_parked: Option<Duration>,
    pub(crate) concurrency: Option<u32>,
    pub(crate) queues: Option<Vec<String>>,
    pub(crate) label: Option<String>,
    pub(crate) build: Option<String>,
}

impl NodeSettings {
    /// What counts for the node.
    pub(super) fn of(reading: &mut Reading<'_>) -> Self {
        Self {
            lease: read(reading, ROOT, of_node::LEASE, length),
            renew_every: read(reading, ROOT, of_node::RENEW_EVERY, length),
            reap_every: read(reading, ROOT, of_node::REAP_EVERY, length),
            poll_every: read(reading, ROOT, of_node::POLL_EVERY, length),
            answer_limit: read(reading, ROOT, of_node::ANSWER_LIMIT, length),
            keep_done: read(reading, ROOT, of_node::KEEP_DONE, length),
            keep_parked: read(reading, ROOT, of_node::KEEP_PARKED, length),
            concurrency: read(reading, ROOT, of_node::CONCURRENCY, runs),
            queues: read_as(reading, Kind::Tags, ROOT, of_node::QUEUES, queues),
            label: read(reading, ROOT, of_node::LABEL, text),
            build: read(reading, ROOT, of_node::BUILD, text),
        }
    }
}

fn length(text: &str) -> Result<Duration, SettingsError> {
    parse_period(text, None).map_err(|error| {
        SettingsError::new(error.to_string()).help(error.help().map(str::to_owned))
    })
}

fn runs(text: &str) -> Result<u32, SettingsError> {
    let runs = count(text, "runs")?;
    u32::try_from(runs)
        .map_err(|_| SettingsError::new(format!("{} is too large a number", word(text))))
}

fn queues(text: &str) -> Result<Vec<String>, SettingsError> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) {
        return Err(SettingsError::new(format!("{} has a queue without a name", word(text))));
    }
    Ok(names)
}

fn text(text: &str) -> Result<String, SettingsError> {
    Ok(text.to_owned())
}
