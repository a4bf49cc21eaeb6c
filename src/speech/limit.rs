//! How often the same thing is said: at first in full, then summed up once a minute.
//!
//! Time comes with what happens, so that a simulated day is reported as a real one.

use chrono::DateTime;
use chrono::TimeDelta;
use chrono::Utc;

/// How long something that repeats itself is kept quiet.
const QUIET: TimeDelta = TimeDelta::minutes(1);

/// Whether something is said now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Say {
    /// As it is; whether it is the last before summaries begin.
    InFull { is_last: bool },
    /// As one of so many since the last time, this one included.
    Summed { count: u64, since: DateTime<Utc> },
    /// Not now; it is counted.
    Nothing,
}

/// Counts how often something is said, and decides when it is said again.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    in_full: u32,
    said: u32,
    hidden: u64,
    last: DateTime<Utc>,
}

impl Limit {
    /// For something that is said in full so many times.
    pub(super) fn new(in_full: u32) -> Self {
        Self { in_full, said: 0, hidden: 0, last: DateTime::UNIX_EPOCH }
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
            return Say::InFull { is_last: self.said == self.in_full };
        }
        // A clock that was set back would keep it quiet for as long as it was ahead.
        if at >= self.last && at - self.last < QUIET {
            self.hidden = self.hidden.saturating_add(count);
            return Say::Nothing;
        }
        let since = std::mem::replace(&mut self.last, at);
        match std::mem::take(&mut self.hidden) {
            0 => Say::InFull { is_last: false },
            hidden => Say::Summed { count: hidden.saturating_add(count), since: since.min(at) },
        }
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
            Say::InFull { is_last: false } => "full".to_owned(),
            Say::InFull { is_last: true } => "last".to_owned(),
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
    fn a_clock_that_is_set_back_does_not_silence_it() {
        let mut limit = Limit::new(1);
        assert_eq!(say(&mut limit, 1_000), "last");
        assert_eq!(say(&mut limit, 1_001), "-");
        assert_eq!(say(&mut limit, 10), "2 since 10");
        assert_eq!(say(&mut limit, 11), "-");
    }
}
