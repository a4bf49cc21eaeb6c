//! The expected outcomes of the runs of a task.

use std::fmt;

use super::sim::Sim;
use crate::observe::Outcome;

/// The expectation of a test for one run: see [`assert_outcomes!`](crate::assert_outcomes).
///
/// ```
/// use scheduler::Schedule;
/// use scheduler::testing::*;
///
/// let mut sim = Sim::at("2026-01-01T00:00:00Z")
///     .define("import", Schedule::fixed_rate("1m"), |_| {});
/// sim.fail_next("import", "disk full");
/// sim.advance(secs(60));
/// assert_outcomes!(sim, "import", [Error("disk full"), Success]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// It ended well.
    Success,
    /// The function returned an error with this text.
    Error(&'static str),
    /// The function panicked with this text, as [`panic_next`](Sim::panic_next) had it, or as
    /// [`allow_panics`](Sim::allow_panics) lets it.
    Panic(&'static str),
    /// It did not end within the task's `timeout`.
    Timeout,
    /// It was cancelled.
    Cancelled,
    /// A hook refused it, for this reason.
    Refused(&'static str),
}

impl Expected {
    fn is_met_by(&self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Self::Success, Outcome::Success)
            | (Self::Timeout, Outcome::Timeout(_))
            | (Self::Cancelled, Outcome::Cancelled) => true,
            (Self::Error(text), Outcome::Error(failure))
            | (Self::Panic(text), Outcome::Panic(failure)) => failure.message() == *text,
            (Self::Refused(text), Outcome::Refused(reason)) => **reason == **text,
            _ => false,
        }
    }
}

/// As it is written in the macro: `Error("disk full")`.
struct Shown<'a>(&'a Outcome);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Outcome::Success => f.write_str("Success"),
            Outcome::Error(failure) => write!(f, "Error({:?})", failure.message()),
            Outcome::Panic(failure) => write!(f, "Panic({:?})", failure.message()),
            Outcome::Timeout(_) => f.write_str("Timeout"),
            Outcome::Cancelled => f.write_str("Cancelled"),
            Outcome::Refused(reason) => write!(f, "Refused({reason:?})"),
            Outcome::Snoozed(time) => write!(f, "Snoozed({time:?})"),
            Outcome::Lost => f.write_str("Lost"),
        }
    }
}

/// Fails the test if the outcomes of a task's runs are others.
#[doc(hidden)]
#[track_caller]
pub fn check_outcomes(sim: &Sim, task: &str, expected: &[Expected]) {
    let outcomes = sim.outcomes(task);
    let is_met = |(expected, outcome): (&Expected, &Outcome)| expected.is_met_by(outcome);
    if outcomes.len() == expected.len() && expected.iter().zip(&outcomes).all(is_met) {
        return;
    }
    let mut lines = format!("the runs of `{task}` had other outcomes\n  run  expected / was");
    for index in 0..outcomes.len().max(expected.len()) {
        let (wanted, was) = (expected.get(index), outcomes.get(index));
        let mark = match (wanted, was) {
            (Some(wanted), Some(was)) if wanted.is_met_by(was) => ' ',
            _ => '!',
        };
        let wanted = wanted.map_or("no run".to_owned(), |wanted| format!("{wanted:?}"));
        let was = was.map_or("no run".to_owned(), |was| Shown(was).to_string());
        lines.push_str(&format!("\n{mark} {:3}  {wanted} / {was}", index + 1));
    }
    panic!("{lines}");
}

/// Fails the test if the runs of a task that are over had other outcomes than these, in this order.
///
/// An outcome is `Success`, `Error("its text")`, `Panic("its text")`, `Timeout`, `Cancelled` or
/// `Refused("its reason")`.
///
/// ```
/// use scheduler::Schedule;
/// use scheduler::testing::*;
///
/// let mut sim = Sim::at("2026-01-01T00:00:00Z")
///     .define("purge", Schedule::fixed_rate("1h"), |_| {});
/// sim.fail_next("purge", "disk full");
/// sim.advance(hours(1));
/// assert_outcomes!(sim, "purge", [Error("disk full"), Success]);
/// ```
#[macro_export]
macro_rules! assert_outcomes {
    ($sim:expr, $task:expr, [$($outcome:expr),* $(,)?] $(,)?) => {
        $crate::testing::check_outcomes(&$sim, $task, &[$({
            #[allow(unused_imports)]
            use $crate::testing::Expected::*;
            $outcome
        }),*])
    };
}
