//! The command line.

use clap::{Parser, Subcommand};

use crate::{check, client, crontab, explain, fault::Fault, lint, surroundings::Surroundings};

/// Cron expressions in words, crontabs as `#[scheduled]` functions, and the tasks of a running program
#[derive(Debug, Parser)]
#[command(name = "scheduler", version, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say what an expression means: words, fields, the next fire times
    Explain(explain::Given),
    /// List the next fire times of an expression
    Next {
        #[command(flatten)]
        given: explain::Given,
        /// How many
        #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 10)]
        count: usize,
    },
    /// List the fire times from an instant on and before another
    Between {
        #[command(flatten)]
        given: explain::Given,
        /// `2026-03-27`, `2026-03-27T09:00`, `2026-03-27T08:00:00Z` or `now`
        #[arg(id = "first", value_name = "FROM")]
        first: String,
        /// The same
        #[arg(value_name = "UNTIL")]
        until: String,
        /// How many at most
        #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
        max: usize,
    },
    /// Find expressions that mean something else than people think
    Lint(lint::Given),
    /// Build a program, and let it plan its tasks without running any: names, values, settings, tasks that are not linked
    Check(check::Given),
    /// Turn schedules of other programs into functions
    Import {
        #[command(subcommand)]
        from: Import,
    },
    #[command(flatten)]
    Client(client::Command),
}

#[derive(Debug, Subcommand)]
enum Import {
    /// Turn the lines of a crontab into `#[scheduled]` functions
    Crontab(crontab::Given),
}

impl Args {
    /// Does what was asked: the code to exit with.
    pub(crate) fn run(&self, around: &mut Surroundings<'_>) -> Result<u8, Fault> {
        match &self.command {
            Command::Explain(given) => explain::explain(given, around)?,
            Command::Next { given, count } => explain::next(given, *count, around)?,
            Command::Between { given, first, until, max } => {
                explain::between(given, (first, until), *max, around)?;
            }
            Command::Check(given) => return check::check(given, around),
            Command::Lint(given) => return lint::lint(given, around),
            Command::Import { from: Import::Crontab(given) } => {
                return crontab::import(given, around);
            }
            Command::Client(command) => client::run(command, around)?,
        }
        Ok(crate::fault::OK)
    }
}
