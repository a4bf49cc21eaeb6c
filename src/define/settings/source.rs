//! The source of a value: its spelling of keys, the environment, its variables.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use scheduler_expr::{Attribute, assignment};

use crate::base::metadata::Location;
use crate::define::settings::{DRY_RUN_VARIABLE, SettingsError, key, visible, word};

/// The place a value was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The built-in default.
    Default,
    /// The annotation, or the call that added the task.
    Annotation(Location),
    /// This call of the builder.
    Code { call: String },
    /// `builder.set` with this key.
    Builder { key: String },
    /// This variable of the environment.
    Environment { variable: String },
    /// This line of a settings file.
    File { path: String, line: usize },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Annotation(place) => place.fmt(f),
            Self::Code { call } => f.write_str(&visible(call)),
            Self::Builder { key } => write!(f, "builder.set(\"{}\")", visible(key)),
            Self::Environment { variable } => write!(f, "env {}", visible(variable)),
            Self::File { path, line } => write!(f, "{}:{line}", visible(path)),
        }
    }
}

impl Source {
    /// The name of an attribute, in a sentence.
    pub(super) fn name(&self, name: &str) -> String {
        match self {
            Self::File { .. } | Self::Builder { .. } => dashed(name),
            _ => name.to_owned(),
        }
    }

    /// The assignment of a text to the key `other` here, where the key `written` stands.
    pub(super) fn assignment(&self, written: &str, other: &str, text: &str) -> String {
        let pasted = match self {
            Self::Builder { key } => {
                let start =
                    key.len().checked_sub(written.len()).and_then(|at| key.split_at_checked(at));
                let start = start.filter(|(_, end)| key::fold(end) == key::fold(written));
                start.map(|(start, _)| format!(".set(\"{start}{}\", \"{text}\")", dashed(other)))
            }
            Self::Environment { variable } => {
                let names = key::variables(written);
                let start = names.iter().find_map(|name| variable.strip_suffix(name.as_str()));
                start.map(|start| format!("{start}{}={}", key::variable(other), in_shell(text)))
            }
            Self::File { .. } => None,
            Self::Default | Self::Annotation(_) | Self::Code { .. } => {
                other.rsplit('.').next().map(|key| assignment(key, text))
            }
        };
        pasted.unwrap_or_else(|| assignment(&dashed(other), text))
    }
}

fn dashed(key: &str) -> String {
    key.replace('_', "-")
}

fn in_shell(text: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if text.chars().all(is_bare) { text.to_owned() } else { format!("'{text}'") }
}

/// A text as it was written somewhere, placeholders and all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Raw {
    pub(super) text: String,
    pub(super) source: Source,
}

/// The effective text of an attribute or a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedValue {
    /// The text with its placeholders replaced.
    pub(crate) text: String,
    /// The text as it was written.
    pub(crate) written: String,
    pub(crate) source: Source,
    /// The keys of the placeholders that were replaced, and where each was set.
    pub(crate) via: Vec<(String, Source)>,
    /// A key among them whose value no message shows.
    pub(crate) secret: Option<String>,
}

impl ResolvedValue {
    /// A built-in default.
    pub(super) fn default(text: &str) -> Self {
        Self::plain(text, Source::Default)
    }

    /// A text without placeholders.
    pub(super) fn plain(text: &str, source: Source) -> Self {
        Self {
            text: text.to_owned(),
            written: text.to_owned(),
            source,
            via: Vec::new(),
            secret: None,
        }
    }

    /// The text for a message, unless it is a secret.
    pub(super) fn shown(&self) -> String {
        if self.secret.is_some() { HIDDEN.to_owned() } else { visible(&self.text) }
    }

    /// Why the text is refused, without it, if it is a secret.
    pub(super) fn unseen(&self) -> Option<String> {
        let key = self.secret.as_deref()?;
        Some(unseen("its value is refused", key))
    }

    /// The origin of the text, if it is not what was written.
    pub(crate) fn note(&self) -> Option<String> {
        if self.via.is_empty() && self.written == self.text {
            return None;
        }
        let text = self.shown();
        let text = if self.secret.is_some() { text } else { format!("`{text}`") };
        Some(format!("note: `{}` is {text}{}", visible(&self.written), origins(&self.via)))
    }
}

/// In place of a text that is a secret.
const HIDDEN: &str = "not shown";

/// A reason that shows no value.
pub(super) fn unseen(reason: &str, key: &str) -> String {
    format!("{reason}, and not shown: {} is a secret", word(key))
}

/// Where each key was set: `; a: env A, b: scheduler.toml:3`.
pub(super) fn origins(via: &[(String, Source)]) -> String {
    /// The most keys that are shown.
    const SHOWN: usize = 8;
    let mut text = String::new();
    for (index, (key, source)) in via.iter().take(SHOWN).enumerate() {
        let separator = if index == 0 { "; " } else { ", " };
        text.push_str(&format!("{separator}{}: {source}", visible(key)));
    }
    if via.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

/// The variables of a process, or those of a test.
///
/// A variable whose *name* is not UTF-8 is left out. A *value* that is not UTF-8 is a fault when it is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// The variables of this process.
    pub(crate) fn of_process() -> Self {
        std::env::vars_os().collect()
    }

    /// The text of a variable that is set.
    pub(super) fn text(&self, variable: &str) -> Result<Option<&str>, SettingsError> {
        let Some(value) = self.variables.get(variable) else { return Ok(None) };
        value.to_str().map(Some).ok_or_else(|| {
            SettingsError::new(format!("env {}: the value is not valid UTF-8", word(variable)))
                .help("set it to a plain text, or unset it".to_owned())
        })
    }

    /// A variable of another program, such as `TZ`; empty if it is not set.
    pub(crate) fn foreign(&self, variable: &str) -> String {
        let value = self.variables.get(variable);
        value.map(|value| value.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The variables whose names begin so, sorted.
    pub(super) fn names_with(&self, prefix: impl Into<String>) -> impl Iterator<Item = &str> {
        let prefix = prefix.into();
        let names = self.variables.range(prefix.clone()..).map(|(name, _)| name.as_str());
        names.take_while(move |name| name.starts_with(&prefix))
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let named = variables
            .into_iter()
            .filter_map(|(name, value)| Some((name.into().into_string().ok()?, value.into())));
        Self { variables: named.collect() }
    }
}

/// Returns true if `SCHEDULER_DRY_RUN` asks for the dry run.
pub(super) fn is_dry_run(environment: &Environment) -> Result<bool, SettingsError> {
    match environment.text(DRY_RUN_VARIABLE)? {
        Some("1" | "true") => Ok(true),
        None | Some("" | "0" | "false") => Ok(false),
        Some(other) => Err(SettingsError::new(format!(
            "env {DRY_RUN_VARIABLE}: {} is neither `true` nor `false`",
            word(other)
        ))
        .help("write `true` or `1` to print the settings and start nothing".to_owned())),
    }
}

/// The prefix of the variables of tasks.
pub(super) const PREFIX: &str = "SCHEDULER_TASKS_";

/// The tasks by the parts of variables that may be their names.
#[derive(Debug, Default)]
pub(super) struct Variables(BTreeMap<String, Meant>);

/// Names and numbers of tasks.
#[derive(Debug, Default)]
struct Meant {
    /// The tasks whose full name it is.
    full: Vec<Task>,
    /// The tasks of whose name it is an end.
    tails: Vec<Task>,
}

type Task = (Arc<str>, usize);

/// The ways to split a variable, without [`PREFIX`], into a name and an attribute.
pub(super) fn splits(rest: &str) -> impl Iterator<Item = (&str, Attribute)> {
    Attribute::ALL.iter().flat_map(move |attribute| {
        let suffixes = key::variables(attribute.name()).into_iter();
        suffixes.filter_map(move |suffix| {
            let name = rest.strip_suffix(&suffix)?.strip_suffix('_')?;
            Some((name, *attribute))
        })
    })
}

impl Variables {
    /// The variables of an environment; no tasks yet.
    pub(super) fn of(environment: &Environment) -> Self {
        let rests = environment.names_with(PREFIX).map(|variable| &variable[PREFIX.len()..]);
        let names = rests.flat_map(splits).map(|(name, _)| (name.to_owned(), Meant::default()));
        Self(names.collect())
    }

    pub(super) fn insert(&mut self, task: &Arc<str>, number: usize) {
        self.change(task, |tasks| tasks.push((Arc::clone(task), number)));
    }

    pub(super) fn remove(&mut self, task: &Arc<str>, number: usize) {
        self.change(task, |tasks| tasks.retain(|(_, known)| *known != number));
    }

    fn change(&mut self, task: &str, change: impl Fn(&mut Vec<Task>)) {
        if self.0.is_empty() {
            return;
        }
        for tail in key::tails(task) {
            for variable in key::variables(tail) {
                if let Some(Meant { full, tails }) = self.0.get_mut(&variable) {
                    change(if tail == task { full } else { tails });
                }
            }
        }
    }

    /// All pairs of a task and an attribute whose variable is [`PREFIX`] and `rest`.
    pub(super) fn meant(&self, rest: &str) -> Vec<(&Task, Attribute)> {
        let pairs = |tasks: fn(&Meant) -> &Vec<Task>| {
            let found = splits(rest).filter_map(|(name, attribute)| {
                let tasks = tasks(self.0.get(name)?);
                Some(tasks.iter().map(move |task| (task, attribute)))
            });
            let mut found: Vec<(&Task, Attribute)> = found.flatten().collect();
            found.sort_unstable_by_key(|((_, number), attribute)| (*number, *attribute));
            found.dedup();
            found
        };
        let full = pairs(|meant| &meant.full);
        if full.is_empty() { pairs(|meant| &meant.tails) } else { full }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_written_as_people_look_for_them() {
        let path = "scheduler.toml".to_owned();
        for (source, expected) in [
            (Source::Default, "default"),
            (Source::Annotation(Location::new("src/reports.rs", 12)), "src/reports.rs:12"),
            (Source::Code { call: "builder.zone(…)".to_owned() }, "builder.zone(…)"),
            (Source::Builder { key: "zone".to_owned() }, "builder.set(\"zone\")"),
            (Source::Environment { variable: "SCHEDULER_ZONE".to_owned() }, "env SCHEDULER_ZONE"),
            (Source::File { path, line: 7 }, "scheduler.toml:7"),
        ] {
            assert_eq!(source.to_string(), expected);
        }
    }

    #[test]
    fn a_replaced_placeholder_is_explained() {
        let mut value = ResolvedValue::default("5s");
        assert_eq!(value.note(), None);
        value.written = "${every}".to_owned();
        value.via.push(("every".to_owned(), Source::Environment { variable: "EVERY".to_owned() }));
        assert_eq!(value.note().as_deref(), Some("note: `${every}` is `5s`; every: env EVERY"));
    }

    #[track_caller]
    fn check(source: &Source, own: &str, (other, text): (&str, &str), expected: &str) {
        assert_eq!(source.assignment(own, other, text), expected);
    }

    #[test]
    fn each_place_is_told_what_can_be_pasted_there() {
        let rate = "fixed_rate";
        let file = Source::File { path: "scheduler.toml".to_owned(), line: 3 };
        check(&file, rate, (rate, "5s"), "fixed-rate = \"5s\"");
        check(&file, rate, ("retry.max", "3"), "retry.max = 3");
        let place = Source::Annotation(Location::new("src/a.rs", 1));
        check(&place, rate, (rate, "5s"), "fixed_rate = \"5s\"");
        check(&place, rate, ("retry.max", "3"), "max = 3");
        let springs = "SCHEDULER_TASKS_SWEEP_FIXEDRATE";
        for variable in ["SCHEDULER_TASKS_SWEEP_FIXED_RATE", springs] {
            let env = Source::Environment { variable: variable.to_owned() };
            check(&env, rate, ("retry.max", "3"), "SCHEDULER_TASKS_SWEEP_RETRY_MAX=3");
            check(&env, rate, ("cron", "@daily"), "SCHEDULER_TASKS_SWEEP_CRON='@daily'");
        }
        for key in ["tasks.sweep.fixed-rate", "tasks.sweep.fixed_rate"] {
            let set = Source::Builder { key: key.to_owned() };
            check(&set, rate, ("time_unit", "s"), ".set(\"tasks.sweep.time-unit\", \"s\")");
        }
        let odd = Source::Builder { key: "tasks.\"é".to_owned() };
        check(&odd, rate, (rate, "5s"), "fixed-rate = \"5s\"");
    }

    #[test]
    fn variables_are_found_by_name_and_by_prefix() {
        let environment: Environment =
            [("A_B", "1"), ("A_C", "2"), ("AB", "3")].into_iter().collect();
        assert_eq!(environment.text("A_C"), Ok(Some("2")));
        assert_eq!(environment.text("A"), Ok(None));
        assert_eq!(environment.names_with("A_").collect::<Vec<_>>(), ["A_B", "A_C"]);
    }

    #[test]
    fn the_dry_run_is_asked_for_in_so_many_words() {
        let asked = |value: &str| is_dry_run(&[(DRY_RUN_VARIABLE, value)].into_iter().collect());
        assert_eq!((asked("1"), asked("true")), (Ok(true), Ok(true)));
        assert_eq!((asked("0"), asked("false"), asked("")), (Ok(false), Ok(false), Ok(false)));
        assert_eq!(is_dry_run(&Environment::default()), Ok(false));
        let fault = asked("yes").unwrap_err().to_string();
        assert_eq!(
            fault,
            "env SCHEDULER_DRY_RUN: `yes` is neither `true` nor `false`\n\
             help: write `true` or `1` to print the settings and start nothing"
        );
    }

    #[cfg(unix)]
    #[test]
    fn f_cf2_only_the_variable_asked_for_has_to_be_utf_8() {
        use std::os::unix::ffi::OsStringExt;
        let broken = || OsString::from_vec(vec![b'x', 0xFF]);
        let environment: Environment = [
            (OsString::from("GOOD"), OsString::from("1")),
            ("BAD".into(), broken()),
            (broken(), broken()),
        ]
        .into_iter()
        .collect();
        assert_eq!(environment.text("GOOD"), Ok(Some("1")));
        let fault = environment.text("BAD").unwrap_err().to_string();
        assert!(fault.starts_with("env `BAD`: the value is not valid UTF-8"), "{fault}");
    }
}
