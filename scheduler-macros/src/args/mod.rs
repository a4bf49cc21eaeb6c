//! The options between the parentheses of `#[scheduled(…)]`, as they stand there.
//!
//! What this room is for: one table ([`options`]) says how each option is written, most of it the table
//! of attributes of `scheduler_expr`; reading ([`read`]), the duplicate check, the suggestions and the
//! list in the message all come from it.
//!
//! What it must never do: judge whether the *values* make sense, alone or together. That is the
//! business of [`check`](crate::check).
//!
//! An option that settings can override is a row of that table; any other is a variant of [`Key`] and an
//! entry in `OTHERS`.

mod given;
mod meant;
mod options;
mod read;

pub(crate) use given::{Args, Value};
pub(crate) use options::{Key, NTH};
