//! The command line, its completions and its manual pages.

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::context::Context;
use crate::error::{CliError, named};
use crate::{check, client, crontab, explain, lint};

/// The end of the help.
const AFTER_HELP: &str = "\
Exit codes:
  0  Success
  1  The answer is no: an invalid expression, a finding under --deny, a refused request
  2  Not carried out: a misspelt command, an unreadable file, a program that does not answer

Environment:
  SCHEDULER_URL       The address of the dashboard of a running program
  SCHEDULER_TOKEN     The token for it
  SCHEDULER_ZONE, TZ  The time zone, without --zone
  NO_COLOR            No colours; a file or a pipe never has any";

/// Cron expressions in words, crontabs as `#[scheduled]` functions, and the tasks of a running program
#[derive(Debug, Parser)]
#[command(name = "scheduler", version, after_help = AFTER_HELP)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say what an expression means: words, fields, the next fire times
    Explain(explain::ExplainArgs),
    /// List the next fire times of an expression
    Next {
        #[command(flatten)]
        args: explain::ExplainArgs,
        /// The number of fire times
        #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 10)]
        count: usize,
    },
    /// List the fire times from an instant on and before another
    Between {
        #[command(flatten)]
        args: explain::ExplainArgs,
        /// `2026-03-27`, `2026-03-27T09:00`, `2026-03-27T08:00:00Z` or `now`
        #[arg(id = "first", value_name = "FROM")]
        first: String,
        /// The same
        #[arg(value_name = "UNTIL")]
        until: String,
        /// The greatest number of fire times
        #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
        max: usize,
    },
    /// Find expressions that mean something else than people think
    Lint(lint::LintArgs),
    /// Build a program, and let it plan its tasks without running any: names, values, settings, tasks that are not linked
    Check(check::CheckArgs),
    /// Turn schedules of other programs into functions
    Import {
        #[command(subcommand)]
        from: Import,
    },
    #[command(flatten)]
    Client(client::ClientCommand),
    /// Write a script that completes commands in a shell
    Completions { shell: clap_complete::Shell },
    /// Write the manual page of a command, or of the whole program
    Man {
        /// The words of the command, such as `jobs retry`
        command: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
enum Import {
    /// Turn the lines of a crontab into `#[scheduled]` functions
    Crontab(crontab::CrontabArgs),
}

impl CommandLine {
    /// Does what was asked: the code to exit with.
    pub(crate) fn run(&self, ctx: &mut Context<'_>) -> Result<u8, CliError> {
        match &self.command {
            Command::Explain(args) => explain::explain(args, ctx)?,
            Command::Next { args, count } => explain::next(args, *count, ctx)?,
            Command::Between { args, first, until, max } => {
                explain::between(args, (first, until), *max, ctx)?;
            }
            Command::Check(args) => return check::check(args, ctx),
            Command::Lint(args) => return lint::lint(args, ctx),
            Command::Import { from: Import::Crontab(args) } => {
                return crontab::import(args, ctx);
            }
            Command::Client(command) => client::run(command, ctx)?,
            Command::Completions { shell } => completions(Self::command(), *shell, ctx)?,
            Command::Man { command } => man(Self::command(), command, ctx)?,
        }
        Ok(crate::error::OK)
    }
}

/// Writes the script that completes the commands in a shell.
fn completions(
    mut command: clap::Command,
    shell: Shell,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut command, name, &mut script);
    ctx.write(&String::from_utf8_lossy(&script))
}

/// Writes the manual page of a command, or of the whole program.
fn man(
    mut command: clap::Command,
    words: &[String],
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    // The names of subcommands begin with those of the commands above them.
    command.build();
    for word in words {
        let Some(found) = command.find_subcommand(word) else {
            let what = format!("there is no command {}", named(&words.join(" ")));
            return Err(CliError::unable(what).help("for all commands: scheduler help"));
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    let written = Man::new(command).render(&mut page);
    written.map_err(|error| CliError::unable(error.to_string()))?;
    ctx.write(&String::from_utf8_lossy(&page))
}
