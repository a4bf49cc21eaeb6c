//! What is told about settings: faults, which prevent the start, and remarks, which do not.

use std::fmt;

use super::source::Source;

/// How many characters of a name or value are shown at most.
const SHOWN_MAX: usize = 200;

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

/// A foreign text on one line: what cannot be seen is escaped, what is too long is cut.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == SHOWN_MAX {
            out.push('…');
            break;
        }
        match c {
            '"' | '\'' | '\\' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}

/// A foreign text in backticks.
pub(crate) fn word(text: &str) -> String {
    format!("`{}`", visible(text))
}

/// Words as a person lists them: `a`, `b` or `c`.
pub(crate) fn either(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
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

    #[test]
    fn foreign_texts_stay_on_one_line() {
        assert_eq!(word("a\nERROR\x1b[2J\u{202E}"), "`a\\nERROR\\u{1b}[2J\\u{202e}`");
        assert_eq!(word("say \"hi\""), "`say \"hi\"`");
        assert_eq!(visible(&"x".repeat(10_000)).chars().count(), SHOWN_MAX + 1);
    }

    #[test]
    fn lists_are_read_aloud() {
        let words = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(either(&words), "a, b or c");
        assert_eq!(either(&words[..1]), "a");
    }
}
