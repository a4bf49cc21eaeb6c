//! The conductor and the reference, to whom the same is done, and whose stories have to be one.

use std::fmt::Write;
use std::sync::Arc;

use super::super::stage::*;
use super::campaign::setting;
use super::plan::draw_trigger;
use super::random::Random;
use super::reference::Fate;
use super::reference::Kind;
use super::reference::NEVER;
use super::reference::Pace;
use super::reference::Reference;
use super::reference::SCALE;
use super::reference::Story;
use super::reference::after;
use crate::conduct::Control;
use crate::conduct::Misfire;
use crate::conduct::Overlap;
use crate::conduct::Policy;
use crate::conduct::Rule;
use crate::observe::Event;
use crate::run::Cause;
use crate::run::Run;

fn millis(run_time: chrono::DateTime<chrono::Utc>) -> u64 {
    u64::try_from((run_time - start()).num_milliseconds()).expect("it is later")
}

/// What the events say.
fn story_of(events: &[Event], come: &[u64]) -> Result<Story, String> {
    let mut story = Story::default();
    for event in events {
        let decided = match event {
            Event::RunStarted { run, .. } if run.cause() == Cause::Manual => {
                story.manual.push(millis(run.started_at()));
                continue;
            }
            Event::RunStarted { run, .. } => {
                let fire = millis(run.fire_time());
                story.fates.insert(fire, Fate::RanAt(millis(run.started_at())))
            }
            Event::Skipped { reason, fire_time, count, .. } => {
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

/// Draws a task, and the reference of it.
fn draw(random: &mut Random) -> (Rule, Reference) {
    let overlap = random.pick(&[Overlap::Skip, Overlap::QueueOne, Overlap::Allow]);
    let misfire = random.pick(&[Misfire::RunOnce, Misfire::Skip, Misfire::CatchUp]);
    let length = random.pick(&[SCALE, SCALE * 2, SCALE * 3 / 2]);
    let (rule, kind, next) = match random.below(6) {
        0 | 1 => (rate(length), Kind::Rate(length), 0),
        2 | 3 => {
            let trigger = Arc::new(draw_trigger(random, ms(SCALE)));
            let first = after(&trigger, 0);
            (Rule::Cron(Arc::clone(&trigger)), Kind::Cron(trigger), first)
        }
        4 => (delay(length), Kind::Delay(length), 0),
        _ => (once(length), Kind::Once, length),
    };
    let longest = random.pick(&[0, SCALE / 3, SCALE * 3 / 2, SCALE * 4]);
    let reference = Reference {
        kind,
        policy: Policy { overlap, misfire, ..Policy::default() },
        pace: Pace { seed: random.next(), longest },
        now: 0,
        waiting: Vec::new(),
        next,
        come: Vec::new(),
        runs: Vec::new(),
        busy: Vec::new(),
        is_paused: false,
        paused_until: NEVER,
        story: Story::default(),
    };
    (rule, reference)
}

/// The conductor and the reference, to whom the same is done.
struct Duel {
    stage: Stage,
    control: Control,
    reference: Reference,
    text: String,
    has_paused: bool,
}

impl Duel {
    fn new(rule: Rule, reference: Reference) -> Self {
        let (policy, pace) = (reference.policy, reference.pace);
        let text = format!("{rule} {policy:?} {pace:?}");
        // Enough for all that are caught up at once.
        let mut stage = Stage::with_workers(if policy.overlap == Overlap::Allow { 24 } else { 4 });
        let control = stage.task(rule, policy, move |run: &Run| {
            let manual = run.cause() == Cause::Manual;
            ok(pace.takes(if manual { !millis(run.started_at()) } else { millis(run.fire_time()) }))
        });
        stage.settle();
        let mut duel = Self { stage, control, reference, text, has_paused: false };
        duel.reference.settle();
        duel
    }

    fn until(&mut self, at: u64) {
        self.stage.until(at);
        self.reference.until(at);
    }

    fn perform(&mut self, random: &mut Random) {
        let at = self.reference.now + 1 + random.below(SCALE * 5);
        let overlap = self.reference.policy.overlap;
        let is_busy = !self.reference.runs.is_empty();
        let choice = random.below(10);
        write!(self.text, " {choice}@{at}").expect("a text takes all");
        match choice {
            0..5 => self.until(at),
            5 => {
                // Also for so long that a fire time is late.
                let is_long = random.once_in(3) && overlap != Overlap::Allow;
                let at = if is_long { at + 61_000 } else { at };
                self.stage.stall_until(at);
                self.reference.stall_until(at);
            }
            _ if self.reference.is_over() => {}
            6 => {
                self.control.pause(None, None).expect("it has not ended");
                self.reference.pause(NEVER);
                self.has_paused = true;
            }
            // What a pause has held up is not to be told from what is late, if a run is in progress.
            7 | 8 if is_busy && overlap != Overlap::Allow => {}
            7 | 8 => self.resume(),
            // Which of two goes first that are to follow is not promised.
            _ if overlap == Overlap::QueueOne => {}
            _ => {
                let is_refused = is_busy && overlap == Overlap::Skip;
                assert_eq!(self.control.run_now().is_err(), is_refused, "{}", self.text);
                if !is_refused {
                    self.reference.start_manually();
                }
            }
        }
        self.stage.settle();
        self.reference.settle();
    }

    fn resume(&mut self) {
        assert_eq!(self.control.resume().is_ok(), self.reference.is_paused, "{}", self.text);
        if self.reference.is_paused {
            self.reference.resume();
        }
        self.stage.settle();
        self.reference.settle();
    }

    /// Whatever is in progress ends, so that what came meanwhile is decided.
    fn finish(&mut self) {
        self.until(self.reference.now + SCALE * 10);
        if !self.reference.is_over() {
            self.resume();
        }
        self.until(self.reference.now + SCALE * 30);
    }

    /// Which fire time has another fate than expected.
    fn difference(&self) -> Option<String> {
        let events = self.stage.log.events.lock().unwrap();
        let told = match story_of(&events, &self.reference.come) {
            Ok(told) => told,
            Err(fault) => return Some(fault),
        };
        let expected = &self.reference.story;
        if expected.manual != told.manual {
            return Some(format!("manual runs {:?} and {:?}", expected.manual, told.manual));
        }
        // Behind others that wait, several reasons may hold: which is told is not promised.
        let has_others = self.reference.policy.misfire == Misfire::CatchUp || self.has_paused;
        let is_skipped = |fate| matches!(fate, Some(Fate::Skipped(_)));
        self.reference.come.iter().find_map(|fire| {
            let (expected, told) =
                (expected.fates.get(fire).copied(), told.fates.get(fire).copied());
            let is_same = has_others && is_skipped(expected) && is_skipped(told);
            // What is behind a run in progress is decided later by the one than by the other.
            let are_decided =
                expected.is_some() && told.is_some() || self.reference.runs.is_empty();
            let differs = expected != told && !is_same && are_decided;
            differs.then(|| format!("{fire}: expected {expected:?}, told {told:?}"))
        })
    }
}

/// Plays one seed; `spoil` changes what is expected.
fn compare(seed: u64, spoil: fn(&mut Policy)) -> Result<usize, String> {
    let mut random = Random::new(seed);
    let (rule, reference) = draw(&mut random);
    let mut duel = Duel::new(rule, reference);
    spoil(&mut duel.reference.policy);
    (0..4 + random.below(20)).for_each(|_| duel.perform(&mut random));
    duel.finish();
    match duel.difference() {
        Some(fault) => Err(format!("seed {seed}: {}\n{fault}", duel.text)),
        None => Ok(duel.reference.story.fates.len()),
    }
}

#[test]
fn what_is_known_beforehand_is_what_happens() {
    let seeds = setting("SCHEDULER_SIM_SEEDS").unwrap_or(500);
    let decided: usize = (0..seeds)
        .map(|seed| compare(seed, |_| {}).unwrap_or_else(|fault| panic!("{fault}")))
        .sum();
    assert!(decided > 5 * usize::try_from(seeds).expect("few"), "{decided}");
}

#[test]
fn a_policy_that_is_not_kept_is_noticed() {
    let misfire: fn(&mut Policy) = |policy| {
        let is_skip = policy.misfire == Misfire::Skip;
        policy.misfire = if is_skip { Misfire::RunOnce } else { policy.misfire };
    };
    let is_noticed = |spoil| (0..60).any(|seed| compare(seed, spoil).is_err());
    assert!(is_noticed(misfire));
}
