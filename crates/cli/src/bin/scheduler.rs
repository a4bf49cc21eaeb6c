//! The program `scheduler`.

use std::process::ExitCode;

fn main() -> ExitCode {
    scheduler_cli::run(std::env::args_os())
}
