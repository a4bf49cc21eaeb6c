//! Settings: values from outside of the source that replace attributes and configure the scheduler.
//!
//! # What this room is for
//!
//! The same key can be set in several places. From high to low: `builder.set(key, value)`; the
//! environment; the file named in `SCHEDULER_CONFIG`; `./scheduler.toml`, or a text the program
//! gives instead; the annotation; the defaults for all tasks, from the same places; the default of the
//! attribute. [`Settings::load`] reads the places once, and
//! [`Settings::apply`] finds for each attribute of each task the text that counts, replaces placeholders, and
//! keeps where it came from.
//!
//! # What it must never do
//!
//! Judge the attributes of tasks (the registrar does, with the parsers of `scheduler_expr`), start
//! anything, or read a place twice. It never ignores an unknown key under `[scheduler]`, or a setting
//! outside of it.
//!
//! # States and invariants
//!
//! * Each fault names the key, the place, and the remedy; all faults come back together.
//! * In keys `-` and `_` are the same. A task is named in full, or by an end of its path
//!   that no other task has (`names`).
//! * Variables are never split into keys, because `A_B_C` is ambiguous: a variable is compared with those
//!   of all keys.
//! * Ambiguous variables and short names, and two spellings in one place, are faults.
//! * Foreign texts are shown on one line, escaped, and shortened.
//!
//! # How a neighbour uses it
//!
//! ```text
//! let settings = Settings::load(Given { set, ..Given::of_process() })?;
//! let mut application = settings.apply(&names, &pools);
//! let effective = application.task(number, &words); // of each task
//! let applied = application.finish();
//! ```
//!
//! The registrar adds its own faults to `applied.faults`, by [`Effective::fault`]. One task at a time, because
//! there may be very many: nothing is kept of them but the faults.

mod defaults;
mod environment;
mod fault;
mod file;
mod globals;
#[cfg(test)]
#[path = "../../tests/fixtures/hostile_names.rs"]
pub(crate) mod hostile_names;
mod key;
mod leftover;
mod merge;
mod misplaced;
pub(crate) mod names;
mod reading;
mod report;
mod schema;
mod source;
mod tasks;
#[cfg(test)]
mod tests;
mod text;
mod variables;

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use scheduler_expr::Attribute;

pub(crate) use environment::Environment;
pub(crate) use fault::{Fault, Level, Remark};
pub(crate) use globals::{Applied, Globals, PoolSettings};
pub(crate) use merge::{Effective, TaskTexts};
pub(crate) use report::{Fallback, report};
pub(crate) use source::Source;
pub(crate) use text::{is_bare, visible, word};

use file::Layer;
use file::{ARRAY, Content, Line};
use key::{SEPARATOR, fold, tails};
use merge::Texts;
use merge::Values;
use names::Names;
use reading::{Reading, Sources};
use reading::{Subject, set_twice};
use schema::{DEFAULTS, DRY_RUN_VARIABLE, ROOT, Spec};
use schema::{FILE, FILE_VARIABLE};
use source::{Raw, Valued, origins};
use tasks::Overrides;
use text::either;
use variables::PREFIX;
use variables::Variables;

/// Where to look for settings.
#[derive(Debug)]
pub(crate) struct Given {
    /// The calls of `builder.set`, in order.
    pub(crate) set: Vec<(String, String)>,
    pub(crate) environment: Environment,
    /// The defaults for all tasks that code gives.
    pub(crate) defaults: Vec<(Attribute, String)>,
    /// Read in place of `./scheduler.toml`: a name for messages, and TOML.
    pub(crate) text: Option<(String, String)>,
    /// Reads a file as a whole.
    pub(crate) read: fn(&Path) -> io::Result<String>,
}

/// All that was found in those places, not yet applied to anything.
#[derive(Debug)]
pub(crate) struct Settings {
    sources: Sources,
    defaults: OnceLock<Values>,
    is_dry_run: bool,
}

/// Settings while they are applied to one task after the other.
pub(crate) struct Application<'a> {
    reading: Reading<'a>,
    names: &'a Names,
    overrides: Overrides,
    defaults: &'a Values,
    pub(crate) globals: Globals,
    /// The known pools in their order, then those that only settings name.
    pub(crate) pools: Vec<PoolSettings>,
}

impl Given {
    /// The places of a process: its environment and its files.
    pub(crate) fn of_process() -> Self {
        Self {
            set: Vec::new(),
            environment: Environment::of_process(),
            defaults: Vec::new(),
            text: None,
            read: file::read,
        }
    }
}

impl Settings {
    /// Reads all places.
    ///
    /// The faults are those of the places as such: a file that is missing, or is no TOML.
    pub(crate) fn load(given: Given) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut or_fault = |fault| faults.push(fault);
        let named = given.environment.text(FILE_VARIABLE).map_err(&mut or_fault).ok().flatten();
        let is_dry_run = environment::is_dry_run(&given.environment).map_err(or_fault);
        let is_named = named.is_some_and(|path| path.trim_start_matches("./") == FILE);
        let default = match &given.text {
            Some((name, text)) => Some(Layer::from_toml(name, text)),
            None if is_named => None,
            None => file::load_if_there(FILE, given.read),
        };
        let named = named.map(|path| file::load_named(path, given.read));
        let mut files = Vec::new();
        for file in named.into_iter().chain(default) {
            file.map_or_else(|found| faults.extend(found), |layer| files.push(layer));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let Given { set, environment, defaults, .. } = given;
        let builder = Layer::from_builder(set);
        let sources = Sources { builder, environment, files, defaults };
        let is_dry_run = is_dry_run.unwrap_or_default();
        Ok(Self { sources, defaults: OnceLock::new(), is_dry_run })
    }

    /// Returns true if the start only prints the values.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.sources.environment
    }

    /// An empty index of the names of tasks, with the variables that may name some of them.
    pub(crate) fn names(&self) -> Names {
        Names::with_variables(Variables::of(&self.sources.environment))
    }

    /// Reads the settings of the scheduler, its pools and its tasks. `pools` are those of the program; settings
    /// may name others.
    pub(crate) fn apply<'a>(&'a self, names: &'a Names, pools: &[&str]) -> Application<'a> {
        let mut reading = Reading::new(&self.sources);
        let globals = globals::globals(&mut reading);
        let pools = globals::pools(&mut reading, pools);
        let overrides = Overrides::read(&mut reading, names, None);
        let defaults = self.defaults(&mut reading);
        Application { reading, names, overrides, defaults, globals, pools }
    }

    /// Merges the settings of a task that is added later, and whose name is in the index. Settings of unknown
    /// tasks are no fault here.
    pub(crate) fn apply_to(
        &self,
        task: &TaskTexts<'_>,
        names: &Names,
    ) -> Result<Effective, Vec<Fault>> {
        let mut reading = Reading::new(&self.sources);
        let mut overrides = Overrides::read(&mut reading, names, Some(task.name));
        let number = names.number(task.name).unwrap_or_default();
        let defaults = self.defaults(&mut reading);
        let effective = overrides.merge(&mut reading, names, (number, task), defaults);
        if reading.faults.is_empty() { Ok(effective) } else { Err(reading.faults) }
    }

    /// Replaces the placeholders of a task, without its settings.
    pub(crate) fn resolve(&self, task: &TaskTexts<'_>) -> Result<Effective, Vec<Fault>> {
        let mut reading = Reading::new(&self.sources);
        let effective = merge::merge(&mut reading, task, task.name, Vec::new(), &[]);
        if reading.faults.is_empty() { Ok(effective) } else { Err(reading.faults) }
    }

    /// The defaults for all tasks, which are read once.
    fn defaults(&self, reading: &mut Reading<'_>) -> &Values {
        self.defaults.get_or_init(|| defaults::read(reading))
    }
}

impl Application<'_> {
    /// Merges the settings of the task with this number in the index.
    pub(crate) fn task(&mut self, number: usize, task: &TaskTexts<'_>) -> Effective {
        let Self { reading, names, overrides, defaults, .. } = self;
        overrides.merge(reading, names, (number, task), defaults)
    }

    /// Finds unknown keys and variables, after all tasks were merged.
    pub(crate) fn finish(mut self) -> Applied {
        let reading = &mut self.reading;
        leftover::unknown_keys(reading);
        misplaced::misplaced_keys(reading);
        leftover::unknown_variables(reading, self.names, &self.pools);
        let Reading { texts, faults, remarks, .. } = self.reading;
        Applied { globals: self.globals, texts, faults, remarks }
    }
}
