//! Which attribute of which task each line and each variable is about.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use scheduler_expr::Attribute;
use scheduler_expr::nearest;

use super::fault::Fault;
use super::fault::either;
use super::fault::word;
use super::file::Content;
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
use super::variables::PREFIX;

/// A task in the words of its annotation, or of the call that added it.
#[derive(Debug)]
pub(crate) struct TaskWords<'a> {
    /// The full name.
    pub(crate) name: &'a str,
    /// File and line.
    pub(crate) place: String,
    pub(crate) attributes: Vec<(Attribute, &'a str)>,
}

/// What one place says about one task.
pub(super) type Words = BTreeMap<Attribute, Raw>;

/// What one place says about tasks, by their numbers.
type Said = BTreeMap<usize, Words>;

/// A task by its full name and its number, and an attribute of it.
type Meant<'n> = (&'n str, (usize, Attribute));

/// What all places say about tasks, from high to low.
pub(super) struct Overrides(Vec<Said>);

impl Overrides {
    /// Reads the settings of all tasks.
    pub(super) fn read(reading: &mut Reading<'_>, names: &Names) -> Self {
        let settings = reading.settings;
        let mut finder = Finder { reading, names, only: None };
        let mut places = vec![finder.in_lines(&settings.builder.lines)];
        places.push(finder.in_variables(settings.environment.names_with(PREFIX)));
        places.extend(settings.files.iter().map(|file| finder.in_lines(&file.lines)));
        Self(places)
    }

    /// Reads the settings of one task, which is among the names. Settings of tasks that are not
    /// there is no fault: the start has judged it.
    pub(super) fn read_of(reading: &mut Reading<'_>, names: &Names, task: &str) -> Self {
        let (settings, only) = (reading.settings, names.number(task));
        let mut finder = Finder { reading, names, only };
        let mut places = vec![finder.in_lines(settings.builder.of_tasks(names::tails(task)))];
        let variables = names::tails(task).flat_map(key::variables);
        let prefixes = variables.map(|variable| format!("{PREFIX}{variable}_"));
        let set: BTreeSet<&str> =
            prefixes.flat_map(|prefix| settings.environment.names_with(prefix)).collect();
        places.push(finder.in_variables(set));
        let files = settings.files.iter();
        places.extend(files.map(|file| finder.in_lines(file.of_tasks(names::tails(task)))));
        Self(places)
    }

    /// What counts for a task.
    pub(super) fn merge(
        &mut self,
        reading: &mut Reading<'_>,
        names: &Names,
        (number, task): (usize, &TaskWords<'_>),
    ) -> Effective {
        let said = self.0.iter_mut().map(|place| place.remove(&number).unwrap_or_default());
        let said: Vec<Words> = said.collect();
        let is_silent = said.iter().all(BTreeMap::is_empty);
        let short = if is_silent { task.name } else { names.shortest(task.name) };
        merge::merge(reading, task, short, said)
    }
}

/// Finds out which task and which attribute lines and variables are about.
struct Finder<'a, 'r> {
    reading: &'a mut Reading<'r>,
    names: &'a Names,
    /// The number of the only task that is asked for.
    only: Option<usize>,
}

impl Finder<'_, '_> {
    fn in_lines<'l>(&mut self, lines: impl IntoIterator<Item = &'l Line>) -> Said {
        let mut said = Said::new();
        let mut told = BTreeSet::new();
        for line in lines {
            let Some([table, rest @ ..]) = line.ours() else { continue };
            if key::fold(table) != schema::TASKS {
                continue;
            }
            match meant(line, rest, self.names) {
                Ok(None) => {}
                Ok(Some((name, meant))) => {
                    let key = line.path.join(".");
                    if let Some(raw) = self.reading.text(&key, &line.content, &line.source) {
                        self.add(&mut said, name, meant, raw);
                    }
                }
                Err(wrong) if wrong.is_stranger && self.only.is_some() => {}
                Err(wrong) => {
                    // A table with a wrong name has many lines, but it is one mistake.
                    if told.insert(wrong.text.clone()) {
                        let fault = Fault::at(&line.source, wrong.text);
                        self.reading.faults.push(fault.help(wrong.help));
                    }
                }
            }
        }
        said
    }

    fn in_variables<'v>(&mut self, variables: impl IntoIterator<Item = &'v str>) -> Said {
        let mut said = Said::new();
        for variable in variables {
            let meant = self.names.variables.meant(&variable[PREFIX.len()..]);
            if meant.is_empty() {
                continue;
            }
            let Some(raw) = self.reading.variable(variable) else { continue };
            match meant.as_slice() {
                [((name, number), attribute)] => {
                    self.add(&mut said, name, (*number, *attribute), raw);
                }
                several => {
                    let words = several
                        .iter()
                        .map(|((name, _), attribute)| format!("`{attribute}` of {}", word(name)));
                    let words: Vec<String> = words.collect();
                    let text = format!("{} may mean {}", raw.source, either(&words));
                    let help = "use the full name, or a settings file".to_owned();
                    self.reading.faults.push(Fault::new(text).help(help));
                }
            }
        }
        said
    }

    fn add(&mut self, said: &mut Said, name: &str, meant: (usize, Attribute), raw: Raw) {
        let (task, attribute) = meant;
        if self.only.is_some_and(|only| only != task) {
            return;
        }
        let words = said.entry(task).or_default();
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
fn meant<'n>(line: &Line, parts: &[String], names: &'n Names) -> Result<Option<Meant<'n>>, Wrong> {
    let is_empty = matches!(line.content, Content::EmptyTable);
    for split in (1..=parts.len()).rev() {
        let name = parts[..split].join(".");
        if !names.is_any_meant(&name) {
            continue;
        }
        let refuse = |error: NotFound| Wrong::new(error.to_string(), None);
        let (task, number) = names.find(&name).map_err(refuse)?;
        let attribute = parts[split..].join(".");
        return match Attribute::from_name(&attribute) {
            Some(attribute) => Ok(Some((task, (number, attribute)))),
            None if is_empty && (attribute.is_empty() || attribute == "retry") => Ok(None),
            None => Err(unknown_attribute(&attribute, task, &line.source)),
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
            let (text, help) = (unknown.to_string(), all_of(names));
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
