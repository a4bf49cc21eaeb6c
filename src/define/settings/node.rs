//! The settings of the node, this process at a store.

use std::time::Duration;

use scheduler_expr::parse_period;

use super::parsed::{Spec, count, read_list, read_scalar, settings};
use super::{Reading, SettingsError, word};

settings! {
    /// The settings under `scheduler.node`, if they are set.
    NodeSettings {
        lease: Duration, "node.lease", "15s" => read_scalar(length);
        renew_every: Duration, "node.renew-every", "5s" => read_scalar(length);
        reap_every: Duration, "node.reap-every", "5s" => read_scalar(length);
        poll_every: Duration, "node.poll-every", "1s" => read_scalar(length);
        answer_limit: Duration, "node.answer-limit", "5s" => read_scalar(length);
        concurrency: u32, "node.concurrency", "8" => read_scalar(runs);
        queues: Vec<String>, "node.queues", "default, mail" => read_list(queues);
        label: String, "node.label", "web-1" => read_scalar(text);
        build: String, "node.build", "1.4.2" => read_scalar(text);
        application: String, "node.application", "shop" => read_scalar(text);
        keep_done: Duration, "node.keep-done", "1d" => read_scalar(length);
        keep_parked: Duration, "node.keep-parked", "30d" => read_scalar(length);
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
