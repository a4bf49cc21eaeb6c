//! The ticks of a rule.

use std::time::Duration;

use scheduler_store::{Next, StoreTime, StoredSchedule, Timing, micros};

use crate::rule::Rules;

/// The ticks of a rule: what comes after an instant, what came last before one, and how many lie between.
pub(crate) enum Sequence<'a> {
    /// Every period from an anchor.
    Rate { anchor: i64, period: i64, until: StoreTime },
    /// Computed by the program.
    Computed { text: &'a str, rules: &'a dyn Rules },
    /// A single one, unless it is already decided.
    Single(Option<StoreTime>),
}

/// A count of skipped ticks of a computed rule that reaches this may be less than there were.
pub const COUNTED_MAX: u64 = 10_000;

impl<'a> Sequence<'a> {
    pub(crate) fn of(
        schedule: &'a StoredSchedule,
        rules: &'a dyn Rules,
        until: Option<StoreTime>,
    ) -> Self {
        let rule = schedule.rule();
        let next = match schedule.next {
            Next::At(tick) => Some(tick),
            _ => None,
        };
        match rule.timing {
            Timing::Computed => Self::Computed { text: &rule.text, rules },
            Timing::Rate { period, .. } => {
                let anchor = schedule.anchor.or(next).unwrap_or(schedule.cursor);
                let (anchor, period) = (anchor.as_micros(), micros(period).max(1));
                Self::Rate { anchor, period, until: until.unwrap_or(StoreTime::MAX) }
            }
            Timing::Delay { .. } | Timing::Once(_) | Timing::OnceAfter(_) => Self::Single(next),
        }
    }

    /// The first tick after an instant.
    pub(crate) fn first_after(&self, after: StoreTime) -> Option<StoreTime> {
        match *self {
            Self::Rate { anchor, period, until } => {
                let passed = passed(anchor, period, after);
                let tick = anchor.saturating_add(passed.saturating_mul(period));
                let tick = StoreTime::from_micros(tick);
                (after < tick && tick <= until).then_some(tick)
            }
            Self::Computed { text, rules } => match rules.next_after(text, after) {
                Next::At(tick) if after < tick => Some(tick),
                _ => None,
            },
            Self::Single(tick) => tick.filter(|tick| after < *tick),
        }
    }

    /// The last tick in `(from, until]`.
    pub(crate) fn last_in(&self, from: StoreTime, until: StoreTime) -> Option<StoreTime> {
        let mut last = self.first_after(from).filter(|tick| *tick <= until)?;
        if let Self::Rate { anchor, period, until: end } = *self {
            let passed = passed(anchor, period, until.min(end)) - 1;
            return Some(StoreTime::from_micros(anchor + passed * period));
        }
        // INVARIANT: `last` is a tick, and none is in `(end, until]`. The distance of the two is halved.
        let mut end = until;
        while last < end {
            let half = (end.as_micros() - last.as_micros()) / 2;
            let middle = StoreTime::from_micros(last.as_micros() + half);
            match self.first_after(middle).filter(|tick| *tick <= end) {
                Some(tick) => last = tick,
                None => end = middle,
            }
        }
        Some(last)
    }

    /// The number of ticks in `(from, until]`. Those of a computed rule are counted up to [`COUNTED_MAX`] and one that
    /// fires.
    pub(crate) fn count_in(&self, from: StoreTime, until: StoreTime) -> u64 {
        if until <= from {
            return 0;
        }
        if let Self::Rate { anchor, period, until: end } = *self {
            let passed = |at: StoreTime| passed(anchor, period, at.min(end));
            let count = passed(until) - passed(from);
            return count.try_into().unwrap_or(0);
        }
        let (mut at, mut count) = (from, 0);
        while count <= COUNTED_MAX
            && let Some(tick) = self.first_after(at).filter(|tick| *tick <= until)
        {
            (at, count) = (tick, count + 1);
        }
        count
    }
}

/// The number of ticks of a rate that have come by an instant.
fn passed(anchor: i64, period: i64, until: StoreTime) -> i64 {
    match until.as_micros().saturating_sub(anchor) {
        since if since < 0 => 0,
        since => since / period + 1,
    }
}

/// The smallest step of a store's clock.
pub(crate) const STEP: Duration = Duration::from_micros(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Policy;

    #[derive(Debug)]
    struct Bursts;

    /// Each microsecond from 0 to 9 of each thousand.
    impl Rules for Bursts {
        fn check(&self, _: &StoredSchedule) -> Result<(), String> {
            Ok(())
        }

        fn next_after(&self, _: &str, after: StoreTime) -> Next {
            let next = after.as_micros() + 1;
            let within = next.rem_euclid(1_000);
            Next::At(StoreTime::from_micros(match within {
                0..10 => next,
                _ => next - within + 1_000,
            }))
        }

        fn policy(&self, _: &StoredSchedule) -> Policy {
            Policy::default()
        }
    }

    #[test]
    fn last_and_count_agree_with_a_walk() {
        let at = StoreTime::from_micros;
        let bursts = Sequence::Computed { text: "", rules: &Bursts };
        let rate = |until| Sequence::Rate { anchor: 40, period: 7, until };
        for sequence in [bursts, rate(StoreTime::MAX), rate(at(1_001)), rate(at(0))] {
            for (from, until) in
                (0..60).flat_map(|from| (0..4_000).step_by(37).map(move |until| (from * 31, until)))
            {
                let mut walk = Vec::new();
                let mut tick = at(from);
                while let Some(next) = sequence.first_after(tick).filter(|next| *next <= at(until))
                {
                    walk.push(next);
                    tick = next;
                }
                let found = sequence.last_in(at(from), at(until));
                assert_eq!(found, walk.last().copied(), "({from}, {until}]");
                assert_eq!(sequence.count_in(at(from), at(until)), walk.len() as u64);
            }
        }
    }

    #[test]
    fn a_year_of_ticks_takes_no_walk() {
        let year = StoreTime::from_micros(365 * 86_400 * 1_000_000);
        let rate = Sequence::Rate { anchor: 0, period: 1_000, until: StoreTime::MAX };
        assert_eq!(rate.count_in(StoreTime::from_micros(0), year), 365 * 86_400 * 1_000);
        let bursts = Sequence::Computed { text: "", rules: &Bursts };
        assert_eq!(bursts.count_in(StoreTime::from_micros(0), year), COUNTED_MAX + 1);
        assert_eq!(bursts.last_in(StoreTime::from_micros(0), year), Some(year));
    }
}
