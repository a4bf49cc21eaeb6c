//! The plan of one seed: the pool's settings and the operations.
//!
//! Each seed draws a mix first: how often each kind of operation comes, and which never do (a swarm
//! of narrow tests finds more than one broad one), how tasks behave and how far apart times lie.

use super::op::{Blueprint, ClientOp, MYSELF, Op, Script, TimerScript, When};
use super::prng::Prng;
use super::words::{Rhythm, Shape};
use scheduler_core::ShutdownPolicy;

pub(crate) const NEAR: u64 = 1_000;
pub(crate) const EQUAL: u64 = 1_000_000;
pub(crate) const FAR: u64 = 3_600_000_000_000;
const SECOND: i64 = 1_000_000_000;

/// The first reading of the wall clock: 2026-01-01.
pub(crate) const WALL_START: i64 = 1_767_225_600 * SECOND;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) settings: Settings,
    pub(crate) ops: Vec<Op>,
}

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) core_size: usize,
    pub(crate) keep_alive: u64,
    pub(crate) core_may_time_out: bool,
    pub(crate) removes_on_cancel: bool,
    pub(crate) policy: ShutdownPolicy,
    /// True if the pool discards the tasks that it refuses, instead of returning an error.
    pub(crate) discards: bool,
    /// True if the pool ends by being dropped.
    pub(crate) ends_by_drop: bool,
    /// True if, at the end, all tasks are cancelled before the pool is stopped.
    pub(crate) cancels_at_end: bool,
    pub(crate) slack: u64,
    pub(crate) wake_latency: u64,
}

/// The relative frequency of each kind of operation.
struct Mix {
    weights: [u64; KINDS.len()],
    percent: Percent,
    /// The delays of this seed, and how time moves.
    delays: Vec<u64>,
    strides: Vec<u64>,
}

struct Percent {
    panics: u64,
    errors: u64,
    polls_max: u64,
    deeds: u64,
    bombs: u64,
}

#[derive(Clone, Copy)]
enum Kind {
    Work,
    OneShot,
    Recurring,
    Timer,
    Cancel,
    Wake,
    Queue,
    Held,
    Size,
    Policy,
    Time,
    Wall,
    Settle,
    Spurious,
    Refuse,
    Shutdown,
    End,
}

const KINDS: [(Kind, u64); 17] = [
    (Kind::Work, 400),
    (Kind::OneShot, 120),
    (Kind::Recurring, 50),
    (Kind::Timer, 80),
    (Kind::Cancel, 60),
    (Kind::Wake, 60),
    (Kind::Queue, 25),
    (Kind::Held, 20),
    (Kind::Size, 25),
    (Kind::Policy, 15),
    (Kind::Time, 80),
    (Kind::Wall, 30),
    (Kind::Settle, 30),
    (Kind::Spurious, 20),
    (Kind::Refuse, 8),
    (Kind::Shutdown, 6),
    (Kind::End, 3),
];

impl Plan {
    pub(crate) fn draw(seed: u64) -> Self {
        let mut prng = Prng::new(seed);
        let prng = &mut prng;
        let settings = Settings::draw(prng);
        let mix = Mix::draw(prng);
        let length = 30 + prng.below(60);
        let mut ops: Vec<Op> = (0..length).map(|_| mix.op(prng)).collect();
        if prng.chance(50) {
            mix.weave_requests(prng, &mut ops);
        }
        Self { settings, ops }
    }
}

impl Settings {
    fn draw(prng: &mut Prng) -> Self {
        let (slack, wake_latency) = match prng.below(4) {
            0 => (ease(prng), ease(prng)),
            1 => (0, ease(prng)),
            _ => (0, 0),
        };
        Self {
            core_size: prng.below(9) as usize,
            keep_alive: prng.pick(&[1, NEAR, EQUAL, FAR]),
            core_may_time_out: prng.chance(25),
            removes_on_cancel: prng.chance(70),
            policy: policy(prng),
            discards: prng.chance(30),
            ends_by_drop: prng.chance(20),
            cancels_at_end: prng.chance(50),
            slack,
            wake_latency,
        }
    }
}

impl Mix {
    fn draw(prng: &mut Prng) -> Self {
        let mut weights = KINDS.map(|(_, weight)| weight);
        for weight in &mut weights[1..] {
            // Off, rare, as usual, or often.
            *weight = *weight * prng.pick(&[0, 1, 4, 4, 8]) / 4;
        }
        let percent = Percent {
            panics: prng.pick(&[0, 0, 5, 30]),
            errors: prng.pick(&[0, 0, 5, 30]),
            polls_max: prng.pick(&[0, 1, 3]),
            deeds: prng.pick(&[0, 0, 10, 40]),
            bombs: prng.pick(&[0, 0, 0, 20]),
        };
        let delays = some(prng);
        // A simulation that has come to the end of time has nothing more to show.
        let strides = some(prng).into_iter().map(|stride| stride.min(24 * FAR)).collect();
        Self { weights, percent, delays, strides }
    }

    fn op(&self, prng: &mut Prng) -> Op {
        let mut left = prng.below(self.weights.iter().sum());
        let mut kinds = KINDS.iter().zip(self.weights);
        let kind = kinds.find_map(|((kind, _), weight)| {
            let is_it = left < weight;
            left = left.wrapping_sub(weight);
            is_it.then_some(*kind)
        });
        match kind.unwrap_or(Kind::Work) {
            Kind::Work => Op::Work(prng.draw()),
            Kind::Time if prng.chance(40) => Op::JumpToNext,
            Kind::Time => Op::Advance(prng.pick(&self.strides)),
            Kind::Wall if prng.chance(40) => Op::Suspend(prng.below(2 * FAR)),
            Kind::Wall => Op::StepWall(wall_step(prng)),
            Kind::Settle => Op::Settle,
            Kind::Spurious if prng.chance(30) => Op::FinishEarly(prng.draw()),
            Kind::Spurious => Op::SpuriousStep(prng.draw()),
            Kind::Refuse => Op::Refuse(1 + prng.below(3)),
            kind => Op::Client(self.client_op(kind, prng, true)),
        }
    }

    /// Puts futures between the other operations, and requests to stop their runs.
    fn weave_requests(&self, prng: &mut Prng, ops: &mut Vec<Op>) {
        let (tasks, requests) = (1 + prng.below(6), prng.below(16));
        let mut woven: Vec<ClientOp> = Vec::new();
        for _ in 0..tasks {
            let mut script = self.script(Shape::FallibleFuture, prng, true);
            script.is_bomb = false;
            if prng.chance(30) {
                let pick = if prng.chance(50) { MYSELF } else { prng.draw() };
                script.deed = Some(ClientOp::AskToStop(pick));
            }
            let period = prng.pick(&[1, NEAR, EQUAL, FAR]);
            let rhythm = if prng.chance(50) { Rhythm::Delay(period) } else { Rhythm::Once };
            let survives_failure = prng.chance(50);
            let shape = Shape::FallibleFuture;
            let blueprint = Blueprint { shape, rhythm, delay: 0, survives_failure, script };
            woven.push(ClientOp::Submit(Box::new(blueprint)));
        }
        woven.extend((0..requests).map(|_| ClientOp::AskToStop(prng.draw())));
        for op in woven {
            let place = prng.below(ops.len() as u64 + 1) as usize;
            ops.insert(place, Op::Client(op));
        }
    }

    fn client_op(&self, kind: Kind, prng: &mut Prng, may_nest: bool) -> ClientOp {
        match kind {
            Kind::Recurring | Kind::OneShot => {
                ClientOp::Submit(Box::new(self.blueprint(kind, prng, may_nest)))
            }
            Kind::Timer => self.timer_op(prng, may_nest),
            Kind::Cancel => ClientOp::Cancel { pick: prng.draw(), interrupts: prng.chance(30) },
            Kind::Wake => ClientOp::Wake { pick: prng.draw(), keeps_waker: prng.chance(50) },
            Kind::Queue if prng.chance(60) => ClientOp::Remove(prng.draw()),
            Kind::Queue => ClientOp::Purge,
            Kind::Held if prng.chance(50) && may_nest => ClientOp::RunHeld(prng.draw()),
            Kind::Held => ClientOp::DropHeld(prng.draw()),
            Kind::Size => size_op(prng),
            Kind::Policy if prng.chance(50) => ClientOp::SetRemoveOnCancel(prng.chance(50)),
            Kind::Policy => ClientOp::SetPolicy(policy(prng)),
            Kind::End if prng.chance(60) => ClientOp::ShutdownNow,
            Kind::End => ClientOp::DropPool,
            _ => ClientOp::Shutdown,
        }
    }

    fn blueprint(&self, kind: Kind, prng: &mut Prng, may_nest: bool) -> Blueprint {
        let shapes = [Shape::Closure, Shape::Fallible, Shape::FallibleFuture, Shape::Future];
        let is_once = matches!(kind, Kind::OneShot);
        let shape = prng.pick(if is_once { &shapes } else { &shapes[1..3] });
        let is_refused = prng.chance(2);
        let period = prng.pick(&[1, NEAR, EQUAL, EQUAL, FAR, u64::MAX]);
        let period = if is_refused { 0 } else { period };
        let rhythm = match kind {
            Kind::Recurring if prng.chance(50) => Rhythm::Delay(period),
            Kind::Recurring => Rhythm::Rate(period),
            _ => Rhythm::Once,
        };
        let mut script = self.script(shape, prng, may_nest);
        if is_once || is_refused {
            // The run of a one-shot drops its body. The other is refused as an argument, and then drops its body
            // in the client's hands.
            script.is_bomb = false;
        }
        let (delay, survives_failure) = (prng.pick(&self.delays), prng.chance(50));
        Blueprint { shape, rhythm, delay, survives_failure, script }
    }

    fn timer_op(&self, prng: &mut Prng, may_nest: bool) -> ClientOp {
        match prng.below(10) {
            0..3 if may_nest => {
                let does_deed = prng.chance(self.percent.deeds);
                let script = TimerScript {
                    seed: prng.draw(),
                    panics_percent: self.percent.panics,
                    rearms_percent: prng.pick(&[0, 30, 90]),
                    whens: (0..1 + prng.below(3)).map(|_| self.when(prng)).collect(),
                    deed: does_deed.then(|| self.deed(prng)),
                };
                ClientOp::MakeTimer(Box::new(script))
            }
            0..8 => ClientOp::Arm { pick: prng.draw(), when: self.when(prng) },
            _ => ClientOp::Disarm(prng.draw()),
        }
    }

    fn when(&self, prng: &mut Prng) -> When {
        match prng.below(10) {
            0..4 => When::In(prng.pick(&self.delays)),
            4 => When::Ago(prng.pick(&[1, NEAR, FAR])),
            5 => When::Same,
            6..8 => When::Wall(prng.pick(&[1, EQUAL as i64, SECOND, 60 * SECOND])),
            _ => When::Wall(wall_step(prng)),
        }
    }

    fn script(&self, shape: Shape, prng: &mut Prng, may_nest: bool) -> Script {
        let is_fallible = matches!(shape, Shape::Fallible | Shape::FallibleFuture);
        let is_future = matches!(shape, Shape::Future | Shape::FallibleFuture);
        let does_deed = may_nest && prng.chance(self.percent.deeds);
        let deed = does_deed.then(|| self.deed(prng));
        Script {
            seed: prng.draw(),
            panics_percent: self.percent.panics,
            errors_percent: if is_fallible { self.percent.errors } else { 0 },
            polls_max: if is_future { self.percent.polls_max } else { 0 },
            is_bomb: is_fallible && prng.chance(self.percent.bombs),
            deed,
        }
    }

    /// Draws an operation that a body or a timer performs on the pool from inside.
    fn deed(&self, prng: &mut Prng) -> ClientOp {
        let kinds = [
            (Kind::Timer, 4),
            (Kind::Cancel, 5),
            (Kind::OneShot, 5),
            (Kind::Wake, 2),
            (Kind::Queue, 2),
            (Kind::Held, 1),
            (Kind::Size, 2),
            (Kind::Policy, 2),
            (Kind::Shutdown, 1),
            (Kind::End, 2),
        ];
        let kinds: Vec<Kind> =
            kinds.iter().flat_map(|(kind, weight)| vec![*kind; *weight]).collect();
        match self.client_op(prng.pick(&kinds), prng, false) {
            ClientOp::Cancel { interrupts, .. } if prng.chance(50) => {
                ClientOp::Cancel { pick: MYSELF, interrupts }
            }
            other => other,
        }
    }
}

/// One to four of the times of interest.
fn some(prng: &mut Prng) -> Vec<u64> {
    let near = 1 + prng.below(NEAR);
    let all = [0, 1, near, NEAR, EQUAL, EQUAL, 2 * EQUAL, FAR, u64::MAX];
    let count = 1 + prng.below(4);
    let mut some: Vec<u64> = (0..count).map(|_| prng.pick(&all)).collect();
    some.push(EQUAL);
    some
}

/// By how much looks at the queue may be late.
fn ease(prng: &mut Prng) -> u64 {
    prng.pick(&[0, 1, NEAR, EQUAL, EQUAL / 3, FAR])
}

fn policy(prng: &mut Prng) -> ShutdownPolicy {
    ShutdownPolicy { continue_recurring: prng.chance(40), execute_delayed: prng.chance(60) }
}

fn wall_step(prng: &mut Prng) -> i64 {
    let size = prng.pick(&[1, 1_000_000, SECOND, 3_600 * SECOND]);
    let by = prng.below(2 * size as u64 + 1) as i64;
    if prng.chance(50) { by } else { -by }
}

fn size_op(prng: &mut Prng) -> ClientOp {
    match prng.below(10) {
        0..5 => ClientOp::SetCoreSize(prng.below(9) as usize),
        5..7 => ClientOp::SetKeepAlive(prng.pick(&[0, 1, NEAR, EQUAL, FAR])),
        7 => ClientOp::SetCoreMayTimeOut(prng.chance(50)),
        _ => ClientOp::Prestart,
    }
}
