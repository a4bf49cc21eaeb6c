//! Settings as people read them: the dry run, errors, remarks, foreign texts.

use std::fmt;

use scheduler_expr::Attribute;

use crate::define::settings::{
    Applied, ROOT, ResolvedAttributes, ResolvedValue, Source, globals, origins,
};

/// Values longer than this do not push the sources of the others to the right.
const WIDTH_MAX: usize = 48;

/// A heading, and lines of three columns below it.
struct Block {
    heading: String,
    rows: Vec<[String; 3]>,
}

/// The value of a setting that is not set.
#[derive(Debug)]
pub(crate) struct Fallback {
    /// The key behind `scheduler.`.
    pub(crate) key: String,
    pub(crate) text: String,
    /// A call of the builder, a variable of another program, or the default.
    pub(crate) source: Source,
}

/// The text of the dry run.
pub(crate) fn report(
    applied: &Applied,
    tasks: &[ResolvedAttributes],
    fallbacks: &[Fallback],
) -> String {
    let mut blocks = vec![settings(applied, fallbacks)];
    let mut tasks: Vec<&ResolvedAttributes> = tasks.iter().collect();
    tasks.sort_by_key(|task| &task.name);
    blocks.extend(tasks.into_iter().map(task));
    let width = |column: usize| {
        let rows = blocks.iter().flat_map(|block| &block.rows);
        let widths = rows.map(|row| row[column].chars().count());
        widths.filter(|width| *width <= WIDTH_MAX).max().unwrap_or(0)
    };
    let (first, second) = (width(0), width(1));
    let mut out = String::new();
    for block in &blocks {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("{}\n", block.heading));
        for [name, value, source] in &block.rows {
            out.push_str(&format!("  {name:first$}  {value:second$}  {source}\n"));
        }
    }
    out
}

fn settings(applied: &Applied, fallbacks: &[Fallback]) -> Block {
    let mut rows: Vec<[String; 3]> =
        applied.texts.iter().map(|(key, resolved)| row(key, resolved)).collect();
    for Fallback { key, text, source } in fallbacks {
        let fallback = row(&format!("{ROOT}.{key}"), &ResolvedValue::plain(text, source.clone()));
        if !rows.iter().any(|[known, ..]| *known == fallback[0]) {
            rows.push(fallback);
        }
    }
    let off = format!("{ROOT}.{}", globals::AWAIT_TERMINATION);
    if let Some((_, off)) =
        applied.texts.iter().find(|(key, set)| *key == off && set.text == "false")
    {
        let key = format!("{ROOT}.{}", globals::AWAIT_TERMINATION_PERIOD);
        let source = format!("{}, {} = false", off.source, globals::AWAIT_TERMINATION);
        rows.retain(|[known, ..]| *known != key);
        rows.push([key, "0s".to_owned(), source]);
    }
    rows.sort();
    Block { heading: "settings".to_owned(), rows }
}

fn task(task: &ResolvedAttributes) -> Block {
    let heading = format!("task {} ({})", visible(&task.name), visible(&task.location.to_string()));
    let is_durable = task.get(Attribute::Durable).is_some_and(|durable| durable.text == "true");
    let rows = Attribute::ALL.iter().filter_map(|attribute| match task.get(*attribute) {
        Some(resolved) => Some(row(attribute.name(), resolved)),
        None if is_durable || !(attribute.is_about_jobs() || *attribute == Attribute::Durable) => {
            attribute.row().default.map(|text| row(attribute.name(), &ResolvedValue::default(text)))
        }
        None => None,
    });
    Block { heading, rows: rows.collect() }
}

fn row(name: &str, resolved: &ResolvedValue) -> [String; 3] {
    let mut source = resolved.source.to_string();
    if resolved.written != resolved.text {
        source.push_str(&format!(", written `{}`", visible(&resolved.written)));
        source.push_str(&origins(&resolved.via));
    }
    let text = if resolved.text.is_empty() { "\"\"".to_owned() } else { resolved.shown() };
    [visible(name), text, source]
}

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

/// The most characters of a name or value that are shown.
const SHOWN_MAX: usize = 200;

/// A foreign text on one line: control characters are escaped, and long texts are cut.
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

/// Returns true if a part of a key needs no quotes in TOML.
pub(crate) fn is_bare(part: &str) -> bool {
    !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// A list in a sentence: `a`, `b` or `c`.
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
        let fault =
            SettingsError::new("wrong").note("  ^^".to_owned()).help("write `x`".to_owned());
        assert_eq!(fault.to_string(), "wrong\n  ^^\nhelp: write `x`");
        assert_eq!(SettingsError::new("wrong").to_string(), "wrong");
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
