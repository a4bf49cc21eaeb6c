//! The task on virtual workers against the specification.

use std::time::Duration;

use scheduler_core::Tick;

use super::history::{Clocks, History, Op};
use super::model::{Nanos, Specification, Started};
use super::world::{Answer, Group, groups, same};
use super::{nanos_of, setting, wall_of};
use crate::observe::EventKind;
use crate::run::{Cause, Pause, Run};
use crate::task::Control;
use crate::task::fire_times::SeededJitter;
use crate::task::tests::stage::{Goes, Stage};

struct Pair<'a> {
    history: &'a History,
    jitter_source: SeededJitter,
    stage: Stage,
    control: Control,
    specification: Specification,
    runs: Vec<(Started, Nanos)>,
    starts: Vec<(Cause, Nanos)>,
    skips: Vec<Group>,
}

impl<'a> Pair<'a> {
    fn new(history: &'a History) -> Self {
        let (jitter_source, policy) =
            (SeededJitter::new(history.seed, "task"), history.policy.clone());
        let specification = Specification::new(history.rule, policy.clone(), jitter_source);
        let stage = Stage::with_workers(history.workers);
        let (lengths, unit) = (history.clone(), history.unit);
        let control = stage.task(history.rule.written(), policy, move |run: &Run| {
            let is_manual = run.cause() == Cause::Manual;
            let (takes, _) = lengths.run(nanos_of(run.fire_time()), is_manual);
            Goes { takes: Duration::from_nanos(takes * unit.unsigned_abs()), fails: false }
        });
        let (runs, starts, skips) = <_>::default();
        Self { history, jitter_source, stage, control, specification, runs, starts, skips }
    }

    fn perform(&mut self, op: Op) -> Answer {
        match op {
            Op::Pass(steps) => {
                for _ in 0..steps {
                    self.step();
                    self.work()?;
                }
                return Ok(());
            }
            Op::Stall(steps) => {
                (0..steps).for_each(|_| self.step());
                return Ok(());
            }
            Op::Pause => self.pause(None)?,
            Op::PauseFor(length) => self.pause(Some(self.specification.now.wall + length))?,
            Op::Resume => {
                let is_resumed = self.control.resume().is_ok();
                let expected = self.specification.resume();
                // One whose pause was over by itself was resumed, too.
                same("was it paused", is_resumed, is_resumed || expected)?;
            }
            Op::RunNow => {
                let is_taken = self.control.run_now().is_ok();
                same("is a manual run taken", is_taken, self.specification.run_now())?;
            }
            Op::Reschedule(rule) => {
                self.control.reschedule(rule.written()).map_err(|error| error.to_string())?;
                self.specification.reschedule(rule, self.jitter_source);
            }
            Op::SetWall(_) => return Err("this clock is not set".to_owned()),
        }
        self.note_skips();
        self.work()
    }

    fn pause(&mut self, until: Option<Nanos>) -> Answer {
        let pause = Pause { until: until.map(wall_of), ..Pause::new() };
        self.control.pause(&pause).map_err(|error| error.to_string())?;
        self.specification.look();
        self.note_skips();
        self.specification.pause(until);
        Ok(())
    }

    fn step(&mut self) {
        self.specification.step(self.history.unit);
        let tick = Tick::from_nanos(self.specification.now.tick.unsigned_abs());
        self.stage.clock.advance_to(tick);
    }

    /// Workers do what is to be done, and then the same has happened.
    fn work(&mut self) -> Answer {
        self.stage.settle();
        loop {
            let tick = self.specification.now.tick;
            if let Some(index) = self.runs.iter().position(|(_, end)| *end <= tick) {
                let (run, _) = self.runs.remove(index);
                self.specification.run_ended(run, false);
            } else if self.runs.len() < self.history.workers && self.specification.wants_worker() {
                if let Some(run) = self.specification.work() {
                    let takes = self.history.run(run.at, run.cause == Cause::Manual).0;
                    let takes = Nanos::try_from(takes).expect("short") * self.history.unit;
                    self.runs.push((run, tick + takes));
                    self.starts.push((run.cause, run.at));
                }
            } else {
                break;
            }
            self.note_skips();
        }
        self.compare()
    }

    fn note_skips(&mut self) {
        self.skips.extend(groups(&self.specification.take_skips()));
    }

    fn compare(&mut self) -> Answer {
        let (mut starts, mut skips) = (Vec::new(), Vec::new());
        for event in self.stage.log.events.lock().drain(..) {
            match event.kind {
                EventKind::RunStarted { run, .. } => {
                    starts.push((run.cause, nanos_of(run.fire_time)));
                }
                EventKind::Skipped { reason, first, last, count, .. } => {
                    skips.push((reason, nanos_of(first), nanos_of(last), count));
                }
                _ => {}
            }
        }
        same("starts", starts, std::mem::take(&mut self.starts))?;
        same("skips", skips, std::mem::take(&mut self.skips))?;
        let has_ended = self.control.has_ended();
        same("has it ended", has_ended, has_ended && self.specification.is_finished())
    }
}

/// After which operation, the first being 1, the task does something else.
fn run_history(history: &History) -> Result<(), (usize, String)> {
    let mut pair = Pair::new(history);
    pair.work().map_err(|fault| (0, fault))?;
    let last = [Op::Resume, Op::Pass(40)];
    for (number, op) in history.ops.iter().chain(&last).enumerate() {
        if pair.control.has_ended() {
            break;
        }
        let at = |fault| (number + 1, fault);
        pair.perform(*op).map_err(at)?;
    }
    let (has_ended, expected) = (pair.control.has_ended(), pair.specification.is_finished());
    same("has it ended", has_ended, expected).map_err(|fault| (history.ops.len() + 2, fault))
}

#[test]
fn a_task_does_what_the_documentation_says() {
    let first = setting("TEST_SIM_FIRST").unwrap_or(0);
    let count = setting("TEST_SIM_SEEDS").map_or(300, |count| count.min(100_000));
    for seed in first..first + count {
        let mut history = History::draw(seed, Clocks::GoOn);
        // Its workers look when it is due, and not at whole steps.
        (history.policy.jitter, history.refused) = (Duration::ZERO, u64::MAX);
        if let Err((number, fault)) = run_history(&history) {
            history.ops.truncate(number);
            panic!("seed {seed}, after {number} operations: {fault}\n{history:?}");
        }
    }
}
