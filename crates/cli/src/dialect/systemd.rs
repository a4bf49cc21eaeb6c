//! The `OnCalendar=` of systemd timers: `Mon..Fri *-*-* 09:00:00 Europe/Berlin`.

use scheduler_core::trigger::Zone;
use scheduler_expr::CronExpression;

use super::field::{DialectField, FieldSyntax, PartError, TextPart, digits, list, words};
use super::{Converted, OnClockChanges, expression};
use crate::error::CliError;

const SYNTAX: FieldSyntax = FieldSyntax {
    range: "..",
    wraps: false,
    steps_from_a_number: true,
    steps_from_star: false,
    steps_from_nothing: false,
    long_steps: true,
    rejects_single_value_steps: true,
};

const HOUR: DialectField =
    DialectField { name: "hour", min: 0, max: 23, names: &[], first_name: 0 };
const MINUTE: DialectField =
    DialectField { name: "minute", min: 0, max: 59, names: &[], first_name: 0 };
const SECOND: DialectField =
    DialectField { name: "second", min: 0, max: 59, names: &[], first_name: 0 };
const MONTH: DialectField =
    DialectField { name: "month", min: 1, max: 12, names: &[], first_name: 0 };
const DAY: DialectField = DialectField { name: "day", min: 1, max: 31, names: &[], first_name: 0 };

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

const WHAT: &str = "invalid calendar expression";

/// The days that `~` counts from the end of the month, where the last one is 1.
const DAY_FROM_END: DialectField =
    DialectField { name: "day", min: 1, max: 28, names: &[], first_name: 0 };

/// The words that stand for a whole expression.
const SHORTHANDS: [(&str, &str); 13] = [
    ("minutely", "0 * * * * *"),
    ("hourly", "0 0 * * * *"),
    ("daily", "0 0 0 * * *"),
    ("weekly", "0 0 0 * * MON"),
    ("monthly", "0 0 0 1 * *"),
    ("quarterly", "0 0 0 1 1,4,7,10 *"),
    ("semiannually", "0 0 0 1 1,7 *"),
    ("semi-annually", "0 0 0 1 1,7 *"),
    ("biannually", "0 0 0 1 1,7 *"),
    ("bi-annually", "0 0 0 1 1,7 *"),
    ("yearly", "0 0 0 1 1 *"),
    ("annually", "0 0 0 1 1 *"),
    ("anually", "0 0 0 1 1 *"),
];

pub(super) fn convert(text: &str) -> Result<Converted, CliError> {
    let mut words = words(text);
    let mut notes = Vec::new();
    let zone = zone(&words, text)?;
    if let Some(zone) = zone {
        words.pop();
        notes.push(format!("the zone is an attribute of its own: zone = \"{zone}\""));
    }
    if let [only] = &*words {
        let is_meant = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(only.text);
        if let Some((_, fields)) = SHORTHANDS.iter().find(is_meant) {
            return Ok(converted(crate::error::parse(fields)?, zone, notes));
        }
    }
    let mut rest = &*words;
    let mut fields = ["0", "0", "0", "*", "*", "*"].map(str::to_owned);
    let fault = |problem: PartError| problem.in_text(text, WHAT, "");
    if let [first, others @ ..] = rest
        && first.text.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        fields[5] = weekdays(*first).map_err(fault)?;
        rest = others;
    }
    if let [first, others @ ..] = rest
        && !first.text.contains(':')
    {
        [fields[4], fields[3]] = date(*first).map_err(fault)?;
        rest = others;
    }
    if let [first, others @ ..] = rest {
        [fields[0], fields[1], fields[2]] = time(*first).map_err(fault)?;
        rest = others;
    }
    match rest.first() {
        Some(surplus) => Err(fault(
            PartError::new(*surplus, "this is neither a zone nor a time")
                .help("the order is: weekdays, date, time, zone"),
        )),
        None if words.is_empty() => Err(CliError::no(format!("{WHAT}: the text is empty"))
            .help("write for example \"Mon..Fri 09:00\"")),
        None => Ok(converted(expression(&fields)?, zone, notes)),
    }
}

fn converted(expression: CronExpression, zone: Option<Zone>, notes: Vec<String>) -> Converted {
    let converted = Converted::one(expression, zone, notes);
    Converted { on_clock_changes: Some(OnClockChanges::RUNS_THE_FIRST), ..converted }
}

/// The zone at the end, if there is one.
fn zone(words: &[TextPart<'_>], text: &str) -> Result<Option<Zone>, CliError> {
    let Some(last) = words.last() else { return Ok(None) };
    if last.text.eq_ignore_ascii_case("UTC") {
        return Ok(Some(Zone::UTC));
    }
    let looks_like_one = last.text.contains('/')
        && last.text.starts_with(|c: char| c.is_ascii_uppercase())
        && !last.text.contains([':', '*']);
    match last.text.parse() {
        Ok(zone) => Ok(Some(zone)),
        Err(error) if looks_like_one => {
            let span = last.at..last.at + last.text.len();
            Err(CliError::from(error).at(text, span, "zone"))
        }
        Err(_) => Ok(None),
    }
}

fn weekdays(word: TextPart<'_>) -> Result<String, PartError> {
    let mut items = Vec::new();
    // systemd allows a comma before the date.
    let list = TextPart { text: word.text.trim_end_matches(','), at: word.at };
    for item in list.split(',') {
        let ends = item.split_once("..").or_else(|| item.split_once("-"));
        let (first, last) = match ends {
            Some((first, last)) => (weekday(first)?, weekday(last)?),
            None => (weekday(item)?, weekday(item)?),
        };
        if first > last {
            return Err(PartError::new(
                item,
                "the range of weekdays runs over the end of the week",
            )
            .help(format!("write `{}`", split_wrapped_range(first, last))));
        }
        items.extend((first..=last).map(|day| (day + 1).to_string()));
    }
    Ok(items.join(","))
}

fn weekday(word: TextPart<'_>) -> Result<usize, PartError> {
    let is_meant = |name: &&str| {
        name.eq_ignore_ascii_case(word.text) || name[..3].eq_ignore_ascii_case(word.text)
    };
    WEEKDAYS.iter().position(is_meant).ok_or_else(|| {
        let words: Vec<_> = SHORTHANDS.iter().map(|(word, _)| *word).collect();
        let help =
            format!("a day is `Mon` to `Sun`, a whole expression one of: {}", words.join(", "));
        PartError::new(word, "this is no day of the week").help(help)
    })
}

/// A range over the end of the week, in two parts.
fn split_wrapped_range(first: usize, last: usize) -> String {
    let range = |from: usize, to: usize| match from == to {
        true => short(from),
        false => format!("{}..{}", short(from), short(to)),
    };
    format!("{},{}", range(first, WEEKDAYS.len() - 1), range(0, last))
}

fn short(day: usize) -> String {
    let name = WEEKDAYS[day];
    format!("{}{}", name[..1].to_ascii_uppercase(), &name[1..3])
}

/// Month and day, from `*-*-01`, `12-25` or `*-*~03`.
fn date(word: TextPart<'_>) -> Result<[String; 2], PartError> {
    let (head, from_end) = match word.split_once("~") {
        Some((head, day)) => (head, Some(day)),
        None => (word, None),
    };
    let mut parts: Vec<TextPart<'_>> = head.split('-').collect();
    let day = match from_end {
        Some(day) => days_before_the_end(day)?,
        None => match parts.pop() {
            Some(day) => read(&DAY, day)?,
            None => "*".to_owned(),
        },
    };
    match *parts {
        [month] => Ok([read(&MONTH, month)?, day]),
        [TextPart { text: "*", .. }, month] => Ok([read(&MONTH, month)?, day]),
        [year, _] => Err(PartError::new(year, "the year has no equal here")
            .help("write `*`; for an end, use the attribute until = \"2027-01-01T00:00:00Z\"")),
        _ => Err(PartError::new(word, "this is neither a date nor a time")
            .help("a date is `*-12-25` or `12-25`, a time is `09:00` or `*:0/15`")),
    }
}

/// The items of `~`: 01 is the last day, and the step of a single number counts towards it.
fn days_before_the_end(word: TextPart<'_>) -> Result<String, PartError> {
    if word.text == "*" {
        return Ok("*".to_owned());
    }
    let set = word.split(',').try_fold(0, |set, item| Ok(set | from_the_end(item)?))?;
    let days = (1..=DAY_FROM_END.max).filter(|day| set & (1 << day) != 0);
    let items = days.map(|day| if day == 1 { "L".to_owned() } else { format!("L-{}", day - 1) });
    Ok(items.collect::<Vec<_>>().join(","))
}

fn from_the_end(item: TextPart<'_>) -> Result<u64, PartError> {
    match item.split_once("/") {
        Some((base, step)) if !base.text.contains(SYNTAX.range) => {
            let Some(step) = digits(step.text).filter(|step| *step > 0) else {
                return Err(PartError::new(item, "the step is not a number above zero"));
            };
            let day = DAY_FROM_END.number(base)?;
            if step >= day {
                return Err(PartError::new(item, "the step leaves the month at once")
                    .help(format!("write `{day}`")));
            }
            Ok((0..day).step_by(step as usize).fold(0, |set, back| set | 1 << (day - back)))
        }
        None if item.text == "*" => {
            Err(PartError::new(item, "`*` stands alone here").help("remove the other days"))
        }
        _ => DAY_FROM_END.read_item(item, SYNTAX),
    }
}

/// Second, minute and hour, from `09:00` or `*:0/15:30`.
fn time(word: TextPart<'_>) -> Result<[String; 3], PartError> {
    let parts: Vec<TextPart<'_>> = word.split(':').collect();
    let (hour, minute, second) = match *parts {
        [hour, minute] => (hour, minute, "0".to_owned()),
        [hour, minute, second] if second.text.contains('.') && !second.text.contains("..") => {
            let _ = (hour, minute);
            return Err(PartError::new(second, "an expression has no parts of a second"));
        }
        [hour, minute, second] => (hour, minute, read(&SECOND, second)?),
        _ => return Err(PartError::new(word, "this is no time").help("write `09:00` or `*:0/15`")),
    };
    Ok([second, read(&MINUTE, minute)?, read(&HOUR, hour)?])
}

fn read(field: &DialectField, word: TextPart<'_>) -> Result<String, PartError> {
    match word.text {
        "*" => Ok("*".to_owned()),
        _ => Ok(list(field.read(word, SYNTAX)?)),
    }
}
