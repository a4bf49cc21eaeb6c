//! Many seeds on two threads; a failing one is shortened and printed.
#![expect(clippy::print_stderr, reason = "the test prints a failing seed")]

use super::op::Op;
use super::plan::Plan;
use super::plant::Plant;
use super::verdict::{Invariant, Violation};
use super::world::World;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Every so many seeds, one is run twice.
const TWICE: u64 = 1_000;

/// The number of seeds unless `TEST_SIM_SEEDS` sets another, as in `ci/simulation.sh`.
const SEEDS: u64 = 5_000;

const THREADS: u64 = 2;

/// The figures of a seed that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Played {
    pub(crate) digest: u64,
    pub(crate) tasks: u64,
    pub(crate) runs: u64,
    pub(crate) ops: u64,
}

/// Plays one plan, and says what it did.
pub(crate) fn play(plan: &Plan, plant: Option<Plant>) -> Result<Played, Box<Violation>> {
    played_world(plan, plant).map(|world| Played {
        digest: world.digest,
        tasks: world.tallies.len() as u64,
        runs: world.runs,
        ops: plan.ops.len() as u64,
    })
}

/// Plays one plan; a panic that comes out of the engine is a violation, too.
pub(crate) fn played_world(plan: &Plan, plant: Option<Plant>) -> Result<World, Box<Violation>> {
    let played = catch_unwind(AssertUnwindSafe(|| {
        let mut world = World::new(&plan.settings, plant);
        world.play(plan).map(|()| world)
    }));
    played.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let detail = text.unwrap_or_default();
        Err(Box::new(Violation { invariant: Invariant::NoPanic, detail }))
    })
}

/// Leaves out operations, ever fewer at a time, as long as the same invariant is violated.
pub(crate) fn shrink(plan: &Plan, invariant: Invariant, plant: Option<Plant>) -> Plan {
    let mut plan = plan.clone();
    let fails = |ops: &[Op]| {
        let shorter = Plan { settings: plan.settings.clone(), ops: ops.to_vec() };
        play(&shorter, plant).is_err_and(|violation| violation.invariant == invariant)
    };
    let mut ops = plan.ops.clone();
    let mut chunk = ops.len().max(1);
    while chunk > 0 {
        let mut start = 0;
        while start < ops.len() {
            let mut shorter = ops.clone();
            shorter.drain(start..(start + chunk).min(ops.len()));
            if fails(&shorter) {
                ops = shorter;
            } else {
                start += chunk;
            }
        }
        chunk /= 2;
    }
    plan.ops = ops;
    plan
}

/// Runs one seed; the error is all there is to say about its failure.
fn play_and_check(seed: u64, is_twice: bool) -> Result<Played, String> {
    let plan = Plan::draw(seed);
    let violation = match play(&plan, None) {
        Ok(played) if is_twice && play(&plan, None).ok() != Some(played) => {
            return Err(format!("seed {seed} is not deterministic{}", replay(seed)));
        }
        Ok(played) => return Ok(played),
        Err(violation) => violation,
    };
    let short = shrink(&plan, violation.invariant, None);
    let last = play(&short, None).err();
    let last = last.map_or_else(String::new, |violation| violation.to_string());
    let ops: Vec<String> = short.ops.iter().map(|op| format!("    {op:?}")).collect();
    Err(format!(
        "seed {seed} violates {violation}\nwith {:?}, {} of {} operations are enough:\n{}\n{last}{}",
        plan.settings,
        short.ops.len(),
        plan.ops.len(),
        ops.join("\n"),
        replay(seed)
    ))
}

fn replay(seed: u64) -> String {
    format!(
        "\nto replay it:\n  TEST_SIM_SEED={seed} cargo test -p scheduler-core --release \
         --test simulation -- --nocapture\nto keep it, add `{seed}` to \
         scheduler-core/tests/seeds.txt"
    )
}

/// The seeds that have failed once.
fn kept() -> Vec<u64> {
    let lines = include_str!("../seeds.txt").lines().map(|line| line.split('#').next());
    let seeds = lines.flatten().map(str::trim).filter(|line| !line.is_empty());
    seeds.map(|seed| seed.parse().expect("a line of seeds.txt is a number")).collect()
}

fn setting(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("`{name}` is `{value}`; it must be a number")))
}

#[test]
fn every_seed_keeps_every_invariant() {
    if let Some(seed) = setting("TEST_SIM_SEED") {
        match play_and_check(seed, true) {
            Ok(played) => eprintln!("seed {seed}: {played:?}\n{:#?}", Plan::draw(seed)),
            Err(report) => panic!("{report}"),
        }
        return;
    }
    for seed in kept() {
        play_and_check(seed, true).unwrap_or_else(|report| panic!("{report}"));
    }
    let first = setting("TEST_SIM_FIRST").unwrap_or(0);
    let count = setting("TEST_SIM_SEEDS").unwrap_or(SEEDS);
    let stop = AtomicBool::new(false);
    let total = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (from, to) = (count * thread / THREADS, count * (thread + 1) / THREADS);
                let stop = &stop;
                scope.spawn(move || sweep(first + from..first + to, stop))
            })
            .collect();
        let played: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        played.into_iter().fold(Played::default(), |sum, played| {
            let played = played.expect("a thread reports what it finds");
            let played = played.unwrap_or_else(|report| panic!("{report}"));
            sum.plus(played)
        })
    });
    eprintln!(
        "{count} seeds: {} operations, {} tasks, {} runs; 0 lost, 0 duplicated, 0 early, 0 overlapping",
        total.ops, total.tasks, total.runs
    );
}

fn sweep(seeds: std::ops::Range<u64>, stop: &AtomicBool) -> Result<Played, String> {
    let mut sum = Played::default();
    for seed in seeds {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let played = play_and_check(seed, seed % TWICE == 0);
        stop.fetch_or(played.is_err(), Ordering::Relaxed);
        sum = sum.plus(played?);
    }
    Ok(sum)
}

impl Played {
    fn plus(self, other: Self) -> Self {
        Self {
            digest: super::prng::hash(self.digest, other.digest),
            tasks: self.tasks + other.tasks,
            runs: self.runs + other.runs,
            ops: self.ops + other.ops,
        }
    }
}
