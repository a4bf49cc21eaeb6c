//! Cron expressions: Spring's six fields, strictly read.
//!
//! # The grammar
//!
//! ```text
//! expression := macro | second minute hour day-of-month month day-of-week      (spaces between)
//! macro      := @yearly @annually @monthly @weekly @daily @midnight @hourly    (any letter case)
//! field      := item , item , …
//! item       := *   n   n-m   */step   n/step   n-m/step
//!   day-of-month also:  ?  L  L-n  LW  nW
//!   day-of-week also:   ?  dL  d#n
//! ```
//!
//! Months and weekdays have three-letter names in any letter case. Weekdays count from 1 = Monday
//! to 7 = Sunday, 0 being Sunday too; `*/2` therefore means Monday, Wednesday, Friday, Sunday. A
//! range that begins with Sunday begins the week with it (`SUN-FRI`, and `SUN-SUN` is the whole
//! week). Blanks of any kind around the expression are ignored; inside it only spaces separate.
//!
//! # What it means
//!
//! All six fields must match: a day-of-month *and* a day-of-week, unlike Unix cron. `0 0 0 13 *
//! FRI` is Friday the 13th.
//!
//! # Where Spring is lenient and this is not
//!
//! Signs (`+5`), digits other than 0 to 9, `?` inside a list, names run together (`JANFEB`),
//! leading zeros before `L` and `#`. One oddity is kept because schedules may rest on it: a name
//! right after digits stands for its number's digits, so `0TUE` is Tuesday and `1FEB` the 12th
//! month.

mod days;
mod describe;
mod display;
mod expression;
mod field;
mod item;
mod never;
mod parse;
#[cfg(test)]
mod tests;
mod word;

use days::{DaysOfMonth, DaysOfWeek, bits, calendar_days};
use display::{join, ranges, runs};
use expression::Fields;
pub use expression::{CronExpression, FieldValues};
pub use field::CronField;
use field::{DAY_NAMES, MONTH_NAMES, short_name};
pub use never::NeverFires;
use word::{Word, has_zone_prefix, is_outer_blank, words};
