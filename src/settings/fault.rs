//! Messages about settings: faults, which prevent the start, and remarks, which do not.

use std::fmt;

use super::source::Source;

/// Something that prevents the start: what and where on the first line, the remedy below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    text: String,
    notes: Vec<String>,
    help: Option<String>,
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

/// How much a remark matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// A setting has its effect.
    Note,
    /// A setting has no effect.
    Warning,
}

impl Fault {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), notes: Vec::new(), help: None, line: None }
    }

    /// A fault of what stands in this place, which the text begins with.
    pub(super) fn at(source: &Source, text: impl fmt::Display) -> Self {
        Self::about(source, format!("{source}: {text}"))
    }

    /// A fault of what stands in this place, which the text names itself.
    pub(super) fn about(source: &Source, text: String) -> Self {
        let line = match source {
            Source::File { path, line } => Some((path.clone(), *line)),
            _ => None,
        };
        Self { line, ..Self::new(text) }
    }

    /// Puts faults into the order of the lines of their files, behind those that are about none.
    pub(crate) fn sort(faults: &mut [Self]) {
        faults.sort_by(|one, other| one.line.cmp(&other.line));
    }

    /// The same with lines below: carets, or where something comes from.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }
}

impl fmt::Display for Fault {
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
        let fault = Fault::new("wrong").note("  ^^").help("write `x`".to_owned());
        assert_eq!(fault.to_string(), "wrong\n  ^^\nhelp: write `x`");
        assert_eq!(Fault::new("wrong").to_string(), "wrong");
    }
}
