//! English words.

use super::CronExpression;

pub(super) fn describe(cron: &CronExpression) -> String {
    cron.to_string()
}
