//! Limits messages by a token bucket, and counts the others.
//!
//! It goes by the times of the events, so that a simulated day is reported as a real one.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::trigger::Zone;

use crate::observe::instant;

/// The time after which the bucket gets new tokens.
const MINUTE: TimeDelta = TimeDelta::minutes(1);

/// A number of messages, or of fire times that a message is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) number: u64,
    /// True if there may be more.
    pub(super) at_least: bool,
}

/// The decision about one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// In full. `is_last` is true if it took the last token; `hidden` counts those that were hidden before it.
    InFull { is_last: bool, hidden: Option<Hidden> },
    /// As one of `count` since the last one shown, including this one.
    Summed { count: Count, since: DateTime<Utc> },
    /// Not at all; it is counted.
    Nothing,
}

/// Messages that were hidden, and the time of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hidden {
    pub(super) count: Count,
    pub(super) last: DateTime<Utc>,
}

/// A token bucket: each message that is shown takes a token, and those without one are counted.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    burst: u32,
    per_minute: u32,
    tokens: u32,
    refilled_at: DateTime<Utc>,
    /// When a message was shown last.
    shown_at: DateTime<Utc>,
    hidden: Option<Hidden>,
}

impl Limit {
    /// A limit of `burst` messages at once, and `per_minute` after them.
    pub(super) fn new(burst: u32, per_minute: u32) -> Self {
        let never = DateTime::UNIX_EPOCH;
        let (tokens, hidden) = (burst, None);
        Self { burst, per_minute, tokens, refilled_at: never, shown_at: never, hidden }
    }

    /// Returns when a message was shown last.
    pub(super) fn shown_at(&self) -> DateTime<Utc> {
        self.shown_at
    }

    /// Returns true if a message was shown less than a minute ago.
    pub(super) fn was_shown_lately(&self, at: DateTime<Utc>) -> bool {
        at >= self.shown_at && at - self.shown_at < MINUTE
    }

    /// Takes a token, or counts the message as hidden. Returns true if the message is to be shown.
    pub(super) fn take(&mut self, at: DateTime<Utc>, count: Count) -> bool {
        self.refill(at);
        if self.tokens == 0 {
            let before = self.hidden.map_or(Count::default(), |hidden| hidden.count);
            self.hidden = Some(Hidden { count: before.plus(count), last: at });
            return false;
        }
        self.tokens -= 1;
        self.shown_at = at;
        true
    }

    /// Decides for a message of now that stands for `count`.
    pub(super) fn ask(&mut self, at: DateTime<Utc>, count: Count) -> Show {
        let since = self.shown_at;
        if !self.take(at, count) {
            return Show::Nothing;
        }
        match self.take_hidden() {
            None => Show::InFull { is_last: self.tokens == 0, hidden: None },
            // It begins anew: a summary would spread the old ones over the time between.
            Some(hidden) if at - hidden.last >= MINUTE => {
                Show::InFull { is_last: false, hidden: Some(hidden) }
            }
            Some(hidden) => Show::Summed { count: hidden.count.plus(count), since: since.min(at) },
        }
    }

    /// A clock that was set back brings new tokens, too.
    fn refill(&mut self, at: DateTime<Utc>) {
        let passed = at - self.refilled_at;
        if passed < TimeDelta::zero() || passed >= MINUTE {
            let minutes = u32::try_from(passed.num_minutes().max(1)).unwrap_or(u32::MAX);
            let new = self.per_minute.saturating_mul(minutes);
            self.tokens = self.tokens.saturating_add(new).min(self.burst);
            self.refilled_at = at;
        }
    }

    /// Returns true if messages were hidden, and one may be shown now.
    pub(super) fn has_hidden(&mut self, at: DateTime<Utc>) -> bool {
        self.refill(at);
        self.hidden.is_some() && self.tokens > 0
    }

    /// Takes out the count of hidden messages, which the caller reports.
    pub(super) fn take_hidden(&mut self) -> Option<Hidden> {
        self.hidden.take()
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
        format!("{} more, the last at {}, were not reported", self.count, instant(self.last, zone))
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
        let mut limit = Limit::new(2, 1);
        let shown: Vec<String> = (0..=122).map(|second| show(&mut limit, second)).collect();
        assert_eq!(shown[..3], ["full", "last", "-"]);
        assert!(shown[2..60].iter().all(|shown| shown == "-"));
        assert_eq!(shown[60], "59 since 1");
        assert!(shown[61..120].iter().all(|shown| shown == "-"));
        assert_eq!(shown[120..], ["60 since 60", "-", "-"]);
    }

    #[test]
    fn rare_messages_are_shown_in_full() {
        let mut limit = Limit::new(2, 1);
        let shown: Vec<String> = (0..5).map(|day| show(&mut limit, day * 86_400)).collect();
        assert_eq!(shown, ["full"; 5]);
    }

    #[test]
    fn a_bucket_is_filled_once_a_minute() {
        let mut limit = Limit::new(1_000, 1_000);
        let mut shown = |second| (0..1_500).filter(|_| limit.take(at(second), Count::ONE)).count();
        assert_eq!([0, 59, 60, 61, 240].map(&mut shown), [1_000, 0, 1_000, 0, 1_000]);
        assert_eq!(limit.take_hidden().map(|hidden| hidden.count.number), Some(4_500));
        assert_eq!(limit.take_hidden(), None, "only once");
    }

    #[test]
    fn a_new_burst_is_not_summed_up_with_an_old_one() {
        let mut limit = Limit::new(1, 1);
        let shown: Vec<String> =
            [0, 10, 20, 79, 139, 200].map(|second| show(&mut limit, second)).into();
        let expected = ["last", "-", "-", "3 since 0", "last", "last"];
        assert_eq!(shown, expected);
        let mut limit = Limit::new(1, 1);
        let shown: Vec<String> =
            [0, 10, 20, 80, 81, 86_400].map(|second| show(&mut limit, second)).into();
        let expected =
            ["last", "-", "-", "full, 2 hidden until 20", "-", "full, 1 hidden until 81"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn messages_of_the_caller_are_not_summed_up() {
        let mut limit = Limit::new(1, 1);
        let shown = [0, 10, 20].map(|second| show(&mut limit, second));
        assert_eq!(shown, ["last", "-", "-"]);
        assert!(!limit.has_hidden(at(59)) && limit.has_hidden(at(60)));
        assert_eq!(limit.take_hidden().map(|hidden| hidden.count.number), Some(2));
        assert!(!limit.has_hidden(at(60)));
        assert_eq!(show(&mut limit, 70), "last");
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_silence_it() {
        let mut limit = Limit::new(1, 1);
        assert_eq!(show(&mut limit, 1_000), "last");
        assert_eq!(show(&mut limit, 1_001), "-");
        assert_eq!(show(&mut limit, 10), "2 since 10");
        assert_eq!(show(&mut limit, 11), "-");
    }
}
