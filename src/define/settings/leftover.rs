//! Keys and variables that nothing reads: unknown, misplaced, mistyped.

use std::collections::BTreeSet;

use scheduler_expr::{Attribute, nearest};

use crate::define::settings::{
    Content, Line, Names, PoolSettings, ROOT, Reading, Remark, SettingsError, Spec, globals,
    is_bare, key, merge, source, visible, word,
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
            [table, ..] if key::fold(table) == key::TASKS => None,
            [table, rest @ ..] if key::fold(table) == key::DEFAULTS => merge::unknown(line, rest),
            [table] if key::fold(table) == key::POOLS => not_a_table(line, "scheduler.pools"),
            [table, name] if key::fold(table) == key::POOLS => not_a_table(line, name),
            [table, _, rest @ ..] if key::fold(table) == key::POOLS => {
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
            || key::SPECIAL_VARIABLES.contains(&variable)
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
    let rest = variable.strip_prefix(source::PREFIX);
    rest.is_some_and(|rest| source::splits(rest).any(|(name, _)| !name.is_empty()))
}

/// A known variable with a similar name.
fn suggestion(variable: &str, known: &Names, pools: &[(String, PoolSettings)]) -> Option<String> {
    if let Some(rest) = variable.strip_prefix(source::PREFIX) {
        return of_task(rest, known).map(|meant| format!("{}{meant}", source::PREFIX));
    }
    let of_scheduler = globals::specs().into_iter().map(|spec| format!("{ROOT}.{}", spec.key));
    let of_pools = pools.iter().flat_map(|(pool, _)| {
        let key = |spec: &Spec| format!("{ROOT}.{}.{}.{}", key::POOLS, pool, spec.key);
        PoolSettings::SPECS.iter().map(key).collect::<Vec<String>>()
    });
    let special = key::SPECIAL_VARIABLES.into_iter().map(str::to_owned);
    let keys = of_scheduler
        .chain(of_pools)
        .chain(merge::options().map(merge::key))
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

/// Among more keys that placeholders ask for, no similar one is looked for.
const COMPARED_MAX: usize = 1_000;

/// A warning for each setting, and for each table of settings, that is not under `[scheduler]`, and for each key
/// with a slip in it.
///
/// A key that a placeholder reads belongs to the program.
pub(super) fn misplaced_keys(reading: &mut Reading<'_>) {
    let sources = reading.sources;
    let unset = unset(reading);
    for file in &sources.files {
        let mut reported = BTreeSet::new();
        for line in &file.lines {
            let is_asked = || reading.asked.contains(&key::fold(&line.path.join(".")));
            if line.ours().is_some() || is_asked() {
                continue;
            }
            let found = similar_root(line).or_else(|| right_place(line));
            let Some(found) = found.or_else(|| similar_key(line, &unset)) else { continue };
            // A table in a wrong place has many lines, but it is one mistake.
            if reported.insert(found.mistake) {
                let text = format!("{}: {}", line.source, found.text);
                reading.remarks.push(Remark::warning(text));
            }
        }
    }
}

/// A line that has no effect.
struct Misplaced {
    /// The same for all lines of one mistake: the table, or the line to write instead.
    mistake: String,
    text: String,
}

impl Misplaced {
    /// A setting that is not under `[scheduler]`.
    fn outside(line: &Line, mistake: String, below: &str) -> Self {
        let text = format!(
            "{} has no effect: it is not under `[{ROOT}]`, and no placeholder asks for it; write {}{below}",
            word(&line.path.join(".")),
            word(&mistake)
        );
        Self { mistake, text }
    }
}

/// The mistake of a setting whose table is similar to `[scheduler]`.
fn similar_root(line: &Line) -> Option<Misplaced> {
    let [root, first, ..] = line.path.as_slice() else { return None };
    let is_similar = globals::is_ours(first) && nearest(root, [ROOT]).is_some();
    is_similar.then(|| Misplaced {
        mistake: root.clone(),
        text: format!("table {} has no effect; did you mean `[{ROOT}]`?", word(root)),
    })
}

/// The keys that placeholders ask for and nothing sets.
fn unset(reading: &Reading<'_>) -> Vec<String> {
    if reading.asked.len() > COMPARED_MAX {
        return Vec::new();
    }
    let is_variable =
        |key: &str, used: &String| key::fold(used) == key || key::variables(key).contains(used);
    let is_set = |key: &String| {
        reading.sources.layers().any(|layer| layer.named(key).next().is_some())
            || reading.used.iter().any(|used| is_variable(key, used))
    };
    reading.asked.iter().filter(|key| !is_set(key)).cloned().collect()
}

/// The key that differs from the line's key in one part, and there by a slip.
fn similar_key(line: &Line, unset: &[String]) -> Option<Misplaced> {
    let is_similar = |key: &&String| {
        let asked = key::parts(key);
        let pairs = line.path.iter().zip(&asked);
        let mut other = pairs.filter(|(written, asked)| key::fold(written) != **asked);
        let slip =
            other.next().filter(|_| other.next().is_none() && asked.len() == line.path.len());
        slip.is_some_and(|(written, asked)| is_slip(&key::fold(written), asked))
    };
    let meant = unset.iter().find(is_similar)?.replace('_', "-");
    let (key, shown) = (word(&line.path.join(".")), word(&meant));
    let text = format!("no placeholder asks for {key}; did you mean {shown}?");
    Some(Misplaced { mistake: meant, text })
}

/// Returns true if one letter is wrong, missing or additional, or two neighbours are exchanged. Keys that differ in
/// a digit, or in more, may both exist.
fn is_slip(written: &str, asked: &str) -> bool {
    let written: Vec<char> = written.chars().collect();
    let asked: Vec<char> = asked.chars().collect();
    let shorter = written.len().min(asked.len());
    let start = (0..shorter).take_while(|at| written[*at] == asked[*at]).count();
    let is_same_at_end =
        |at: &usize| written[written.len() - 1 - at] == asked[asked.len() - 1 - at];
    let end = (0..shorter - start).take_while(is_same_at_end).count();
    match (&written[start..written.len() - end], &asked[start..asked.len() - end]) {
        ([a, b], [c, d]) => a == d && b == c,
        ([one], []) | ([], [one]) => shorter > 1 && !one.is_ascii_digit(),
        ([one], [other]) => shorter > 2 && !one.is_ascii_digit() && !other.is_ascii_digit(),
        _ => false,
    }
}

/// The mistake of a line that would be read in another place.
fn right_place(line: &Line) -> Option<Misplaced> {
    let is_empty = matches!(line.content, Content::EmptyTable);
    let parts = line.path.as_slice();
    let [table, rest @ ..] = parts else { return None };
    if table == key::DEFAULTS && Attribute::from_name(&rest.join(".")).is_some() {
        return Some(Misplaced::outside(line, format!("[{ROOT}.{table}]"), ""));
    }
    let name = match rest {
        rest if table == key::TASKS => task_name(rest),
        [name] if table == key::POOLS && is_empty => Some(std::slice::from_ref(name)),
        [name, rest @ ..] if table == key::POOLS => {
            known(rest, PoolSettings::SPECS).map(|_| std::slice::from_ref(name))
        }
        _ => None,
    };
    if let Some(name) = name {
        let name: Vec<String> = name.iter().map(|part| pasted(part)).collect();
        let header = format!("[{ROOT}.{table}.{}]", name.join("."));
        return Some(Misplaced::outside(line, header, ""));
    }
    let specs = globals::specs();
    let spec = known(parts, &specs)?;
    let value = match &line.content {
        Content::Text(text) => text.as_str(),
        _ => spec.example,
    };
    let setting = format!("{} = \"{}\"", spec.key, visible(value));
    Some(Misplaced::outside(line, setting, &format!(" under `[{ROOT}]`")))
}

/// The name in front of an attribute of tasks.
fn task_name(parts: &[String]) -> Option<&[String]> {
    let mut splits = (1..parts.len()).rev();
    let split = splits.find(|at| Attribute::from_name(&parts[*at..].join(".")).is_some())?;
    Some(&parts[..split])
}

fn known<'a>(parts: &[String], specs: &'a [Spec]) -> Option<&'a Spec> {
    let name = key::fold(&parts.join("."));
    specs.iter().find(|spec| key::fold(spec.key) == name)
}

/// A part of a key as TOML wants it.
fn pasted(part: &str) -> String {
    if is_bare(part) { part.to_owned() } else { format!("\"{}\"", visible(part)) }
}
