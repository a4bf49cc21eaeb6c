//! Cron expressions of other programs, turned into those of this one.
//!
//! A line of a crontab, an expression of Quartz and an `OnCalendar` of systemd look alike and mean different things:
//! where the week begins, what two day fields mean together, what a step counts from. Each reader here knows the
//! meaning of its own dialect, works out which values match, and writes them anew. Notes tell the person about differences.
//!
//! Nothing is guessed: a text without an equivalent is refused, with the place and a way out.

mod converted;
mod items;
mod quartz;
mod read;
mod systemd;
mod unix;

pub(crate) use converted::Converted;
pub(crate) use read::{Dialect, read};
pub(crate) use unix::{CronFields, line as unix_line, of_macro as unix_macro};
