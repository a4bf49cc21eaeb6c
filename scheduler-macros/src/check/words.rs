//! Whether a text means something, judged by the code that reads it again when the program starts.

use scheduler_expr::DurationUnit;
use syn::LitStr;

use crate::args::Given;
use crate::diagnostic::Faults;

pub(crate) fn cron(_t: &LitStr, _f: &mut Faults) {}
pub(crate) fn zone(_t: &LitStr, _f: &mut Faults) {}
pub(crate) fn duration(_t: &Given, _u: Option<DurationUnit>, _f: &mut Faults) {}
pub(crate) fn name(_t: &LitStr, _f: &mut Faults) {}
pub(crate) fn time_unit(_t: &LitStr, _f: &mut Faults) -> Option<DurationUnit> {Some(DurationUnit::Milliseconds)}
