//! Says in English when an expression fires.
//!
//! Words are produced only for shapes that they describe exactly. A part that has no such words is
//! written field by field, in its canonical text. A test reads the words back and compares what
//! they mean with the expression.
//!
//! "every 15 minutes" counts from the full hour, "every 2 hours" from
//! midnight; "from 09:00 to 17:45" names the first and the last time; "weekday" is Monday to
//! Friday.

use super::{
    CronExpression, CronField, DAY_NAMES, MONTH_NAMES, bits, field_text, join, ranges, runs,
};

impl CronExpression {
    /// Says in English when the expression fires: in words where they say exactly that, else field
    /// by field.
    ///
    /// ```
    /// use scheduler_expr::CronExpression;
    ///
    /// let describe = |text| CronExpression::parse(text).map(|cron| cron.describe());
    /// assert_eq!(describe("0 */15 * * * *")?, "every 15 minutes");
    /// assert_eq!(describe("0 30 8 L * *")?, "08:30, on the last day of the month");
    /// # Ok::<(), scheduler_expr::ParseError>(())
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        if let Some(never) = self.never_fires() {
            return format!("never: {}", never.reason());
        }
        let TimeWords { words, are_bare } = time_words(self).unwrap_or_else(|| TimeWords {
            words: fields(self, [CronField::Hour, CronField::Minute, CronField::Second]),
            are_bare: false,
        });
        let days = day_words(self).unwrap_or_else(|| {
            fields(self, [CronField::DayOfMonth, CronField::Month, CronField::DayOfWeek])
        });
        match days.as_str() {
            "" if are_bare => format!("{words}, every day"),
            "" => words,
            _ if are_bare && days.starts_with("in ") => format!("{words}, every day {days}"),
            _ => format!("{words}, {days}"),
        }
    }
}

/// The fields that are not `*`, by name.
fn fields(cron: &CronExpression, fields: [CronField; 3]) -> String {
    let restricted = fields.into_iter().filter(|field| field_text(cron, *field) != "*");
    let texts = restricted.map(|field| format!("{field} {}", field_text(cron, field)));
    texts.collect::<Vec<_>>().join(", ")
}

/// Words for the time of day, and whether they are bare times: "09:00", which need a day beside
/// them.
struct TimeWords {
    words: String,
    are_bare: bool,
}

/// The greatest number of times of day that are listed.
const MOST_TIMES: usize = 6;

/// The greatest number of stretches of the day that are listed.
const MOST_STRETCHES: usize = 3;

/// A field's numbers, by the shapes that have words.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// One number.
    One(u8),
    /// Every n-th number of the field, from zero, to its end without a rest; 1 is all of them.
    Every(u8),
    Other,
}

/// The hours, minutes and seconds of an expression.
struct TimeFields {
    hours: Vec<u8>,
    minutes: Vec<u8>,
    seconds: Vec<u8>,
}

fn time_words(cron: &CronExpression) -> Option<TimeWords> {
    let values = |field| cron.values(field).collect::<Vec<_>>();
    let clock = TimeFields {
        hours: values(CronField::Hour),
        minutes: values(CronField::Minute),
        seconds: values(CronField::Second),
    };
    if let Some(words) = clock.interval() {
        return Some(TimeWords { words, are_bare: false });
    }
    if let Some(words) = clock.times() {
        return Some(TimeWords { words, are_bare: true });
    }
    clock.stretches().map(|words| TimeWords { words, are_bare: false })
}

impl TimeFields {
    fn shapes(&self) -> (Shape, Shape, Shape) {
        (shape(&self.hours, 24), shape(&self.minutes, 60), shape(&self.seconds, 60))
    }

    /// An interval that goes on all day: "every 15 minutes".
    fn interval(&self) -> Option<String> {
        match self.shapes() {
            (Shape::Every(1), Shape::Every(1), Shape::Every(n)) => Some(every(n, "second")),
            (Shape::Every(1), Shape::Every(n), Shape::One(0)) => Some(every(n, "minute")),
            (Shape::Every(1), Shape::Every(n), Shape::One(second)) => {
                Some(format!("{} at second {second}", every(n, "minute")))
            }
            (Shape::Every(n), Shape::One(0), Shape::One(0)) => Some(every(n, "hour")),
            (Shape::Every(n), Shape::One(minute), Shape::One(0)) => {
                Some(format!("{} at minute {minute}", every(n, "hour")))
            }
            (Shape::Every(n), Shape::One(minute), Shape::One(second)) => {
                Some(format!("{} at minute {minute} and second {second}", every(n, "hour")))
            }
            _ => None,
        }
    }

    /// A few times of day: "09:00 and 17:30".
    fn times(&self) -> Option<String> {
        let count = self.hours.len() * self.minutes.len() * self.seconds.len();
        if count > MOST_TIMES {
            return None;
        }
        let shows_seconds = self.seconds != [0];
        let mut times = Vec::new();
        for hour in &self.hours {
            for minute in &self.minutes {
                let time = |second: &u8| time(*hour, *minute, *second, shows_seconds);
                times.extend(self.seconds.iter().map(time));
            }
        }
        Some(join(&times, "and"))
    }

    /// An interval during a part of the day: "every 15 minutes from 09:00 to 17:45".
    fn stretches(&self) -> Option<String> {
        let (_, minutes, seconds) = self.shapes();
        let mut hours = runs(&self.hours);
        let (interval, first, last) = match (minutes, seconds) {
            (Shape::One(minute), Shape::One(0)) => (every(1, "hour"), (minute, 0), (minute, 0)),
            (Shape::Every(n), Shape::One(0)) => (every(n, "minute"), (0, 0), (60 - n, 0)),
            (Shape::Every(1), Shape::Every(n)) => (every(n, "second"), (0, 0), (59, 60 - n)),
            (Shape::One(minute), Shape::Every(n)) => {
                // One minute of each hour, also of consecutive ones.
                hours = self.hours.iter().map(|hour| (*hour, *hour)).collect();
                (every(n, "second"), (minute, 0), (minute, 60 - n))
            }
            _ => return None,
        };
        let shows_seconds = seconds != Shape::One(0);
        let stretch = |(from, to)| {
            let from = time(from, first.0, first.1, shows_seconds);
            format!("from {from} to {}", time(to, last.0, last.1, shows_seconds))
        };
        let is_moment = |(from, to): &(u8, u8)| from == to && first == last;
        if hours.len() > MOST_STRETCHES || hours.iter().any(is_moment) {
            return None;
        }
        let stretches: Vec<String> = hours.into_iter().map(stretch).collect();
        Some(format!("{interval} {}", join(&stretches, "and")))
    }
}

fn shape(values: &[u8], size: u8) -> Shape {
    if let [only] = values {
        return Shape::One(*only);
    }
    let step = values.get(1).copied().unwrap_or(size);
    let is_even =
        size.is_multiple_of(step) && (0..size).step_by(step.into()).eq(values.iter().copied());
    if is_even { Shape::Every(step) } else { Shape::Other }
}

fn every(n: u8, unit: &str) -> String {
    if n == 1 { format!("every {unit}") } else { format!("every {n} {unit}s") }
}

fn time(hour: u8, minute: u8, second: u8, shows_seconds: bool) -> String {
    let seconds = if shows_seconds { format!(":{second:02}") } else { String::new() };
    format!("{hour:02}:{minute:02}{seconds}")
}

/// The greatest number of items that are listed in words.
const LONGEST_LIST: usize = 8;

const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

/// The last day that every month has with a day after it: the weekday nearest to a later one is
/// missing in some months, which words do not say.
const LAST_SURE_DAY: u8 = 27;

/// The days in words, empty when they are all days.
fn day_words(cron: &CronExpression) -> Option<String> {
    let months = match cron.is_any(CronField::Month) {
        true => String::new(),
        false => format!("in {}", month_list(cron)?),
    };
    let days = match (cron.is_any(CronField::DayOfMonth), cron.is_any(CronField::DayOfWeek)) {
        (true, true) => return Some(months),
        (true, false) => days_of_week(cron)?,
        (false, true) => match single_date(cron) {
            Some(date) => return Some(date),
            None => days_of_month(cron)?,
        },
        (false, false) => {
            let months = if months.is_empty() { String::new() } else { format!(" {months}") };
            let weekdays = days_of_week(cron)?;
            let condition = weekdays.strip_prefix("on ").unwrap_or(&weekdays);
            return Some(format!("{}{months}, only if it is {condition}", days_of_month(cron)?));
        }
    };
    Some(if months.is_empty() { days } else { format!("{days} {months}") })
}

fn values(cron: &CronExpression, field: CronField) -> Vec<u8> {
    cron.values(field).collect()
}

/// "a, b and c", with runs of three or more as "a to c"; none when it would be too long.
fn list(values: &[u8], name: impl Fn(u8) -> String) -> Option<String> {
    let items = ranges(values, " to ", name);
    (items.len() <= LONGEST_LIST).then(|| join(&items, "and"))
}

fn month_list(cron: &CronExpression) -> Option<String> {
    list(&values(cron, CronField::Month), |month| MONTH_NAMES[usize::from(month) - 1].to_owned())
}

/// One day of one month: "on 1 January".
fn single_date(cron: &CronExpression) -> Option<String> {
    let (days, months) = (values(cron, CronField::DayOfMonth), values(cron, CronField::Month));
    match (days.as_slice(), months.as_slice()) {
        ([day], [month]) if cron.has_plain_days() => {
            Some(format!("on {day} {}", MONTH_NAMES[usize::from(*month) - 1]))
        }
        _ => None,
    }
}

/// "Monday to Friday", or with specials "on every Monday and the last Friday of the month".
fn days_of_week(cron: &CronExpression) -> Option<String> {
    let plain = values(cron, CronField::DayOfWeek);
    let name = |day: u8| DAY_NAMES[usize::from(day) - 1];
    let field = cron.fields.days_of_week;
    if field.is_plain() {
        return list(&plain, |day| name(day).to_owned());
    }
    let mut items: Vec<_> = plain.iter().map(|day| format!("every {}", name(*day))).collect();
    for (ordinal, set) in ORDINALS.iter().zip(field.nth) {
        items.extend(bits(set.into()).map(|day| format!("the {ordinal} {}", name(day + 1))));
    }
    items.extend(bits(field.last.into()).map(|day| format!("the last {}", name(day + 1))));
    (items.len() <= LONGEST_LIST).then(|| format!("on {} of the month", join(&items, "and")))
}

/// "on day 15 of the month", "on day 1 and the last day of the month".
fn days_of_month(cron: &CronExpression) -> Option<String> {
    let plain = values(cron, CronField::DayOfMonth);
    let field = cron.fields.days_of_month;
    let mut items = Vec::new();
    if !plain.is_empty() {
        let noun = if plain.len() == 1 { "day" } else { "days" };
        items.push(format!("{noun} {}", list(&plain, |day| day.to_string())?));
    }
    for day in bits(field.nearest_weekday) {
        if day > LAST_SURE_DAY {
            return None;
        }
        items.push(format!("the weekday nearest to day {day}"));
    }
    if field.last_weekday {
        items.push("the last weekday".to_owned());
    }
    items.extend(bits(field.before_last).map(|n| match n {
        0 => "the last day".to_owned(),
        1 => "the day before the last day".to_owned(),
        n => format!("the day {n} days before the last day"),
    }));
    (items.len() <= LONGEST_LIST).then(|| format!("on {} of the month", join(&items, "and")))
}
