//! Many seeds, and planted bugs that the checkers have to find.
//!
//! A seed that fails is shortened, and reported with the command that replays it.
#![expect(clippy::print_stderr, reason = "the test prints a failing seed")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use chrono::TimeDelta;

use super::super::specification::setting;
use super::plan::{Op, Plan, Spec};
use super::world::{Plant, World, lock};
use crate::observe::{Event, EventKind, SkipReason, TaskSnapshot};
use crate::task::{Policy, Rule};
use scheduler_expr::Overlap;

/// The number of seeds without `TEST_SIM_SEEDS`, which `ci/simulation.sh` sets.
const SEEDS: u64 = 100;

/// Seeds that failed once. They run each time, before the others.
const KEPT: [u64; 9] = [1178, 4737, 6637, 23_268, 102_025, 147_024, 235_498, 246_622, 592_177];

/// Counts of a seed without a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Figures {
    starts: u64,
    skips: u64,
    failures: u64,
    ops: u64,
    /// The number of starts that came as shown before.
    shown: u64,
}

fn simulate(plan: &Plan, plant: Plant) -> Result<Figures, String> {
    let figures = catch_unwind(AssertUnwindSafe(|| simulate_whole(plan, plant)));
    figures.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    })
}

fn simulate_whole(plan: &Plan, plant: Plant) -> Result<Figures, String> {
    let mut world = World::new(plan.start, plan.workers);
    world.plant = plant;
    plan.tasks.iter().for_each(|spec| world.add(spec));
    let mut rests = |world: &World| {
        world.tasks.iter().for_each(|subject| lock(&subject.checker).rests());
    };
    world.pass(Duration::ZERO, &mut rests);
    for (number, op) in plan.ops.iter().enumerate() {
        world.perform(op, &mut rests);
        world.compare();
        world.fault().map_or(Ok(()), |fault| Err(format!("after {number}, {op:?}: {fault}")))?;
    }
    finish(&mut world, plan.scale)?;
    let sum = sum_of(&world, plan);
    world.end();
    Ok(sum)
}

fn sum_of(world: &World, plan: &Plan) -> Figures {
    let mut sum = Figures { ops: plan.ops.len() as u64, ..Figures::default() };
    for subject in &world.tasks {
        let tally = lock(&subject.checker).tally;
        sum.starts += tally.starts;
        sum.skips += tally.counters.skipped();
        sum.failures += tally.counters.failures();
        sum.shown += lock(&subject.checker).announced.kept;
    }
    sum
}

/// All tasks go on for a while, and then end.
fn finish(world: &mut World, scale: Duration) -> Result<(), String> {
    let tasks = world.tasks.len();
    let mut rests = |world: &World| {
        world.tasks.iter().for_each(|subject| lock(&subject.checker).rests());
    };
    (0..tasks).for_each(|task| world.perform(&Op::Resume(task), &mut rests));
    world.pass(scale * 10, &mut rests);
    (0..tasks).for_each(|task| world.perform(&Op::Cancel(task), &mut rests));
    world.pass(scale * 50, &mut rests);
    world.compare();
    world.fault().map_or(Ok(()), |fault| Err(format!("in the end: {fault}")))?;
    for (number, subject) in world.tasks.iter().enumerate() {
        let checker = lock(&subject.checker);
        if !checker.has_ended() || !checker.is_at_rest() {
            return Err(format!("task {number} does not end: {checker:?}"));
        }
    }
    Ok(())
}

/// Leaves out operations, ever fewer at a time, as long as something is wrong.
fn shrink(plan: &Plan, plant: Plant) -> Plan {
    let mut plan = plan.clone();
    let mut chunk = plan.ops.len().max(1);
    while chunk > 0 {
        let mut start = 0;
        while start < plan.ops.len() {
            let mut shorter = plan.clone();
            shorter.ops.drain(start..(start + chunk).min(plan.ops.len()));
            if simulate(&shorter, plant).is_err() {
                plan = shorter;
            } else {
                start += chunk;
            }
        }
        chunk /= 2;
    }
    plan
}

/// Simulates one seed; the error is all there is to say about its failure.
fn check(seed: u64) -> Result<Figures, String> {
    let plan = Plan::draw(seed);
    let figures = simulate(&plan, Plant::NONE);
    if seed.is_multiple_of(100) && simulate(&plan, Plant::NONE) != figures {
        return Err(format!("seed {seed} is not deterministic"));
    }
    let Err(fault) = figures else { return figures };
    let short = shrink(&plan, Plant::NONE);
    let last = simulate(&short, Plant::NONE).err().unwrap_or_default();
    let lines = |all: Vec<String>| all.join("\n  ");
    let tasks = lines(short.tasks.iter().map(|task| format!("{task:?}")).collect());
    let ops = lines(short.ops.iter().map(|op| format!("{op:?}")).collect());
    let (start, workers) = (short.start, short.workers);
    Err(format!(
        "seed {seed}: {fault}\n\nfrom {start}, {workers} workers\n  {tasks}\nthese are enough:\n  \
         {ops}\n{last}\nto replay it:\n  TEST_SIM_SEED={seed} \
         cargo test --release --lib simulation -- --nocapture"
    ))
}

#[test]
fn every_seed_keeps_every_invariant() {
    if let Some(seed) = setting("TEST_SIM_SEED") {
        let figures = check(seed).unwrap_or_else(|report| panic!("{report}"));
        eprintln!("seed {seed}: {figures:?}\n{:#?}", Plan::draw(seed));
        return;
    }
    let first = setting("TEST_SIM_FIRST").unwrap_or(0);
    let count = setting("TEST_SIM_SEEDS").unwrap_or(SEEDS);
    let mut sum = Figures::default();
    for seed in KEPT.into_iter().chain(first..first + count) {
        let figures = check(seed).unwrap_or_else(|report| panic!("{report}"));
        sum.starts += figures.starts;
        sum.skips += figures.skips;
        sum.failures += figures.failures;
        sum.ops += figures.ops;
        sum.shown += figures.shown;
    }
    eprintln!("{count} seeds: {sum:?}; 0 lost, 0 twice, 0 early, 0 overlapping");
    assert!(count < 100 || sum.starts > 0 && sum.skips > 0 && sum.failures > 0 && sum.shown > 0);
}

/// A bug is found when one of a few seeds fails.
fn check_found(what: &str, told: fn(&Event) -> usize) {
    let plant = Plant { told, ..Plant::NONE };
    let found = (0..300).any(|seed| simulate(&Plan::draw(seed), plant).is_err());
    assert!(found, "no check notices {what}");
}

/// The same for a wrong rule or policy: the message names the fault.
fn check_told(what: &str, taken_for: fn(&Spec) -> (Rule, Policy)) {
    let plant = Plant { taken_for, ..Plant::NONE };
    let faults = (0..300).filter_map(|seed| simulate(&Plan::draw(seed), plant).err());
    let faults: Vec<_> = faults.take(20).collect();
    assert!(
        faults.iter().any(|fault| fault.contains(what)),
        "no check notices `{what}`: {faults:#?}"
    );
}

/// The same of what is shown.
fn check_seen(what: &str, shown: fn(&mut TaskSnapshot)) {
    let plant = Plant { shown, ..Plant::NONE };
    let found = (0..300).any(|seed| simulate(&Plan::draw(seed), plant).is_err());
    assert!(found, "no check notices {what}");
}

#[test]
fn a_shown_start_that_does_not_come_is_found() {
    check_seen("the end of a pause as the next start", |shown| {
        shown.next = shown.paused_until.or(shown.next);
    });
    check_seen("a pause with an end as one without", |shown| {
        shown.next = shown.next.filter(|_| !shown.is_paused);
    });
    check_seen("the next start of a busy task as that of the run in progress", |shown| {
        shown.next = shown.running_since.or(shown.next);
    });
    check_seen("what comes during a run, and later than it does", |shown| {
        let is_busy = shown.running > 0;
        shown.next = shown.next.map(|at| if is_busy { at + TimeDelta::nanoseconds(1) } else { at });
    });
    check_seen("what a pause has passed over as what would run", |shown| {
        shown.would_run_at = shown.would_run_at.and(shown.paused_since);
    });
}

/// The rule whose fire times come one nanosecond later.
fn later(rule: &Rule) -> Rule {
    let by = Duration::from_nanos(1);
    match rule.clone() {
        Rule::FixedRate { period, initial_delay } => {
            let initial_delay = Some(initial_delay.unwrap_or_default() + by);
            Rule::FixedRate { period, initial_delay }
        }
        Rule::FixedDelay { delay, initial_delay } => {
            Rule::FixedDelay { delay: delay + by, initial_delay }
        }
        Rule::Once { delay } => Rule::Once { delay: delay + by },
        other => other,
    }
}

#[test]
fn runs_that_are_early_or_overlap_are_found() {
    for what in ["is not on the grid", "follows from the last run"] {
        check_told(what, |spec| (later(&spec.rule), spec.policy.clone()));
    }
    check_told("it overlaps", |spec| {
        (spec.rule.clone(), Policy { overlap: Overlap::Skip, ..spec.policy.clone() })
    });
}

#[test]
fn bugs_that_are_planted_are_found() {
    fn third(event: &Event) -> bool {
        matches!(&event.kind, EventKind::RunStarted { run, .. } | EventKind::RunFinished { run, .. }
            if run.number == 3)
    }
    fn start(event: &Event) -> bool {
        matches!(event.kind, EventKind::RunStarted { .. })
    }
    fn skip(event: &Event, wanted: SkipReason) -> bool {
        matches!(event.kind, EventKind::Skipped { reason, .. } if reason == wanted)
    }
    check_found("a run that is lost", |event| usize::from(!third(event)));
    check_found("a run that comes twice", |event| 1 + usize::from(third(event) && start(event)));
    check_found("an end that comes twice", |event| 1 + usize::from(third(event) && !start(event)));
    check_found("an overlap that is not told", |event| {
        usize::from(!skip(event, SkipReason::Overlap))
    });
    check_found("a misfire that is told twice", |event| {
        1 + usize::from(skip(event, SkipReason::Misfire))
    });
    check_found("what a pause skips in silence", |event| {
        usize::from(!skip(event, SkipReason::Paused))
    });
    check_found("what a new rule skips in silence", |event| {
        usize::from(!skip(event, SkipReason::Rescheduled))
    });
    check_found("an end of a task in silence", |event| {
        usize::from(!matches!(event.kind, EventKind::TaskEnded { .. }))
    });
    check_found("a pause in silence", |event| {
        usize::from(!matches!(event.kind, EventKind::Paused { .. }))
    });
    check_found("an attempt that failed in silence", |event| {
        usize::from(!matches!(event.kind, EventKind::AttemptFailed { .. }))
    });
    check_found("an attempt that failed twice", |event| {
        1 + usize::from(matches!(event.kind, EventKind::AttemptFailed { .. }))
    });
    check_found("the end of a pause in silence", |event| {
        usize::from(!matches!(event.kind, EventKind::Resumed { .. }))
    });
    check_found("a new rule in silence", |event| {
        usize::from(!matches!(event.kind, EventKind::Rescheduled { .. }))
    });
    check_found("a new rule that comes twice", |event| {
        1 + usize::from(matches!(event.kind, EventKind::Rescheduled { .. }))
    });
}
