//! All lints of an expression.

use chrono::{DateTime, Utc};
use scheduler_core::trigger::Zone;
use scheduler_expr::CronExpression;

use super::finding::Finding;
use super::{checks, clocks};

/// All that the lints say about an expression.
pub(super) fn all(cron: &CronExpression, zone: Zone, now: DateTime<Utc>) -> Vec<Finding> {
    let mut findings = checks::all(cron);
    findings.extend(clocks::check(cron, zone, now));
    findings
}
