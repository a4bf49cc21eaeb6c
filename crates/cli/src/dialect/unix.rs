//! The five fields of a crontab, as Vixie's cron and its descendants read them.
//!
//! Its week begins with Sunday, 0 or 7. If both day fields are given it runs on either of them, unless one of the two
//! begins with a star: then both must match.

use scheduler_expr::CronExpression;

use super::field::{DAYS, DialectField, FieldSyntax, MONTHS, PartError, TextPart, list, words};
use super::{Converted, OnClockChanges, expression};
use crate::error::CliError;

const SYNTAX: FieldSyntax = FieldSyntax {
    range: "-",
    wraps: false,
    steps_from_a_number: false,
    steps_from_star: true,
    steps_from_nothing: false,
    long_steps: true,
    rejects_single_value_steps: false,
};

const FIELDS: [DialectField; 5] = [
    DialectField { name: "minute", min: 0, max: 59, names: &[], first_name: 0 },
    DialectField { name: "hour", min: 0, max: 23, names: &[], first_name: 0 },
    DialectField { name: "day of month", min: 1, max: 31, names: &[], first_name: 0 },
    DialectField { name: "month", min: 1, max: 12, names: MONTHS, first_name: 1 },
    DialectField { name: "day of week", min: 0, max: 7, names: DAYS, first_name: 0 },
];

const WHAT: &str = "invalid crontab line";

/// The values that five fields match. Bit `n` of a set stands for the number `n`; Sunday is bit 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CronFields {
    pub(crate) minutes: u64,
    pub(crate) hours: u64,
    pub(crate) days: u64,
    pub(crate) months: u64,
    pub(crate) weekdays: u64,
    /// True if one of the day fields begins with a star, so that both must match.
    needs_both_days: bool,
    /// True if it runs at times of day: cron runs those that a change of the clock leaves out, and none twice.
    pub(crate) has_fixed_times: bool,
    /// True if the day of week is a step in the whole week, which begins with Sunday here.
    steps_through_week: bool,
}

/// The fields that a macro of crontabs stands for.
pub(crate) fn of_macro(text: &str) -> Option<&'static str> {
    Some(match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => return None,
    })
}

/// Reads the five fields of a line.
pub(crate) fn line(text: &str) -> Result<CronFields, CliError> {
    let words = words(text);
    let Ok(fields) = <[TextPart<'_>; 5]>::try_from(words) else {
        let found = text.split_whitespace().count();
        let order = "minute hour day-of-month month day-of-week";
        let fault = CliError::no(format!("{WHAT}: {found} fields, but 5 are needed: {order}"));
        return Err(match found {
            6 => fault.help("an expression with seconds is one of Spring: --from spring"),
            _ => fault,
        });
    };
    let mut sets = [0; 5];
    for (set, (field, word)) in sets.iter_mut().zip(FIELDS.iter().zip(fields)) {
        *set = read(field, word).map_err(|problem| problem.in_text(text, WHAT, field.name))?;
    }
    let [minutes, hours, days, months, weekdays] = sets;
    let is_star = |nth: usize| fields[nth].text.starts_with('*');
    Ok(CronFields {
        minutes,
        hours,
        days,
        months,
        weekdays: (weekdays | weekdays >> 7) & 0x7F,
        needs_both_days: is_star(2) || is_star(4),
        has_fixed_times: !is_star(0) && !is_star(1),
        steps_through_week: fields[4].text.split(',').any(|item| item.starts_with("*/")),
    })
}

fn read(field: &DialectField, word: TextPart<'_>) -> Result<u64, PartError> {
    if word.text.contains('~') {
        return Err(PartError::new(word, "`~` stands for a random value, which no expression has")
            .help("write one of its values; to spread runs, use the attribute `jitter`"));
    }
    if word.text.contains(['?', 'L', 'W', '#', 'H']) && word.text.len() < 4 {
        let known = field.names.iter().any(|name| name.eq_ignore_ascii_case(word.text));
        if !known {
            return Err(PartError::new(word, "crontabs know neither `?` nor `L`, `W`, `#` or `H`")
                .help("an expression with these is one of Spring or Quartz: --from quartz"));
        }
    }
    field.read(word, SYNTAX)
}

impl CronFields {
    /// The expressions that together fire when the line runs, none of them when another does.
    pub(crate) fn expressions(&self) -> Result<Vec<CronExpression>, CliError> {
        let of = |days: u64, weekdays: u64| {
            expression(&[
                "0".to_owned(),
                list(self.minutes),
                list(self.hours),
                list(days),
                list(self.months),
                list(weekdays),
            ])
        };
        let all_days = FIELDS[2].all();
        let mut expressions = match self.days_meant() {
            Days::Both => vec![of(self.days, self.weekdays)?],
            Days::All => vec![of(all_days, ALL_WEEK)?],
            Days::Either => {
                vec![of(self.days, ALL_WEEK)?, of(all_days & !self.days, self.weekdays)?]
            }
        };
        if expressions.iter().any(CronExpression::may_fire) {
            expressions.retain(CronExpression::may_fire);
        }
        Ok(expressions)
    }

    fn days_meant(&self) -> Days {
        let lists_all = self.days == FIELDS[2].all() || self.weekdays == ALL_WEEK;
        match self.needs_both_days {
            true => Days::Both,
            false if lists_all => Days::All,
            false => Days::Either,
        }
    }

    /// Notes on differences between crontabs and this program that matter for this line.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.steps_through_week {
            notes.push(
                "a step in the whole week begins with Sunday in a crontab, with Monday here: the days are listed"
                    .to_owned(),
            );
        }
        let restricts_both = self.days != FIELDS[2].all() && self.weekdays != ALL_WEEK;
        match self.days_meant() {
            Days::Both if !restricts_both => {}
            Days::Both => notes.push(
                "one of the day fields begins with `*`, so that cron wants both to match, as here"
                    .to_owned(),
            ),
            Days::All => notes.push(
                "cron runs this on either of its two day fields, and one of them has all days: it runs every day"
                    .to_owned(),
            ),
            Days::Either => notes.push(
                "cron runs this on either of its two day fields, while here both must match: it takes two expressions; the second leaves out the days of the first"
                    .to_owned(),
            ),
        }
        notes
    }
}

/// The days that the two day fields mean.
enum Days {
    /// Days that match both fields.
    Both,
    /// All: they are alternatives, and one of them has all days.
    All,
    /// Days that match one of them.
    Either,
}

const ALL_WEEK: u64 = 0x7F;

pub(super) fn convert(text: &str) -> Result<Converted, CliError> {
    let text = text.trim();
    if text == "@reboot" {
        return Err(CliError::no("`@reboot` is no time: it means the start of the machine")
            .help("to run once when the program starts, write initial_delay = \"0s\" alone"));
    }
    let line = line(of_macro(text).unwrap_or(text))?;
    let mut notes = vec!["the second is added: a crontab runs at second 0".to_owned()];
    notes.extend(line.notes());
    let on_clock_changes = line.has_fixed_times.then_some(OnClockChanges::MAKES_UP);
    Ok(Converted { expressions: line.expressions()?, zone: None, notes, on_clock_changes })
}
