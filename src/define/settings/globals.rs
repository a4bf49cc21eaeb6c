//! The settings of the scheduler and of its named pools.

use std::time::Duration;

use scheduler_expr::{check_zone_name, parse_delay};

use super::node::NodeSettings;
use super::parsed::{Spec, count, read_scalar, settings};
use super::{Content, ROOT, Reading, Remark, ResolvedValue, SettingsError, key, schema, word};

settings! {
    /// The settings under `scheduler`, if they are set.
    Globals {
        /// The name of a time zone.
        zone: String, "zone", "Europe/Berlin" => read_scalar(zone);
        pool_size: usize, "pool.size", "4" => read_scalar(size);
        thread_name_prefix: String, "thread-name-prefix", "scheduling-" => read_scalar(prefix);
        await_termination: bool, AWAIT_TERMINATION, "true" => read_scalar(flag);
        await_termination_period: Duration, AWAIT_TERMINATION_PERIOD, "30s" => read_scalar(limit);
        keep_ended_tasks: usize, "keep-ended-tasks", "100" => read_scalar(tasks);
    }
}

settings! {
    /// The settings under `scheduler.pools.<name>`, if they are set.
    PoolSettings {
        size: usize, "size", "4" => read_scalar(size);
        thread_name_prefix: String, "thread-name-prefix", "io-" => read_scalar(prefix);
    }
}

/// The key of the switch that lets a stop wait for running tasks.
pub(super) const AWAIT_TERMINATION: &str = "shutdown.await-termination";

/// The key of the time for which a stop waits.
pub(super) const AWAIT_TERMINATION_PERIOD: &str = "shutdown.await-termination-period";

/// The settings under `scheduler`, but for those of pools, tasks and defaults.
pub(super) fn specs() -> Vec<Spec> {
    [Globals::SPECS, NodeSettings::SPECS].concat()
}

/// Returns true if a key that begins with this part is a setting.
pub(super) fn is_ours(part: &str) -> bool {
    let part = key::fold(part);
    let mut firsts = specs().into_iter().filter_map(|spec| spec.key.split('.').next());
    [schema::POOLS, schema::TASKS, schema::DEFAULTS].contains(&&*part)
        || firsts.any(|first| key::fold(first) == part)
}

/// The effective settings, and all that is wrong.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) globals: Globals,
    pub(crate) node: NodeSettings,
    /// The texts of the settings of the scheduler and its pools, by their keys.
    pub(super) texts: Vec<(String, ResolvedValue)>,
    pub(crate) faults: Vec<SettingsError>,
    pub(crate) remarks: Vec<Remark>,
}

/// The settings of the known pools, and of those that only settings name.
pub(super) fn pools(reading: &mut Reading<'_>, known: &[&str]) -> Vec<(String, PoolSettings)> {
    let mut names: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
    let sources = reading.sources;
    for line in sources.layers().flat_map(|layer| &layer.lines) {
        if let Some([table, name, rest @ ..]) = line.ours()
            && table == schema::POOLS
            && (!rest.is_empty() || matches!(line.content, Content::EmptyTable))
            && !names.iter().any(|known| key::fold(known) == key::fold(name))
        {
            names.push(name.clone());
        }
    }
    let pool = |name: String| {
        let table = format!("{ROOT}.{}.{name}", schema::POOLS);
        (name, PoolSettings::read(reading, &table))
    };
    names.into_iter().map(pool).collect()
}

fn zone(text: &str) -> Result<String, SettingsError> {
    check_zone_name(text).map_err(|error| {
        SettingsError::new(error.to_string()).help(error.help().map(str::to_owned))
    })?;
    Ok(text.to_owned())
}

fn size(text: &str) -> Result<usize, SettingsError> {
    match count(text, "threads")? {
        0 => Err(SettingsError::new("`0` threads can run nothing")),
        size => Ok(size),
    }
}

fn flag(text: &str) -> Result<bool, SettingsError> {
    text.parse()
        .map_err(|_| SettingsError::new(format!("{} is neither `true` nor `false`", word(text))))
}

fn tasks(text: &str) -> Result<usize, SettingsError> {
    count(text, "tasks")
}

/// Parses how long a stop waits; zero means not at all.
fn limit(text: &str) -> Result<Duration, SettingsError> {
    parse_delay(text, None).map_err(|error| {
        let help = if text == "-" { Some("write `0s` not to wait") } else { error.help() };
        SettingsError::new(error.to_string()).help(help.map(str::to_owned))
    })
}

/// The name of a thread is handed to the operating system, which takes no NUL.
fn prefix(text: &str) -> Result<String, SettingsError> {
    if text.is_empty() {
        return Err(SettingsError::new("the prefix is empty"));
    }
    if text.chars().any(char::is_control) {
        return Err(SettingsError::new(format!(
            "{} has characters that cannot be printed",
            word(text)
        )));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_ours_are_known_by_their_first_part() {
        for part in ["zone", "pool", "pools", "tasks", "shutdown", "thread_name_prefix"] {
            assert!(is_ours(part), "{part}");
        }
        for part in ["", "scheduler", "reports", "size", "Zone"] {
            assert!(!is_ours(part), "{part}");
        }
    }
}
