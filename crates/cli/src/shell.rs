//! Completions for shells, and manual pages.

use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::context::Context;
use crate::error::{CliError, named};

/// Writes the script that completes the commands in a shell.
pub(crate) fn completions(
    mut command: Command,
    shell: Shell,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut command, name, &mut script);
    ctx.write(&String::from_utf8_lossy(&script))
}

/// Writes the manual page of a command, or of the whole program.
pub(crate) fn man(
    mut command: Command,
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
