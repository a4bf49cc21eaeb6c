//! Durations: `500ms`, `1h30m`, `PT1M30S`.
//!
//! The forms and their meaning are those of Spring's `@Scheduled`, tried in this order:
//!
//! | form | example | notes |
//! |---|---|---|
//! | ISO-8601 | `PT1H30M`, `-P1DT0.5S` | as `java.time.Duration.parse`: days to seconds, any letter case |
//! | simple | `10s`, `-5MS`, `250` | one number and a unit in any letter case; without a unit only where one is given |
//! | composite | `1h 30m`, `-(1m30s)` | units from large to small, lower case, each at most once |
//!
//! Units: `ns us ms s m h d`. Fractions exist only in the seconds of the ISO form.
//!
//! Texts that Spring's composite form accepts by accident are refused: blanks around it, parentheses that
//! do not match, and texts without any number, which it reads as zero.

mod intended;
mod parse;
mod scan;
mod signed;
#[cfg(test)]
mod tests;
mod unit;

use intended::intended;
pub use parse::{intended_period, parse_delay, parse_duration, parse_period};
pub(crate) use scan::in_seconds;
pub use signed::SignedDuration;
pub use unit::DurationUnit;
use unit::NANOS_PER_SECOND;
