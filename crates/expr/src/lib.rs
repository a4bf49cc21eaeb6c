//! Texts that people write: cron expressions, durations and the names of time zones.
//!
//! The rule of a scheduled task is text: in an annotation, in a settings file, in an environment
//! variable. This crate turns the text into values and says, when it cannot, what is wrong, where,
//! and what to write instead. The annotation uses it while the program is compiled and the engine
//! uses it while the program runs, so that both accept the same texts.
//!
//! * [`CronExpression`]: Spring's six fields, strictly read. It knows which days match, what the
//!   expression says in English, and whether it can ever match at all.
//! * [`parse_duration`]: Spring's simple, composite and ISO-8601 forms, exactly.
//! * [`check_zone_name`]: whether a name is one of the IANA time zones.
//! * [`Instant`]: instants of the wall clock, with the offset from UTC.
//! * [`check_name`]: whether a task or a pool can be called so.
//! * [`Attribute`]: everything about a task that is a text, its name and what it may say.
//! * [`nearest`](nearest()): what was probably meant by a word that is not known.
//! * [`Template`]: `${key:default}` placeholders inside a text.
//! * [`Tick`]: instants of a monotonic clock, which the engine and the node of durable jobs share.
//!
//! ```
//! use scheduler_expr::CronExpression;
//!
//! let cron: CronExpression = "0 0 9 * * mon-fri".parse()?;
//! assert_eq!(cron.to_string(), "0 0 9 * * MON-FRI");
//! assert_eq!(cron.describe(), "09:00, Monday to Friday");
//!
//! let error = "0 0 25 * * *".parse::<CronExpression>().unwrap_err();
//! assert_eq!(error.to_string(), "invalid cron expression: hour `25` is out of range 0-23");
//! assert_eq!(error.caret(), "0 0 25 * * *\n    ^^ hour");
//! # Ok::<(), scheduler_expr::ParseError>(())
//! ```
//
// This crate reads no clock, knows no offsets of zones, and depends on no other crate: its calendar is plain arithmetic on
// local dates.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod attribute;
mod calendar;
mod cron;
mod duration;
mod error;
mod instant;
mod name;
#[cfg(test)]
mod pasted;
mod placeholder;
mod zone;

pub use attribute::{
    Attribute, AttributeError, Kind, Role, Row, RuleKind, assignment, default_burst,
};
pub use attribute::{
    DstGap, DstOverlap, Misfire, OnError, OnLost, OnPark, Overlap, Priority, Word,
};
pub use calendar::CalendarDays;
pub use cron::{CronExpression, CronField, FieldValues, NeverFires};
pub use duration::{DurationUnit, SignedDuration};
pub use duration::{intended_period, parse_delay, parse_duration, parse_period};
pub use error::{ParseError, quoted};
pub use instant::{Instant, Tick};
pub use name::{check_name, nearest};
pub use placeholder::{ResolveTemplateError, ResolveTemplateErrorKind, Template};
pub use zone::{check_zone_name, zone_names};
