//! Random histories against what must hold in every one of them.
//!
//! * No fire time starts twice.
//! * Every fire time up to the latest that is decided was started or skipped, or waits: none is lost.
//! * Runs do not overlap, unless `allow`.
//! * The start that is shown as next is in the future, or is due now.
//! * While paused nothing starts but manual runs.
//! * Nothing is different when nobody listens.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::sync::Mutex;

use super::random::Random;
use super::stage::*;
use crate::observe::{EventKind, TaskState};
use crate::run::Cause;
use crate::run::task::{Control, Policy, Retry, Rule};
use scheduler_expr::{Misfire, Overlap};

#[derive(Clone, Copy, Debug)]
enum Act {
    Pass(u64),
    Stall(u64),
    Suspend(u64),
    Pause,
    Resume,
    RunNow,
    CancelRun,
}

fn acts(random: &mut Random) -> Vec<Act> {
    let act = |random: &mut Random| match random.below(14) {
        0..6 => Act::Pass(1 + random.below(3_999)),
        6..8 => Act::Stall(1 + random.below(5_999)),
        8 => Act::Suspend(1 + random.below(8)),
        9 => Act::Pause,
        10..12 => Act::Resume,
        12 => Act::RunNow,
        _ => Act::CancelRun,
    };
    (0..=random.below(13)).map(|_| act(random)).collect()
}

fn policy(random: &mut Random) -> Policy {
    Policy {
        overlap: random.pick(&[Overlap::Skip, Overlap::QueueOne, Overlap::Allow]),
        misfire: random.pick(&[Misfire::RunOnce, Misfire::Skip, Misfire::CatchUp]),
        jitter: ms(random.pick(&[0, 0, 400])),
        retry: Retry::new(random.pick(&[0, 1, 2])).base(ms(700)),
        seed: random.next(),
        ..Policy::default()
    }
}

/// The rule, and the distance of its fire times in seconds.
fn rule(random: &mut Random) -> (Rule, i64) {
    match random.below(4) {
        0 => (rate(1_000), 1),
        1 => (rate(2_000), 2),
        2 => (cron("* * * * * *"), 1),
        _ => (cron("*/2 * * * * *"), 2),
    }
}

/// How long each run takes, one after the other, in milliseconds; every fourth fails.
fn plays(random: &mut Random) -> Vec<u64> {
    let play = |random: &mut Random| match random.below(6) {
        0..3 => 0,
        3..5 => 1 + random.below(1_499),
        _ => 1_500 + random.below(3_500),
    };
    (0..7).map(|_| play(random)).collect()
}

fn workers(random: &mut Random) -> usize {
    random.pick(&[1, 2, 3])
}

/// Plays the histories of many seeds; the message of a failure has the seed.
fn each(history: impl Fn(&mut Random)) {
    for seed in 0..300 {
        let play = AssertUnwindSafe(|| history(&mut Random::new(seed)));
        assert!(catch_unwind(play).is_ok(), "the history of seed {seed}");
    }
}

fn perform(stage: &mut Stage, control: &Control, act: Act) {
    let now = u64::try_from(stage.now().as_millis()).unwrap();
    match act {
        Act::Pass(by) => stage.until(now + by),
        Act::Stall(by) => stage.stall_until(now + by),
        // The grid of a rate does not move with the wall clock, by which this test measures.
        Act::Suspend(_) if !is_cron(&control.snapshot()) => {}
        Act::Suspend(seconds) => {
            stage.clock.suspend(s(seconds));
            stage.settle();
        }
        Act::Pause => drop(control.pause(&Pause::new())),
        Act::Resume => drop(control.resume()),
        Act::RunNow => drop(control.run_now()),
        Act::CancelRun => drop(control.cancel_run()),
    }
    stage.settle();
}

/// Checks what holds at any moment, and the events up to now.
fn check(stage: &Stage, control: &Control, policy: &Policy, distance: i64) {
    let snapshot = control.snapshot();
    let now = scheduler_core::Clock::wall(&stage.clock);
    if let Some(next) = snapshot.next {
        assert!(next >= now, "next {next} lies before {now}");
    }
    let is_manual = snapshot.next == Some(now);
    assert!(!snapshot.is_paused || snapshot.next.is_none() || is_manual, "a pause has no next");
    let events = stage.log.events.lock().unwrap();
    let (mut started, mut skipped, mut latest) = (BTreeSet::new(), 0, None);
    let (mut in_progress, mut is_paused) = (0_i64, false);
    for event in events.iter() {
        match &event.kind {
            EventKind::RunStarted { run, .. } if run.attempt == 1 => {
                if run.cause == Cause::Schedule {
                    assert!(!is_paused, "{run:?} started while paused");
                    assert!(started.insert(run.fire_time), "{run:?} started twice");
                    latest = latest.max(Some(run.fire_time));
                }
                in_progress += 1;
                let may_overlap = policy.overlap == Overlap::Allow;
                assert!(may_overlap || in_progress == 1, "{run:?} overlaps");
            }
            EventKind::RunFinished { .. } => in_progress -= 1,
            EventKind::Skipped { last: fire_time, count, .. } => {
                skipped += i64::try_from(*count).unwrap();
                latest = latest.max(Some(*fire_time));
            }
            EventKind::Paused { .. } => is_paused = true,
            EventKind::Resumed { .. } => is_paused = false,
            _ => {}
        }
    }
    let counters = snapshot.counters;
    assert_eq!(i64::try_from(counters.skipped()).unwrap(), skipped);
    if let Some(latest) = latest {
        let first = if is_cron(&snapshot) { distance } else { 0 };
        let all = ((latest - start()).num_seconds() - first) / distance + 1;
        let decided = i64::try_from(started.len()).unwrap() + skipped;
        let waiting = control.task.lock().planner.undecided_before(latest.into());
        let waiting = i64::try_from(waiting).unwrap();
        assert_eq!(decided + waiting, all, "fire times up to {}", seconds(latest));
    }
}

fn is_cron(snapshot: &crate::observe::TaskSnapshot) -> bool {
    snapshot.facts.rule.contains('*')
}

#[test]
fn every_history_keeps_to_the_rules() {
    each(|random| {
        let (rule, distance) = rule(random);
        let (policy, plays, acts) = (policy(random), plays(random), acts(random));
        let mut stage = Stage::with_workers(workers(random));
        let step = Arc::new(Mutex::new(0_usize));
        let control = stage.task(rule, policy.clone(), move |_| {
            let mut step = step.lock().unwrap();
            *step += 1;
            let takes = plays[*step % plays.len()];
            if step.is_multiple_of(4) { fails(takes) } else { ok(takes) }
        });
        stage.settle();
        for act in acts {
            perform(&mut stage, &control, act);
            check(&stage, &control, &policy, distance);
        }
        // In the end everything comes to rest.
        drop(control.resume());
        control.cancel().unwrap();
        let now = u64::try_from(stage.now().as_millis()).unwrap();
        stage.until(now + 100_000);
        assert_eq!(control.snapshot().state, TaskState::Cancelled);
        assert_eq!(control.snapshot().running, 0);
        let counters = control.snapshot().counters;
        let events = stage.log.events.lock().unwrap();
        let begun = events.iter().filter(
            |event| matches!(event.kind, EventKind::RunStarted { run, .. } if run.attempt == 1),
        );
        assert_eq!(begun.count() as u64, counters.runs);
    });
}

#[test]
fn nothing_is_different_when_nobody_listens() {
    each(|random| {
        let (rule, policy, plays) = (any_rule(random), short_policy(random), plays(random));
        let acts = (&*acts(random), workers(random));
        let heard = story(true, &rule, policy.clone(), &plays, acts);
        assert_eq!(heard, story(false, &rule, policy, &plays, acts));
    });
}

/// Also rules whose fire times are not on a grid.
fn any_rule(random: &mut Random) -> Rule {
    match random.below(6) {
        0..3 => rule(random).0,
        3 => delay(1_000),
        4 => delay(300),
        _ => once(500),
    }
}

/// Mostly the default policies, with which a run may start without a look at what waits.
fn short_policy(random: &mut Random) -> Policy {
    if random.below(3) < 2 { Policy::default() } else { policy(random) }
}

/// What the runs of a task read of themselves and what others see of it, step by step.
fn story(
    is_heard: bool,
    rule: &Rule,
    policy: Policy,
    plays: &[u64],
    (acts, workers): (&[Act], usize),
) -> Vec<String> {
    let mut stage = Stage::with_workers(workers);
    stage.is_heard = is_heard;
    let (noted, kept) = (Arc::new(Mutex::new(Vec::new())), Mutex::new(Vec::new()));
    let (plays, log) = (plays.to_vec(), Arc::clone(&noted));
    let control = stage.task(rule.clone(), policy, move |run| {
        let mut log = log.lock().unwrap();
        let what = (run.number(), run.attempt(), run.cause(), run.stop_requested());
        log.push(format!("{what:?} {} {} {}", run.fire_time(), run.due(), run.started_at()));
        let step = log.len();
        // Some leave notes, and some are kept beyond their end.
        if step.is_multiple_of(5) {
            run.note(format!("step {step}"));
            kept.lock().unwrap().push(run.clone());
        }
        let takes = plays[step % plays.len()];
        if step.is_multiple_of(11) { fails(takes) } else { ok(takes) }
    });
    stage.settle();
    let mut story = Vec::new();
    for act in acts {
        perform(&mut stage, &control, *act);
        story.push(format!("{:?}", control.snapshot()));
    }
    story.append(&mut noted.lock().unwrap());
    story
}
