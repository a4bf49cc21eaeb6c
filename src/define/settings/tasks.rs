//! Finds the task and the attribute of each line and each variable.

use std::collections::{BTreeMap, BTreeSet};

use scheduler_expr::{Attribute, nearest};

use super::{
    Content, Layer, Line, Names, PREFIX, ROOT, Raw, RawAttributes, Reading, ResolvedAttributes,
    ResolvedValue, SettingsError, Source, either, key, merge, set_twice, word,
};
use crate::define::entry::Definition;

/// The settings of tasks in one place, by their numbers.
type ByTask = BTreeMap<usize, RawAttributes>;

/// A task by its full name and its number, and an attribute of it.
type Meant<'n> = (&'n str, (usize, Attribute));

/// The settings of tasks in all places, from high to low.
pub(super) struct Overrides(Vec<ByTask>);

impl Overrides {
    /// Reads the settings of all tasks, or of one that is added later and whose name is in the index. Then settings
    /// of unknown tasks are no fault: the start has reported them.
    pub(super) fn read(reading: &mut Reading<'_>, names: &Names, only: Option<&str>) -> Self {
        let sources = reading.sources;
        let variables: BTreeSet<&str> = match only {
            None => sources.environment.names_with(PREFIX).collect(),
            Some(task) => key::tails(task)
                .flat_map(key::variables)
                .flat_map(|name| sources.environment.names_with(format!("{PREFIX}{name}_")))
                .collect(),
        };
        let mut finder = Finder { reading, names, only: only.and_then(|task| names.number(task)) };
        let mut in_layer = |layer: &Layer| match only {
            None => finder.in_lines(&layer.lines),
            Some(task) => finder.in_lines(layer.of_tasks(key::tails(task))),
        };
        let mut all: Vec<ByTask> = sources.layers().map(&mut in_layer).collect();
        all.insert(1, finder.in_variables(variables));
        Self(all)
    }

    /// Merges the settings of a task.
    pub(super) fn merge(
        &mut self,
        reading: &mut Reading<'_>,
        names: &Names,
        (number, task): (usize, &Definition),
        defaults: &[(Attribute, ResolvedValue)],
    ) -> ResolvedAttributes {
        let places = self.0.iter_mut().map(|place| place.remove(&number).unwrap_or_default());
        let places: Vec<RawAttributes> = places.collect();
        let is_silent = places.iter().all(BTreeMap::is_empty);
        let short = if is_silent { &task.name } else { names.shortest(&task.name) };
        merge::merge(reading, task, short, places, defaults)
    }
}

/// Finds the task and the attribute of lines and variables.
struct Finder<'a, 'r> {
    reading: &'a mut Reading<'r>,
    names: &'a Names,
    /// The number of the only task that is read.
    only: Option<usize>,
}

impl<'a> Finder<'a, '_> {
    fn in_lines<'l>(&mut self, lines: impl IntoIterator<Item = &'l Line>) -> ByTask {
        let mut by_task = ByTask::new();
        let mut reported = BTreeSet::new();
        for line in lines {
            let Some([table, rest @ ..]) = line.ours() else { continue };
            if key::fold(table) != key::TASKS {
                continue;
            }
            match self.meant(line, rest) {
                Ok(None) => {}
                Ok(Some((name, meant))) => {
                    let (key, kind) = (line.path.join("."), meant.1.row().kind);
                    if let Some(raw) = self.reading.text(&key, line, kind) {
                        self.add(&mut by_task, name, meant, raw);
                    }
                }
                Err(fault) => {
                    // A table with a wrong name has many lines, but it is one mistake.
                    if reported.insert(fault.text.clone()) {
                        self.reading.faults.push(fault.at(&line.source));
                    }
                }
            }
        }
        by_task
    }

    fn in_variables(&mut self, variables: BTreeSet<&str>) -> ByTask {
        let mut by_task = ByTask::new();
        for variable in variables {
            let meant = self.names.variables.meant(&variable[PREFIX.len()..]);
            if meant.is_empty() {
                continue;
            }
            let Some(raw) = self.reading.variable(variable) else { continue };
            match meant.as_slice() {
                [((name, number), attribute)] => {
                    self.add(&mut by_task, name, (*number, *attribute), raw);
                }
                several => {
                    let all = several
                        .iter()
                        .map(|((name, _), attribute)| format!("`{attribute}` of {}", word(name)));
                    let text =
                        format!("{} may mean {}", raw.source, either(&all.collect::<Vec<_>>()));
                    let help = "use the full name, or a settings file".to_owned();
                    self.reading.faults.push(SettingsError::new(text).help(help));
                }
            }
        }
        by_task
    }

    /// The task and the attribute of a key; `parts` are those after `scheduler.tasks`.
    ///
    /// The name of a task may have dots in it, so the longest name that exists is looked for.
    fn meant(&self, line: &Line, parts: &[String]) -> Result<Option<Meant<'a>>, SettingsError> {
        let is_empty = matches!(line.content, Content::EmptyTable);
        for split in (1..=parts.len()).rev() {
            let name = parts[..split].join(".");
            if !self.names.is_any_meant(&name) {
                continue;
            }
            let (task, number) =
                self.names.find(&name).map_err(|error| SettingsError::new(error.to_string()))?;
            let attribute = parts[split..].join(".");
            return match Attribute::from_name(&attribute) {
                Some(attribute) => Ok(Some((task, (number, attribute)))),
                None if is_empty && (attribute.is_empty() || attribute == "retry") => Ok(None),
                None => Err(unknown_attribute(&attribute, task, &line.source)),
            };
        }
        if parts.is_empty() && !is_empty {
            let text = format!("`{ROOT}.{}` is the table of the tasks", key::TASKS);
            let help = "write `[scheduler.tasks.<name>]`, and the attributes below it".to_owned();
            return Err(SettingsError::new(text).help(help));
        }
        if parts.is_empty() || self.only.is_some() {
            return Ok(None);
        }
        let name = parts[..name_length(parts, is_empty)].join(".");
        let unknown = self.names.find(&name).err();
        unknown.map_or(Ok(None), |error| {
            Err(SettingsError::new(error.to_string()).help(all_of(self.names)))
        })
    }

    fn add(&mut self, by_task: &mut ByTask, name: &str, meant: (usize, Attribute), raw: Raw) {
        let (task, attribute) = meant;
        if self.only.is_some_and(|only| only != task) {
            return;
        }
        let words = by_task.entry(task).or_default();
        match words.get(&attribute) {
            Some(first) => {
                let what = format!("`{attribute}` of task {}", word(name));
                self.reading.faults.push(set_twice(&what, &first.source, &raw.source));
            }
            None => {
                words.insert(attribute, raw);
            }
        }
    }
}

/// The number of parts that are the name of an unknown task.
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

fn unknown_attribute(attribute: &str, task: &str, source: &Source) -> SettingsError {
    if attribute.is_empty() {
        let text = format!("task {} is set to a value, but it is a table", word(task));
        let help = format!("write an attribute behind the name, such as `{}`", Attribute::Cron);
        return SettingsError::new(text).help(help);
    }
    let all = || Attribute::ALL.iter().map(|attribute| attribute.name());
    let part = format!("{attribute}.");
    let called = |row: &Attribute| row.row().aliases.contains(&&*key::fold(attribute));
    let called = Attribute::ALL.iter().find(|row| called(row)).map(|row| row.name());
    let meant = called.or_else(|| nearest(attribute, all()));
    let meant = meant.or_else(|| all().find(|name| name.starts_with(&part)));
    let what = format!("attribute {} of task {}", word(attribute), word(task));
    SettingsError::unknown(what, meant.map(|meant| source.name(meant)), || {
        let names: Vec<String> = all().map(|name| source.name(name)).collect();
        format!("the attributes are {}", names.join(", "))
    })
}

/// All tasks, if they are few.
fn all_of(names: &Names) -> Option<String> {
    const SHOWN_MAX: usize = 10;
    match names.len() {
        0 => Some("there are no tasks".to_owned()),
        1..=SHOWN_MAX => {
            let words: Vec<String> = names.in_order().map(word).collect();
            Some(format!("the tasks are {}", words.join(", ")))
        }
        _ => None,
    }
}
