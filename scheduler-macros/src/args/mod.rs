//! The options between the parentheses of `#[scheduled(…)]` or `#[job(…)]`, as written.
//!
//! What this room is for: to parse options by one table ([`options`](mod@options)), most of it the table of
//! attributes of `scheduler_expr`. Parsing ([`read`]), the check for duplicates and suggestions use it.
//!
//! What it must never do: check *values*, alone or together; [`check`](crate::check) does.
//!
//! An option that settings can override is a row of that table; any other is a variant of [`Key`] and an
//! entry in `OTHERS`.

mod given;
mod meant;
mod options;
mod read;

use given::Given;
pub(crate) use given::{Args, Value};
use meant::{nameless, unknown};
pub(crate) use options::{Form, Key, NTH};
use options::{Spec, Takes, offered, options};
