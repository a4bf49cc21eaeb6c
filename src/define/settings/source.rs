//! The source of a value, and the spelling of keys there.

use std::fmt;

use scheduler_expr::assignment;

use super::{key, visible, word};
use crate::base::metadata::Location;

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
}
