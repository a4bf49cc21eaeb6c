//! A plan from a seed: start, workers, tasks and operations.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::trigger::{CronTrigger, DstGap, DstOverlap};

use super::runs::{Act, End};
use crate::task::tests::random::Random;
use crate::task::{Policy, Retry, Rule};
use scheduler_expr::{Misfire, OnError, Overlap};

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) start: DateTime<Utc>,
    pub(super) workers: usize,
    pub(super) scale: Duration,
    pub(super) tasks: Vec<Spec>,
    pub(super) ops: Vec<Op>,
}

/// One task.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) rule: Rule,
    pub(super) policy: Policy,
    pub(super) is_async: bool,
    pub(super) acts: Acts,
}

/// The source of the attempts of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acts {
    pub(super) seed: u64,
    pub(super) longest: Duration,
    /// One in so many fails, and one in so many panics.
    pub(super) failing: u64,
}

/// An operation on the clocks, on the pool, or on a task by its number.
#[derive(Clone)]
pub(super) enum Op {
    Pass(Duration),
    /// Time passes, and no worker takes a step.
    Stall(Duration),
    Suspend(Duration),
    StepWall(TimeDelta),
    Resize(usize),
    Pause(usize),
    PauseFor(usize, Duration),
    Resume(usize),
    RunNow(usize),
    CancelRun(usize),
    Reschedule(usize, Rule),
    Cancel(usize),
    Add(Spec),
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

const ZONES: [&str; 7] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
];

/// Shortly before a change of the clocks in one of the zones, and one quiet day.
const STARTS: [&str; 8] = [
    "2026-03-28T22:00:00Z",
    "2026-10-24T21:00:00Z",
    "2026-03-08T03:00:00Z",
    "2026-11-01T02:00:00Z",
    "2026-04-04T12:00:00Z",
    "2026-10-03T13:00:00Z",
    "2011-12-29T20:00:00Z",
    "2026-06-10T07:59:58Z",
];

const EVERY_SECOND: [&str; 4] = ["* * * * * *", "*/2 * * * * *", "*/7 * * * * *", "5/20 * * * * *"];
const EVERY_MINUTE: [&str; 4] =
    ["0 * * * * *", "30 */2 * * * *", "0 */5 * * * *", "15,45 * * * * *"];
const EVERY_HOUR: [&str; 8] = [
    "0 0 * * * *",
    "0 30 2 * * *",
    "0 0 9 * * MON-FRI",
    "0 15 */6 * * *",
    "0 30 1 * * SUN",
    "0 0 0 L * *",
    "0 0/20 1-3 * * *",
    "0 0 0 * * *",
];

impl Plan {
    pub(super) fn draw(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let scale = random.pick(&[SECOND, MINUTE, HOUR]);
        let tasks = (0..1 + random.below(4)).map(|_| Spec::draw(&mut random, scale)).collect();
        let start: DateTime<Utc> = random.pick(&STARTS).parse().expect("an instant");
        let mut plan = Self {
            start: start + random.length(scale),
            workers: 1 + usize::try_from(random.below(4)).expect("few"),
            scale,
            tasks,
            ops: Vec::new(),
        };
        // In some seeds no clock is set, and in some no command comes.
        let (are_clocks_set, is_controlled) = (random.once_in(2), !random.once_in(4));
        let (mut tasks, mut back) = (plan.tasks.len(), 3);
        for _ in 0..3 + random.below(25) {
            let op = match random.below(30) {
                0..13 => Op::Pass(random.length(scale * 8)),
                13 | 14 => Op::Stall(random.length(scale * 6)),
                15 | 16 if are_clocks_set => Op::draw_clock(&mut random, scale, &mut back),
                17.. if is_controlled => Op::draw_control(&mut random, scale, &mut tasks),
                _ => Op::Pass(random.length(scale)),
            };
            plan.ops.push(op);
        }
        plan
    }
}

impl Op {
    fn draw_clock(random: &mut Random, scale: Duration, back: &mut u64) -> Self {
        let by = random.length(scale * 20);
        match random.below(3) {
            0 => Self::Suspend(by),
            1 if *back > 0 && by > SECOND => {
                *back -= 1;
                Self::StepWall(-TimeDelta::from_std(by).expect("hours"))
            }
            _ => Self::StepWall(TimeDelta::from_std(by).expect("hours")),
        }
    }

    fn draw_control(random: &mut Random, scale: Duration, tasks: &mut usize) -> Self {
        let task = usize::try_from(random.below(*tasks as u64)).expect("few");
        match random.below(16) {
            0 | 1 => Self::Pause(task),
            2 => Self::PauseFor(task, random.length(scale * 4)),
            3..6 => Self::Resume(task),
            6..9 => Self::RunNow(task),
            9 | 10 => Self::CancelRun(task),
            11 => Self::Cancel(task),
            12 | 13 => Self::Reschedule(task, draw_rule(random, scale)),
            14 => Self::Resize(1 + usize::try_from(random.below(4)).expect("few")),
            _ => {
                *tasks += 1;
                Self::Add(Spec::draw(random, scale))
            }
        }
    }
}

impl Spec {
    pub(super) fn draw(random: &mut Random, scale: Duration) -> Self {
        let longest = random.pick(&[Duration::ZERO, scale / 3, scale * 3 / 2, scale * 4]);
        let retry = Retry::new(random.pick(&[0, 0, 1, 3])).base(scale / 3).cap(scale);
        // Never as long as a run, which takes whole milliseconds.
        let odd = Duration::from_micros(300);
        let timeout = random.once_in(3).then(|| random.length(scale * 2) + odd);
        let policy = Policy {
            overlap: random.pick(&[Overlap::Skip, Overlap::QueueOne, Overlap::Allow]),
            misfire: random.pick(&[Misfire::RunOnce, Misfire::Skip, Misfire::CatchUp]),
            jitter: random.pick(&[Duration::ZERO, Duration::ZERO, scale / 3]),
            timeout,
            retry,
            on_error: random.pick(&[OnError::Continue, OnError::Continue, OnError::Stop]),
            seed: random.next(),
            ..Policy::default()
        };
        let is_limited = policy.overlap == Overlap::Allow && policy.seed.is_multiple_of(2);
        let max_concurrent = NonZeroU32::new(2).filter(|_| is_limited);
        let policy = Policy { max_concurrent, ..policy };
        let acts = Acts { seed: random.next(), longest, failing: random.pick(&[3, 20]) };
        Self { rule: draw_rule(random, scale), policy, is_async: random.once_in(2), acts }
    }
}

pub(super) fn draw_rule(random: &mut Random, scale: Duration) -> Rule {
    let initial_delay = random.pick(&[None, Some(scale / 2), Some(scale * 3)]);
    let length = random.pick(&[scale, scale * 2, scale * 3 / 2, scale / 2]);
    match random.below(8) {
        0..3 => Rule::FixedRate { period: length, initial_delay },
        3..6 => Rule::Cron(Arc::new(draw_trigger(random, scale))),
        6 => Rule::FixedDelay { delay: length, initial_delay },
        _ => Rule::Once { delay: initial_delay.unwrap_or_default() + length },
    }
}

pub(super) fn draw_trigger(random: &mut Random, scale: Duration) -> CronTrigger {
    let expression = match scale {
        SECOND => random.pick(&EVERY_SECOND),
        MINUTE => random.pick(&EVERY_MINUTE),
        _ => random.pick(&EVERY_HOUR),
    };
    let zone = random.pick(&ZONES).parse().expect("a zone");
    let trigger = CronTrigger::new(expression.parse().expect("an expression"), zone);
    let trigger = trigger.dst_gap(random.pick(&[DstGap::Skip, DstGap::RunAfter]));
    trigger.dst_overlap(random.pick(&[DstOverlap::Both, DstOverlap::First, DstOverlap::Last]))
}

impl Acts {
    pub(super) fn of(&self, number: u64, attempt: u32) -> Act {
        let mut random = Random::new(self.seed ^ number.rotate_left(20) ^ u64::from(attempt));
        let is_short = self.longest.is_zero() || random.once_in(2);
        let takes = if is_short { Duration::ZERO } else { random.length(self.longest) };
        let end = match random.below(self.failing * 2) {
            0 => End::Fails,
            1 => End::Panics,
            _ => End::Succeeds,
        };
        Act { takes, end }
    }
}

/// In a line, because there are many.
impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, policy, is_async, acts } = self;
        write!(f, "{rule}, async: {is_async}, {policy:?}, {acts:?}")
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass(length) => write!(f, "pass {length:?}"),
            Self::Stall(length) => write!(f, "stall {length:?}"),
            Self::Suspend(length) => write!(f, "suspend {length:?}"),
            Self::StepWall(by) => write!(f, "step the wall clock by {by}"),
            Self::Resize(workers) => write!(f, "have {workers} workers"),
            Self::Pause(task) => write!(f, "pause {task}"),
            Self::PauseFor(task, length) => write!(f, "pause {task} for {length:?}"),
            Self::Resume(task) => write!(f, "resume {task}"),
            Self::RunNow(task) => write!(f, "run {task} now"),
            Self::CancelRun(task) => write!(f, "cancel the run of {task}"),
            Self::Reschedule(task, rule) => write!(f, "reschedule {task}: {rule}"),
            Self::Cancel(task) => write!(f, "cancel {task}"),
            Self::Add(spec) => write!(f, "add {spec:?}"),
        }
    }
}
