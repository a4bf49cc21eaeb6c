//! Words for the time of day.

use crate::cron::{CronExpression, CronField, join, runs};

/// Words for the time of day, and whether they are bare times: "09:00", which need a day beside
/// them.
pub(super) struct TimeWords {
    pub(super) words: String,
    pub(super) are_bare: bool,
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
struct Clock {
    hours: Vec<u8>,
    minutes: Vec<u8>,
    seconds: Vec<u8>,
}

pub(super) fn words(cron: &CronExpression) -> Option<TimeWords> {
    let values = |field| cron.values(field).collect::<Vec<_>>();
    let clock = Clock {
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

impl Clock {
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
