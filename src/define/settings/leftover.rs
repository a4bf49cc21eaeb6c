//! Unknown keys under `scheduler`, and unknown variables.

use scheduler_expr::{Attribute, nearest};

use super::{
    Content, Line, Names, PoolSettings, ROOT, Reading, Remark, SettingsError, Spec, defaults,
    globals, key, schema, variables, word,
};

/// The prefix of all variables.
const PREFIX: &str = "SCHEDULER_";

/// Variables that Kubernetes and Docker set for a service named `scheduler`.
const FOREIGN: [&str; 3] = ["SCHEDULER_SERVICE_", "SCHEDULER_PORT", "SCHEDULER_ENV_"];

/// A fault for each key under `scheduler` that does not exist, but for those of tasks.
pub(super) fn unknown_keys(reading: &mut Reading<'_>) {
    let sources = reading.sources;
    for line in sources.layers().flat_map(|layer| &layer.lines) {
        let Some(parts) = line.ours() else { continue };
        let fault = match parts {
            [] => not_a_table(line, ROOT),
            [table, ..] if key::fold(table) == schema::TASKS => None,
            [table, rest @ ..] if key::fold(table) == schema::DEFAULTS => {
                defaults::unknown(line, rest)
            }
            [table] if key::fold(table) == schema::POOLS => not_a_table(line, "scheduler.pools"),
            [table, name] if key::fold(table) == schema::POOLS => not_a_table(line, name),
            [table, _, rest @ ..] if key::fold(table) == schema::POOLS => {
                unknown(line, rest, PoolSettings::SPECS)
            }
            rest => unknown(line, rest, &globals::specs()),
        };
        reading.faults.extend(fault.map(|fault| fault.at(&line.source)));
    }
}

/// The fault of a line that sets a table to a value.
fn not_a_table(line: &Line, table: &str) -> Option<SettingsError> {
    let is_table = matches!(line.content, Content::EmptyTable);
    (!is_table).then(|| SettingsError::new(format!("{} is a table, not a value", word(table))))
}

/// The fault of a line whose key is not in `specs`.
fn unknown(line: &Line, parts: &[String], specs: &[Spec]) -> Option<SettingsError> {
    let name = key::fold(&parts.join("."));
    let is_known = specs.iter().any(|spec| key::fold(spec.key) == name);
    let table = format!("{name}.");
    let is_table = matches!(line.content, Content::EmptyTable)
        && specs.iter().any(|spec| key::fold(spec.key).starts_with(&table));
    if is_known || is_table {
        return None;
    }
    let written = line.path.join(".");
    let meant = name.strip_prefix("scheduler.").unwrap_or(&name);
    let table = line.path[..line.path.len() - parts.len()].join(".");
    let meant = nearest(meant, specs.iter().map(|spec| spec.key));
    let meant = meant.map(|key| format!("{table}.{key}"));
    Some(SettingsError::unknown(format!("setting {}", word(&written)), meant, || {
        let mut keys: Vec<&str> = specs.iter().map(|spec| spec.key).collect();
        if table == ROOT {
            keys.extend(["defaults.<option>", "pools.<name>", "tasks.<name>"]);
        }
        format!("the settings under {} are {}", word(&format!("[{table}]")), keys.join(", "))
    }))
}

/// Warns of each variable with the prefix that was not read.
pub(super) fn unknown_variables(
    reading: &mut Reading<'_>,
    known: &Names,
    pools: &[(String, PoolSettings)],
) {
    let sources = reading.sources;
    for variable in sources.environment.names_with(PREFIX) {
        let is_read = reading.used.contains(variable)
            || schema::SPECIAL_VARIABLES.contains(&variable)
            || FOREIGN.iter().any(|foreign| variable.starts_with(foreign));
        if is_read {
            continue;
        }
        let mut text = format!("env {} has no effect", word(variable));
        if is_of_a_task(variable) {
            text.push_str(" as yet: there is no task of this name");
        }
        if let Some(meant) = suggestion(variable, known, pools) {
            text.push_str(&format!("; did you mean {}?", word(&meant)));
        }
        reading.remarks.push(Remark::warning(text));
    }
}

/// Returns true if a task of this name may be added later.
fn is_of_a_task(variable: &str) -> bool {
    let rest = variable.strip_prefix(variables::PREFIX);
    rest.is_some_and(|rest| variables::splits(rest).any(|(name, _)| !name.is_empty()))
}

/// A known variable with a similar name.
fn suggestion(variable: &str, known: &Names, pools: &[(String, PoolSettings)]) -> Option<String> {
    if let Some(rest) = variable.strip_prefix(variables::PREFIX) {
        return of_task(rest, known).map(|meant| format!("{}{meant}", variables::PREFIX));
    }
    let of_scheduler = globals::specs().into_iter().map(|spec| format!("{ROOT}.{}", spec.key));
    let of_pools = pools.iter().flat_map(|(pool, _)| {
        let key = |spec: &Spec| format!("{ROOT}.{}.{}.{}", schema::POOLS, pool, spec.key);
        PoolSettings::SPECS.iter().map(key).collect::<Vec<String>>()
    });
    let special = schema::SPECIAL_VARIABLES.into_iter().map(str::to_owned);
    let keys = of_scheduler
        .chain(of_pools)
        .chain(defaults::options().map(defaults::key))
        .map(|key| key::variable(&key));
    let all: Vec<String> = keys.chain(special).collect();
    // With the prefix, all would be similar.
    let rest = &variable[PREFIX.len()..];
    let found = nearest(rest, all.iter().filter_map(|known| known.strip_prefix(PREFIX)))?;
    Some(format!("{PREFIX}{found}"))
}

/// A similar variable of a task, without the prefix.
fn of_task(rest: &str, names: &Names) -> Option<String> {
    let tasks: Vec<&str> = names.compared()?;
    let attributes = || Attribute::ALL.iter().map(|attribute| key::variable(attribute.name()));
    for attribute in attributes() {
        let name = rest.strip_suffix(&attribute).and_then(|name| name.strip_suffix('_'));
        let Some(name) = name else { continue };
        let short = |task: &&str| key::tails(task).last().unwrap_or(task).to_owned();
        let lasts: Vec<String> = tasks.iter().map(|task| key::variable(&short(task))).collect();
        let whole: Vec<String> = tasks.iter().map(|task| key::variable(task)).collect();
        let found = nearest(name, lasts.iter().chain(&whole).map(String::as_str))?;
        let position = (0..tasks.len()).find(|at| lasts[*at] == found || whole[*at] == found)?;
        let certain = names.shortest(tasks[position]);
        let meant =
            if whole[position] == found { found.to_owned() } else { key::variable(certain) };
        return Some(format!("{meant}_{attribute}"));
    }
    let tails = tasks.iter().flat_map(|task| key::tails(task));
    let names = tails.map(key::variable).filter(|name| !name.is_empty());
    let (name, attribute) = names
        .filter_map(|name| {
            let attribute = rest.strip_prefix(&name)?.strip_prefix('_')?.to_owned();
            Some((name, attribute))
        })
        .max_by_key(|(name, _)| name.len())?;
    let all: Vec<String> = attributes().collect();
    let meant = nearest(&attribute, all.iter().map(String::as_str))?;
    Some(format!("{name}_{meant}"))
}
