//! Settings: configuration from the builder, the environment and files.
//!
//! Settings replace attributes of tasks, and configure the scheduler. The same key can be set in several sources. From high to
//! low: `builder.set(key, value)`; the environment; the file named in `SCHEDULER_CONFIG`; `./scheduler.toml`, or a text the
//! program gives instead; `#[scheduled]` or the `Schedule`; the defaults for all tasks, from the same sources and then from
//! `builder.defaults(…)`; the default of the attribute. [`Settings::load`] reads the sources. [`Settings::apply`] finds the
//! effective text of each attribute of each task, replaces placeholders, and keeps the source of each text. A source that
//! sets a rule, such as `cron`, also replaces the rule of the sources below it, and the attributes that belong to that.
//!
//! ```text
//! let settings = Settings::load(SettingsInput { set, ..SettingsInput::of_process() })?;
//! let mut application = settings.apply(&names, &pools);
//! let attributes = application.task(number, &definition); // of each task
//! let applied = application.finish();
//! ```
//!
//! The values of attributes are not checked here: the registrar does that with the parsers of `scheduler_expr`, and adds its
//! own errors by [`ResolvedAttributes::fault`]. An unknown key under `[scheduler]` is an error; a line elsewhere in a file that
//! looks like a setting of the scheduler is a warning.
//!
//! * An error names the key, the source, and the remedy. All of them come back together, unless a source cannot be read: then
//!   those errors come back alone.
//! * In keys `-` and `_` are the same. A task is named in full, or by a unique suffix of its path (`names`).
//! * `A_B_C` is ambiguous as a key, so a variable is compared with the variable names of all keys.
//! * Ambiguous variables and short names are errors, and so are two spellings of one key in a file. Of two calls of
//!   `builder.set` the later one counts.
//! * Texts of other people are shown on one line, escaped, and shortened. Values of secrets are not shown.
//! * There may be very many tasks, so only errors and remarks of them are kept.

mod file;
mod globals;
mod key;
mod leftover;
mod merge;
pub(crate) mod names;
mod reading;
mod report;
mod source;
mod tasks;
#[cfg(test)]
pub(crate) mod tests;

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use scheduler_expr::Attribute;

use crate::define::entry::Definition;

pub(crate) use globals::{Applied, Globals, NodeSettings, PoolSettings};
pub(crate) use merge::ResolvedAttributes;
pub(crate) use report::{Fallback, Level, Remark, SettingsError, is_bare, report, visible, word};
pub(crate) use source::{Environment, Source};

use file::Layer;
use file::{ARRAY, Content, Line};
use globals::Spec;
use key::{DEFAULTS, DRY_RUN_VARIABLE, ROOT};
use key::{FILE, FILE_VARIABLE};
use key::{SEPARATOR, tails};
use merge::{AttributeValues, RawAttributes};
use names::Names;
use reading::Secrets;
use reading::{Reading, Sources};
use reading::{Subject, set_twice};
use report::either;
use source::{PREFIX, Variables};
use source::{Raw, ResolvedValue, origins};
use tasks::Overrides;

/// The sources of settings.
#[derive(Debug)]
pub(crate) struct SettingsInput {
    /// The calls of `builder.set`, in order.
    pub(crate) set: Vec<(String, String)>,
    pub(crate) environment: Environment,
    /// The defaults for all tasks that code gives.
    pub(crate) defaults: Vec<(Attribute, String)>,
    /// The keys whose values no message shows, beside those that are secret by their names.
    pub(crate) secrets: Vec<String>,
    /// Read in place of `./scheduler.toml`: a name for messages, and TOML.
    pub(crate) text: Option<(String, String)>,
    /// Reads a file as a whole.
    pub(crate) read: fn(&Path) -> io::Result<String>,
}

/// The parsed sources, not yet applied to anything.
#[derive(Debug)]
pub(crate) struct Settings {
    sources: Sources,
    defaults: OnceLock<AttributeValues>,
    is_dry_run: bool,
}

/// Settings while they are applied to one task after the other.
pub(crate) struct Application<'a> {
    reading: Reading<'a>,
    names: &'a Names,
    overrides: Overrides,
    defaults: &'a AttributeValues,
    pub(crate) globals: Globals,
    node: NodeSettings,
    /// The known pools in their order, then those that only settings name.
    pub(crate) pools: Vec<(String, PoolSettings)>,
}

impl SettingsInput {
    /// The sources of a process: its environment and its files.
    pub(crate) fn of_process() -> Self {
        Self {
            set: Vec::new(),
            environment: Environment::of_process(),
            defaults: Vec::new(),
            secrets: Vec::new(),
            text: None,
            read: file::read,
        }
    }
}

impl Settings {
    /// Reads all sources.
    ///
    /// # Errors
    ///
    /// The faults of sources as a whole: a file that is named and missing, is too long, or is no TOML; a variable of the
    /// scheduler's own that is not Unicode, or has none of its values.
    pub(crate) fn load(input: SettingsInput) -> Result<Self, Vec<SettingsError>> {
        let mut faults = Vec::new();
        let mut or_fault = |fault| faults.push(fault);
        let named = input.environment.text(FILE_VARIABLE).map_err(&mut or_fault).ok().flatten();
        let is_dry_run = source::is_dry_run(&input.environment).map_err(or_fault);
        let is_named = named.is_some_and(|path| path.trim_start_matches("./") == FILE);
        let default = match &input.text {
            Some((name, text)) => Some(Layer::from_toml(name, text)),
            None if is_named => None,
            None => file::load_if_there(FILE, input.read),
        };
        let named = named.map(|path| file::load_named(path, input.read));
        let mut files = Vec::new();
        for file in named.into_iter().chain(default) {
            file.map_or_else(|found| faults.extend(found), |layer| files.push(layer));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let SettingsInput { set, environment, defaults, secrets, .. } = input;
        let (builder, secrets) =
            (Layer::from_builder(set, globals::is_ours), Secrets::new(&secrets));
        let sources = Sources { builder, environment, files, defaults, secrets };
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
        let globals = Globals::read(&mut reading, ROOT);
        let node = NodeSettings::read(&mut reading, ROOT);
        let pools = globals::pools(&mut reading, pools);
        let overrides = Overrides::read(&mut reading, names, None);
        let defaults = self.defaults(&mut reading);
        Application { reading, names, overrides, defaults, globals, node, pools }
    }

    /// Merges the settings of a task that is added later, and whose name is in the index. Settings of unknown
    /// tasks are no fault here.
    pub(crate) fn apply_to(
        &self,
        task: &Definition,
        names: &Names,
    ) -> Result<ResolvedAttributes, Vec<SettingsError>> {
        let mut reading = Reading::new(&self.sources);
        let mut overrides = Overrides::read(&mut reading, names, Some(&task.name));
        // The caller has put the name into the index.
        let number = names.number(&task.name).unwrap_or_default();
        let defaults = self.defaults(&mut reading);
        let effective = overrides.merge(&mut reading, names, (number, task), defaults);
        if reading.faults.is_empty() { Ok(effective) } else { Err(reading.faults) }
    }

    /// Replaces the placeholders of a task, without its settings.
    pub(crate) fn resolve(
        &self,
        task: &Definition,
    ) -> Result<ResolvedAttributes, Vec<SettingsError>> {
        let mut reading = Reading::new(&self.sources);
        let effective = merge::merge(&mut reading, task, &task.name, Vec::new(), &[]);
        if reading.faults.is_empty() { Ok(effective) } else { Err(reading.faults) }
    }

    /// The defaults for all tasks. The first call reads them and gets their faults: `apply` makes it.
    fn defaults(&self, reading: &mut Reading<'_>) -> &AttributeValues {
        self.defaults.get_or_init(|| merge::read(reading))
    }
}

impl Application<'_> {
    /// Merges the settings of the task with this number in the index.
    pub(crate) fn task(&mut self, number: usize, task: &Definition) -> ResolvedAttributes {
        let Self { reading, names, overrides, defaults, .. } = self;
        overrides.merge(reading, names, (number, task), defaults)
    }

    /// Finds unknown and misplaced keys, and unknown variables, after all tasks were merged.
    pub(crate) fn finish(mut self) -> Applied {
        let reading = &mut self.reading;
        leftover::unknown_keys(reading);
        leftover::misplaced_keys(reading);
        leftover::unknown_variables(reading, self.names, &self.pools);
        let Reading { texts, faults, remarks, .. } = self.reading;
        Applied { globals: self.globals, node: self.node, texts, faults, remarks }
    }
}
