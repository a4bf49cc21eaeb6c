//! The options between the parentheses of `#[scheduled(…)]` or `#[job(…)]`, as written.
//!
//! Parses options by one table ([`options`](mod@options)), most of it the table of
//! attributes of `scheduler_expr`. Parsing ([`read`]), the check for duplicates and suggestions use it.
//!
//! Values are checked elsewhere, alone and together: by [`check`](crate::check).
//!
//! An option that settings can override is a row of that table; any other is a variant of [`Key`] and an
//! entry in `OTHERS`.

mod meant;
mod options;
mod read;
mod written;

use meant::{nameless, unknown};
pub(crate) use options::{Form, Key, NTH};
use options::{Spec, Takes, offered, options};
use written::WrittenOption;
pub(crate) use written::{Args, Value};
