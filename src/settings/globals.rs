//! The settings of the scheduler as a whole and of its named pools, parsed and checked.

use std::time::Duration;

use scheduler_expr::{Kind, check_zone_name, parse_delay};

use super::{Content, Fault, ROOT, Reading, Remark, Spec, Subject, Valued, key, schema, word};

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
    #[cfg(feature = "durable")]
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
    pub(super) texts: Vec<(String, Valued)>,
    pub(crate) faults: Vec<Fault>,
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
        #[cfg(feature = "durable")]
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

pub(super) fn read<T>(
    reading: &mut Reading<'_>,
    table: &str,
    spec: Spec,
    parse: fn(&str) -> Result<T, Fault>,
) -> Option<T> {
    read_as(reading, Kind::Flag, table, spec, parse)
}

/// Reads a setting that a file may set to what this kind of attribute takes.
pub(super) fn read_as<T>(
    reading: &mut Reading<'_>,
    kind: Kind,
    table: &str,
    spec: Spec,
    parse: fn(&str) -> Result<T, Fault>,
) -> Option<T> {
    let name = format!("{table}.{}", spec.key);
    let raw = reading.find(&name, kind)?;
    let label = word(&name);
    let subject = Subject { owner: format!("setting {label}"), label, example: spec.example };
    let valued = reading.resolve(&raw, &subject)?;
    match parse(&valued.text) {
        Ok(value) => {
            reading.texts.push((name, valued));
            Some(value)
        }
        Err(fault) => {
            let example = valued.source.assignment(&name, &name, spec.example);
            let help = fault.help.map(|help| format!("{help}; ")).unwrap_or_default();
            let fault = Fault::new(format!("{}: {}", subject.label, fault.text))
                .note(valued.note())
                .help(format!("{help}for example `{example}`"));
            reading.faults.push(fault.at(&valued.source));
            None
        }
    }
}

fn zone(text: &str) -> Result<String, Fault> {
    check_zone_name(text)
        .map_err(|error| Fault::new(error.to_string()).help(error.help().map(str::to_owned)))?;
    Ok(text.to_owned())
}

fn size(text: &str) -> Result<usize, Fault> {
    match count(text, "threads")? {
        0 => Err(Fault::new("`0` threads can run nothing")),
        size => Ok(size),
    }
}

pub(super) fn count(text: &str, what: &str) -> Result<usize, Fault> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::new(format!("{} is not a whole number of {what}", word(text))));
    }
    text.parse().map_err(|_| Fault::new(format!("{} is too large a number", word(text))))
}

fn flag(text: &str) -> Result<bool, Fault> {
    text.parse().map_err(|_| Fault::new(format!("{} is neither `true` nor `false`", word(text))))
}

/// How long a stop waits; zero means not at all.
fn patience(text: &str) -> Result<Duration, Fault> {
    parse_delay(text, None).map_err(|error| {
        let help = if text == "-" { Some("write `0s` not to wait") } else { error.help() };
        Fault::new(error.to_string()).help(help.map(str::to_owned))
    })
}

/// The name of a thread is handed to the operating system, which takes no NUL.
fn prefix(text: &str) -> Result<String, Fault> {
    if text.is_empty() {
        return Err(Fault::new("the prefix is empty"));
    }
    if text.chars().any(char::is_control) {
        return Err(Fault::new(format!("{} has characters that cannot be printed", word(text))));
    }
    Ok(text.to_owned())
}
