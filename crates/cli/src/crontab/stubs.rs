//! The Rust code for the lines of a crontab.

use std::collections::BTreeSet;

use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_expr::CronExpression;

use super::{CrontabCommand, CrontabEntry, CrontabLine, CrontabTime};
use crate::dialect::CronFields;
use crate::error::CliError;
use crate::times::Changes;

/// The generated functions.
pub(crate) struct Code {
    pub(super) text: String,
    /// The lines that are comments now.
    pub(super) left_out: Vec<usize>,
}

/// The words that are no names of functions, and what Rust may make of others.
const RESERVED: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "main", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "shell", "static", "struct", "super", "trait", "true", "try", "type",
    "typeof", "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// The greatest number of letters of a command that become the name of its function.
const NAME_MAX: usize = 40;

/// Writes a function for each line that has a command.
pub(super) fn write(lines: &[CrontabLine], zone: Option<Zone>) -> Code {
    let mut writer = CodeWriter {
        zone: Ok(zone),
        changes: None,
        shell: "/bin/sh".to_owned(),
        names: BTreeSet::new(),
        body: String::new(),
        left_out: Vec::new(),
        needs_note_on_clocks: false,
    };
    for line in lines {
        writer.line(line);
    }
    writer.finish()
}

struct CodeWriter {
    /// The zone of the lines that follow, if the crontab names one; or the line that names one that is not understood.
    zone: Result<Option<Zone>, usize>,
    /// The zone of the last line with fixed times, and its changes.
    changes: Option<(Zone, Changes)>,
    /// The shell of the lines that follow.
    shell: String,
    names: BTreeSet<String>,
    body: String,
    left_out: Vec<usize>,
    /// True if a line has fixed times in a zone that is not known.
    needs_note_on_clocks: bool,
}

impl CodeWriter {
    fn line(&mut self, line: &CrontabLine) {
        match &line.entry {
            CrontabEntry::Blank => {}
            CrontabEntry::Comment => self.comment(line.text.trim_start_matches('#').trim()),
            CrontabEntry::Setting { name, value } => self.setting(line, name, value),
            CrontabEntry::Command { when, command } => match self.attributes(when) {
                Ok((attributes, notes)) => self.function(line, &attributes, &notes, command),
                Err(fault) => self.leave_out(line, &fault),
            },
            CrontabEntry::Faulty(fault) => self.leave_out(line, fault),
        }
    }

    fn push(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }

    fn comment(&mut self, text: &str) {
        if self.body.ends_with("}\n") {
            self.push("");
        }
        let text = on_one_line(text);
        self.push(format!("// {text}").trim_end());
    }

    fn leave_out(&mut self, line: &CrontabLine, fault: &CliError) {
        self.left_out.push(line.number);
        self.push("");
        self.comment(&format!("NOT TRANSLATED, line {}: {}", line.number, line.text));
        for text in fault.to_string().lines() {
            self.comment(&format!("  {text}"));
        }
    }

    fn setting(&mut self, line: &CrontabLine, name: &str, value: &str) {
        let note = match name {
            "CRON_TZ" => match value.parse::<Zone>() {
                Ok(zone) => {
                    self.zone = Ok(Some(zone));
                    "the zone of the lines that follow".to_owned()
                }
                Err(error) => {
                    self.zone = Err(line.number);
                    return self.leave_out(line, &error.into());
                }
            },
            "SHELL" => {
                value.clone_into(&mut self.shell);
                "the shell of the lines that follow".to_owned()
            }
            "TZ" => "cron hands this to its commands, and keeps its own zone; so set it where the program starts".to_owned(),
            "MAILTO" | "MAILFROM" => "nothing is mailed here: a failed run is a message and an event of the program".to_owned(),
            "RANDOM_DELAY" => "write the attribute jitter = \"…\" where this is wanted".to_owned(),
            _ => "set this where the program starts".to_owned(),
        };
        self.comment(&format!("{}   ({note})", line.text));
    }

    /// The attributes of each annotation, and what the person has to know.
    fn attributes(&mut self, when: &CrontabTime) -> Result<(Vec<String>, Vec<String>), CliError> {
        let line = match when {
            CrontabTime::Reboot => {
                let note = "cron runs this at the start of the machine, the scheduler at its own";
                return Ok((vec!["initial_delay = \"0s\"".to_owned()], vec![note.to_owned()]));
            }
            CrontabTime::Fields(line) => line,
        };
        let zone = self.zone.map_err(|number| {
            let what =
                format!("its zone is not known: line {number} names one that is not understood");
            CliError::no(what).help("write a CRON_TZ with a name such as Europe/Berlin before it")
        })?;
        let mut annotations = Vec::new();
        let notes = line.notes();
        for cron in line.expressions()? {
            let mut text = format!("cron = \"{cron}\"");
            if let Some(zone) = zone {
                text.push_str(&format!(", zone = \"{zone}\""));
            }
            text.push_str(self.clock_changes(line, &cron, zone));
            if let Some(never) = cron.never_fires() {
                let what = format!("a task that never runs is refused: {}", never.reason());
                return Err(CliError::no(what));
            }
            annotations.push(text);
        }
        Ok((annotations, notes))
    }

    /// The attributes with which a line behaves as in cron at changes of the clock, past or to come, that can touch it.
    fn clock_changes(
        &mut self,
        line: &CronFields,
        cron: &CronExpression,
        zone: Option<Zone>,
    ) -> &'static str {
        if !line.has_fixed_times {
            return "";
        }
        let Some(zone) = zone else {
            self.needs_note_on_clocks = true;
            return "";
        };
        if self.changes.as_ref().is_none_or(|(known, _)| *known != zone) {
            self.changes = Some((zone, Changes::all(zone)));
        }
        let trigger = CronTrigger::new(cron.clone(), zone);
        let touched =
            self.changes.as_ref().is_some_and(|(_, changes)| changes.touch(&trigger).is_any());
        if touched { ", dst_gap = \"run_after\", dst_overlap = \"first\"" } else { "" }
    }

    fn function(
        &mut self,
        line: &CrontabLine,
        attributes: &[String],
        notes: &[String],
        command: &CrontabCommand,
    ) {
        let name = self.name(command, line.number);
        self.push("");
        self.push(&format!("/// Line {}: {}", line.number, in_doc(&line.text)));
        if let Some(user) = &command.user {
            self.comment(&format!("cron runs this as {user}; here it has the user of the program"));
        }
        for note in notes {
            self.comment(note);
        }
        for text in attributes {
            self.push(&format!("#[scheduled({text})]"));
        }
        self.push(&format!("fn {name}() -> std::io::Result<()> {{"));
        let (shell, text) = (&self.shell, &command.text);
        let call = match &command.input {
            None => format!("    shell({shell:?}, {text:?}, \"\")"),
            Some(input) => format!("    shell({shell:?}, {text:?}, {input:?})"),
        };
        self.push(&call);
        self.push("}");
    }

    /// A name for the function, from what the command runs.
    fn name(&mut self, command: &CrontabCommand, number: usize) -> String {
        let stem = stem(&command.text).unwrap_or_else(|| format!("line_{number}"));
        let stem = if RESERVED.contains(&&*stem) { format!("{stem}_{number}") } else { stem };
        let numbered = (2..).map(|n| format!("{stem}_{n}"));
        let mut candidates = std::iter::once(stem.clone()).chain(numbered);
        let name = candidates.find(|name| !self.names.contains(name)).unwrap_or(stem);
        self.names.insert(name.clone());
        name
    }

    fn finish(self) -> Code {
        let mut text = String::from(
            "// From a crontab, by `scheduler import crontab`. Each function runs the command of its line; write in Rust\n// what it does when you come to it.\n",
        );
        if self.needs_note_on_clocks {
            text.push_str(
                "//\n// When the clock changes, cron runs what was left out right after the gap, and nothing twice. Say with --zone in\n// which zone cron runs, and the lines that this concerns have dst_gap and dst_overlap.\n",
            );
        }
        if !self.names.is_empty() {
            text.push_str("\nuse scheduler::scheduled;\n");
        }
        let separator = if self.body.is_empty() || self.body.starts_with('\n') { "" } else { "\n" };
        text.push_str(separator);
        text.push_str(&self.body);
        if !self.names.is_empty() {
            text.push_str(SHELL);
        }
        Code { text, left_out: self.left_out }
    }
}

/// The function that the others call.
const SHELL: &str = r#"
/// Runs a command as cron does: by a shell, with this standard input.
fn shell(shell: &str, command: &str, input: &str) -> std::io::Result<()> {
    use std::io::{Error, Write};
    use std::process::{Command, Stdio};

    let mut child = Command::new(shell).arg("-c").arg(command).stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input may have ended already.
        stdin.write_all(input.as_bytes()).ok();
    }
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(Error::other(format!("{command}: {status}"))) }
}
"#;

/// The name of the program that a command runs, as a name in Rust.
fn stem(command: &str) -> Option<String> {
    let mut parts = command.split(['&', ';']).map(str::trim).filter(|part| !part.is_empty());
    let part = parts.find(|part| !part.starts_with("cd "))?;
    let mut words = part.split_whitespace();
    let word = words.find(|word| !word.contains('=') && !WRAPPERS.contains(word))?;
    let file = word.rsplit('/').find(|part| !part.is_empty())?;
    let file = file.split('.').find(|part| !part.is_empty())?;
    let mut name = String::new();
    for letter in file.chars() {
        match letter {
            'a'..='z' | '0'..='9' => name.push(letter),
            'A'..='Z' => name.push(letter.to_ascii_lowercase()),
            _ if !name.is_empty() && !name.ends_with('_') => name.push('_'),
            _ => {}
        }
    }
    name.truncate(NAME_MAX);
    let name = name.trim_end_matches('_');
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase());
    is_name.then(|| name.to_owned())
}

/// Words in front of the command itself.
const WRAPPERS: &[&str] = &["sudo", "nice", "ionice", "exec", "env", "time", "nohup", "[", "test"];

/// A text that stays on its line, in a comment.
fn on_one_line(text: &str) -> String {
    let shown = text.chars().map(|letter| match letter {
        '\'' | '"' | '\\' => letter.to_string(),
        _ => letter.escape_debug().to_string(),
    });
    shown.collect()
}

/// A text in the documentation of a function, as code if that can be.
fn in_doc(text: &str) -> String {
    let text = on_one_line(text);
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}
