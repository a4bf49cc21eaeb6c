//! The command line as people and programs see it.

// The file has texts of errors of the system.
#[cfg(unix)]
mod answers;
mod asked;
mod changed;
mod checked;
mod dialects;
mod hostile;
mod imported;
mod limits;
mod recorded;
mod stub;
mod words;
mod zones;

use std::collections::HashMap;

use scheduler_cli::{Context, Terminal, run_in};
use scheduler_core::ManualClock;

/// A command and what it reads.
struct Typed<'a> {
    args: Vec<&'a str>,
    input: &'a [u8],
    variables: HashMap<&'a str, String>,
    /// The width of the terminal, if there is one.
    columns: Option<usize>,
}

/// The result of a command.
struct Answered {
    code: u8,
    output: String,
    errors: String,
}

impl<'a> Typed<'a> {
    fn new(args: &[&'a str]) -> Self {
        let args = ["scheduler"].into_iter().chain(args.iter().copied()).collect();
        Self { args, input: b"", variables: HashMap::new(), columns: None }
    }

    /// Carries it out, on Friday, 2026-03-27, at 12:04 in Berlin.
    fn answer(&self) -> Answered {
        let clock = ManualClock::at("2026-03-27T11:04:00Z".parse().expect("an instant"));
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let code = run_in(
            &self.args,
            &mut Context {
                clock: &clock,
                input: &mut { self.input },
                output: &mut output,
                errors: &mut errors,
                variable: &|name| self.variables.get(name).cloned(),
                terminal: self.columns.map(|columns| Terminal { columns }),
            },
        );
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Answered { code, output: text(output), errors: text(errors) }
    }
}
