//! The settings of the scheduler as a whole and of its named pools, parsed and checked.

use std::time::Duration;

use scheduler_expr::{check_zone_name, parse_delay};

use super::parsed::{count, read};
use super::{Content, ROOT, Reading, Remark, ResolvedValue, SettingsError, key, schema, word};

/// The settings under `scheduler`, if they are set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globals {
    /// The name of a time zone.
    pub(crate) zone: Option<String>,
    pub(crate) pool_size: Option<usize>,
    pub(crate) thread_name_prefix: Option<String>,
    pub(crate) await_termination: Option<bool>,
    pub(crate) await_termination_period: Option<Duration>,
    pub(crate) keep_ended_tasks: Option<usize>,
    pub(crate) node: super::NodeSettings,
}

/// The settings under `scheduler.pools.<name>`.
#[derive(Clone, Debug)]
pub(crate) struct PoolSettings {
    pub(crate) name: String,
    pub(crate) size: Option<usize>,
    pub(crate) thread_name_prefix: Option<String>,
}

/// What counts, and all that is wrong.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) globals: Globals,
    /// The texts of the settings of the scheduler and its pools, by their keys.
    pub(super) texts: Vec<(String, ResolvedValue)>,
    pub(crate) faults: Vec<SettingsError>,
    pub(crate) remarks: Vec<Remark>,
}

/// What counts for the scheduler.
pub(super) fn globals(reading: &mut Reading<'_>) -> Globals {
    Globals {
        zone: read(reading, ROOT, schema::ZONE, zone),
        pool_size: read(reading, ROOT, schema::POOL_SIZE, size),
        thread_name_prefix: read(reading, ROOT, schema::THREAD_NAME_PREFIX, prefix),
        await_termination: read(reading, ROOT, schema::AWAIT_TERMINATION, flag),
        await_termination_period: read(reading, ROOT, schema::AWAIT_TERMINATION_PERIOD, patience),
        keep_ended_tasks: read(reading, ROOT, schema::KEEP_ENDED_TASKS, |text| {
            count(text, "tasks")
        }),
        node: super::NodeSettings::of(reading),
    }
}

/// What counts for the known pools, and for those that only settings name.
pub(super) fn pools(reading: &mut Reading<'_>, known: &[&str]) -> Vec<PoolSettings> {
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
        PoolSettings {
            size: read(reading, &table, schema::OF_POOL_SIZE, size),
            thread_name_prefix: read(reading, &table, schema::OF_POOL_THREAD_NAME_PREFIX, prefix),
            name,
        }
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

/// How long a stop waits; zero means not at all.
fn patience(text: &str) -> Result<Duration, SettingsError> {
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
