//! `check`: builds a program, lets it plan its tasks without running any, and looks for tasks that are not in it.
//!
//! A start finds faulty names, missing values and faulty settings. `check` asks the program for a dry run, which is the start
//! without the running, and adds what no program can know of itself: functions with `#[scheduled]` in the sources that the
//! linker has left out, because nothing in the program names their crate.
//!
//! | file | content |
//! |---|---|
//! | `program` | cargo: the program that is built, and its sources |
//! | `sources` | annotations in sources, tasks in a report |
//!
//! No task runs.

mod program;
mod sources;

use std::collections::BTreeSet;
use std::process::Command;

use crate::client::plain;
use crate::context::Context;
use crate::error::{CliError, NO, OK};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Exit with 1 also if there are only warnings
    #[arg(long)]
    deny: bool,
    /// The arguments of `cargo build`, such as `-p shop --bin shop --features mail`; without them, what `cargo run` would run
    #[arg(last = true, value_name = "CARGO ARGUMENTS")]
    cargo: Vec<String>,
}

/// Builds, asks for a dry run, compares: the code to exit with.
pub(crate) fn check(args: &CheckArgs, ctx: &mut Context<'_>) -> Result<u8, CliError> {
    let cargo = (ctx.variable)("CARGO").unwrap_or_else(|| "cargo".to_owned());
    let program = program::build(&cargo, &args.cargo)?;
    let output = Command::new(&program.executable).env("SCHEDULER_DRY_RUN", "1").output();
    let output = output.map_err(|error| {
        CliError::unable(format!("{} cannot be run: {error}", program.executable))
    })?;
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let tasks = sources::tasks(&report);
    let is_planned = report.lines().any(|line| line == "settings");
    if !is_planned {
        let said: Vec<String> = errors.lines().map(plain).collect();
        let fault = if output.status.success() {
            CliError::unable("the program has ended without a report of its tasks")
                .help("it has to reach the start of its scheduler: `scheduler::start()`, `builder.start()` or `builder.spawn()`")
        } else {
            CliError::no(format!("the program does not start\n{}", said.join("\n")))
        };
        return Err(fault);
    }
    report.lines().try_for_each(|line| ctx.say(plain(line)))?;
    let mut warnings = report.lines().filter(|line| line.starts_with("WARN")).count();
    let linked: BTreeSet<(String, u32)> = tasks.iter().cloned().collect();
    for package in program.packages(&cargo)? {
        let missing = package.annotations()?;
        let missing: Vec<_> = missing.iter().filter(|place| !linked.contains(*place)).collect();
        for (file, line) in &missing {
            ctx.say(format!("warning: {}:{line}: this task is not in the program", plain(file)))?;
        }
        if !missing.is_empty() {
            let help = match package.is_root {
                true => {
                    "is there a `mod` for the file, and is the task among those of `tasks![…]`?"
                        .to_owned()
                }
                false => format!(
                    "a crate that nothing names is not linked: write `use {} as _;` in main.rs",
                    package.krate
                ),
            };
            ctx.say(format!("  help: {help}"))?;
        }
        warnings += missing.len();
    }
    let noun = |count, one: &str| if count == 1 { one.to_owned() } else { format!("{one}s") };
    ctx.say(format!(
        "\n{} {}, {warnings} {}",
        tasks.len(),
        noun(tasks.len(), "task"),
        noun(warnings, "warning")
    ))?;
    Ok(if args.deny && warnings > 0 { NO } else { OK })
}
