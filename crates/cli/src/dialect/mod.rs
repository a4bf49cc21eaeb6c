//! Cron expressions of other programs, turned into those of this one.
//!
//! # What this room is for
//!
//! A line of a crontab, an expression of Quartz and an `OnCalendar` of systemd look alike and mean different things:
//! where the week begins, what two day fields mean together, what a step counts from. Each reader here knows the
//! meaning of its own dialect, works out which values match, and writes them anew. What the person has to know
//! about the difference is a note.
//!
//! # What it must never do
//!
//! Guess. What has no equal here is refused, with the place and a way out.

mod converted;
mod items;
mod quartz;
mod read;
mod systemd;
mod unix;

pub(crate) use converted::Converted;
pub(crate) use read::{Dialect, read};
pub(crate) use unix::{Line, line as unix_line, of_macro as unix_macro};
