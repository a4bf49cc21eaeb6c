//! The settings of the scheduler as a whole and of its named pools, parsed and checked.

use std::fmt;
use std::time::Duration;

use scheduler_expr::{Kind, check_zone_name, parse_delay};

use super::fault::{Fault, Remark};
use super::file::Content;
use super::reading::{Reading, Subject};
use super::schema::{ROOT, Spec};
use super::source::Valued;
use super::text::word;
use super::{key, schema};

/// A value that was set, and the text it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set<T> {
    pub(crate) value: T,
    pub(crate) valued: Valued,
}

/// The settings under `scheduler`, if they are set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globals {
    /// The name of a time zone.
    pub(crate) zone: Option<Set<String>>,
    pub(crate) pool_size: Option<Set<usize>>,
    pub(crate) thread_name_prefix: Option<Set<String>>,
    pub(crate) await_termination: Option<Set<bool>>,
    pub(crate) await_termination_period: Option<Set<Duration>>,
    pub(crate) keep_ended_tasks: Option<Set<usize>>,
}

/// The settings under `scheduler.pools.<name>`.
#[derive(Clone, Debug)]
pub(crate) struct PoolSettings {
    pub(crate) name: String,
    pub(crate) size: Option<Set<usize>>,
    pub(crate) thread_name_prefix: Option<Set<String>>,
}

/// What counts, and all that is wrong.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) globals: Globals,
    pub(crate) pools: Vec<PoolSettings>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) remarks: Vec<Remark>,
}

impl Globals {
    /// All that is set, by the key behind `scheduler.`.
    pub(super) fn texts(&self) -> Vec<(&'static str, &Valued)> {
        let texts = [
            (schema::ZONE, valued(&self.zone)),
            (schema::POOL_SIZE, valued(&self.pool_size)),
            (schema::THREAD_NAME_PREFIX, valued(&self.thread_name_prefix)),
            (schema::AWAIT_TERMINATION, valued(&self.await_termination)),
            (schema::AWAIT_TERMINATION_PERIOD, valued(&self.await_termination_period)),
            (schema::KEEP_ENDED_TASKS, valued(&self.keep_ended_tasks)),
        ];
        texts.into_iter().filter_map(|(spec, valued)| Some((spec.key, valued?))).collect()
    }
}

impl PoolSettings {
    /// All that is set, by the key behind the pool's name.
    pub(super) fn texts(&self) -> Vec<(&'static str, &Valued)> {
        let texts = [
            (schema::OF_POOL_SIZE, valued(&self.size)),
            (schema::OF_POOL_THREAD_NAME_PREFIX, valued(&self.thread_name_prefix)),
        ];
        texts.into_iter().filter_map(|(spec, valued)| Some((spec.key, valued?))).collect()
    }
}

fn valued<T>(set: &Option<Set<T>>) -> Option<&Valued> {
    set.as_ref().map(|set| &set.valued)
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

/// Why a text is not what a setting takes, and what is.
struct Wrong {
    reason: String,
    help: Option<String>,
}

fn wrong<T>(reason: &dyn fmt::Display, help: Option<&str>) -> Result<T, Wrong> {
    Err(Wrong { reason: reason.to_string(), help: help.map(str::to_owned) })
}

fn read<T>(
    reading: &mut Reading<'_>,
    table: &str,
    spec: Spec,
    parse: fn(&str) -> Result<T, Wrong>,
) -> Option<Set<T>> {
    let name = format!("{table}.{}", spec.key);
    let raw = reading.find(&name, Kind::Flag)?;
    let label = word(&name);
    let subject = Subject { owner: format!("setting {label}"), label, example: spec.example };
    let valued = reading.resolve(&raw, &subject)?;
    match parse(&valued.text) {
        Ok(value) => Some(Set { value, valued }),
        Err(wrong) => {
            let example = valued.source.assignment(&name, &name, spec.example);
            let example = format!("for example `{example}`");
            let help = match wrong.help {
                Some(help) => format!("{help}; {example}"),
                None => example,
            };
            let text = format!("{}: {}", subject.label, wrong.reason);
            let fault = Fault::at(&valued.source, text).help(help);
            reading.faults.push(match valued.note() {
                Some(note) => fault.note(note),
                None => fault,
            });
            None
        }
    }
}

fn zone(text: &str) -> Result<String, Wrong> {
    match check_zone_name(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(error) => wrong(&error, error.help()),
    }
}

fn size(text: &str) -> Result<usize, Wrong> {
    match count(text, "threads") {
        Ok(0) => wrong(&"`0` threads can run nothing", None),
        counted => counted,
    }
}

fn count(text: &str, what: &str) -> Result<usize, Wrong> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<usize>() {
        Ok(count) if is_number => Ok(count),
        Err(_) if is_number => wrong(&format!("{} is too large a number", word(text)), None),
        _ => wrong(&format!("{} is not a whole number of {what}", word(text)), None),
    }
}

fn flag(text: &str) -> Result<bool, Wrong> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => wrong(&format!("{} is neither `true` nor `false`", word(text)), None),
    }
}

/// How long a stop waits: not at all, if that is zero.
fn patience(text: &str) -> Result<Duration, Wrong> {
    parse_delay(text, None).or_else(|error| match text {
        "-" => wrong(&error, Some("write `0s` not to wait")),
        _ => wrong(&error, error.help()),
    })
}

/// The name of a thread is handed to the operating system, which takes no NUL.
fn prefix(text: &str) -> Result<String, Wrong> {
    if text.is_empty() {
        return wrong(&"the prefix is empty", None);
    }
    if text.chars().any(char::is_control) {
        return wrong(&format!("{} has characters that cannot be printed", word(text)), None);
    }
    Ok(text.to_owned())
}
