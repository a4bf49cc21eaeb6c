//! Few tasks and very many fire times: simulated years with changes of the clocks, steps and suspends.
//!
//! `TEST_SOAK_FIRINGS=1000000000 cargo test --release --lib soak -- --nocapture` is the deep tier;
//! two worlds are simulated at once, and each is followed by another when it is three years old.
//! `TEST_SOAK_SEED=27`, instead, simulates one world.
#![expect(clippy::print_stderr, reason = "the test prints figures")]

use std::time::Duration;
use std::{fs, thread};

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::{Clock, SystemClock, Tick};

use super::super::specification::setting;
use super::plan::{Op, Spec, draw_trigger};
use super::world::{World, lock};
use crate::run::task::tests::random::Random;
use crate::run::task::{Policy, Retry, Rule};
use scheduler_expr::OnError;

/// How many runs start unless `TEST_SOAK_FIRINGS` says otherwise, as `ci/simulation.sh` does.
const FIRINGS: u64 = 10_000;

const THREADS: u64 = 2;

/// A world ends with this age, or after so many runs.
const YEARS: Duration = Duration::from_secs(3 * 365 * 86_400);
const FIRINGS_OF_A_WORLD: u64 = 20_000_000;

/// At so many instants of rest, once it is looked whether anything is overdue.
const LOOKS: u64 = 64;

/// What has happened in the worlds of one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    worlds: u64,
    tasks: u64,
    firings: u64,
    skips: u64,
    failures: u64,
    clock_steps: u64,
    simulated: Duration,
}

impl Sum {
    fn plus(self, other: Self) -> Self {
        Self {
            worlds: self.worlds + other.worlds,
            tasks: self.tasks + other.tasks,
            firings: self.firings + other.firings,
            skips: self.skips + other.skips,
            failures: self.failures + other.failures,
            clock_steps: self.clock_steps + other.clock_steps,
            simulated: self.simulated + other.simulated,
        }
    }
}

fn draw_task(random: &mut Random, scale: Duration) -> Spec {
    let mut spec = Spec::draw(random, scale);
    if matches!(spec.rule, Rule::Once { .. }) {
        spec.rule = Rule::Cron(draw_trigger(random, scale).into());
    }
    // Most runs are brief, and a task goes on for ever.
    if !random.once_in(4) {
        spec.acts.longest = Duration::ZERO;
    }
    spec.acts.failing = 200;
    let retry = Retry { max: spec.policy.retry.max.min(1), ..spec.policy.retry };
    spec.policy = Policy { on_error: OnError::Continue, retry, ..spec.policy };
    spec
}

fn draw_op(random: &mut Random, scale: Duration, tasks: u64) -> Op {
    let by = random.length(scale * 20) + Duration::from_secs(1);
    let task = usize::try_from(random.below(tasks)).expect("few");
    match random.below(12) {
        0 => Op::Suspend(by),
        1 => Op::StepWall(TimeDelta::from_std(by).expect("hours")),
        2 => Op::StepWall(-TimeDelta::from_std(by).expect("hours")),
        3 => Op::Stall(by),
        4 => Op::RunNow(task),
        5 => Op::PauseFor(task, by),
        6 => Op::CancelRun(task),
        7 => Op::Resume(task),
        _ => Op::Pass(by),
    }
}

fn starts_of(world: &World) -> u64 {
    world.tasks.iter().map(|subject| lock(&subject.checker).tally.starts).sum()
}

/// Simulates one world, up to a number of runs.
fn live(seed: u64, firings: u64) -> Result<Sum, String> {
    let mut random = Random::new(seed);
    let scale = Duration::from_secs(random.pick(&[1, 60, 60, 3_600]));
    let first: DateTime<Utc> = "1995-01-01T00:00:00Z".parse().expect("an instant");
    let start = first + TimeDelta::days(i64::try_from(random.below(33_000)).expect("a century"));
    let mut world = World::new(start, 1 + usize::try_from(random.below(4)).expect("few"));
    let tasks = 4 + random.below(9);
    (0..tasks).for_each(|_| world.add(&draw_task(&mut random, scale)));
    let (end, mut looks, mut clock_steps) = (Tick::ZERO + YEARS, 0_u64, 0);
    while world.clock.now() < end && starts_of(&world) < firings {
        let mut rests = |world: &World| {
            looks += 1;
            if looks.is_multiple_of(LOOKS) {
                world.tasks.iter().for_each(|subject| lock(&subject.checker).rests());
            }
        };
        world.pass(scale * 50 + random.length(scale * 200), &mut rests);
        let op = draw_op(&mut random, scale, tasks);
        clock_steps += u64::from(matches!(op, Op::Suspend(_) | Op::StepWall(_)));
        world.perform(&op, &mut rests);
        world.fault().map_or(Ok(()), |fault| Err(format!("seed {seed}, after {op:?}: {fault}")))?;
    }
    world.compare();
    world.fault().map_or(Ok(()), |fault| Err(format!("seed {seed}, what is shown: {fault}")))?;
    let simulated = world.clock.now().since(Tick::ZERO);
    let mut sum = Sum { worlds: 1, tasks, simulated, clock_steps, ..Sum::default() };
    for subject in &world.tasks {
        let tally = lock(&subject.checker).tally;
        sum.firings += tally.starts;
        sum.skips += tally.counters.skipped();
        sum.failures += tally.counters.failures();
    }
    world.end();
    Ok(sum)
}

/// How much memory this process has, in KiB.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}

/// One world after the other.
fn soak(thread: u64, firings: u64, clock: &SystemClock) -> Result<Sum, String> {
    let (mut sum, mut told) = (Sum::default(), 0);
    while sum.firings < firings {
        let seed = 1_000_000 * thread + sum.worlds;
        let most = FIRINGS_OF_A_WORLD.min(firings / 8 + 1).min(firings - sum.firings);
        // Told at once: the other thread goes on, and its fault is worth as much.
        sum =
            sum.plus(live(seed, most).inspect_err(|fault| eprintln!("thread {thread}: {fault}"))?);
        if sum.firings * 10 / firings > told {
            told = sum.firings * 10 / firings;
            let seconds = clock.now().since(Tick::ZERO).as_secs();
            eprintln!("thread {thread}: {} after {seconds} s, {} KiB", sum.firings, resident());
        }
    }
    Ok(sum)
}

#[test]
fn years_of_firings_keep_every_invariant() {
    if let Some(seed) = setting("TEST_SOAK_SEED") {
        let sum = live(seed, FIRINGS_OF_A_WORLD).unwrap_or_else(|fault| panic!("{fault}"));
        eprintln!("seed {seed}: {sum:?}");
        return;
    }
    let firings = setting("TEST_SOAK_FIRINGS").unwrap_or(FIRINGS);
    let clock = SystemClock::new();
    // The first world shows how much memory one takes.
    live(0, 10_000).unwrap_or_else(|fault| panic!("{fault}"));
    let before = resident();
    let sum = thread::scope(|scope| {
        let simulate = |thread| {
            let clock = &clock;
            scope.spawn(move || soak(thread, firings / THREADS, clock))
        };
        let threads: Vec<_> = (0..THREADS).map(simulate).collect();
        let ends = threads.into_iter().map(|thread| thread.join().expect("it tells what it finds"));
        let (sums, faults): (Vec<_>, Vec<_>) = ends.partition(Result::is_ok);
        assert!(faults.is_empty(), "{faults:#?}");
        sums.into_iter().flatten().fold(Sum::default(), Sum::plus)
    });
    let (after, took) = (resident(), clock.now().since(Tick::ZERO));
    let years = sum.simulated.as_secs() / (365 * 86_400);
    let per_second = u128::from(sum.firings) * 1_000 / took.as_millis().max(1);
    eprintln!(
        "{sum:?}: {years} simulated years, {took:?}, {per_second} firings/s, {before} KiB \
         before and {after} KiB after; 0 lost, 0 duplicated, 0 early, 0 overlapping"
    );
    assert!(sum.firings + 1 >= firings && sum.skips > 0 && sum.clock_steps > 0);
}
