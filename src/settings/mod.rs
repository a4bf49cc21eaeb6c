//! Settings: what is said about tasks and the scheduler outside of the source.
//!
//! # What this room is for
//!
//! The same thing can be said in several places. From high to low: `builder.set(key, value)`; the
//! environment; the file named in `SCHEDULER_CONFIG`; `./scheduler.toml`, or a text the program
//! gives instead; the annotation; the default. [`Settings::load`] reads the places once, and
//! [`Settings::apply`] says for each attribute of each task which text counts, with placeholders
//! replaced, and where it came from.
//!
//! # What it must never do
//!
//! Judge the attributes of tasks (the registrar does, with the parsers of `scheduler_expr`), start
//! anything, or read a place twice. It never passes over a key under `[scheduler]` that nothing
//! reads, nor over one that is ours but stands outside of it.
//!
//! # States and invariants
//!
//! * Each fault names the key, the place, and the remedy; all faults come back together.
//! * In keys `-` and `_` are the same. A task is meant by its full name or by a tail of its path
//!   that is no other task's (`names`).
//! * Variables are never split into keys, because `A_B_C` has no one meaning: a variable is
//!   compared with those of all keys that exist.
//! * Two meanings are a fault: of a variable, of a short name, or of two spellings in one place.
//! * Texts of other people are shown on one line, escaped, and shortened.
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
mod spelling;
mod tasks;
#[cfg(test)]
mod tests;
mod variables;

use std::io;
use std::path::Path;

pub(crate) use environment::Environment;
pub(crate) use fault::{Fault, Level, Remark, visible, word};
pub(crate) use globals::{Globals, PoolSettings};
pub(crate) use merge::{Effective, Refusal};
pub(crate) use report::{Fallback, report};
pub(crate) use source::Source;
pub(crate) use tasks::TaskWords;

use file::Layer;
use names::Names;
use reading::Reading;
use tasks::Overrides;
use variables::Variables;

/// The file that is read when it exists.
const FILE: &str = "scheduler.toml";

/// The variable that names another file.
const FILE_VARIABLE: &str = "SCHEDULER_CONFIG";

/// The variable that asks for the dry run.
const DRY_RUN_VARIABLE: &str = "SCHEDULER_DRY_RUN";

/// Where settings are to be looked for.
#[derive(Debug)]
pub(crate) struct Given {
    /// What `builder.set` was told, in order.
    pub(crate) set: Vec<(String, String)>,
    pub(crate) environment: Environment,
    /// Read in place of `./scheduler.toml`: a name for messages, and TOML.
    pub(crate) text: Option<(String, String)>,
    /// Reads a file as a whole.
    pub(crate) read: fn(&Path) -> io::Result<String>,
}

/// All that was found in those places, not yet applied to anything.
#[derive(Debug)]
pub(crate) struct Settings {
    builder: Layer,
    environment: Environment,
    files: Vec<Layer>,
    is_dry_run: bool,
}

/// Settings while they are applied to one task after the other.
pub(crate) struct Application<'a> {
    reading: Reading<'a>,
    names: &'a Names,
    overrides: Overrides,
    pub(crate) globals: Globals,
    /// The known pools in their order, then those that only settings name.
    pub(crate) pools: Vec<PoolSettings>,
}

/// What counts, and all that is wrong.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) globals: Globals,
    pub(crate) pools: Vec<PoolSettings>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) remarks: Vec<Remark>,
}

impl Given {
    /// The places of a process: its environment and its files.
    pub(crate) fn of_process() -> Self {
        Self {
            set: Vec::new(),
            environment: Environment::of_process(),
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
        let mut files = Vec::new();
        let named = given.environment.text(FILE_VARIABLE).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        if let Some(path) = named {
            files.push(file::load_named(path, given.read));
        }
        let is_read = named.is_some_and(|path| path.trim_start_matches("./") == FILE);
        match &given.text {
            Some((name, text)) => files.push(Layer::from_toml(name, text)),
            None if is_read => {}
            None => files.extend(file::load_if_there(FILE, given.read)),
        }
        let is_dry_run = environment::is_dry_run(&given.environment).unwrap_or_else(|fault| {
            faults.push(fault);
            false
        });
        let mut layers = Vec::new();
        for file in files {
            match file {
                Ok(layer) => layers.push(layer),
                Err(found) => faults.extend(found),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let builder = Layer::from_builder(given.set);
        Ok(Self { builder, environment: given.environment, files: layers, is_dry_run })
    }

    /// Whether the effective values shall be printed, and nothing be started.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// An index for the names of tasks, which knows the variables that may mean some of them.
    pub(crate) fn names(&self) -> Names {
        Names::with_variables(Variables::of(&self.environment))
    }

    /// Says what counts for the scheduler and its pools, and finds the settings of tasks. `pools` are those
    /// that the program configures; settings may name others.
    pub(crate) fn apply<'a>(&'a self, names: &'a Names, pools: &[&str]) -> Application<'a> {
        let mut reading = Reading::new(self);
        let globals = globals::globals(&mut reading);
        let pools = globals::pools(&mut reading, pools);
        let overrides = Overrides::read(&mut reading, names);
        Application { reading, names, overrides, globals, pools }
    }

    /// Says what counts for a task that is added later, and whose name is among the others. Tasks that were
    /// there once, or are switched off, may still be spoken of.
    pub(crate) fn apply_to(
        &self,
        task: &TaskWords<'_>,
        names: &Names,
    ) -> Result<Effective, Vec<Fault>> {
        let mut reading = Reading::new(self);
        let mut overrides = Overrides::read_of(&mut reading, names, task.name);
        let number = names.number(task.name).unwrap_or_default();
        let effective = overrides.merge(&mut reading, names, (number, task));
        if reading.faults.is_empty() { Ok(effective) } else { Err(reading.faults) }
    }

    /// Replaces the placeholders in the words of a task; what settings say of it does not count.
    pub(crate) fn resolve(&self, task: &TaskWords<'_>) -> Result<Effective, Vec<Fault>> {
        let mut reading = Reading::new(self);
        let effective = merge::merge(&mut reading, task, task.name, Vec::new());
        if reading.faults.is_empty() { Ok(effective) } else { Err(reading.faults) }
    }

    /// The places that are made of lines, from high to low; the environment is after the first.
    fn layers(&self) -> impl Iterator<Item = &Layer> {
        std::iter::once(&self.builder).chain(&self.files)
    }
}

impl Application<'_> {
    /// Says what counts for the task of this number among the names.
    pub(crate) fn task(&mut self, number: usize, task: &TaskWords<'_>) -> Effective {
        self.overrides.merge(&mut self.reading, self.names, (number, task))
    }

    /// Says what is left over, when all tasks have been asked for.
    pub(crate) fn finish(mut self) -> Applied {
        let reading = &mut self.reading;
        leftover::unknown_keys(reading);
        misplaced::misplaced_keys(reading);
        leftover::unknown_variables(reading, self.names, &self.pools);
        let Reading { faults, remarks, .. } = self.reading;
        Applied { globals: self.globals, pools: self.pools, faults, remarks }
    }
}
