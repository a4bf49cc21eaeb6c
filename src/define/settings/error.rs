//! Errors of settings, which prevent the start, and remarks.

use std::fmt;

use super::{Source, word};

/// Something that prevents the start: what and where on the first line, the remedy below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingsError {
    pub(super) text: String,
    notes: Vec<String>,
    pub(super) help: Option<String>,
    /// The file and the line that it is about, if it is about one.
    line: Option<(String, usize)>,
}

/// Something worth knowing about the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) level: Level,
    /// One line.
    pub(crate) text: String,
}

/// The importance of a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// A setting has its effect.
    Note,
    /// A setting has no effect.
    Warning,
}

impl SettingsError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), notes: Vec::new(), help: None, line: None }
    }

    /// The fault of an unknown name: says which name was probably meant, or else which there are.
    pub(super) fn unknown(
        what: impl fmt::Display,
        meant: Option<String>,
        all: impl FnOnce() -> String,
    ) -> Self {
        match meant {
            Some(meant) => Self::new(format!("unknown {what}; did you mean {}?", word(&meant))),
            None => Self::new(format!("unknown {what}")).help(all()),
        }
    }

    /// The same fault, found in this place, which the text does not name yet.
    pub(super) fn at(mut self, source: &Source) -> Self {
        self.text = format!("{source}: {}", self.text);
        self.about(source)
    }

    /// The same fault, found in this place, which the text names already.
    pub(super) fn about(mut self, source: &Source) -> Self {
        if let Source::File { path, line } = source {
            self.line = Some((path.clone(), *line));
        }
        self
    }

    /// Puts faults into the order of the lines of their files, behind those that are about none.
    pub(crate) fn sort(faults: &mut [Self]) {
        faults.sort_by(|one, other| one.line.cmp(&other.line));
    }

    /// Adds lines below the text: carets, or where a value comes from.
    pub(super) fn note(mut self, note: impl Into<Option<String>>) -> Self {
        self.notes.extend(note.into());
        self
    }

    pub(super) fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        for note in &self.notes {
            write!(f, "\n{note}")?;
        }
        match &self.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

impl Remark {
    pub(super) fn note(text: String) -> Self {
        Self { level: Level::Note, text }
    }

    pub(super) fn warning(text: String) -> Self {
        Self { level: Level::Warning, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_text_notes_and_help() {
        let fault =
            SettingsError::new("wrong").note("  ^^".to_owned()).help("write `x`".to_owned());
        assert_eq!(fault.to_string(), "wrong\n  ^^\nhelp: write `x`");
        assert_eq!(SettingsError::new("wrong").to_string(), "wrong");
    }
}
