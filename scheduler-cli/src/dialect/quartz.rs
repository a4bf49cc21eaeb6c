//! The expressions of Quartz: six fields and perhaps a year, a week that counts from 1 = Sunday, and one `?`.

use scheduler_expr::quoted;

use super::converted::{Converted, expression, list};
use super::items::{DAYS, Field, Grammar, MONTHS, Problem, Word, digits, words};
use crate::fault::Fault;

const GRAMMAR: Grammar = Grammar {
    range: "-",
    wraps: true,
    steps_from_a_number: true,
    steps_from_star: true,
    long_steps: false,
};

const FIELDS: [Field; 6] = [
    Field { name: "second", min: 0, max: 59, names: &[], first_name: 0 },
    Field { name: "minute", min: 0, max: 59, names: &[], first_name: 0 },
    Field { name: "hour", min: 0, max: 23, names: &[], first_name: 0 },
    Field { name: "day of month", min: 1, max: 31, names: &[], first_name: 0 },
    Field { name: "month", min: 1, max: 12, names: MONTHS, first_name: 1 },
    Field { name: "day of week", min: 1, max: 7, names: DAYS, first_name: 1 },
];

const DAY: usize = 3;
const WEEKDAY: usize = 5;

/// The last day that every month has with a day after it: what `W` means for a later one differs.
const LAST_SURE_DAY: u32 = 27;

const WHAT: &str = "invalid Quartz expression";

pub(super) fn convert(text: &str) -> Result<Converted, Fault> {
    let words = words(text);
    if !(6..=7).contains(&words.len()) {
        let order = "second minute hour day-of-month month day-of-week [year]";
        let fault =
            Fault::no(format!("{WHAT}: {} fields, but 6 or 7 are needed: {order}", words.len()));
        return Err(match words.len() {
            5 => fault.help("five fields are a crontab line: --from unix"),
            _ => fault,
        });
    }
    let mut notes = Vec::new();
    if let Some(year) = words.get(6) {
        if year.text != "*" {
            let problem = Problem::new(*year, "the year has no equal here").help(
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
            _ => field.read(word, GRAMMAR).map(list),
        };
        fields[nth] = read.map_err(|problem| problem.in_text(text, WHAT, field.name))?;
    }
    let is_question = |nth: usize| words[nth].text == "?";
    if is_question(DAY) || is_question(WEEKDAY) {
        notes.push("`?` becomes `*`, which means the same here".to_owned());
    } else {
        notes.push(
            "Quartz itself refuses an expression without `?`; here both day fields must match"
                .to_owned(),
        );
    }
    Ok(Converted::one(expression(&fields)?, None, notes))
}

fn day_of_month(field: &Field, word: Word<'_>, notes: &mut Vec<String>) -> Result<String, Problem> {
    let mut items = Vec::new();
    for item in word.split(',') {
        let upper = item.text.to_ascii_uppercase();
        if upper == "L" || upper == "LW" {
            items.push(upper);
        } else if let Some(back) = upper.strip_prefix("L-") {
            match digits(back) {
                Some(1..=30) => items.push(upper),
                _ => {
                    return Err(Problem::new(
                        item,
                        format!("{} has no equal here", quoted(item.text)),
                    )
                    .help("`L-3` is the third day before the last, `LW` the last weekday"));
                }
            }
        } else if let Some(day) = upper.strip_suffix('W') {
            let day = field.number(Word { text: day, at: item.at })?;
            if day > LAST_SURE_DAY {
                notes.push(format!(
                    "`{day}W`: a month that lacks the day, or ends with it on a Sunday, is left out here; Quartz may choose another day"
                ));
            }
            items.push(format!("{day}W"));
        } else {
            items.push(list(field.read_item(item, GRAMMAR)?));
        }
    }
    Ok(items.join(","))
}

fn day_of_week(field: &Field, word: Word<'_>, notes: &mut Vec<String>) -> Result<String, Problem> {
    let name = |number: u32| DAYS[number as usize - 1];
    let mut items = Vec::new();
    for item in word.split(',') {
        let text = item.text;
        if let Some((day, nth)) = item.split_once("#") {
            match digits(nth.text) {
                Some(nth @ 1..=5) => items.push(format!("{}#{nth}", name(field.number(day)?))),
                _ => return Err(Problem::new(nth, "a month has a weekday five times at most")),
            }
        } else if text.eq_ignore_ascii_case("L") {
            items.push(name(7).to_owned());
            notes.push(
                "`L` alone is Saturday in Quartz; the last day of the month is `L` in day-of-month"
                    .to_owned(),
            );
        } else if let Some(day) = text.strip_suffix(['L', 'l']) {
            let day = Word { text: day, at: item.at };
            items.push(format!("{}L", name(field.number(day)?)));
        } else {
            let set = field.read_item(item, GRAMMAR)?;
            items.extend(
                (1..=7).filter(|day| set & (1 << day) != 0).map(|day| name(day).to_owned()),
            );
        }
    }
    if word.text.contains(|c: char| c.is_ascii_digit()) {
        notes.push(
            "weekdays have names now: Quartz counts from 1 = Sunday, here 1 is Monday".to_owned(),
        );
    }
    Ok(items.join(","))
}
