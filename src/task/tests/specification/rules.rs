//! The rules of the specification: each fire time after the other.

use std::time::Duration;

use scheduler_core::WallTime;

use super::model::{Instant, Item, Nanos, SECOND};
use super::wall_of;
use crate::task::fire_times::{JitterKind, SeededJitter};
use crate::task::rule::Rule as Written;
use crate::task::tests::stage;

/// A rule, with its first fire time counted from when the task begins to go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Rate {
        period: Nanos,
        first: Nanos,
    },
    Delay {
        delay: Nanos,
        first: Nanos,
    },
    Once {
        first: Nanos,
    },
    At(Nanos),
    /// All so many seconds.
    Cron {
        every: Nanos,
    },
}

/// The fire times of a rule that have not come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    rule: Rule,
    jitter: Duration,
    jitter_source: SeededJitter,
    /// Of rules on the monotonic clock and of one instant: the next one.
    next: Option<Nanos>,
    /// Of cron expressions: the next one is later.
    after: Nanos,
    number: u64,
}

impl Rule {
    pub(super) fn written(self) -> Written {
        let length = |nanos: Nanos| Duration::from_nanos(nanos.unsigned_abs());
        match self {
            Self::Rate { period, first } => {
                Written::FixedRate { period: length(period), initial_delay: Some(length(first)) }
            }
            Self::Delay { delay, first } => {
                Written::FixedDelay { delay: length(delay), initial_delay: Some(length(first)) }
            }
            Self::Once { first } => Written::Once { delay: length(first) },
            Self::At(at) => Written::At(WallTime::from(wall_of(at))),
            Self::Cron { every } => stage::cron(&format!("*/{every} * * * * *")),
        }
    }
}

impl Coming {
    pub(super) fn new(
        rule: Rule,
        jitter: Duration,
        jitter_source: SeededJitter,
        now: Instant,
    ) -> Self {
        let next = match rule {
            Rule::Rate { first, .. } | Rule::Delay { first, .. } | Rule::Once { first } => {
                Some(now.tick + first)
            }
            Rule::At(at) => Some(at),
            Rule::Cron { .. } => None,
        };
        Self { rule, jitter, jitter_source, next, after: now.wall, number: 0 }
    }

    /// The next fire time; of a cron expression the next one that is not taken.
    pub(super) fn next(&self, is_taken: impl Fn(Nanos) -> bool) -> Option<Item> {
        let at = match self.rule {
            Rule::Cron { every } => {
                let mut at = (self.after.div_euclid(SECOND) + 1) * SECOND;
                while (at / SECOND) % 60 % every != 0 || is_taken(at) {
                    at += SECOND;
                }
                at
            }
            _ => self.next?,
        };
        let draw = JitterKind::FireTime(self.number, 0);
        let jitter = self.jitter_source.part_of(self.jitter, draw);
        let due = at + Nanos::try_from(jitter.as_nanos()).expect("short");
        Some(Item { at, due, ready: None })
    }

    pub(super) fn has_come(&mut self, item: Item) {
        match self.rule {
            Rule::Rate { period, .. } => {
                self.next = Some(item.at + period);
                self.number += 1;
            }
            Rule::Cron { .. } => self.after = item.at,
            Rule::Delay { .. } | Rule::Once { .. } | Rule::At(_) => self.next = None,
        }
    }

    /// A run has ended after which a delay begins.
    pub(super) fn begin_anew(&mut self, now: Instant) {
        if let Rule::Delay { delay, .. } = self.rule {
            self.next = Some(now.tick + delay);
            self.number += 1;
        }
    }

    /// All up to an instant has come, or does not come.
    pub(super) fn has_come_until(&mut self, wall: Nanos) {
        self.after = self.after.max(wall);
    }

    /// The clock was set back.
    pub(super) fn look_anew(&mut self, wall: Nanos) {
        self.after = wall;
    }

    pub(super) fn is_by_wall(&self) -> bool {
        matches!(self.rule, Rule::Cron { .. } | Rule::At(_))
    }

    pub(super) fn is_once(&self) -> bool {
        matches!(self.rule, Rule::Once { .. } | Rule::At(_))
    }

    pub(super) fn is_delay(&self) -> bool {
        matches!(self.rule, Rule::Delay { .. })
    }

    pub(super) fn is_never_missed(&self) -> bool {
        self.is_once() || self.is_delay()
    }

    pub(super) fn has_same_calendar(&self, other: Rule) -> bool {
        self.rule == other && matches!(other, Rule::Cron { .. })
    }

    pub(super) fn period(&self) -> Option<Nanos> {
        match self.rule {
            Rule::Rate { period, .. } => Some(period),
            _ => None,
        }
    }
}
