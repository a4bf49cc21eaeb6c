//! The bodies of simulated tasks: each follows its script and takes notes.

use super::client::perform;
use super::op::{Blueprint, Script};
use super::plan::{EQUAL, FAR, NEAR};
use super::plant::Plant;
use super::prng::hash;
use super::stage::{Note, Stage};
use super::words::{Outcome, Rhythm, Shape};
use scheduler_core::{Body, OnError, Run, Task, fallible};
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

type Returned = Result<(), &'static str>;

/// The data that the runs of one task share.
struct Role {
    stage: Arc<Stage>,
    task: usize,
    script: Script,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Finale {
    Ok,
    Error,
    Panic,
}

/// Notes that a body was dropped; there is one per task.
struct Guard(Arc<Role>);

impl Drop for Guard {
    fn drop(&mut self) {
        let Role { stage, task, script } = &*self.0;
        if stage.is_planted(Plant::LeakyBody) && task % 4 == 3 {
            return;
        }
        stage.note(Note::Dropped { task: *task });
        if script.is_bomb && !std::thread::panicking() {
            resume_unwind(Box::new(Script::clone(script)));
        }
    }
}

/// Makes the task that a blueprint describes; it will have this number.
pub(crate) fn build(blueprint: &Blueprint, stage: &Arc<Stage>, task: usize) -> Task<()> {
    let script = blueprint.script.clone();
    let role = Arc::new(Role { stage: Arc::clone(stage), task, script });
    let guard = Guard(role);
    let built = match (blueprint.rhythm, blueprint.shape) {
        (Rhythm::Once, Shape::Closure) => Task::once(move || {
            let _ = guard.0.run();
        }),
        (Rhythm::Once, Shape::Future) => Task::once_async(async move {
            let _ = Scene::new(&guard.0).await;
        }),
        (Rhythm::Once, Shape::Fallible) => Task::once(fallible(move || guard.0.run())),
        (Rhythm::Once, Shape::FallibleFuture) => {
            Task::once_async(fallible(async move { Scene::new(&guard.0).await }))
        }
        (rhythm, shape) => recurring(rhythm, body(shape, guard)),
    };
    let on_error = if blueprint.survives_failure { OnError::Continue } else { OnError::Stop };
    built.initial_delay(Duration::from_nanos(blueprint.delay)).on_error(on_error)
}

fn body(shape: Shape, guard: Guard) -> Body {
    match shape {
        Shape::Closure | Shape::Fallible => Body::new(move || guard.0.run()),
        Shape::Future | Shape::FallibleFuture => Body::new_async(move || Scene::new(&guard.0)),
    }
}

fn recurring(rhythm: Rhythm, body: Body) -> Task<()> {
    match rhythm {
        Rhythm::Once | Rhythm::Timer => unreachable!("it does not recur"),
        Rhythm::Rate(period) => Task::at_fixed_rate(Duration::from_nanos(period), body),
        Rhythm::Delay(delay) => Task::with_fixed_delay(Duration::from_nanos(delay), body),
    }
}

impl Role {
    /// The whole run of a closure.
    fn run(&self) -> Returned {
        let number = self.enter();
        let finale = self.finale(number);
        self.end(finale, number)
    }

    /// Notes that a run begins, and does what this run does to the pool.
    fn enter(&self) -> u64 {
        let Some(run) = Run::current() else {
            self.stage.note(Note::Wrong("a body runs outside a run".to_owned()));
            return 0;
        };
        let (task, number) = (self.task, run.number());
        if run.is_cancelled() {
            self.stage
                .note(Note::Wrong(format!("run {number} of task {task} begins as asked to stop")));
        }
        let fire_time = run.fire_time().timestamp_nanos_opt().unwrap_or(i64::MAX);
        let fire_time = if self.stage.is_planted(Plant::LateDiary) { 0 } else { fire_time };
        let at = self.stage.clock.truth();
        let twice = self.stage.is_planted(Plant::DoubleBody) && task % 4 == 3;
        for _ in 0..=u8::from(twice) {
            self.stage.note(Note::Entered { task, number, fire_time, at });
        }
        if let Some(op) = &self.script.deed
            && hash(self.script.seed, number).is_multiple_of(2)
        {
            let answer = perform(&self.stage, op, Some(task));
            self.stage.note(Note::Did { op: op.clone(), answer });
        }
        number
    }

    fn finale(&self, number: u64) -> Finale {
        let percent = (hash(self.script.seed, number) >> 8) % 100;
        let Script { panics_percent, errors_percent, .. } = self.script;
        if percent < panics_percent {
            Finale::Panic
        } else if percent < panics_percent + errors_percent {
            Finale::Error
        } else {
            Finale::Ok
        }
    }

    fn end(&self, finale: Finale, number: u64) -> Returned {
        let outcome = if finale == Finale::Ok { Outcome::Ok } else { Outcome::Failed };
        self.stepped(outcome, number);
        match finale {
            Finale::Ok => Ok(()),
            Finale::Error => Err("as planned"),
            // Without the panic hook: a million planned panics are no news.
            Finale::Panic => resume_unwind(Box::new("as planned")),
        }
    }

    fn stepped(&self, outcome: Outcome, chance: u64) {
        let lasts = [0, 0, 1, NEAR, EQUAL, EQUAL / 2, FAR];
        let lasts = lasts[(hash(self.script.seed, chance) >> 20) as usize % lasts.len()];
        self.stage.note(Note::Stepped { task: self.task, outcome, lasts });
    }
}

/// The future of one run.
struct Scene {
    role: Arc<Role>,
    number: u64,
    /// The number of polls that are still to be pending; none before the first poll.
    pending: Option<u64>,
}

impl Scene {
    fn new(role: &Arc<Role>) -> Self {
        Self { role: Arc::clone(role), number: 0, pending: None }
    }
}

impl Future for Scene {
    type Output = Returned;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Returned> {
        if self.pending.is_none() {
            self.number = self.role.enter();
            let polls = hash(self.role.script.seed, self.number) >> 32;
            self.pending = Some(polls % (self.role.script.polls_max + 1));
        } else {
            let stop_asked = Run::current().is_some_and(|run| run.is_cancelled());
            self.role.stage.note(Note::PolledOn { task: self.role.task, stop_asked });
        }
        let left = self.pending.unwrap_or(0);
        if left == 0 {
            let finale = self.role.finale(self.number);
            return Poll::Ready(self.role.end(finale, self.number));
        }
        self.pending = Some(left - 1);
        let chance = hash(self.number, left);
        let Role { stage, task, .. } = &*self.role;
        let mut props = stage.props();
        props.wakers.retain(|(each, _)| each != task);
        props.wakers.push((*task, context.waker().clone()));
        drop(props);
        self.role.stepped(Outcome::Pending, chance);
        if chance.is_multiple_of(4) {
            let op = super::op::ClientOp::Wake { pick: super::op::MYSELF, keeps_waker: true };
            let answer = perform(stage, &op, Some(*task));
            stage.note(Note::Did { op, answer });
        }
        Poll::Pending
    }
}
