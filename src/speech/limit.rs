//! How often the same thing is said: at first in full, then summed up once a minute.
//!
//! Time comes with what happens, so that a simulated day is reported as a real one.

use chrono::DateTime;
use chrono::TimeDelta;
use chrono::Utc;
use scheduler_core::trigger::Zone;

use super::words::instant;

/// How long something that repeats itself is kept quiet.
const QUIET: TimeDelta = TimeDelta::minutes(1);

/// Whether something is said now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Say {
    /// As it is; whether it is the last before summaries begin, and what was not told before it.
    InFull { is_last: bool, untold: Option<Untold> },
    /// As one of so many since the last time, this one included.
    Summed { count: u64, since: DateTime<Utc> },
    /// Not now; it is counted.
    Nothing,
}

/// What was kept quiet, and was over before it could be summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Untold {
    pub(super) count: u64,
    pub(super) last: DateTime<Utc>,
}

/// Counts how often something is said, and decides when it is said again.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    in_full: u32,
    said: u32,
    hidden: u64,
    last: DateTime<Utc>,
    last_hidden: DateTime<Utc>,
}

impl Limit {
    /// For something that is said in full so many times.
    pub(super) fn new(in_full: u32) -> Self {
        let never = DateTime::UNIX_EPOCH;
        Self { in_full, said: 0, hidden: 0, last: never, last_hidden: never }
    }

    /// When it was said last.
    pub(super) fn last(&self) -> DateTime<Utc> {
        self.last
    }

    /// Decides for something that happens now, `count` times at once.
    pub(super) fn ask(&mut self, at: DateTime<Utc>, count: u64) -> Say {
        if self.said < self.in_full {
            self.said += 1;
            self.last = at;
            return Say::InFull { is_last: self.said == self.in_full, untold: None };
        }
        if self.is_quiet(at) {
            self.hidden = self.hidden.saturating_add(count);
            self.last_hidden = at;
            return Say::Nothing;
        }
        let since = std::mem::replace(&mut self.last, at);
        match self.take_hidden() {
            0 => Say::InFull { is_last: false, untold: None },
            // It was over, and begins anew: a sum would spread it over the time between.
            count if at - self.last_hidden >= QUIET => {
                let untold = Some(Untold { count, last: self.last_hidden });
                Say::InFull { is_last: false, untold }
            }
            hidden => Say::Summed { count: hidden.saturating_add(count), since: since.min(at) },
        }
    }

    /// A clock that was set back would keep it quiet for as long as it was ahead.
    pub(super) fn is_quiet(&self, at: DateTime<Utc>) -> bool {
        at >= self.last && at - self.last < QUIET
    }

    /// Whether something was kept quiet that may be told now.
    pub(super) fn is_owing(&self, at: DateTime<Utc>) -> bool {
        self.hidden > 0 && !self.is_quiet(at)
    }

    /// How often it was kept quiet, for one who tells that in other words.
    pub(super) fn take_hidden(&mut self) -> u64 {
        std::mem::take(&mut self.hidden)
    }
}

impl Untold {
    /// A note on it, for what is told now.
    pub(super) fn words(self, zone: Zone) -> String {
        format!("{} more, the last of {}, had not been told", self.count, instant(self.last, zone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_000_000 + second, 0).unwrap()
    }

    fn say(limit: &mut Limit, second: i64) -> String {
        match limit.ask(at(second), 1) {
            Say::InFull { untold: Some(Untold { count, last }), .. } => {
                format!("full, {count} untold until {}", (last - at(0)).num_seconds())
            }
            Say::InFull { is_last: false, .. } => "full".to_owned(),
            Say::InFull { is_last: true, .. } => "last".to_owned(),
            Say::Summed { count, since } => {
                format!("{count} since {}", (since - at(0)).num_seconds())
            }
            Say::Nothing => "-".to_owned(),
        }
    }

    #[test]
    fn after_some_in_full_there_is_one_summary_a_minute() {
        let mut limit = Limit::new(2);
        let said: Vec<String> = (0..=122).map(|second| say(&mut limit, second)).collect();
        assert_eq!(said[..3], ["full", "last", "-"]);
        assert!(said[2..61].iter().all(|said| said == "-"));
        assert_eq!(said[61], "60 since 1");
        assert!(said[62..121].iter().all(|said| said == "-"));
        assert_eq!(said[121..], ["60 since 61", "-"]);
    }

    #[test]
    fn what_is_rare_is_said_in_full() {
        let mut limit = Limit::new(1);
        let said: Vec<String> = (0..5).map(|day| say(&mut limit, day * 86_400)).collect();
        assert_eq!(said, ["last", "full", "full", "full", "full"]);
    }

    #[test]
    fn what_begins_anew_is_not_summed_up_with_what_was_over() {
        let mut limit = Limit::new(1);
        let said: Vec<String> =
            [0, 10, 20, 79, 139, 200].map(|second| say(&mut limit, second)).into();
        let expected = ["last", "-", "-", "3 since 0", "full", "full"];
        assert_eq!(said, expected);
        let mut limit = Limit::new(1);
        let said: Vec<String> =
            [0, 10, 20, 80, 81, 86_400].map(|second| say(&mut limit, second)).into();
        let expected =
            ["last", "-", "-", "full, 2 untold until 20", "-", "full, 1 untold until 81"];
        assert_eq!(said, expected);
    }

    #[test]
    fn what_is_told_elsewhere_is_not_summed_up() {
        let mut limit = Limit::new(1);
        let said = [0, 10, 20].map(|second| say(&mut limit, second));
        assert_eq!(said, ["last", "-", "-"]);
        assert!(!limit.is_owing(at(59)) && limit.is_owing(at(60)));
        assert_eq!(limit.take_hidden(), 2);
        assert!(!limit.is_owing(at(60)));
        assert_eq!(say(&mut limit, 70), "full");
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_silence_it() {
        let mut limit = Limit::new(1);
        assert_eq!(say(&mut limit, 1_000), "last");
        assert_eq!(say(&mut limit, 1_001), "-");
        assert_eq!(say(&mut limit, 10), "2 since 10");
        assert_eq!(say(&mut limit, 11), "-");
    }
}
