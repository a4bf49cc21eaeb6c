//! Compares the planner with the specification after each transition.

use std::collections::BTreeSet;
use std::sync::Arc;

use scheduler_core::{Due, Now, Tick, WallTime};

use super::history::{Clocks, History, Op};
use super::model::{Nanos, Specification, Started};
use super::planted::Bug;
use super::{nanos_of, wall_of};
use crate::base::set_once::SetOnce;
use crate::observe::SkipReason;
use crate::run::{Cause, Pause};
use crate::task::fire_times::SeededJitter;
use crate::task::planner::{Planner, Skip, Start};
use crate::task::rule::Rule;

/// The number of steps for which a preview is compared.
const AHEAD: u32 = 40;

/// The most looks of workers at one instant.
const LOOKS_MAX: u32 = 5_000;

pub(super) type Answer = Result<(), String>;

/// The numbers of comparisons.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compared {
    pub(super) steps: u64,
    pub(super) starts: u64,
    pub(super) skips: u64,
    pub(super) previews: u64,
}

struct World<'a> {
    history: &'a History,
    jitter_source: SeededJitter,
    planner: Planner,
    specification: Specification,
    runs: Vec<InProgress>,
    compared: Compared,
    twice: Twice,
}

struct InProgress {
    start: Start,
    expected: Started,
    began: Now,
    ends_at: Nanos,
    is_refused: bool,
}

/// The fire times of the present calendar that must not start any more.
#[derive(Default)]
struct Twice {
    shown: BTreeSet<Nanos>,
    decided: BTreeSet<Nanos>,
}

/// Runs a history, and says what was compared; or after which operation, the first being 1, what differs.
pub(super) fn run_history(
    history: &History,
    bug: Option<Bug>,
) -> Result<Compared, (usize, String)> {
    let mut world = World::new(history, bug);
    let at = |number: usize| move |fault| (number, fault);
    world.work().map_err(at(0))?;
    let last = [Op::Resume, Op::Pass(40)];
    for (number, op) in history.ops.iter().chain(&last).enumerate() {
        if world.specification.is_finished() {
            break;
        }
        world.perform(*op).map_err(at(number + 1))?;
    }
    Ok(world.compared)
}

impl<'a> World<'a> {
    fn new(history: &'a History, bug: Option<Bug>) -> Self {
        let jitter_source = SeededJitter::new(history.seed, "task");
        let policy = history.policy.clone();
        let mut specification = Specification::new(history.rule, policy.clone(), jitter_source);
        specification.bug = bug;
        let rule = history.rule.written();
        let mut world = Self {
            history,
            jitter_source,
            planner: Planner::new(rule, Arc::new(policy), jitter_source, now(&specification)),
            specification,
            runs: Vec::new(),
            compared: Compared::default(),
            twice: Twice::default(),
        };
        world.planner.begin(world.now());
        world
    }

    fn now(&self) -> Now {
        now(&self.specification)
    }

    fn perform(&mut self, op: Op) -> Answer {
        let now = self.now();
        match op {
            Op::Pass(steps) => {
                for _ in 0..steps {
                    self.step()?;
                    self.work()?;
                    self.look_if_set()?;
                }
                return self.compare_previews();
            }
            Op::Stall(steps) => {
                for _ in 0..steps {
                    self.step()?;
                    self.look_if_set()?;
                }
                return Ok(());
            }
            Op::Pause => self.pause(None),
            Op::PauseFor(length) => self.pause(Some(self.specification.now.wall + length)),
            Op::Resume => {
                let is_resumed = (self.planner.resume(now), self.specification.resume());
                same("was it paused", is_resumed.0, is_resumed.1)?;
            }
            Op::RunNow => {
                let is_taken = (
                    self.planner.run_now(SetOnce::new(), now).is_ok(),
                    self.specification.run_now(),
                );
                same("is a manual run taken", is_taken.0, is_taken.1)?;
            }
            Op::Reschedule(rule) => self.reschedule(rule),
            Op::SetWall(by) => {
                let wall = self.specification.now.wall + by;
                self.specification.set_wall(wall);
                self.planner.look(self.now());
            }
        }
        self.agree()?;
        if let Op::Reschedule(_) = op {
            self.twice = Twice::default();
        }
        self.compare_previews()?;
        self.work()?;
        self.look_if_set()
    }

    fn pause(&mut self, until: Option<Nanos>) {
        let pause = Pause { until: until.map(wall_of), ..Pause::new() };
        self.planner.pause(&pause, self.now());
        self.specification.pause(until);
    }

    fn reschedule(&mut self, rule: super::rules::Rule) {
        let written: Rule = rule.written();
        drop(self.planner.reschedule(written, self.now()));
        self.specification.reschedule(rule, self.jitter_source);
    }

    fn step(&mut self) -> Answer {
        self.compared.steps += 1;
        self.specification.step(self.history.unit);
        self.twice.shown.insert(self.specification.now.wall);
        Ok(())
    }

    /// While clocks are set every step is looked at: of several unseen steps it is unknown which they were.
    fn look_if_set(&mut self) -> Answer {
        if self.history.clocks == Clocks::GoOn {
            return Ok(());
        }
        self.planner.look(self.now());
        self.specification.look();
        self.agree()
    }

    /// Workers end runs and start others, until nothing is left to do at this instant.
    fn work(&mut self) -> Answer {
        for _ in 0..LOOKS_MAX {
            if self.specification.is_finished() {
                return Ok(());
            }
            let tick = self.specification.now.tick;
            if let Some(index) = self.runs.iter().position(|run| run.ends_at <= tick) {
                let run = self.runs.remove(index);
                self.planner.run_ended(&run.start, run.began, self.now(), run.is_refused);
                self.specification.run_ended(run.expected, run.is_refused);
                self.agree()?;
                continue;
            }
            if self.runs.len() >= self.history.workers {
                return Ok(());
            }
            let wake = self.planner.wake();
            let is_awake = wake.is_some_and(|due| due.is_reached(self.now()));
            let is_wanted = self.specification.wants_worker();
            // Where the clock was set back, a worker may look for a fire time that waits already.
            if self.history.clocks == Clocks::GoOn || is_wanted {
                same("is a worker awake", is_awake, is_wanted)?;
            }
            if !is_awake {
                return Ok(());
            }
            self.start()?;
        }
        Err("workers look again and again".to_owned())
    }

    fn start(&mut self) -> Answer {
        let now = self.now();
        let (start, expected) = (self.planner.fire(now), self.specification.work());
        let seen = start.as_ref().map(|start| match start {
            Start::Schedule { fire, .. } => (Cause::Schedule, nanos(fire.at)),
            Start::Request(_) => (Cause::Manual, nanos(Due::Wall(now.wall))),
        });
        same("the start", seen, expected.map(|expected| (expected.cause, expected.at)))?;
        if let (Some(start), Some(expected)) = (start, expected) {
            self.compared.starts += 1;
            let is_manual = matches!(start, Start::Request(_));
            if let Start::Schedule { fire, .. } = &start
                && matches!(fire.at, Due::Wall(_))
                && !self.twice.decided.insert(expected.at)
            {
                return Err(format!("{} starts after it was decided", expected.at));
            }
            let (takes, is_refused) = self.history.run(expected.at, is_manual);
            let takes = Nanos::try_from(takes).expect("short") * self.history.unit;
            let ends_at = self.specification.now.tick + takes;
            self.runs.push(InProgress { start, expected, began: now, ends_at, is_refused });
        }
        self.agree()
    }

    /// After a transition: the same fire times are skipped, and the task is over or is not.
    fn agree(&mut self) -> Answer {
        let seen: Vec<_> = self.planner.take_skips().iter().map(group).collect();
        let expected = self.specification.take_skips();
        self.compared.skips += expected.len() as u64;
        let now = self.specification.now.wall;
        for (reason, at) in &expected {
            // One that was jumped over and waited may be skipped just when it comes again, at the end of a pause.
            let comes_again = *reason == SkipReason::Paused && *at == now;
            if self.twice.shown.contains(at) && !comes_again {
                self.twice.decided.insert(*at);
            }
        }
        same("skips", seen, groups(&expected))?;
        self.planner.take_resumed();
        same("is it over", self.planner.is_finished(), self.specification.is_finished())
    }

    fn compare_previews(&mut self) -> Answer {
        let is_chosen = self.compared.steps.is_multiple_of(3);
        if !is_chosen || self.planner.is_finished() || self.specification.wants_worker() {
            return Ok(());
        }
        self.compared.previews += 1;
        let (now, unit) = (self.now(), self.history.unit);
        let seen = self.planner.next_start(now);
        self.compare_preview(seen, self.specification.next_start(unit, AHEAD))?;
        if self.planner.paused().is_none() {
            return Ok(());
        }
        let seen = self.planner.next_start_if_resumed(now);
        let mut resumed = self.specification.clone();
        resumed.resume();
        self.compare_preview(seen, resumed.next_start(unit, AHEAD))
    }

    fn compare_preview(&self, seen: Option<Due>, expected: Result<Option<Nanos>, ()>) -> Answer {
        let unit = self.history.unit;
        let seen = seen.map(|due| nanos(Due::Wall(due.as_wall(self.now()))));
        // Workers of this world look at whole steps only.
        let seen = seen.map(|wall| (wall + unit - 1).div_euclid(unit) * unit);
        match expected {
            Ok(expected) => same("the next start", seen, expected),
            Err(()) => {
                let horizon = self.specification.now.wall + Nanos::from(AHEAD) * unit;
                let is_later = seen.is_some_and(|seen| seen >= horizon);
                same(&format!("{seen:?} is later than {horizon}"), is_later, true)
            }
        }
    }
}

fn now(specification: &Specification) -> Now {
    let now = specification.now;
    let tick = Tick::from_nanos(now.tick.unsigned_abs());
    Now { tick, wall: WallTime::from(wall_of(now.wall)) }
}

fn nanos(due: Due) -> Nanos {
    match due {
        Due::Tick(tick) => Nanos::try_from(tick.as_nanos()).expect("near the start"),
        Due::Wall(wall) => nanos_of(wall.to_utc()),
    }
}

pub(super) type Group = (SkipReason, Nanos, Nanos, u64);

fn group(skip: &Skip) -> Group {
    (skip.reason, nanos(skip.first), nanos(skip.last), skip.count)
}

pub(super) fn groups(skips: &[(SkipReason, Nanos)]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (reason, at) in skips {
        match groups.last_mut().filter(|group| group.0 == *reason) {
            Some(group) => (group.2, group.3) = (*at, group.3 + 1),
            None => groups.push((*reason, *at, *at, 1)),
        }
    }
    groups
}

#[expect(clippy::needless_pass_by_value, reason = "most are made for this call")]
pub(super) fn same<T: PartialEq + std::fmt::Debug>(what: &str, seen: T, expected: T) -> Answer {
    if seen == expected {
        return Ok(());
    }
    Err(format!("{what}: it says {seen:?}, the specification {expected:?}"))
}
