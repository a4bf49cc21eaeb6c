//! The program behind `cargo scheduler`, which cargo calls with its own name as the first argument.

use std::ffi::OsStr;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args: Vec<_> = std::env::args_os().collect();
    if args.get(1).is_some_and(|first| first == OsStr::new("scheduler")) {
        args.remove(1);
    }
    scheduler_cli::run(args)
}
