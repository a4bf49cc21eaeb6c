//! The schedule of a task, for a service that wants to know when to expect its runs.

use scheduler::{RuleKind, TaskFacts};
use scheduler_expr::{CronExpression, CronField};

/// A schedule as a service understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Five fields, as crontabs have them.
    Crontab(String),
    /// So many minutes apart.
    Minutes(u64),
}

/// The schedule of a task for a service; none where it would be wrong.
pub(crate) fn expected(task: &TaskFacts) -> Option<Expected> {
    if task.kind == RuleKind::Cron {
        // A rule reads `0 0 9 * * MON-FRI (09:00, Monday to Friday) in Europe/Berlin`.
        let source = task.rule.split(" (").next()?;
        return crontab(&CronExpression::parse(source).ok()?).map(Expected::Crontab);
    }
    let seconds = task.period.filter(|period| period.subsec_nanos() == 0)?.as_secs();
    (seconds > 0 && seconds.is_multiple_of(60)).then_some(Expected::Minutes(seconds / 60))
}

/// The five fields that mean the same in a crontab, but for the second; none if there are none.
fn crontab(cron: &CronExpression) -> Option<String> {
    let restricts = |field| !cron.is_any(field);
    // In a crontab either of two day fields is enough.
    let both_days = restricts(CronField::DayOfMonth) && restricts(CronField::DayOfWeek);
    let is_one_second = cron.values(CronField::Second).len() == 1;
    if both_days || !is_one_second || !cron.has_plain_days() {
        return None;
    }
    let text = cron.to_string();
    let mut fields: Vec<String> = text.split(' ').skip(1).map(str::to_owned).collect();
    // A step in the whole week begins with Sunday there.
    if fields.last()?.starts_with("*/") {
        let days = cron.values(CronField::DayOfWeek).map(|day| (day % 7).to_string());
        *fields.last_mut()? = days.collect::<Vec<_>>().join(",");
    }
    Some(fields.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let cron = CronExpression::parse(text).unwrap();
        assert_eq!(crontab(&cron).as_deref(), expected, "{text}");
    }

    #[test]
    fn an_expression_becomes_a_line_of_a_crontab_where_that_says_the_same() {
        check("0 0 9 * * MON-FRI", Some("0 9 * * MON-FRI"));
        check("30 */15 * 1,15 * ?", Some("*/15 * 1,15 * *"));
        check("0 0 0 * * */2", Some("0 0 * * 1,3,5,0"));
        check("*/10 * * * * *", None);
        check("0 0 0 13 * FRI", None);
        check("0 0 0 L * *", None);
        check("0 0 0 * * FRI#2", None);
    }
}
