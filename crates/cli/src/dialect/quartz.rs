//! The expressions of Quartz: six fields and perhaps a year, a week that counts from 1 = Sunday, and one `?`.
//!
//! Its parser ignores what it does not expect, such as the step of `MON-FRI/2`. Only what its documentation allows is
//! read here; the tests hold that against what Quartz does.

use scheduler_expr::quoted;

use super::field::{
    DAYS, DialectField, FieldSyntax, MONTHS, PartError, TextPart, digits, list, words,
};
use super::{Converted, OnClockChanges, expression};
use crate::error::CliError;

const SYNTAX: FieldSyntax = FieldSyntax {
    range: "-",
    wraps: true,
    steps_from_a_number: true,
    steps_from_star: true,
    steps_from_nothing: true,
    long_steps: false,
    rejects_single_value_steps: false,
};

const FIELDS: [DialectField; 6] = [
    DialectField { name: "second", min: 0, max: 59, names: &[], first_name: 0 },
    DialectField { name: "minute", min: 0, max: 59, names: &[], first_name: 0 },
    DialectField { name: "hour", min: 0, max: 23, names: &[], first_name: 0 },
    DialectField { name: "day of month", min: 1, max: 31, names: &[], first_name: 0 },
    DialectField { name: "month", min: 1, max: 12, names: MONTHS, first_name: 1 },
    DialectField { name: "day of week", min: 1, max: 7, names: DAYS, first_name: 1 },
];

const DAY: usize = 3;
const WEEKDAY: usize = 5;

/// The last day that every month has with a day after it: what `W` means for a later one differs.
const LAST_SURE_DAY: u32 = 27;

const WHAT: &str = "invalid Quartz expression";

pub(super) fn convert(text: &str) -> Result<Converted, CliError> {
    let words = words(text);
    if !(6..=7).contains(&words.len()) {
        let order = "second minute hour day-of-month month day-of-week [year]";
        let fault =
            CliError::no(format!("{WHAT}: {} fields, but 6 or 7 are needed: {order}", words.len()));
        return Err(match words.len() {
            5 => fault.help("five fields are a crontab line: --from unix"),
            _ => fault,
        });
    }
    let mut notes = Vec::new();
    if let Some(year) = words.get(6) {
        if year.text != "*" {
            let problem = PartError::new(*year, "the year has no equal here").help(
                "leave it out; for an end, write the attribute until = \"2027-01-01T00:00:00Z\"",
            );
            return Err(problem.in_text(text, WHAT, "year"));
        }
        notes.push("the year is gone: it said nothing".to_owned());
    }
    let mut fields: [String; 6] = std::array::from_fn(|_| "*".to_owned());
    for (nth, (field, word)) in FIELDS.iter().zip(words.iter().copied()).enumerate() {
        let read = match (nth, word.text) {
            (DAY | WEEKDAY, "?" | "*") => continue,
            (DAY, _) => day_of_month(field, word, &mut notes),
            (WEEKDAY, _) => day_of_week(field, word, &mut notes),
            _ => set(field, word).map(list),
        };
        fields[nth] = read.map_err(|problem| problem.in_text(text, WHAT, field.name))?;
    }
    let is_question = |nth: usize| words[nth].text == "?";
    let note = match (is_question(DAY), is_question(WEEKDAY)) {
        (true, true) => "Quartz itself refuses an expression with two `?`; here each becomes `*`",
        (false, false) => {
            "Quartz itself refuses an expression without `?`; here both day fields must match"
        }
        _ => "`?` becomes `*`, which means the same here",
    };
    notes.push(note.to_owned());
    let converted = Converted::one(expression(&fields)?, None, notes);
    Ok(Converted { on_clock_changes: Some(OnClockChanges::RUNS_THE_SECOND), ..converted })
}

/// The full names, which are those of [`DAYS`] and [`MONTHS`] to Quartz.
const FULL_NAMES: [&str; 19] = [
    "SUNDAY",
    "MONDAY",
    "TUESDAY",
    "WEDNESDAY",
    "THURSDAY",
    "FRIDAY",
    "SATURDAY",
    "JANUARY",
    "FEBRUARY",
    "MARCH",
    "APRIL",
    "MAY",
    "JUNE",
    "JULY",
    "AUGUST",
    "SEPTEMBER",
    "OCTOBER",
    "NOVEMBER",
    "DECEMBER",
];

/// Reads a list of items into a set.
fn set(field: &DialectField, word: TextPart<'_>) -> Result<u64, PartError> {
    word.split(',').try_fold(0, |set, one| Ok(set | item(field, one)?))
}

fn item(field: &DialectField, item: TextPart<'_>) -> Result<u64, PartError> {
    let is_name = item.text.starts_with(|first: char| first.is_ascii_alphabetic());
    if is_name && !field.names.is_empty() {
        return named(field, item);
    }
    // A range is of numbers or of names.
    DialectField { names: &[], ..*field }.read_item(item, SYNTAX)
}

/// Reads an item of names: one, or a range. Quartz takes three letters for each name, and ignores what follows.
fn named(field: &DialectField, item: TextPart<'_>) -> Result<u64, PartError> {
    let last_name = field.names[field.names.len() - 1];
    let Some((name, first, rest)) = name(field, item.text) else {
        let reason = format!("{} {} is no name", field.name, quoted(item.text));
        let help = format!("write `{}` to `{last_name}`", field.names[0]);
        return Err(PartError::new(item, reason).help(help));
    };
    let Some(end) = rest.strip_prefix('-') else {
        let is_full = FULL_NAMES.iter().any(|full| full.eq_ignore_ascii_case(item.text));
        return match rest.is_empty() || is_full {
            true => Ok(1 << first),
            false => Err(ignored(field, item, rest, name, &first.to_string())),
        };
    };
    match self::name(field, end) {
        Some((_, last, "")) => Ok(field.between(first, last, 1)),
        Some((end, last, rest)) => {
            Err(ignored(field, item, rest, &format!("{name}-{end}"), &format!("{first}-{last}")))
        }
        None => Err(PartError::new(item, "a range that begins with a name ends with a name")
            .help(format!("write for example `{name}-{last_name}`"))),
    }
}

/// The name of three letters with which a text begins, its number, and what follows it.
fn name<'a>(field: &DialectField, text: &'a str) -> Option<(&'static str, u32, &'a str)> {
    let (letters, rest) = text.split_at_checked(3)?;
    let index = field.names.iter().position(|name| name.eq_ignore_ascii_case(letters))?;
    Some((field.names[index], index as u32 + field.first_name, rest))
}

/// The fault of what Quartz reads, and what follows it.
fn ignored(
    field: &DialectField,
    item: TextPart<'_>,
    rest: &str,
    names: &str,
    numbers: &str,
) -> PartError {
    let reason =
        format!("Quartz reads {} as `{names}`, and ignores {}", quoted(item.text), quoted(rest));
    let is_step = rest.strip_prefix('/').is_some_and(|step| digits(step).is_some());
    let end = rest.rsplit_once('-').and_then(|(_, end)| name(field, end));
    PartError::new(item, reason).help(match end {
        _ if is_step => {
            format!("for what Quartz does write `{names}`, for the step `{numbers}{rest}`")
        }
        Some((end, ..)) => {
            format!("for what Quartz does write `{names}`, for the range `{names}-{end}`")
        }
        None => format!("for what Quartz does write `{names}`"),
    })
}

/// The fault of `L`, `W` or `#` in a list. The versions of Quartz differ in it: most look at one of the days.
fn in_a_list(word: TextPart<'_>, letters: &str) -> PartError {
    PartError::new(
        word,
        format!("{letters} stand alone in Quartz: of a list it ignores all days but one"),
    )
    .help("write an expression for each of the days")
}

fn day_of_month(
    field: &DialectField,
    word: TextPart<'_>,
    notes: &mut Vec<String>,
) -> Result<String, PartError> {
    let upper = word.text.to_ascii_uppercase();
    if !upper.contains(['L', 'W']) {
        return Ok(list(set(field, word)?));
    }
    if upper.contains(',') {
        return Err(in_a_list(word, "`L` and `W`"));
    }
    if let Some(day) = upper.strip_suffix('W').filter(|day| !day.starts_with('L')) {
        let day = field.number(TextPart { text: day, at: word.at })?;
        notes.push(format!(
            "`{day}W`: Quartz 2.5.0 and 2.5.1 leave out, by mistake, the months in which the weekday comes after the day"
        ));
        if day > LAST_SURE_DAY {
            notes.push(format!(
                "`{day}W`: a month that lacks the day, or ends with it on a Sunday, is left out here; Quartz may choose another day"
            ));
        }
        return Ok(format!("{day}W"));
    }
    let is_known = match upper.strip_prefix("L-") {
        Some(back) => matches!(digits(back), Some(1..=30)),
        None => upper == "L" || upper == "LW",
    };
    if !is_known {
        return Err(PartError::new(word, format!("{} has no equal here", quoted(word.text)))
            .help("`L-3` is the third day before the last, `LW` the last weekday"));
    }
    notes.push(format!(
        "`{upper}`: Quartz 2.5.0 leaves out, by mistake, the months with fewer than 31 days"
    ));
    Ok(upper)
}

fn day_of_week(
    field: &DialectField,
    word: TextPart<'_>,
    notes: &mut Vec<String>,
) -> Result<String, PartError> {
    let text = word.text;
    if text.contains(',') && text.contains(['L', 'l', '#']) {
        return Err(in_a_list(word, "`L` and `#`"));
    }
    if text.contains(|c: char| c.is_ascii_digit()) {
        notes.push(
            "weekdays have names now: Quartz counts from 1 = Sunday, here 1 is Monday".to_owned(),
        );
    }
    let day_name = |number: u32| DAYS[number as usize - 1];
    if let Some((day, nth)) = word.split_once("#") {
        return match digits(nth.text) {
            Some(nth @ 1..=5) => Ok(format!("{}#{nth}", day_name(field.number(day)?))),
            _ => Err(PartError::new(nth, "a month has a weekday five times at most")),
        };
    }
    if text.eq_ignore_ascii_case("L") {
        notes.push(
            "`L` alone is Saturday in Quartz; the last day of the month is `L` in day-of-month"
                .to_owned(),
        );
        return Ok(day_name(7).to_owned());
    }
    if let Some(day) = text.strip_suffix(['L', 'l']) {
        return Ok(format!("{}L", day_name(field.number(TextPart { text: day, at: word.at })?)));
    }
    let set = set(field, word)?;
    let days = (1..=7).filter(|day| set & (1 << day) != 0).map(day_name);
    Ok(days.collect::<Vec<_>>().join(","))
}
