//! Lines of a crontab as `#[scheduled]` functions: `import crontab`.
//!
//! A crontab is read as cron reads it: its settings, its macros, its `%`. Each line becomes a function that runs the
//! same command at the same times, to be replaced by Rust bit by bit.
//!
//! The generated code compiles. A comment in it names each line that was left out, or that fires at other times than cron does.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use scheduler_core::trigger::Zone;

use crate::context::Context;
use crate::dialect::{CronFields, unix_line, unix_macro};
use crate::error::{CliError, NO, OK, named};

mod stubs;

/// The greatest length of a crontab; cron itself takes less.
const BYTES_MAX: u64 = 1 << 20;

/// The command line of `import crontab`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CrontabArgs {
    /// The crontab; `-` is the standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// The zone in which cron runs, where the crontab names none
    #[arg(long, value_name = "NAME")]
    zone: Option<String>,
    /// The lines name a user before the command, as in /etc/crontab
    #[arg(long)]
    system: bool,
}

/// `import crontab FILE`: the code to exit with.
pub(crate) fn import(args: &CrontabArgs, ctx: &mut Context<'_>) -> Result<u8, CliError> {
    let zone = args.zone.as_deref().map(str::parse::<Zone>).transpose()?;
    let bytes = bytes_of(args, ctx)?;
    let entries = lines_of(&bytes, args.system);
    let code = stubs::write(&entries, zone);
    ctx.write(&code.text)?;
    if !args.system && has_root_as_command(&entries) {
        let note =
            "note: commands begin with `root`: for a crontab that names users, write --system";
        writeln!(ctx.errors, "{note}").ok();
    }
    if code.left_out.is_empty() {
        return Ok(OK);
    }
    let numbers: Vec<String> = code.left_out.iter().map(usize::to_string).collect();
    let lines = if numbers.len() == 1 { "line" } else { "lines" };
    let message = format!("not translated, and left as comments: {lines} {}", numbers.join(", "));
    writeln!(ctx.errors, "{message}").ok();
    Ok(NO)
}

fn bytes_of(args: &CrontabArgs, ctx: &mut Context<'_>) -> Result<Vec<u8>, CliError> {
    let name = args.file.display();
    let mut bytes = Vec::new();
    let result = if args.file.as_os_str() == "-" {
        ctx.input.take(BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        fs::File::open(&args.file).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes))
    };
    match result {
        Err(error) => Err(CliError::unable(format!("{name} cannot be read: {error}")).help(
            "give the path of a file, or pipe into it: crontab -l | scheduler import crontab",
        )),
        Ok(length) if length as u64 > BYTES_MAX => {
            Err(CliError::unable(format!("{name} has more than {BYTES_MAX} bytes"))
                .help("cron takes no such crontab; is this another file?"))
        }
        Ok(_) => Ok(bytes),
    }
}

/// A line and its number, from 1.
#[derive(Clone, Debug)]
struct CrontabLine {
    number: usize,
    text: String,
    entry: CrontabEntry,
}

/// The content of a line.
#[derive(Clone, Debug)]
enum CrontabEntry {
    Blank,
    Comment,
    /// `NAME=value`.
    Setting {
        name: String,
        value: String,
    },
    /// A schedule and a command.
    Command {
        when: CrontabTime,
        command: CrontabCommand,
    },
    /// A line that cron would refuse, or that has no translation.
    Faulty(CliError),
}

/// CrontabTime a command runs.
#[derive(Clone, Debug)]
enum CrontabTime {
    /// `@reboot`.
    Reboot,
    Fields(CronFields),
}

/// A line that cron runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CrontabCommand {
    /// The column of a system's crontab.
    user: Option<String>,
    text: String,
    /// The standard input: the text after the first `%`, with a line break for each further one and at its end.
    input: Option<String>,
}

/// Reads all lines.
fn lines_of(bytes: &[u8], is_system_crontab: bool) -> Vec<CrontabLine> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let read = lines.map(|(number, line)| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match std::str::from_utf8(line) {
            Ok(text) => {
                let text = text.trim_matches([' ', '\t']);
                CrontabLine { number, text: text.to_owned(), entry: entry(text, is_system_crontab) }
            }
            Err(_) => CrontabLine {
                number,
                text: String::from_utf8_lossy(line).into_owned(),
                entry: CrontabEntry::Faulty(
                    CliError::no("the line is not UTF-8").help("convert the file first"),
                ),
            },
        }
    });
    read.collect()
}

/// Returns true if a command begins with `root`, as in a system's crontab.
fn has_root_as_command(lines: &[CrontabLine]) -> bool {
    let is_root = |entry: &CrontabEntry| match entry {
        CrontabEntry::Command { command, .. } => {
            command.text.split_whitespace().next() == Some("root")
        }
        _ => false,
    };
    lines.iter().any(|line| is_root(&line.entry))
}

fn entry(text: &str, is_system_crontab: bool) -> CrontabEntry {
    if text.is_empty() {
        return CrontabEntry::Blank;
    }
    if text.starts_with('#') {
        return CrontabEntry::Comment;
    }
    if let Some((name, value)) = setting(text) {
        return CrontabEntry::Setting { name, value };
    }
    match command(text, is_system_crontab) {
        Ok((when, command)) => CrontabEntry::Command { when, command },
        Err(fault) => CrontabEntry::Faulty(fault),
    }
}

/// A line `NAME = value`, with quotes around either.
fn setting(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    let name = unquoted(name.trim());
    let mut letters = name.chars();
    let begins = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    let is_name = begins && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    is_name.then(|| (name.to_owned(), unquoted(value.trim()).to_owned()))
}

fn unquoted(text: &str) -> &str {
    let quoted = |quote| text.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(text)
}

fn command(text: &str, is_system_crontab: bool) -> Result<(CrontabTime, CrontabCommand), CliError> {
    // A line that begins with a hyphen is not logged by some crons.
    let text = text.strip_prefix('-').unwrap_or(text);
    let count = if text.starts_with('@') { 1 } else { 5 };
    let Some((fields, rest)) = split(text, count) else {
        return Err(
            CliError::no("the line has no command").help("five fields or a macro stand before it")
        );
    };
    let when = when(fields)?;
    if rest.starts_with('*') {
        return Err(CliError::no("cron refuses a command that begins with `*`")
            .help("a crontab has five fields before the command: leave out what is too many, such as seconds"));
    }
    let (user, rest) = match is_system_crontab {
        false => (None, rest),
        true => match split(rest, 1) {
            Some((user, rest)) => (Some(user.to_owned()), rest),
            None => {
                return Err(CliError::no("the line has no command after the user")
                    .help("a crontab of a user has no such column: leave --system out"));
            }
        },
    };
    let (text, input) = split_input(rest);
    if text.trim().is_empty() {
        return Err(CliError::no("the line has no command"));
    }
    Ok((when, CrontabCommand { user, text: text.trim_end().to_owned(), input }))
}

fn when(fields: &str) -> Result<CrontabTime, CliError> {
    match fields {
        "@reboot" => Ok(CrontabTime::Reboot),
        _ if fields.starts_with('@') => match unix_macro(fields) {
            Some(line) => Ok(CrontabTime::Fields(unix_line(line)?)),
            None => Err(CliError::no(format!("{} is no macro of cron", named(fields)))
                .help("a fixed interval is fixed_rate = \"5m\"")),
        },
        _ => Ok(CrontabTime::Fields(unix_line(fields)?)),
    }
}

/// The first words of a text, and what follows the blanks after them, if there is anything.
fn split(text: &str, words: usize) -> Option<(&str, &str)> {
    let is_blank = [' ', '\t'];
    let mut rest = text;
    for word in 0..words {
        let end = rest.find(is_blank)?;
        rest = &rest[end..];
        if word + 1 < words {
            rest = rest.trim_start_matches(is_blank);
        }
    }
    let head = &text[..text.len() - rest.len()];
    let rest = rest.trim_start_matches(is_blank);
    (!rest.is_empty()).then_some((head, rest))
}

/// The command, and its standard input after the first `%` that no backslash escapes.
fn split_input(text: &str) -> (String, Option<String>) {
    let (mut command, mut is_escaped) = (String::new(), false);
    for (at, letter) in text.char_indices() {
        match letter {
            '%' if is_escaped => {
                command.pop();
                command.push('%');
            }
            '%' => return (command, Some(standard_input(&text[at + 1..]))),
            other => command.push(other),
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    (command, None)
}

/// The lines of a standard input, which `%` separates. Here a backslash after another one escapes, too.
fn standard_input(text: &str) -> String {
    let (mut input, mut is_escaped) = (String::new(), false);
    for letter in text.chars() {
        if is_escaped && letter != '%' {
            input.push('\\');
        }
        let is_break = letter == '%' && !is_escaped;
        is_escaped = letter == '\\';
        if !is_escaped {
            input.push(if is_break { '\n' } else { letter });
        }
    }
    if is_escaped {
        input.push('\\');
    }
    if !matches!(input.chars().last(), None | Some('\n')) {
        input.push('\n');
    }
    input
}
