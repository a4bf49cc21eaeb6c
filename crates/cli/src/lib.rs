//! The command line of the `scheduler-rs` crate, as a library.
//!
//! ```text
//! $ scheduler explain "0 0/15 9-17 * * MON-FRI" --zone Europe/Berlin
//! every 15 minutes from 09:00 to 17:45, Monday to Friday (Europe/Berlin)
//! ```
//!
//! The binaries `scheduler` and `cargo-scheduler` call [`run`], and so can a program that offers the commands itself.
//! The guide is `docs/cli.md`.
//!
//! | command | what it does |
//! |---|---|
//! | `explain`, `next`, `between` | an expression in words, and its fire times; also those of crontabs, Quartz and systemd |
//! | `lint` | expressions that mean something else than people think |
//! | `import crontab` | the lines of a crontab as `#[scheduled]` functions |
//! | `check` | whether a program would start, and which tasks are not in it |
//! | `list`, `show`, `watch` | the tasks of a running program, through its JSON API |
//! | `run`, `pause`, `resume`, `cancel`, `enable`, `reschedule` | change tasks of a running program |
//! | `actions` | what was changed by hand |
//! | `jobs` | the durable jobs of a running program, its queues and its nodes |
//! | `completions`, `man` | for the shell, and for `man` |
//!
//! The exit code is 0 if all went well, 1 if the answer is no, and 2 if the command could not be carried out.
//
// Fire times and words come from the code that the scheduler itself uses, so that no answer differs from the behaviour of a task.
// No input panics.

mod args;
mod check;
mod client;
mod context;
mod crontab;
mod dialect;
mod error;
mod explain;
mod lint;
mod times;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use scheduler_core::SystemClock;

pub use context::{Context, Terminal};

/// Runs a command line, whose first word is the name of the program, and returns the exit code.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     scheduler_cli::run(std::env::args_os())
/// }
/// ```
#[must_use]
pub fn run(args: impl IntoIterator<Item = impl Into<OsString>>) -> ExitCode {
    let (stdin, stdout, stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let mut ctx = Context {
        clock: &SystemClock::new(),
        input: &mut stdin.lock(),
        output: &mut stdout.lock(),
        errors: &mut stderr.lock(),
        variable: &|name| std::env::var(name).ok(),
        terminal: Terminal::of_output(),
    };
    run_in(args, &mut ctx).into()
}

/// As [`run`], with other streams and another clock than those of the process.
pub fn run_in(args: impl IntoIterator<Item = impl Into<OsString>>, ctx: &mut Context<'_>) -> u8 {
    let args = args.into_iter().map(Into::into);
    let result = match args::CommandLine::try_parse_from(args) {
        Ok(args) => args.run(ctx),
        Err(error) => {
            let text = error.render().to_string();
            let is_fault = error.use_stderr();
            let stream = if is_fault { &mut *ctx.errors } else { &mut *ctx.output };
            // The reader has closed the pipe, so this cannot be reported.
            stream.write_all(text.as_bytes()).ok();
            return if is_fault { error::UNABLE } else { error::OK };
        }
    };
    result.unwrap_or_else(|fault| {
        if fault.code != error::OK {
            writeln!(ctx.errors, "{fault}").ok();
        }
        fault.code
    })
}
