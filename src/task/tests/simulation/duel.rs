//! The conductor and the reference, to whom the same is done, and whose stories have to be one.
#![expect(clippy::print_stderr, reason = "how much was compared is for whoever runs many seeds")]

use std::fmt::Write;
use std::sync::Arc;

use scheduler_core::Tick;

use super::super::stage::*;
use super::campaign::setting;
use super::pace::Pace;
use super::plan::draw_trigger;
use super::reference::Fate;
use super::reference::Kind;
use super::reference::NEVER;
use super::reference::Reference;
use super::reference::SCALE;
use super::reference::Story;
use super::reference::after;
use crate::observe::Event;
use crate::observe::EventKind;
use crate::observe::SkipReason;
use crate::run::Cause;
use crate::run::Run;
use crate::task::Control;
use crate::task::Policy;
use crate::task::Rule;
use crate::task::tests::random::Random;
use scheduler_expr::Misfire;
use scheduler_expr::Overlap;

fn millis(run_time: chrono::DateTime<chrono::Utc>) -> u64 {
    u64::try_from((run_time - start()).num_milliseconds()).expect("it is later")
}

/// What the events say.
fn story_of(events: &[Event], come: &[u64]) -> Result<Story, String> {
    let mut story = Story::default();
    for event in events {
        let decided = match &event.kind {
            EventKind::RunStarted { run, .. } if run.cause == Cause::Manual => {
                story.manual.push(millis(run.started_at));
                continue;
            }
            EventKind::RunStarted { run, .. } => {
                let fire = millis(run.fire_time);
                story.fates.insert(fire, Fate::RanAt(millis(run.started_at)))
            }
            EventKind::Skipped { reason, last: fire_time, count, .. } => {
                let last =
                    come.binary_search(&millis(*fire_time)).map_err(|_| format!("{event:?}"))?;
                let first = last + 1 - usize::try_from(*count).expect("few");
                let fate = Fate::Skipped(*reason);
                let before = come[first..=last].iter().map(|fire| story.fates.insert(*fire, fate));
                before.flatten().next()
            }
            _ => continue,
        };
        if decided.is_some() {
            return Err(format!("{event:?} decides anew"));
        }
    }
    Ok(story)
}

/// Draws a rule for a task that begins now; what it is for the reference, and its first fire time.
fn draw_rule(random: &mut Random, now: u64, is_first: bool) -> (Rule, (Kind, u64)) {
    let length = random.pick(&[SCALE, SCALE * 2, SCALE * 3 / 2]);
    let first = if is_first { now } else { now + length };
    match random.below(6) {
        0 | 1 => (rate(length), (Kind::Rate(length), first)),
        2 | 3 => {
            let trigger = Arc::new(draw_trigger(random, ms(SCALE)));
            let first = after(&trigger, now);
            (Rule::Cron(Arc::clone(&trigger)), (Kind::Cron(trigger), first))
        }
        4 => (delay(length), (Kind::Delay(length), first)),
        _ => (once(length), (Kind::Once, now + length)),
    }
}

/// Draws a task, and the reference of it.
fn draw(random: &mut Random) -> (Rule, Reference) {
    let overlap = random.pick(&[Overlap::Skip, Overlap::QueueOne, Overlap::Allow]);
    let misfire = random.pick(&[Misfire::RunOnce, Misfire::Skip, Misfire::CatchUp]);
    let (rule, kind) = draw_rule(random, 0, true);
    let longest = random.pick(&[0, SCALE / 3, SCALE * 3 / 2, SCALE * 4]);
    let policy = Policy { overlap, misfire, ..Policy::default() };
    let pace = Pace { seed: random.next(), longest };
    (rule, Reference::new(kind, policy, pace))
}

/// The conductor and the reference, to whom the same is done.
struct Duel {
    stage: Stage,
    control: Control,
    reference: Reference,
    text: String,
    /// The first answer that was not the expected one.
    fault: Option<String>,
}

impl Duel {
    fn new(rule: Rule, reference: Reference) -> Self {
        let (policy, pace) = (reference.policy.clone(), reference.pace);
        let text = format!("{rule} {policy:?} {pace:?}");
        // Enough for all that are caught up at once.
        let mut stage = Stage::with_workers(if policy.overlap == Overlap::Allow { 24 } else { 4 });
        let control = stage.task(rule, policy, move |run: &Run| {
            let manual = run.cause() == Cause::Manual;
            ok(pace.takes(if manual { !millis(run.started_at()) } else { millis(run.fire_time()) }))
        });
        stage.settle();
        let mut duel = Self { stage, control, reference, text, fault: None };
        duel.reference.settle();
        duel
    }

    fn until(&mut self, at: u64) {
        self.stage.until(at);
        self.reference.until(at);
    }

    /// Nothing can start, also for so long that a fire time is late; nobody has looked when it is over.
    fn stall_until(&mut self, at: u64, random: &mut Random) {
        let is_long = random.once_in(3) && self.reference.policy.overlap != Overlap::Allow;
        let at = if is_long { at + 61_000 } else { at };
        self.stage.clock.advance_to(Tick::ZERO + ms(at));
        self.reference.stall_until(at);
    }

    fn perform(&mut self, random: &mut Random) {
        let at = self.reference.now + 1 + random.below(SCALE * 5);
        let choice = random.below(14);
        write!(self.text, "\n{choice}@{}", self.reference.now).expect("a text takes all");
        match choice {
            0..5 => {
                write!(self.text, " until {at}").expect("a text takes all");
                self.until(at);
            }
            5 | 6 => {
                self.stall_until(at, random);
                write!(self.text, " stall until {}", self.reference.now).expect("it takes all");
                if random.once_in(2) {
                    self.control(random.below(6), at, random);
                }
            }
            other => self.control(other - 7, at, random),
        }
        self.stage.settle();
        self.reference.settle();
    }

    /// Somebody does something.
    fn control(&mut self, choice: u64, at: u64, random: &mut Random) {
        // Whether a task is resumed before or after what comes just now is not promised.
        let is_tie = self.reference.come.last() == Some(&self.reference.now);
        if self.reference.is_over() || is_tie && (1..4).contains(&choice) {
            return;
        }
        write!(self.text, " does {choice} ({at})").expect("a text takes all");
        match choice {
            0 => {
                self.control.pause(None, None).expect("it has not ended");
                self.reference.pause(NEVER);
            }
            1 => {
                let until = start() + ms(at);
                self.control.pause(None, Some(until)).expect("it has not ended");
                self.reference.pause(at);
            }
            2 | 3 => self.resume(),
            4 if random.once_in(3) => {
                let (rule, kind) = draw_rule(random, self.reference.now, false);
                write!(self.text, " {rule}").expect("a text takes all");
                self.control.reschedule(rule).expect("it has not ended");
                self.reference.reschedule(kind);
            }
            _ => {
                let is_taken = self.control.run_now().is_ok();
                if is_taken != self.reference.run_now() {
                    let at = self.reference.now;
                    self.fault.get_or_insert(format!("run now, at {at}: taken is {is_taken}"));
                }
            }
        }
    }

    fn resume(&mut self) {
        let is_resumed = self.control.resume().is_ok();
        if !is_resumed && self.reference.is_paused() {
            self.fault.get_or_insert(format!("not paused at {}", self.reference.now));
        }
        if self.reference.is_paused() {
            self.reference.resume();
        }
    }

    /// Whatever is in progress ends, so that what came meanwhile is decided.
    fn finish(&mut self) {
        self.until(self.reference.now + SCALE * 10);
        if !self.reference.is_over() {
            self.resume();
            self.stage.settle();
            self.reference.settle();
        }
        self.until(self.reference.now + SCALE * 30);
    }

    /// Which fire time has another fate than expected; `spoil` changes what was told.
    fn difference(&self, spoil: fn(&mut Story)) -> Option<String> {
        let events = self.stage.log.events.lock().unwrap();
        let mut told = match story_of(&events, &self.reference.come) {
            Ok(told) => told,
            Err(fault) => return Some(fault),
        };
        spoil(&mut told);
        let expected = &self.reference.story;
        if expected.manual != told.manual {
            return Some(format!("manual runs {:?} and {:?}", expected.manual, told.manual));
        }
        self.reference.come.iter().find_map(|fire| {
            let (expected, told) =
                (expected.fates.get(fire).copied(), told.fates.get(fire).copied());
            // What comes during a run is told when that is over, and before another rule is gone by.
            let is_skipped = matches!(expected, Some(Fate::Skipped(_)));
            let is_to_be_told = is_skipped && !self.reference.runs.is_empty();
            let may_be_untold = is_to_be_told || self.reference.forgotten.contains(fire);
            let differs = expected != told && !(told.is_none() && may_be_untold);
            differs.then(|| format!("{fire}: expected {expected:?}, told {told:?}"))
        })
    }
}

/// What is wrong, for bugs that are planted: with what is expected, at each step, and with what is told.
#[derive(Clone, Copy)]
struct Plant {
    expected: fn(&mut Reference),
    told: fn(&mut Story),
}

const NONE: Plant = Plant { expected: |_| {}, told: |_| {} };

/// Plays one seed, and says how many fire times were decided.
fn compare(seed: u64, plant: Plant) -> Result<usize, String> {
    let mut random = Random::new(seed);
    let (rule, reference) = draw(&mut random);
    let mut duel = Duel::new(rule, reference);
    for _ in 0..4 + random.below(20) {
        (plant.expected)(&mut duel.reference);
        duel.perform(&mut random);
    }
    duel.finish();
    match duel.fault.take().or_else(|| duel.difference(plant.told)) {
        Some(fault) => {
            let log = duel.stage.heard();
            Err(format!("seed {seed}: {}\n{fault}\n{}", duel.text, log.replace(" | ", "\n")))
        }
        None => Ok(duel.reference.story.fates.len()),
    }
}

/// Seeds that failed once. They are played each time, before the others.
const KEPT: [u64; 5] = [8, 1625, 3989, 233_304, 1_183_766];

#[test]
fn what_is_known_beforehand_is_what_happens() {
    let first = setting("SCHEDULER_SIM_FIRST").unwrap_or(0);
    let seeds = setting("SCHEDULER_SIM_SEEDS").unwrap_or(200);
    let decided: usize = KEPT
        .into_iter()
        .chain(first..first + seeds)
        .map(|seed| compare(seed, NONE).unwrap_or_else(|fault| panic!("{fault}")))
        .sum();
    eprintln!("{seeds} seeds: {decided} fire times as expected");
    assert!(decided > 5 * usize::try_from(seeds).expect("few"), "{decided}");
}

/// A bug is found when one of a few seeds is told to differ.
fn check_found(what: &str, plant: Plant) {
    assert!((0..100).any(|seed| compare(seed, plant).is_err()), "nobody notices {what}");
}

/// Has one reason told as another.
fn mistake(story: &mut Story, reason: SkipReason, other: SkipReason) {
    let fates = story.fates.values_mut();
    fates.filter(|fate| **fate == Fate::Skipped(reason)).for_each(|it| *it = Fate::Skipped(other));
}

#[test]
fn a_policy_that_is_not_kept_is_noticed() {
    use SkipReason::{Misfire as Missed, Overlap as Overlaps, Paused, Rescheduled};
    let told = |what, told| check_found(what, Plant { told, ..NONE });
    told("a pause told as a misfire", |story| mistake(story, Paused, Missed));
    told("a pause told as an overlap", |story| mistake(story, Paused, Overlaps));
    told("an overlap told as a pause", |story| mistake(story, Overlaps, Paused));
    told("an overlap told as a misfire", |story| mistake(story, Overlaps, Missed));
    told("a misfire told as an overlap", |story| mistake(story, Missed, Overlaps));
    told("a new rule told as a misfire", |story| mistake(story, Rescheduled, Missed));
    told("a manual run that is late", |story| {
        story.manual.iter_mut().for_each(|at| *at += 1);
    });
    told("a fire time that is not told of", |story| {
        story.fates.pop_first();
    });
    let expected = |what, expected| check_found(what, Plant { expected, ..NONE });
    expected("missed fire times that run", |reference| {
        let policy = &mut reference.policy;
        let is_skip = policy.misfire == Misfire::Skip;
        policy.misfire = if is_skip { Misfire::RunOnce } else { policy.misfire };
    });
    expected("missed fire times that are not caught up", |reference| {
        let policy = &mut reference.policy;
        let is_catch_up = policy.misfire == Misfire::CatchUp;
        policy.misfire = if is_catch_up { Misfire::RunOnce } else { policy.misfire };
    });
    expected("a fire time that does not follow", |reference| {
        let policy = &mut reference.policy;
        let follows = policy.overlap == Overlap::QueueOne;
        policy.overlap = if follows { Overlap::Skip } else { policy.overlap };
    });
    expected("a manual run that does not follow", |reference| reference.wants_manual = false);
    expected("a pause that goes on over its end", |reference| reference.prolong_pause());
    expected("a rule that has not changed", |reference| reference.forget_rule());
}
