//! Limits repeated messages: some in full, then a summary once a minute.
//!
//! Time is that of the events, so that a simulated day is reported as a real one.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::trigger::Zone;

use crate::observe::instant;

/// How long repeated messages are hidden.
const QUIET: TimeDelta = TimeDelta::minutes(1);

/// How many messages, or fire times that a message is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) number: u64,
    /// True if there may be more.
    pub(super) at_least: bool,
}

/// Whether a message is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// In full. `is_last` is true for the last one before summaries; `hidden` is what was hidden before it.
    InFull { is_last: bool, hidden: Option<Hidden> },
    /// As one of `count` since the last one shown, including this one.
    Summed { count: Count, since: DateTime<Utc> },
    /// Not at all; it is counted.
    Nothing,
}

/// What was hidden, and not summed up in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hidden {
    pub(super) count: Count,
    pub(super) last: DateTime<Utc>,
}

/// Counts a repeated message, and decides when it is shown.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    in_full: u32,
    shown: u32,
    hidden: Count,
    last: DateTime<Utc>,
    last_hidden: DateTime<Utc>,
}

impl Limit {
    /// A limit that shows this many in full first.
    pub(super) fn new(in_full: u32) -> Self {
        let never = DateTime::UNIX_EPOCH;
        Self { in_full, shown: 0, hidden: Count::default(), last: never, last_hidden: never }
    }

    /// When one was shown last.
    pub(super) fn last(&self) -> DateTime<Utc> {
        self.last
    }

    /// Decides for a message of now that stands for `count`.
    pub(super) fn ask(&mut self, at: DateTime<Utc>, count: Count) -> Show {
        if self.shown < self.in_full {
            self.shown += 1;
            self.last = at;
            return Show::InFull { is_last: self.shown == self.in_full, hidden: None };
        }
        if self.is_quiet(at) {
            self.hidden = self.hidden.plus(count);
            self.last_hidden = at;
            return Show::Nothing;
        }
        let since = std::mem::replace(&mut self.last, at);
        match self.take_hidden() {
            Count { number: 0, .. } => Show::InFull { is_last: false, hidden: None },
            // It begins anew: a summary would spread the old ones over the time between.
            count if at - self.last_hidden >= QUIET => {
                let hidden = Some(Hidden { count, last: self.last_hidden });
                Show::InFull { is_last: false, hidden }
            }
            hidden => Show::Summed { count: hidden.plus(count), since: since.min(at) },
        }
    }

    /// Whether a message is hidden now. A clock that was set back ends that.
    pub(super) fn is_quiet(&self, at: DateTime<Utc>) -> bool {
        at >= self.last && at - self.last < QUIET
    }

    /// Whether something was hidden that may be shown now.
    pub(super) fn has_hidden(&self, at: DateTime<Utc>) -> bool {
        self.hidden.number > 0 && !self.is_quiet(at)
    }

    /// The number of hidden messages, which the caller reports.
    pub(super) fn take_hidden(&mut self) -> Count {
        std::mem::take(&mut self.hidden)
    }
}

impl Count {
    pub(super) const ONE: Self = Self { number: 1, at_least: false };

    fn plus(self, more: Self) -> Self {
        let number = self.number.saturating_add(more.number);
        Self { number, at_least: self.at_least || more.at_least }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.at_least { "at least " } else { "" }, self.number)
    }
}

impl Hidden {
    /// The note about it.
    pub(super) fn note(self, zone: Zone) -> String {
        format!("{} more, the last of {}, were not reported", self.count, instant(self.last, zone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_000_000 + second, 0).unwrap()
    }

    fn show(limit: &mut Limit, second: i64) -> String {
        match limit.ask(at(second), Count::ONE) {
            Show::InFull { hidden: Some(Hidden { count, last }), .. } => {
                format!("full, {count} hidden until {}", (last - at(0)).num_seconds())
            }
            Show::InFull { is_last: false, .. } => "full".to_owned(),
            Show::InFull { is_last: true, .. } => "last".to_owned(),
            Show::Summed { count, since } => {
                format!("{count} since {}", (since - at(0)).num_seconds())
            }
            Show::Nothing => "-".to_owned(),
        }
    }

    #[test]
    fn after_some_in_full_there_is_one_summary_a_minute() {
        let mut limit = Limit::new(2);
        let shown: Vec<String> = (0..=122).map(|second| show(&mut limit, second)).collect();
        assert_eq!(shown[..3], ["full", "last", "-"]);
        assert!(shown[2..61].iter().all(|shown| shown == "-"));
        assert_eq!(shown[61], "60 since 1");
        assert!(shown[62..121].iter().all(|shown| shown == "-"));
        assert_eq!(shown[121..], ["60 since 61", "-"]);
    }

    #[test]
    fn what_is_rare_is_shown_in_full() {
        let mut limit = Limit::new(1);
        let shown: Vec<String> = (0..5).map(|day| show(&mut limit, day * 86_400)).collect();
        assert_eq!(shown, ["last", "full", "full", "full", "full"]);
    }

    #[test]
    fn what_begins_anew_is_not_summed_up_with_what_was_over() {
        let mut limit = Limit::new(1);
        let shown: Vec<String> =
            [0, 10, 20, 79, 139, 200].map(|second| show(&mut limit, second)).into();
        let expected = ["last", "-", "-", "3 since 0", "full", "full"];
        assert_eq!(shown, expected);
        let mut limit = Limit::new(1);
        let shown: Vec<String> =
            [0, 10, 20, 80, 81, 86_400].map(|second| show(&mut limit, second)).into();
        let expected =
            ["last", "-", "-", "full, 2 hidden until 20", "-", "full, 1 hidden until 81"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_the_caller_reports_is_not_summed_up() {
        let mut limit = Limit::new(1);
        let shown = [0, 10, 20].map(|second| show(&mut limit, second));
        assert_eq!(shown, ["last", "-", "-"]);
        assert!(!limit.has_hidden(at(59)) && limit.has_hidden(at(60)));
        assert_eq!(limit.take_hidden().number, 2);
        assert!(!limit.has_hidden(at(60)));
        assert_eq!(show(&mut limit, 70), "full");
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_silence_it() {
        let mut limit = Limit::new(1);
        assert_eq!(show(&mut limit, 1_000), "last");
        assert_eq!(show(&mut limit, 1_001), "-");
        assert_eq!(show(&mut limit, 10), "2 since 10");
        assert_eq!(show(&mut limit, 11), "-");
    }
}
