//! Which attribute of which task each line and each variable is about.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use scheduler_expr::Attribute;
use scheduler_expr::nearest;

use super::fault::Fault;
use super::fault::either;
use super::fault::word;
use super::file::Content;
use super::file::Layer;
use super::file::Line;
use super::file::ROOT;
use super::key;
use super::merge;
use super::merge::Effective;
use super::names;
use super::names::Names;
use super::names::NotFound;
use super::reading::Reading;
use super::reading::set_twice;
use super::schema;
use super::source::Raw;
use super::source::Source;

/// How the variables of tasks begin.
pub(super) const PREFIX: &str = "SCHEDULER_TASKS_";

/// A task in the words of its annotation, or of the call that added it.
#[derive(Debug)]
pub(crate) struct TaskWords<'a> {
    /// The full name.
    pub(crate) name: &'a str,
    /// File and line.
    pub(crate) place: String,
    pub(crate) attributes: &'a [(Attribute, &'a str)],
}

/// What one place says about one task.
pub(super) type Words = BTreeMap<Attribute, Raw>;

/// What one place says about tasks, by their positions.
type Said = BTreeMap<usize, Words>;

/// What counts for each of the tasks.
pub(super) fn tasks(reading: &mut Reading<'_>, tasks: &[TaskWords<'_>]) -> Vec<Effective> {
    let all: Vec<&str> = tasks.iter().map(|task| task.name).collect();
    let names = Names::new(&all);
    let settings = reading.settings;
    let mut places = vec![in_layer(reading, &settings.builder, &names)];
    places.push(in_environment(reading, &names));
    places.extend(settings.files.iter().map(|file| in_layer(reading, file, &names)));
    let effective = tasks.iter().enumerate().map(|(index, task)| {
        let said = places.iter_mut().map(|place| place.remove(&index).unwrap_or_default());
        let said: Vec<Words> = said.collect();
        let short = match said.iter().all(BTreeMap::is_empty) {
            true => task.name,
            false => names.shortest(index),
        };
        merge::merge(reading, task, short, said)
    });
    effective.collect()
}

fn in_layer(reading: &mut Reading<'_>, layer: &Layer, names: &Names<'_>) -> Said {
    let mut said = Said::new();
    let mut told = BTreeSet::new();
    for line in &layer.lines {
        let Some([table, rest @ ..]) = line.ours() else { continue };
        if key::fold(table) != schema::TASKS {
            continue;
        }
        match meant(line, rest, names) {
            Ok(None) => {}
            Ok(Some(meant)) => {
                let key = line.path.join(".");
                if let Some(raw) = reading.text(&key, &line.content, &line.source) {
                    add(reading, &mut said, meant, raw, names);
                }
            }
            Err(wrong) if wrong.is_stranger && reading.passes_over_strangers => {}
            Err(wrong) => {
                // A table with a wrong name has many lines, but it is one mistake.
                if told.insert(wrong.text.clone()) {
                    reading.faults.push(Fault::at(&line.source, wrong.text).help(wrong.help));
                }
            }
        }
    }
    said
}

fn add(
    reading: &mut Reading<'_>,
    said: &mut Said,
    (task, attribute): (usize, Attribute),
    raw: Raw,
    names: &Names<'_>,
) {
    let words = said.entry(task).or_default();
    match words.get(&attribute) {
        Some(first) => {
            let attribute = raw.source.name(attribute.name());
            let what = format!("`{attribute}` of task {}", word(names.full(task)));
            reading.faults.push(set_twice(&what, &first.source, &raw.source));
        }
        None => {
            words.insert(attribute, raw);
        }
    }
}

/// Why a key under `scheduler.tasks` means nothing.
struct Wrong {
    text: String,
    help: Option<String>,
    /// Whether there is no task of that name.
    is_stranger: bool,
}

impl Wrong {
    fn new(text: String, help: Option<String>) -> Self {
        Self { text, help, is_stranger: false }
    }
}

/// The task and the attribute that a key means; `parts` are those behind `scheduler.tasks`.
///
/// The name of a task may have dots in it, so the longest name that exists is looked for.
fn meant(
    line: &Line,
    parts: &[String],
    names: &Names<'_>,
) -> Result<Option<(usize, Attribute)>, Wrong> {
    let is_empty = matches!(line.content, Content::EmptyTable);
    for split in (1..=parts.len()).rev() {
        let name = parts[..split].join(".");
        if names.meant(&name).is_empty() {
            continue;
        }
        let refuse = |error: NotFound| Wrong::new(error.to_string(), None);
        let task = names.find(&name).map_err(refuse)?;
        let attribute = parts[split..].join(".");
        return match Attribute::from_name(&attribute) {
            Some(attribute) => Ok(Some((task, attribute))),
            None if is_empty && (attribute.is_empty() || attribute == "retry") => Ok(None),
            None => Err(unknown_attribute(&attribute, names.full(task), &line.source)),
        };
    }
    if parts.is_empty() {
        let text = format!("`{ROOT}.{}` is the table of the tasks", schema::TASKS);
        let help = "write `[scheduler.tasks.<name>]`, and the attributes below it".to_owned();
        return if is_empty { Ok(None) } else { Err(Wrong::new(text, Some(help))) };
    }
    let name = parts[..name_length(parts, is_empty)].join(".");
    match names.find(&name) {
        Ok(_) => Ok(None),
        Err(unknown) => {
            let (text, help) = (unknown.to_string(), all_of(names.all()));
            Err(Wrong { text, help, is_stranger: true })
        }
    }
}

/// How many of the parts are the name of a task that does not exist.
fn name_length(parts: &[String], is_empty_table: bool) -> usize {
    let known = [2, 1].into_iter().find(|count| {
        parts.len() > *count
            && Attribute::from_name(&parts[parts.len() - count..].join(".")).is_some()
    });
    match known {
        Some(count) => parts.len() - count,
        None if is_empty_table || parts.len() == 1 => parts.len(),
        None => parts.len() - 1,
    }
}

fn unknown_attribute(attribute: &str, task: &str, source: &Source) -> Wrong {
    if attribute.is_empty() {
        let text = format!("task {} is set to a value, but it is a table", word(task));
        let help = format!("write an attribute behind the name, such as `{}`", Attribute::Cron);
        return Wrong::new(text, Some(help));
    }
    let all = || Attribute::ALL.iter().map(|attribute| attribute.name());
    let part = format!("{attribute}.");
    let suggestion =
        nearest(attribute, all()).or_else(|| all().find(|name| name.starts_with(&part)));
    let text = format!("unknown attribute {} of task {}", word(attribute), word(task));
    match suggestion {
        Some(suggestion) => {
            let suggestion = source.name(suggestion);
            Wrong::new(format!("{text}; did you mean `{suggestion}`?"), None)
        }
        None => {
            let names: Vec<String> = all().map(|name| source.name(name)).collect();
            let help = format!("the attributes are {}", names.join(", "));
            Wrong::new(text, Some(help))
        }
    }
}

/// The tasks there are, if they are few.
fn all_of(names: &[&str]) -> Option<String> {
    const SHOWN_MAX: usize = 10;
    match names.len() {
        0 => Some("there are no tasks".to_owned()),
        1..=SHOWN_MAX => {
            let words: Vec<String> = names.iter().map(|name| word(name)).collect();
            Some(format!("the tasks are {}", words.join(", ")))
        }
        _ => None,
    }
}

/// The variables of all names and tails: what would be generated for each task, turned round.
struct Variables {
    full: BTreeMap<String, Vec<usize>>,
    tails: BTreeMap<String, Vec<usize>>,
}

impl Variables {
    fn of(names: &[&str]) -> Self {
        let mut variables = Self { full: BTreeMap::new(), tails: BTreeMap::new() };
        for (index, name) in names.iter().enumerate() {
            for tail in names::tails(name) {
                let map = if tail == *name { &mut variables.full } else { &mut variables.tails };
                for variable in key::variables(tail) {
                    map.entry(variable).or_default().push(index);
                }
            }
        }
        variables
    }

    /// All pairs of which `rest`, what follows [`PREFIX`], is the variable.
    fn meant(&self, rest: &str) -> Vec<(usize, Attribute)> {
        for map in [&self.full, &self.tails] {
            let mut found = BTreeSet::new();
            for attribute in Attribute::ALL {
                for suffix in key::variables(attribute.name()) {
                    let name = rest.strip_suffix(&suffix).and_then(|name| name.strip_suffix('_'));
                    let tasks = name.and_then(|name| map.get(name));
                    found.extend(tasks.into_iter().flatten().map(|task| (*task, *attribute)));
                }
            }
            if !found.is_empty() {
                return found.into_iter().collect();
            }
        }
        Vec::new()
    }
}

fn in_environment(reading: &mut Reading<'_>, names: &Names<'_>) -> Said {
    let mut said = Said::new();
    let settings = reading.settings;
    let variables = Variables::of(names.all());
    for variable in settings.environment.names_with(PREFIX) {
        let meant = variables.meant(&variable[PREFIX.len()..]);
        if meant.is_empty() {
            continue;
        }
        let Some(raw) = reading.variable(variable) else { continue };
        match meant.as_slice() {
            [only] => add(reading, &mut said, *only, raw, names),
            several => {
                let several = several.iter();
                let words: Vec<String> = several
                    .map(|(task, attribute)| {
                        format!("`{attribute}` of {}", word(names.full(*task)))
                    })
                    .collect();
                let text = format!("{} may mean {}", raw.source, either(&words));
                let help = "use the full name, or a settings file".to_owned();
                reading.faults.push(Fault::new(text).help(help));
            }
        }
    }
    said
}
