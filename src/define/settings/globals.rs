//! The settings of the scheduler, of its named pools and of the node.

use std::time::Duration;

use scheduler_expr::{Kind, check_zone_name, parse_delay, parse_period};

use crate::define::settings::{
    Content, ROOT, Reading, Remark, ResolvedValue, SettingsError, Subject, key, word,
};

/// A table of settings: a field for each, with its type, its key, a value to paste, and its parser.
macro_rules! settings {
    ($(#[$about:meta])* $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty, $key:expr, $example:literal => $read:ident($parse:expr);)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub(crate) struct $name {
            $($(#[$doc])* pub(crate) $field: Option<$type>,)*
        }

        impl $name {
            pub(super) const SPECS: &'static [Spec] =
                &[$(Spec { key: $key, example: $example }),*];

            /// These settings, and others where one is not set.
            #[allow(dead_code, reason = "the code sets only some tables as a whole")]
            pub(crate) fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)* }
            }

            /// Reads all settings of the table. Adds a fault for each text that cannot be parsed.
            pub(super) fn read(reading: &mut Reading<'_>, table: &str) -> Self {
                Self {
                    $($field: $read(reading, table, Spec { key: $key, example: $example }, $parse),)*
                }
            }
        }
    };
}

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
    [key::POOLS, key::TASKS, key::DEFAULTS].contains(&&*part)
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
            && table == key::POOLS
            && (!rest.is_empty() || matches!(line.content, Content::EmptyTable))
            && !names.iter().any(|known| key::fold(known) == key::fold(name))
        {
            names.push(name.clone());
        }
    }
    let pool = |name: String| {
        let table = format!("{ROOT}.{}.{name}", key::POOLS);
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
        keep_actions: Duration, "node.keep-actions", "90d" => read_scalar(length);
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

/// A setting of the scheduler or of one of its pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// The key behind `scheduler.` or behind `scheduler.pools.<name>.`.
    pub(super) key: &'static str,
    /// A value to paste.
    pub(super) example: &'static str,
}

/// Reads a setting that is a text, a number or a flag.
fn read_scalar<T>(
    reading: &mut Reading<'_>,
    table: &str,
    spec: Spec,
    parse: fn(&str) -> Result<T, SettingsError>,
) -> Option<T> {
    read_as(reading, Kind::Flag, (table, spec), parse)
}

/// Reads a setting that a file may set to an array, too.
fn read_list<T>(
    reading: &mut Reading<'_>,
    table: &str,
    spec: Spec,
    parse: fn(&str) -> Result<T, SettingsError>,
) -> Option<T> {
    read_as(reading, Kind::Tags, (table, spec), parse)
}

fn read_as<T>(
    reading: &mut Reading<'_>,
    kind: Kind,
    (table, spec): (&str, Spec),
    parse: fn(&str) -> Result<T, SettingsError>,
) -> Option<T> {
    let name = format!("{table}.{}", spec.key);
    let raw = reading.find(&name, kind)?;
    let label = word(&name);
    let subject = Subject { owner: format!("setting {label}"), label, example: spec.example };
    let resolved = reading.resolve(&raw, &subject)?;
    match parse(&resolved.text) {
        Ok(value) => {
            reading.texts.push((name, resolved));
            Some(value)
        }
        Err(error) => {
            let example = resolved.source.assignment(&name, &name, spec.example);
            let (text, help) = match resolved.unseen() {
                Some(text) => (text, None),
                None => (error.text, error.help),
            };
            let help = help.map(|help| format!("{help}; ")).unwrap_or_default();
            let error = SettingsError::new(format!("{}: {text}", subject.label))
                .note(resolved.note())
                .help(format!("{help}for example `{example}`"));
            reading.faults.push(error.at(&resolved.source));
            None
        }
    }
}

/// Parses a whole number.
pub(super) fn count(text: &str, what: &str) -> Result<usize, SettingsError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SettingsError::new(format!("{} is not a whole number of {what}", word(text))));
    }
    text.parse().map_err(|_| SettingsError::new(format!("{} is too large a number", word(text))))
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
