//! Timers of the simulation: each follows its script and takes notes.

use super::client::{Answer, perform};
use super::op::{ClientOp, MYSELF, TimerScript, When};
use super::plan::{EQUAL, FAR, NEAR};
use super::plant::Plant;
use super::prng::hash;
use super::stage::{Note, Stage};
use super::words::{Due, Outcome};
use scheduler_core::{Clock, Fire, Fired, Now, Run, Tick, Timer, WallTime};
use std::panic::resume_unwind;
use std::sync::Arc;

/// The content of a timer.
pub(crate) struct Bell {
    pub(crate) stage: Arc<Stage>,
    pub(crate) task: usize,
    pub(crate) script: TimerScript,
}

/// A timer of the simulation, with its number.
pub(crate) type SimTimer = Arc<Timer<Bell>>;

/// Arms a timer for a time that depends on the present one.
pub(crate) fn arm(timer: &SimTimer, when: When) -> Answer {
    let task = timer.task;
    let now = timer.stage.clock.read();
    let due = when.due(from_engine_now(now), timer.due().map(from_engine));
    let told = match (timer.stage.plant, due) {
        (Some(Plant::LateSubmit), Due::Tick(tick)) => {
            Due::Tick(tick.saturating_add(task as u64 % 2))
        }
        _ => due,
    };
    let wake = timer.arm(to_engine(told), now);
    let is_refused = wake.is_refused();
    wake.perform();
    Answer::Armed { task, due, is_refused }
}

fn from_engine_now(now: Now) -> super::words::Now {
    super::words::Now { tick: now.tick.as_nanos(), wall: nanos(now.wall) }
}

pub(crate) fn from_engine(due: scheduler_core::Due) -> Due {
    match due {
        scheduler_core::Due::Tick(tick) => Due::Tick(tick.as_nanos()),
        scheduler_core::Due::Wall(wall) => Due::Wall(nanos(wall)),
    }
}

fn to_engine(due: Due) -> scheduler_core::Due {
    match due {
        Due::Tick(tick) => scheduler_core::Due::Tick(Tick::from_nanos(tick)),
        Due::Wall(wall) => scheduler_core::Due::Wall(WallTime::from_nanos(wall)),
    }
}

fn nanos(wall: WallTime) -> i64 {
    wall.to_utc().timestamp_nanos_opt().unwrap_or(i64::MAX)
}

impl Bell {
    /// Draws a chance of so many percent for a firing.
    fn chance(&self, number: u64, salt: u64, percent: u64) -> bool {
        hash(self.script.seed ^ salt, number) % 100 < percent
    }

    fn arm_again(&self, number: u64, salt: u64) {
        if self.chance(number, salt, self.script.rearms_percent) {
            let when = self.script.whens[hash(number, salt) as usize % self.script.whens.len()];
            self.perform(&ClientOp::Arm { pick: MYSELF, when });
        }
    }

    fn perform(&self, op: &ClientOp) {
        let answer = perform(&self.stage, op, Some(self.task));
        self.stage.note(Note::Did { op: op.clone(), answer });
    }
}

impl Fire for Bell {
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired {
        let (task, number) = (timer.task, run.number());
        let due = from_engine(run.due());
        let due = if timer.stage.is_planted(Plant::LateDiary) { Due::Tick(0) } else { due };
        let panics = timer.chance(number, 1, timer.script.panics_percent);
        let returned = !panics && timer.chance(number, 2, 50);
        let at = timer.stage.clock.truth();
        timer.stage.note(Note::Fired { task, number, due, returned, at });
        timer.arm_again(number, 3);
        if let Some(op) = &timer.script.deed
            && timer.chance(number, 4, 30)
        {
            timer.perform(op);
        }
        let lasts = [0, 0, 1, NEAR, EQUAL, EQUAL / 2, FAR];
        let lasts = lasts[hash(timer.script.seed, number) as usize % lasts.len()];
        let outcome = if panics { Outcome::Failed } else { Outcome::Ok };
        timer.stage.note(Note::Stepped { task, outcome, lasts });
        if panics {
            // Without the panic hook, as in the bodies of tasks.
            resume_unwind(Box::new("as planned"));
        }
        if returned { Fired::Returned } else { Fired::NothingToFinish }
    }

    fn finish(timer: &Arc<Timer<Self>>, run: &Run, _: Now) {
        timer.stage.note(Note::Finished { task: timer.task, number: run.number() });
        timer.arm_again(run.number(), 5);
    }

    fn clock_set_back(timer: &Arc<Timer<Self>>, now: Now) {
        let task = timer.task;
        if timer.due().is_some() {
            timer
                .stage
                .note(Note::Wrong(format!("timer {task} is armed when it is told of the clock")));
        }
        if !timer.stage.is_planted(Plant::DeafTimer) {
            timer.stage.note(Note::SetBack { task });
        }
        if timer.chance(now.tick.as_nanos(), 6, timer.script.rearms_percent) {
            let answer = arm(timer, timer.script.whens[0]);
            let op = ClientOp::Arm { pick: MYSELF, when: timer.script.whens[0] };
            timer.stage.note(Note::Did { op, answer });
        }
    }

    fn dropped(timer: &Arc<Timer<Self>>) {
        timer.stage.note(Note::TimerDropped { task: timer.task });
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.stage.note(Note::Dropped { task: self.task });
    }
}
