//! Lines of a crontab as `#[scheduled]` functions: `import crontab`.
//!
//! A crontab is read as cron reads it: its settings, its macros, its `%`. Each line becomes a function that runs the
//! same command at the same times, to be replaced by Rust bit by bit.
//!
//! The generated code compiles. A comment in it names each line that was left out, or that fires at other times than cron does.

mod lines;
mod stubs;

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use scheduler_core::trigger::Zone;

use crate::context::Context;
use crate::error::{CliError, NO, OK};

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
    let bytes = read(args, ctx)?;
    let entries = lines::read(&bytes, args.system);
    let code = stubs::write(&entries, zone);
    ctx.write(&code.text)?;
    if !args.system && lines::has_root_as_command(&entries) {
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

fn read(args: &CrontabArgs, ctx: &mut Context<'_>) -> Result<Vec<u8>, CliError> {
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
