//! The driver: performs each operation on the pool and on the model.

use super::client::perform;
use super::clock::SimClock;
use super::corners::{Corner, Corners};
use super::model::Model;
use super::op::{ClientOp, Op};
use super::plan::{Plan, Settings, WALL_START};
use super::plant::Plant;
use super::prng::hash;
use super::stage::{Note, Stage};
use super::tally::Tally;
use super::verdict::{Invariant, Verdict};
use super::words::{Due, Now, Outcome};
use chrono::{DateTime, TimeDelta};
use scheduler_core::{Begun, RunState, VirtualRun, VirtualWorkers};
use std::sync::Arc;
use std::time::Duration;

/// A worker between its steps, as its thread would have it.
pub(crate) struct Worker {
    pub(crate) number: u64,
    pub(crate) mode: Mode,
    /// Since when it has had nothing to run.
    idle_since: Option<u64>,
}

pub(crate) enum Mode {
    /// Has just started, or has ended a run: it looks for work.
    Ready,
    /// Waits to be woken, at most until then.
    Parked(Option<u64>),
    Busy {
        run: VirtualRun,
        task: usize,
        outcome: Outcome,
        until: u64,
    },
}

/// The limits of the workers, as the client has set them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) core_size: usize,
    pub(crate) keep_alive: u64,
    pub(crate) core_may_time_out: bool,
    pub(crate) slack: u64,
    pub(crate) wake_latency: u64,
}

pub(crate) struct World {
    pub(crate) stage: Arc<Stage>,
    pub(crate) virtual_workers: VirtualWorkers,
    pub(crate) model: Model,
    pub(crate) workers: Vec<Worker>,
    pub(crate) tallies: Vec<Tally>,
    /// Tasks that are still to be checked.
    pub(crate) open: Vec<usize>,
    pub(crate) limits: Limits,
    /// True if the last worker that the pool wanted was refused.
    pub(crate) was_refused: bool,
    /// The number of workers that the pool has wanted during this operation.
    pub(crate) hires: usize,
    /// The least and the greatest core size during this operation.
    pub(crate) core_sizes: (usize, usize),
    /// True if the pool has accepted a task during this operation.
    pub(crate) has_accepted: bool,
    pub(crate) terminated: u64,
    pub(crate) runs: u64,
    /// The last step of a body: its task, its outcome, its duration.
    pub(crate) stepped: Option<(usize, Outcome, u64)>,
    /// The event of the run that has ended last: its task, its success, the next fire time.
    pub(crate) finished: Option<(usize, bool, Option<i64>)>,
    /// The timers that were called about the clock in this step, and the timer that has panicked.
    pub(crate) told: Vec<usize>,
    pub(crate) panicked: Option<usize>,
    /// The clock reads that this operation may cost, and those for dead entries of the queue.
    pub(crate) reads_max: u64,
    pub(crate) spare_reads: u64,
    pub(crate) digest: u64,
    pub(crate) corners: Corners,
    notes: Vec<Note>,
}

impl World {
    pub(crate) fn new(settings: &Settings, plant: Option<Plant>) -> Self {
        let clock = Arc::new(SimClock::new(
            DateTime::from_timestamp_nanos(WALL_START),
            plant,
            settings.wake_latency,
        ));
        let stage = Stage::new(Arc::clone(&clock), plant, settings.discards);
        let virtual_workers = VirtualWorkers::new();
        stage.open_pool(settings, &virtual_workers);
        Self {
            stage,
            virtual_workers,
            model: Model {
                tasks: Vec::new(),
                state: RunState::Running,
                policy: settings.policy,
                removes_on_cancel: settings.removes_on_cancel,
                completed: 0,
                lead_max: None,
            },
            workers: Vec::new(),
            tallies: Vec::new(),
            open: Vec::new(),
            limits: Limits {
                core_size: settings.core_size,
                keep_alive: settings.keep_alive,
                core_may_time_out: settings.core_may_time_out,
                slack: settings.slack,
                wake_latency: settings.wake_latency,
            },
            was_refused: false,
            hires: 0,
            core_sizes: (settings.core_size, settings.core_size),
            has_accepted: false,
            terminated: 0,
            runs: 0,
            stepped: None,
            finished: None,
            told: Vec::new(),
            panicked: None,
            reads_max: 0,
            spare_reads: 0,
            digest: 0,
            corners: [0; Corner::Last as usize],
            notes: Vec::new(),
        }
    }

    /// Runs a whole plan, then brings the pool to its end.
    pub(crate) fn play(&mut self, plan: &Plan) -> Verdict {
        for op in &plan.ops {
            self.take(op)?;
        }
        self.end(&plan.settings)
    }

    /// One operation, and everything that can be checked after it.
    pub(crate) fn take(&mut self, op: &Op) -> Verdict {
        match op {
            Op::Client(op) => self.act(op),
            Op::Work(pick) => self.work(*pick),
            Op::SpuriousStep(pick) => {
                self.step_one_of(*pick, |mode| matches!(mode, Mode::Parked(_)))
            }
            Op::FinishEarly(pick) => {
                self.step_one_of(*pick, |mode| matches!(mode, Mode::Busy { .. }))
            }
            Op::Settle => self.settle(),
            Op::Advance(nanos) => self.advance(*nanos),
            Op::JumpToNext => self.jump(),
            Op::StepWall(nanos) => {
                self.stage.clock.hand().step_wall(TimeDelta::nanoseconds(*nanos));
                self.check()
            }
            Op::Suspend(nanos) => {
                self.stage.clock.hand().suspend(Duration::from_nanos(*nanos));
                self.check()
            }
            Op::Refuse(count) => {
                self.virtual_workers.refuse(*count);
                Ok(())
            }
        }
    }

    pub(crate) fn now(&self) -> Now {
        self.stage.clock.truth()
    }

    /// Returns true if a worker has a reason to take a step, so that its thread would.
    pub(crate) fn is_ready(&self, worker: &Worker, now: Now) -> bool {
        match &worker.mode {
            Mode::Ready => true,
            Mode::Parked(Some(until)) if *until <= now.tick => true,
            Mode::Parked(_) => {
                let is_deaf = self.stage.is_planted(Plant::DeafWorker) && worker.number % 2 == 1;
                self.virtual_workers.is_woken(worker.number) && !is_deaf
            }
            Mode::Busy { .. } => false,
        }
    }

    fn act(&mut self, op: &ClientOp) -> Verdict {
        self.open_step(8);
        let answer = perform(&self.stage, op, None);
        self.absorb()?;
        self.reflect(op, answer)?;
        self.check()
    }

    fn work(&mut self, pick: u64) -> Verdict {
        let now = self.now();
        let may_act = |worker: &Worker| match &worker.mode {
            Mode::Busy { until, .. } => *until <= now.tick,
            _ => self.is_ready(worker, now),
        };
        let count = self.workers.iter().filter(|worker| may_act(worker)).count() as u64;
        if count == 0 {
            return self.jump();
        }
        let nth = (pick % count) as usize;
        let index = self.workers.iter().enumerate().filter(|(_, worker)| may_act(worker)).nth(nth);
        let Some(index) = index.map(|(index, _)| index) else { return Ok(()) };
        self.step(index)
    }

    fn step_one_of(&mut self, pick: u64, may: fn(&Mode) -> bool) -> Verdict {
        let indices = (0..self.workers.len()).filter(|index| may(&self.workers[*index].mode));
        let indices: Vec<usize> = indices.collect();
        match indices.len() {
            0 => Ok(()),
            count => self.step(indices[(pick % count as u64) as usize]),
        }
    }

    /// One worker takes one step.
    fn step(&mut self, index: usize) -> Verdict {
        self.open_step(8);
        match std::mem::replace(&mut self.workers[index].mode, Mode::Ready) {
            Mode::Busy { run, task, outcome, .. } => self.finish(run, task, outcome)?,
            _ => self.begin(index)?,
        }
        self.check()
    }

    fn begin(&mut self, index: usize) -> Verdict {
        let (number, now) = (self.workers[index].number, self.now());
        let begun = self.virtual_workers.begin(number);
        self.fold(&[1, number]);
        self.hear_of_the_clock(now, matches!(begun, Begun::Waits(_)))?;
        let (expected, surfaced) = self.model.take(now);
        self.reads_max += 4 * surfaced;
        if surfaced > 0 {
            self.reach(Corner::DeadTaskSurfaced);
            // It had something in its hands, if only to throw it away.
            self.workers[index].idle_since = None;
        }
        match begun {
            Begun::Run(run) => {
                let task = self.taken();
                self.check_take(task, expected, now)?;
                self.absorb()?;
                let (outcome, lasts) = match self.stepped {
                    Some((stepped, outcome, lasts)) if stepped == task => (outcome, lasts),
                    other => return wrong(format!("task {task} ran, but {other:?} took a step")),
                };
                if self.model.tasks[task].is_timer() {
                    self.check_what_is_left(task, outcome, &run)?;
                }
                let until = now.tick.saturating_add(lasts);
                let worker = &mut self.workers[index];
                worker.mode = Mode::Busy { run, task, outcome, until };
                worker.idle_since = None;
                Ok(())
            }
            Begun::Waits(until) => {
                let until = until.map(scheduler_core::Tick::as_nanos);
                self.check_rest(expected, until, now)?;
                // One that was woken while it was about to rest looks again.
                if !self.virtual_workers.is_woken(number) {
                    self.check_patience(index, until, now)?;
                }
                let worker = &mut self.workers[index];
                worker.mode = Mode::Parked(until);
                worker.idle_since.get_or_insert(now.tick);
                self.absorb()
            }
            Begun::Left => {
                self.check_leave(index, expected, now)?;
                if self.model.state == RunState::Running {
                    self.reach(Corner::WorkerTimedOut);
                }
                self.workers.remove(index);
                self.absorb()
            }
        }
    }

    /// Before a worker takes anything, it tells timers that the wall clock was set back.
    fn hear_of_the_clock(&mut self, now: Now, has_rested: bool) -> Verdict {
        self.told.clear();
        if self.model.state >= RunState::Stopping {
            return Ok(());
        }
        let (expected, number) = (self.model.set_back(now), self.model.tasks.len());
        let allowed: Vec<bool> = (0..number).map(|id| self.model.may_be_told(id, now)).collect();
        let is_run = |note: &Note| {
            matches!(note, Note::Entered { .. } | Note::Fired { .. } | Note::PolledOn { .. })
        };
        let mut before = std::mem::take(&mut self.stage.props().notes);
        let run = before.iter().position(is_run).unwrap_or(before.len());
        let rest = before.split_off(run);
        self.stage.props().notes = rest;
        self.model.look(now, has_rested);
        for note in before {
            self.read(note)?;
        }
        self.reads_max += 8 * self.told.len() as u64;
        let is_heard = expected.iter().all(|timer| self.told.contains(timer));
        let is_right = self.told.iter().all(|timer| allowed[*timer]);
        Invariant::Timers.holds(is_heard && is_right, || {
            format!(
                "at {now:?} the timers {:?} were told of the clock, not {expected:?}",
                self.told
            )
        })
    }

    /// A firing with nothing to finish is over; one that has panicked is, too, and is reported.
    fn check_what_is_left(&mut self, task: usize, outcome: Outcome, run: &VirtualRun) -> Verdict {
        let has_panicked = self.panicked.take() == Some(task);
        let is_left = !self.tallies[task].to_finish.is_empty();
        Invariant::Events.holds(has_panicked == (outcome == Outcome::Failed), || {
            format!("the panic of timer {task} is reported: {has_panicked}")
        })?;
        Invariant::Timers.holds(run.is_over() || is_left && !run.is_pending(), || {
            format!("a firing of timer {task} is still to be finished: {run:?}")
        })
    }

    /// The task whose body was entered or polled on by the step just taken.
    fn taken(&self) -> usize {
        let props = self.stage.props();
        let first = props.notes.iter().find_map(|note| match note {
            Note::Entered { task, .. } | Note::Fired { task, .. } | Note::Stepped { task, .. } => {
                Some(*task)
            }
            _ => None,
        });
        first.unwrap_or(usize::MAX)
    }

    fn finish(&mut self, run: VirtualRun, task: usize, outcome: Outcome) -> Verdict {
        let now = self.now();
        run.finish();
        self.fold(&[2, task as u64]);
        self.finished = None;
        if self.model.tasks[task].is_timer() {
            self.model.fired();
            return self.absorb();
        }
        self.model.finish(task, outcome, now);
        if outcome != Outcome::Pending || self.model.tasks[task].end.is_some() {
            self.tallies[task].is_inside = false;
        }
        self.absorb()?;
        if outcome == Outcome::Pending { Ok(()) } else { self.check_finish(task, outcome, now) }
    }

    /// Steps each worker that has a reason to act, until none has; runs stay in progress.
    fn settle(&mut self) -> Verdict {
        let steps_max =
            20 + 4 * (self.workers.len() + self.limits.core_size) + self.model.tasks.len();
        for _ in 0..steps_max {
            let now = self.now();
            match (0..self.workers.len()).find(|index| self.is_ready(&self.workers[*index], now)) {
                Some(index) => self.step(index)?,
                None => return self.check_settled(),
            }
        }
        Invariant::Liveness
            .holds(false, || format!("the workers do not rest after {steps_max} steps"))
    }

    fn advance(&mut self, nanos: u64) -> Verdict {
        self.stage.clock.hand().advance(Duration::from_nanos(nanos));
        self.check()
    }

    /// Time goes to the next instant at which something is to happen.
    fn jump(&mut self) -> Verdict {
        let now = self.now();
        let queued = self.model.tasks.iter().filter(|task| task.is_queued());
        let dues = queued
            .filter(|task| task.due != Due::Tick(u64::MAX))
            .filter_map(|task| u64::try_from(task.turn.key(now)).ok());
        let untils = self.workers.iter().filter_map(|worker| match &worker.mode {
            Mode::Ready => None,
            Mode::Parked(until) => *until,
            Mode::Busy { until, .. } => Some(*until),
        });
        let end_of_time = u64::MAX / 2;
        let next =
            dues.chain(untils).filter(|next| (now.tick + 1..end_of_time).contains(next)).min();
        self.advance(next.map_or(0, |next| next - now.tick))
    }

    /// Shuts the pool down, lets it run out for a while, stops it, and looks at what is left.
    fn end(&mut self, settings: &Settings) -> Verdict {
        if settings.ends_by_drop {
            self.act(&ClientOp::DropPool)?;
        } else {
            self.act(&ClientOp::Shutdown)?;
            for pick in 0..20 {
                self.work(pick)?;
            }
            self.settle()?;
            if settings.cancels_at_end {
                self.cancel_everything()?;
            }
            self.act(&ClientOp::ShutdownNow)?;
        }
        self.settle()?;
        while let Some(index) =
            self.workers.iter().position(|worker| matches!(worker.mode, Mode::Busy { .. }))
        {
            self.step(index)?;
        }
        self.settle()?;
        while !self.stage.props().held.is_empty() {
            self.act(&ClientOp::DropHeld(0))?;
        }
        self.check_end()?;
        let props = std::mem::take(&mut *self.stage.props());
        drop(props);
        Ok(())
    }

    /// Cancels whatever waits and lets purges: a pool with no run in progress has to terminate by itself.
    fn cancel_everything(&mut self) -> Verdict {
        for task in 0..self.model.tasks.len() as u64 {
            self.act(&ClientOp::Cancel { pick: task, interrupts: false })?;
        }
        self.act(&ClientOp::Purge)?;
        self.settle()
    }

    /// Begins an operation that may read the clock so often.
    fn open_step(&mut self, reads_max: u64) {
        self.stage.clock.take_reads();
        self.reads_max = reads_max;
        self.stepped = None;
        (self.hires, self.has_accepted) = (0, false);
        self.core_sizes = (self.limits.core_size, self.limits.core_size);
    }

    /// Reads the diary.
    pub(crate) fn absorb(&mut self) -> Verdict {
        let mut notes = std::mem::take(&mut self.notes);
        std::mem::swap(&mut notes, &mut self.stage.props().notes);
        for note in notes.drain(..) {
            self.read(note)?;
        }
        self.notes = notes;
        Ok(())
    }

    pub(crate) fn fold(&mut self, values: &[u64]) {
        for value in values {
            self.digest = hash(self.digest, *value);
        }
    }

    pub(crate) fn reach(&mut self, corner: Corner) {
        self.corners[corner as usize] += 1;
    }

    pub(crate) fn idle_since(&self, index: usize) -> Option<u64> {
        self.workers[index].idle_since
    }

    /// Takes note of workers that have joined.
    pub(crate) fn welcome(&mut self) {
        let known = self.workers.last().map_or(0, |worker| worker.number);
        let new = self.virtual_workers.numbers().into_iter().filter(|number| *number > known);
        let new = new.map(|number| Worker { number, mode: Mode::Ready, idle_since: None });
        self.workers.extend(new);
    }
}

/// The additional clock reads for an entry of the queue that is dead when a worker takes it.
pub(crate) const READS_OF_A_DEAD_ENTRY: u64 = 4;

/// Something is wrong that no invariant has a name for.
pub(crate) fn wrong(detail: String) -> Verdict {
    Invariant::Events.holds(false, || detail)
}
