//! The history of a seed: a task, and the operations on it.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use super::model::{MILLI, Nanos, SECOND};
use super::rules::Rule;
use super::wall_of;
use crate::task::policy::Policy;
use crate::task::tests::random::Random;
use scheduler_expr::{Misfire, Overlap};

/// True if the wall clock is set meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clocks {
    GoOn,
    AreSet,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Pass(u64),
    /// No worker takes a step.
    Stall(u64),
    Pause,
    /// Up to so many steps from now.
    PauseFor(Nanos),
    Resume,
    RunNow,
    Reschedule(Rule),
    /// Sets the wall clock by so many steps. Forward is what a machine does that was suspended, too.
    SetWall(Nanos),
}

#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) seed: u64,
    pub(super) rule: Rule,
    pub(super) policy: Policy,
    pub(super) clocks: Clocks,
    /// One step of time.
    pub(super) unit: Nanos,
    pub(super) workers: usize,
    /// The most steps of a run.
    pub(super) longest: u64,
    /// One of so many runs is refused by a gate.
    pub(super) refused: u64,
    pub(super) ops: Vec<Op>,
}

impl History {
    pub(super) fn draw(seed: u64, clocks: Clocks) -> Self {
        let mut random = Random::new(seed);
        let is_coarse = clocks == Clocks::AreSet || random.once_in(3);
        let unit = if is_coarse { SECOND / 2 } else { MILLI };
        let is_jittered = clocks == Clocks::GoOn && random.once_in(4);
        let with = With { clocks, unit, is_jittered };
        let mut history = Self {
            seed,
            rule: with.rule(&mut random, true),
            policy: with.policy(&mut random),
            clocks,
            unit,
            workers: random.pick(&[1, 1, 2, 2, 64]),
            longest: random.pick(&[1, 3, 8, 8, 30]),
            refused: random.pick(&[u64::MAX, u64::MAX, 4]),
            ops: Vec::new(),
        };
        history.ops = (0..3 + random.below(14)).map(|_| with.op(&mut random)).collect();
        history
    }

    /// The number of steps of the run for a fire time, and true if a gate refuses it.
    pub(super) fn run(&self, at: Nanos, is_manual: bool) -> (u64, bool) {
        let at = if is_manual { !at } else { at };
        let mut random = Random::new(self.seed ^ at.cast_unsigned());
        let takes = if random.once_in(3) { 0 } else { random.below(self.longest) };
        (takes, random.once_in(self.refused))
    }
}

/// The bounds within which a history is drawn.
#[derive(Clone, Copy)]
struct With {
    clocks: Clocks,
    unit: Nanos,
    is_jittered: bool,
}

impl With {
    fn units(self, random: &mut Random, limit: u64) -> Nanos {
        Nanos::try_from(random.below(limit)).expect("few") * self.unit
    }

    fn rule(self, random: &mut Random, is_first: bool) -> Rule {
        let period = self.units(random, 7) + 2 * self.unit;
        let first = random.pick(&[0, period, period, 3 * self.unit]);
        let is_by_wall = self.unit > MILLI && !self.is_jittered;
        let is_cron = is_by_wall && (random.once_in(3) || self.clocks == Clocks::AreSet);
        match random.below(if is_first { 12 } else { 10 }) {
            0..6 if is_cron => Rule::Cron { every: random.pick(&[1, 1, 2, 5]) },
            6 if !is_first => Rule::Once { first },
            7 if is_by_wall => Rule::At(self.units(random, 60)),
            8 | 9 => Rule::Delay { delay: period, first },
            10 if is_first => Rule::Once { first },
            _ => Rule::Rate { period, first },
        }
    }

    fn policy(self, random: &mut Random) -> Policy {
        let overlap = random.pick(&[Overlap::Skip, Overlap::QueueOne, Overlap::Allow]);
        let is_until = self.clocks == Clocks::GoOn && random.once_in(6);
        let max = random.pick(&[0, 1, 2, 3]);
        let jitter = self.units(random, 2) + self.units(random, 4) / 4 + 1;
        let max_runs = random.once_in(6).then(|| 1 + random.below(6));
        Policy {
            overlap,
            misfire: random.pick(&[Misfire::RunOnce, Misfire::Skip, Misfire::CatchUp]),
            jitter: Duration::from_nanos(if self.is_jittered { jitter.unsigned_abs() } else { 0 }),
            until: is_until.then(|| wall_of(self.units(random, 60))),
            max_runs: max_runs.and_then(NonZeroU64::new),
            max_concurrent: NonZeroU32::new(max).filter(|_| overlap == Overlap::Allow),
            ..Policy::default()
        }
    }

    fn op(self, random: &mut Random) -> Op {
        match random.below(24) {
            0..8 => Op::Pass(1 + random.below(14)),
            8..11 => Op::Stall(1 + random.below(12)),
            11 if self.unit > MILLI && random.once_in(3) => Op::Stall(118 + random.below(10)),
            12 | 13 => Op::Pause,
            14 | 15 => Op::PauseFor(self.units(random, 14) - 2 * self.unit),
            16 | 17 => Op::Resume,
            18 | 19 => Op::RunNow,
            20 => Op::Reschedule(self.rule(random, false)),
            21.. if self.clocks == Clocks::AreSet => {
                Op::SetWall(self.units(random, 60) - 30 * self.unit)
            }
            _ => Op::Pass(1 + random.below(3)),
        }
    }
}
